package task

import (
	"github.com/gompss/gompss/codegen"
	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/dot"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// This file gives programs the words of the packages below: what the signatures of this package
// name, and the errors that callers branch on. A program that only runs tasks imports nothing else.

// What names tasks, memory and places in errors and statistics.
type (
	// TaskID is the number of a task in the order of submission, from 1.
	TaskID = deps.TaskID
	// BufferID is the number of a buffer in the order of registration.
	BufferID = deps.BufferID
	// Region is elements of a buffer.
	Region = deps.Region
	// Mode is how a task uses a region.
	Mode = deps.Mode
	// Bytes is a size in bytes.
	Bytes = deps.Bytes
	// Pos is a place in the Go source.
	Pos = ir.Pos
	// Kind is a kind of devices.
	Kind = devices.Kind
	// MachineOptions are the options of devices: Options.Machine.
	MachineOptions = machine.Options
	// AbsentDevice is an optional device that a run does not have: Stats.Absent.
	AbsentDevice = machine.Absent
	// Native is a variant of a kernel written by hand: KernelSpec.Natives.
	Native = devices.Native
	// Diagnostic is a message of the compiler: Kernel.Warnings.
	Diagnostic = codegen.Diagnostic
	// ErrorList is all that is wrong with the source of a kernel: the error of NewKernel.
	ErrorList = codegen.ErrorList
	// Observer gets every point of every task's life: Options.Observer.
	Observer = probe.Observer
	// Point is one of these points.
	Point = probe.Point
	// Status is what a run does at one moment: Runtime.Status, Runtime.Progress.
	Status = probe.Status
	// InFlight is a task that has not ended: Status.Tasks.
	InFlight = probe.InFlight
)

// The kinds of devices that have a name without a plug-in.
const (
	SMP    = devices.SMP // the CPU workers
	Acc    = devices.Acc // every accelerator
	CUDA   = Kind("cuda")
	OpenCL = Kind("opencl")
	Sim    = Kind("sim") // simulated accelerators
)

// Errors of kernels while they run, and of their arguments, on every device; for errors.Is.
var (
	// ErrBounds means that an index or a slice bound was out of range.
	ErrBounds = ir.ErrBounds
	// ErrDivide means that an integer was divided by zero.
	ErrDivide = ir.ErrDivide
	// ErrShift means that a shift count was negative.
	ErrShift = ir.ErrShift
	// ErrNil means that a nil pointer was used.
	ErrNil = ir.ErrNil
	// ErrStep means that a counted loop would never end, on an accelerator.
	ErrStep = ir.ErrStep
)

// A CheckError is a check of a kernel that failed, for errors.As: the same mistake has the same
// text and position on every device.
type CheckError = ir.CheckError

// Errors of devices; for errors.Is.
var (
	// ErrNoMemory means that the memory of a device does not suffice.
	ErrNoMemory = devices.ErrNoMemory
	// ErrRetired means that a device is out of service.
	ErrRetired = devices.ErrRetired
	// ErrLost means that the newest value of some data was on a device that failed.
	ErrLost = devices.ErrLost
)

// ErrBusy means that memory could not be given back, as other goroutines went on submitting tasks
// that use it; for errors.Is.
var ErrBusy = deps.ErrBusy

// Errors with fields; for errors.As.
type (
	// AccessError means that a kernel would leave a slice or a region with its arguments.
	AccessError = codegen.AccessError
	// PartError means that a slice is too short for the parts of a dist_ clause.
	PartError = codegen.PartError
	// RegionError means that a region of a clause is none with the arguments.
	RegionError = codegen.RegionError
	// NoSpaceError means that what a task uses never fits into the memory of a device.
	NoSpaceError = devices.NoSpaceError
	// LostError is ErrLost with the device and the region.
	LostError = devices.LostError
	// DeviceError is the failure of something that a device was asked to do.
	DeviceError = devices.DeviceError
	// FaultError means that vector code accessed memory that is not mapped.
	FaultError = vec.FaultError
	// PolicyError means that a scheduling policy broke.
	PolicyError = sched.PolicyError
	// UnsatisfiableError means that a task needs more tokens than a kind ever has.
	UnsatisfiableError = sched.UnsatisfiableError
)

// ArgumentError reports an invalid argument of a kernel, before anything is written.
type ArgumentError = values.ArgumentError

// A Variable says where a package variable is that a kernel reads.
type Variable = values.Variable

// ElementError means that memory is used with elements of another size than it was registered with.
type ElementError = memory.ElementError

// OverlapError means that memory reaches out of the buffer that it begins in, or into another.
type OverlapError = memory.OverlapError

// A Constant says whether a constant of another package has the value that a kernel was made with.
type Constant = kernels.Constant

// A VariantChoice is which variant of a kernel runs launches of a size on CPU workers, and why.
type VariantChoice = cpucode.VariantChoice

// A VariableError is the error of a task whose kernel ran as its Go function while the program
// changed a package variable that the function reads: what the task has written is undefined.
type VariableError = cpucode.VariableError

// A Graph is an observer (Options.Observer) that keeps which task waited for which, to write it in
// the language of Graphviz. It keeps every task of the run: it is for programs under inspection.
type Graph = dot.Graph

// NewGraph returns a Graph without tasks.
func NewGraph() *Graph { return dot.NewGraph() }
