package cpu

import (
	"errors"
	"fmt"

	"github.com/klauspost/cpuid/v2"

	"github.com/gompss/gompss/codegen/ir"
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

// Trips evaluates how many iterations the kernel's outermost loop has for the given arguments.
func (c *Code) Trips(env ir.Env) (int64, error) {
	lo, err := evalInt(c.outer.Lo, env)
	if err != nil {
		return 0, err
	}
	hi, err := evalInt(c.outer.Hi, env)
	if err != nil {
		return 0, err
	}
	step, _ := constStep(c.outer)
	if step < 0 {
		lo, hi, step = hi, lo, -step
	}
	if c.outer.Rel == ir.Le || c.outer.Rel == ir.Ge {
		hi++
	}
	if hi <= lo {
		return 0, nil
	}
	return (hi-lo-1)/step + 1, nil
}

func evalInt(e ir.Expr, env ir.Env) (int64, error) {
	b, err := ir.Eval(e, env)
	if err != nil {
		return 0, fmt.Errorf("cpu: bound of the loop: %w", err)
	}
	return int64(b), nil
}
