package cpu

import (
	"errors"

	"github.com/klauspost/cpuid/v2"
)

// ErrNoVectorUnit is the error of Detect on processors without AVX2 and FMA.
var ErrNoVectorUnit = errors.New("cpu: no AVX2 with FMA and BMI2: kernels run as Go functions")

// Detect chooses the widest vectors of this machine, or says why there are none that we use.
func Detect() (Options, error) {
	switch {
	case cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512VL, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.FMA3, cpuid.BMI2):
		return Options{AVX512: true}, nil
	case cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI2):
		return Options{}, nil
	}
	return Options{}, ErrNoVectorUnit
}

// Name is the option in words: "AVX-512" or "AVX2".
func (o Options) Name() string {
	if o.AVX512 {
		return "AVX-512"
	}
	return "AVX2"
}
