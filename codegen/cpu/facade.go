package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir"
)

// What users of this package get from package image.
type (
	// Options choose the machine.
	Options = image.Options
	// A Code is the vectorised variant of one kernel.
	Code = image.Code
	// A Single says whether parallel loops may run without lanes.
	Single = image.Single
)

// The values of Single.
const (
	SingleAuto   = image.SingleAuto
	SingleNever  = image.SingleNever
	SingleAlways = image.SingleAlways
)

// NewKernelRunner compiles a kernel and returns its runner, which chooses vector width and kind of stores by launch. The error is a *Refusal
// where the kernel has no vector code.
func NewKernelRunner(a *Arena, k *ir.Kernel, o Options) (*Runner, error) {
	return NewVariants(a, o, func(o Options) (*Code, error) { return Compile(k, o) })
}
