package cpu

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// ErrNoVectorUnit is the error of Detect on processors without AVX2 and FMA.
var ErrNoVectorUnit = errors.New("cpu: no AVX2 with FMA and BMI2: kernels run as Go functions")

// ErrOff is the error of Choose where vector code is switched off.
var ErrOff = errors.New("cpu: vector code is switched off: kernels run as Go functions")

// A Processor is what vector code may use. The zero value is this machine's; tests give others,
// with less.
type Processor struct {
	Supports func(features ...cpuid.FeatureID) bool
}

// Without is this machine without some features.
func Without(features ...cpuid.FeatureID) Processor {
	return Processor{Supports: func(ids ...cpuid.FeatureID) bool {
		for _, id := range ids {
			for _, off := range features {
				if id == off {
					return false
				}
			}
		}
		return cpuid.CPU.Supports(ids...)
	}}
}

// Detect chooses the widest vectors of this machine, or says why there are none that we use.
func Detect() (Options, error) { return Processor{}.Detect() }

// Detect chooses the widest vectors of p.
func (p Processor) Detect() (Options, error) {
	if runtime.GOARCH == "arm64" && p.Supports == nil {
		return Options{ISA: ARM64}, nil // every arm64 processor has NEON
	}
	supports := p.Supports
	if supports == nil {
		supports = cpuid.CPU.Supports
	}
	switch {
	case supports(cpuid.AVX512F, cpuid.AVX512VL, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.FMA3, cpuid.BMI2):
		return Options{AVX512: true}, nil
	case supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI2):
		return Options{}, nil
	}
	return Options{}, ErrNoVectorUnit
}

// Choose is Detect under a choice by name: "" takes the widest vectors, "avx2" no more than that,
// "avx512" nothing less, "neon" those of arm64, "off" none: ErrOff.
func (p Processor) Choose(name string) (Options, error) {
	have, err := p.Detect()
	switch neon := err == nil && have.ISA == ARM64; {
	case name == "neon" && err == nil && !neon:
		return have, errors.New("cpu: this machine has no NEON")
	case neon && (name == "avx2" || name == "avx512"):
		return have, fmt.Errorf("cpu: this machine has NEON, not %s", name)
	}
	switch name {
	case "neon":
		return have, err
	case "":
		return have, err
	case "off":
		return Options{}, ErrOff
	case "avx2":
		return Options{}, err
	case "avx512":
		if err == nil && !have.AVX512 {
			err = errors.New("cpu: this machine has no AVX-512")
		}
		return have, err
	}
	return Options{}, fmt.Errorf("cpu: vector %q: want avx512, avx2, neon, off or nothing", name)
}
