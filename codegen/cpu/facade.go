package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/exec"
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// What users of this package get from package image.
type (
	// Options choose the machine.
	Options = image.Options
	// Trials are what tests ask for.
	Trials = image.Trials
	// A Code is the vectorised variant of one kernel.
	Code = image.Code
	// An ISA is an instruction set.
	ISA = mach.ISA
	// A Single says whether parallel loops may run without lanes.
	Single = image.Single
)

// What users of this package get from package exec.
type (
	// An Arena is executable memory.
	Arena = exec.Arena
	// A Memory is the way to allocate executable memory; tests refuse.
	Memory = exec.Memory
	// A Value is one actual argument of a run.
	Value = exec.Value
	// A Program is compiled code in executable memory.
	Program = exec.Program
	// A Runner runs a program in short calls.
	Runner = exec.Runner
	// A Launcher is what one goroutine calls kernels with.
	Launcher = exec.Launcher
	// A Loop is a parallel loop of a launch.
	Loop = exec.Loop
	// A FaultError is a touch of memory that is not there by generated code.
	FaultError = exec.FaultError
)

// A Refusal says why a kernel has no vectorised variant, and where: its Go function runs instead.
type Refusal = prepare.Refusal

// NewArena maps an arena, or says why this system has no executable memory.
func NewArena() (*Arena, error) { return exec.NewArena() }

// NewRunner returns a runner of p.
func NewRunner(p *Program) *Runner { return exec.NewRunner(p) }

// The values of ISA.
const (
	Native     = mach.Native
	AMD64      = mach.AMD64
	AMD64Short = mach.AMD64Short
	ARM64      = mach.ARM64
)

// The values of Single.
const (
	SingleAuto   = image.SingleAuto
	SingleNever  = image.SingleNever
	SingleAlways = image.SingleAlways
)

// NewKernelRunner compiles a kernel and returns its runner, which chooses vector width and kind of
// stores by launch. The error is a *prepare.Refusal where the kernel has no vector code.
func NewKernelRunner(a *Arena, k *ir.Kernel, o Options) (*Runner, error) {
	return exec.NewVariants(a, o, func(o Options) (*Code, error) { return Compile(k, o) })
}

// DiffersAlone returns why the code of k may give other bits than the Go function where it has one
// loop, which runs one iteration after the other on one worker, "" where both give the same.
func DiffersAlone(k *ir.Kernel) string { return analysis.DiffersAlone(k) }

// DiffersByLanes returns why the bits that vector code of k gives may depend on its lanes, "" where
// code of SingleAlways gives the same.
func DiffersByLanes(k *ir.Kernel) string { return analysis.DiffersByLanes(k) }

// Differs returns why the vector code of k may give other bits than the Go function, "" where both
// give the same.
func Differs(k *ir.Kernel) string { return analysis.Differs(k) }
