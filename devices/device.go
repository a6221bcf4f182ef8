package devices

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
)

// A Kind is the name of a family of devices, such as "smp", "sim" or "cuda". Tokens are counted for
// each kind.
type Kind string

// SMP is the kind of the CPU workers. Every other kind is an accelerator with its own address
// space.
const SMP Kind = "smp"

// Acc represents every accelerator kind in a device clause or in resources.
const Acc Kind = "acc"

// A SpaceID identifies an address space by node and device. Node 0 is this process. Device 0 is
// host memory, which all CPU workers share; accelerator i of the machine has device i+1.
type SpaceID struct {
	Node, Device uint16
}

// Host is the address space of the Go program.
var Host = SpaceID{}

func (s SpaceID) String() string {
	if s == Host {
		return "host"
	}
	return fmt.Sprintf("space %d.%d", s.Node, s.Device)
}

// Properties describes a device. The values do not change while the device is open.
type Properties struct {
	Name        string // "smp:0", "sim:2", "cuda:0"
	Kind        Kind
	Description string     // human-readable: "CPU, 8 workers", "simulated accelerator, 64 MiB, exec=simt"
	Memory      deps.Bytes // limit of the address space; 0 for host memory
	Granule     deps.Bytes // unit in which memory is backed and evicted
	Workers     int        // the number of tasks that run concurrently: CPU workers, or 1 for an accelerator
	// ClockError is the maximum difference between the times of its events (Timed) and the host's
	// clock.
	ClockError time.Duration
	// Bandwidth is the peak bandwidth of its memory in bytes per second, 0 if it is unknown.
	Bandwidth deps.Bytes
	Depth     int // the number of tasks in flight that suffices to overlap transfers with kernels
}

// A Device is an open device. Any goroutine may call its methods. If a method panics, the device is
// taken out of service, as after a fatal DeviceError. A method must not end the calling goroutine.
type Device interface {
	Properties() Properties
	// Prepare compiles the kernel for this device, once: the device caches the result. An error
	// means that the kernel has no variant for this device, and gives the reason.
	Prepare(k *Kernel) error
	// Close waits for the operations in flight and frees all resources.
	Close() error
}

// An Accelerator is a device with its own address space. Its operations are asynchronous; events
// order them.
type Accelerator interface {
	Device
	Memory
	// Reaches reports whether Copy can read directly from address space s. A device can always copy
	// from and to the host.
	Reaches(s SpaceID) bool
	// Copy and Launch enqueue an operation that starts when all events in after have happened, and
	// return immediately. The returned event carries a failure. An operation after a failed event
	// does not run, and its event fails with the same error.
	Copy(t Transfer, after []Event) Event
	Launch(l *Launch, after []Event) Event
}

// Memory manages the mirrors of an accelerator: for each buffer an address range of the size of the
// buffer, backed by device memory on demand. Offsets are bytes in the buffer, and multiples of
// Properties.Granule except at the end of the buffer.
type Memory interface {
	Reserve(b Buffer) error
	Map(b deps.BufferID, lo, hi deps.Bytes) error // errors.Is ErrNoMemory when the device is full
	Unmap(b deps.BufferID, lo, hi deps.Bytes) error
	Release(b deps.BufferID) error
}

// A Buffer is host memory that tasks access: Size bytes at Host, in elements of Elem bytes. The
// memory stays alive during a copy from or to it; at other times it may have been freed.
type Buffer struct {
	ID   deps.BufferID
	Host *HostMemory
	Size deps.Bytes
	Elem deps.Bytes
}

// An Event is a point in the work of a device. It happens once.
type Event interface {
	// Done reports whether the event has happened. Err returns its error, and nil before it has
	// happened.
	Done() bool
	Err() error
	// Then calls f once when the event has happened, immediately if it already has. f must not
	// block.
	Then(f func(error))
}

// Timed is an optional interface of an Event, for devices that measure their operations. Times
// returns the start and the end of the operation on the host's clock, with an error of at most
// Properties.ClockError; both are zero if the operation did not run.
type Timed interface {
	Times() (began, ended time.Time)
}

// Modelled is an optional interface of a Device, for devices that may compute times from a model
// instead of measuring them.
type Modelled interface {
	// Virtual returns the virtual time at which its last operation ended, and whether the device
	// has virtual time. If it has, its events implement Lasting.
	Virtual() (elapsed time.Duration, virtual bool)
}

// Lasting is an interface that the events of a Modelled device with virtual time implement.
type Lasting interface {
	// Lasted returns the virtual duration of the operation of an event that has happened.
	Lasted() time.Duration
}

// Caching is an optional interface of a Device, for devices that keep compiled kernels on disk.
type Caching interface {
	// FromCache reports whether the code of prepared kernel k came from that cache.
	FromCache(k *Kernel) bool
}

// Sizing is an optional interface of a Device that makes code for certain values of Kernel.Sizes.
type Sizing interface {
	// PrepareFor is Prepare for a launch with these arguments: the code for them is there
	// afterwards, and perhaps none for others.
	PrepareFor(k *Kernel, args []Arg) error
}

// LaunchHelper is an optional interface of an Accelerator, for devices with a goroutine that polls
// for completed operations and can launch tasks.
type LaunchHelper interface {
	// StartHelper makes the device call launch repeatedly while it has operations in flight. While
	// contended returns true, a dedicated goroutine calls it; otherwise a goroutine that has other
	// duties for the device. launch reports whether it has launched a task. StartHelper is called
	// before the first Launch.
	StartHelper(launch, contended func() bool)
	// HelperAwake reports whether a call of launch that starts after HelperAwake has returned true is
	// certain to follow.
	HelperAwake() bool
}

// Exposed is an optional interface of an Accelerator, for libraries of the process that access the
// memory of the device themselves, such as MPI.
type Exposed interface {
	// Address returns the address of byte 0 of a buffer's mirror. Only memory that is mapped may be
	// accessed.
	Address(b deps.BufferID) (uintptr, error)
	// Current makes the device the current one of the calling thread, as such libraries require.
	Current() error
}

// A Transfer is one copy of a region between two address spaces.
type Transfer struct {
	Region   deps.Region
	Elem     deps.Bytes // size of one element
	From, To SpaceID
}

// Size returns the number of bytes of the transfer.
func (t Transfer) Size() deps.Bytes { return deps.Bytes(t.Region.Len()) * t.Elem }

// A Kernel contains what a device needs to run a kernel: the Go function for CPU workers, and
// device IR for accelerators.
type Kernel struct {
	Name string
	Pos  ir.Pos
	// Go runs the Go function on host memory. It is never nil.
	Go func(a *Args)
	// Split runs iterations lo to hi-1 of the kernel's one parallel loop, which has Trips(a)
	// iterations; nil if the kernel cannot be split.
	Split func(a *Args, lo, hi int64)
	Trips func(a *Args) int64
	// MovedLine maps a line that a line comment of the generated code names to the current line of
	// the kernel's file. function is the full name of the function; the code that Split calls has
	// such comments. MovedLine may be nil.
	MovedLine func(function string, line int) int
	// Loop is the loop IR of the source; nil if it is unknown, or Program has it.
	Loop *ir.Kernel
	// Program is the device IR; nil if the kernel has no accelerator variant. Refused is then the
	// reason.
	Program *ir.Program
	Refused error
	// Candidates returns alternative device IR for the kernel, generated once, with the same
	// results as Program bit for bit, for teams of any size. It is nil if Program is the only
	// choice. A call may take milliseconds.
	Candidates func() []Candidate
	// Sizes are the arguments whose values shape the code, by number: integers that bound inner
	// loops or are the lengths of rows. Sized returns the kernel for launches in which the given
	// ones have these values, with the same results bit for bit. Its errors are those of the
	// compiler. A call may take milliseconds. Both are nil if no argument shapes the code.
	Sizes []int
	Sized func(values map[int]uint64) (*Kernel, error)
	// Portable returns device IR for a device that may lack warp operations, generated once for
	// each team form and target; the properties of the target select the forms of loops. It is nil
	// if Program has no such form.
	Portable func(TeamForm, *target.Target) (*ir.Program, error)
	// Unchecked is the device IR without the checks that Proves makes unnecessary. It is valid only
	// for arguments for which Proves returns true. Both are nil if the host can prove no check.
	Unchecked *ir.Program
	Proves    func(args []Arg) bool
	// PortableUnchecked is the counterpart of Portable for Unchecked; nil if that is nil.
	PortableUnchecked func(TeamForm, *target.Target) (*ir.Program, error)
	// Natives are hand-written variants for kinds of devices. They take precedence over Program.
	Natives []Native
	// Hidden is the number of trailing arguments that represent package variables read by the Go
	// function. Natives do not receive them.
	Hidden int
	// Steps, if not nil, make the kernel a sequence of launches on one accelerator, which may run
	// them as one. The kernel then has no Program and no Natives, Go runs the steps in order, and a
	// launch has the arguments of all steps.
	Steps []Step
	// Rows are the forms for nested loops of other lengths; nil if Program is the only one.
	Rows *Rows
}

// Rows are the forms of a kernel in which other numbers of lanes share its nested loops. All leave
// the same bits as Program, so that the form of a launch can follow from what earlier ones met.
type Rows struct {
	// Count returns device IR that takes the arguments of the kernel and changes none of them. It
	// leaves a target.Lengths in the scratchpad of the name target.LengthsName: the lengths that the
	// nested loops of a launch with these arguments have. The second program is without the checks
	// that Proves makes unnecessary, nil where the kernel has none of that kind.
	Count func() (p, unchecked *ir.Program, err error)
	// Forms returns the forms beside Program, generated once. A call may take milliseconds.
	Forms func() []RowForm
}

// A RowForm is device IR of a kernel for a number of lanes; Unchecked is that of Kernel.
type RowForm struct {
	Width              target.Width
	Program, Unchecked *ir.Program
}

// A TeamForm is the structure of the teams for which Kernel.Portable generates code.
type TeamForm uint8

// The team forms.
const (
	AnyTeams      TeamForm = iota // any number of threads
	WholeTeams                    // a multiple of 32 threads, as ir.Launch.Warps requires
	SubgroupTeams                 // subgroups of 32 threads with the exchange operations of warps
)

// A Candidate is an alternative device IR of a kernel. Name describes how it differs from the
// compiler's first choice.
type Candidate struct {
	Name               string
	Program, Unchecked *ir.Program
}

// A Launch is one execution of a kernel.
type Launch struct {
	Kernel *Kernel
	Args   *Args
	Label  string
	// Accesses are the reads and writes of the kernel, if the caller knows them.
	Accesses []deps.Access
	// Steps, if not nil, are Kernel.Steps with the arguments of this launch. They do not change: a
	// device may recognise them by their memory.
	Steps []Step
}

// Args are the arguments of a launch, one for each parameter. A buffer argument consists of a
// buffer and an offset; At resolves the buffer to memory of the device that runs the kernel.
type Args struct {
	List []Arg
	// At returns the address of byte 0 of a buffer on the device that runs the kernel, in memory
	// that this process can access. The device that runs Kernel.Go or Kernel.Split sets it.
	At func(b deps.BufferID) unsafe.Pointer
}

// An Arg is one argument. A scalar is in Bits, encoded as ir.Const.Bits. A struct or array by value
// is in Blob. A slice or pointer is in Buffer, Offset, Len and Cap; Nil is set if it is nil.
type Arg struct {
	Type   *ir.Type
	Bits   uint64
	Blob   []byte
	Nil    bool
	Buffer deps.BufferID
	Offset deps.Bytes
	Len    int64
	Cap    int64
}
