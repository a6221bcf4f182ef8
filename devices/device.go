package devices

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
)

// A Kind names a family of devices: "smp", "sim", "cuda". Tokens are counted per kind.
type Kind string

// SMP is the kind of the CPU workers. Kinds other than SMP are accelerators: they have an address
// space of their own.
const SMP Kind = "smp"

// Acc in a device clause or in resources stands for every accelerator kind.
const Acc Kind = "acc"

// A SpaceID names an address space: a node (0 is this process) and a device of it (0 is host
// memory, shared by all CPU workers; accelerator i of the machine has i+1).
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

// Properties describes a device. The values do not change while it is open.
type Properties struct {
	Name        string // "smp:0", "sim:2", "cuda:0"
	Kind        Kind
	Description string     // for people: "CPU, 8 workers", "simulated accelerator, 64 MiB, exec=simt"
	Memory      deps.Bytes // limit of the address space; 0 for host memory
	Granule     deps.Bytes // unit in which memory is backed and evicted
	Workers     int        // tasks that run at once: CPU workers, or 1 for an accelerator
	// ClockError bounds how far the times of its events (Timed) may be from the host's clock.
	ClockError time.Duration
	// Bandwidth is the peak of its memory in bytes a second, 0 where that is not known.
	Bandwidth deps.Bytes
	Depth     int // tasks worth having in flight, so that transfers overlap with kernels
}

// A Device is an opened device. Methods may be called from any goroutine. One that panics takes the
// device out of service, as a DeviceError that is Fatal does; none may end the calling goroutine.
type Device interface {
	Properties() Properties
	// Prepare compiles the kernel for this device, once (memoised by the device). An error says
	// that the kernel has no variant here and why.
	Prepare(k *Kernel) error
	// Close waits for the work in flight and frees everything.
	Close() error
}

// An Accelerator is a device with its own address space, whose work is asynchronous and ordered by
// events.
type Accelerator interface {
	Device
	Memory
	// Reaches reports whether Copy can read directly from address space s into this device's; it
	// can always copy from and to the host.
	Reaches(s SpaceID) bool
	// Copy and Launch enqueue work that starts when all events in after have happened, and return
	// at once. A failure is carried by the event; work whose predecessor event failed does not run
	// and fails with the same error.
	Copy(t Transfer, after []Event) Event
	Launch(l *Launch, after []Event) Event
}

// Memory is the mirrors of an accelerator: for each buffer an address range of the buffer's size,
// backed on demand. Offsets are bytes in the buffer and multiples of Properties.Granule (but for
// the end of the buffer).
type Memory interface {
	Reserve(b Buffer) error
	Map(b deps.BufferID, lo, hi deps.Bytes) error // errors.Is ErrNoMemory when the device is full
	Unmap(b deps.BufferID, lo, hi deps.Bytes) error
	Release(b deps.BufferID) error
}

// A Buffer is memory of the Go program that tasks work on: Size bytes at Host, in elements of Elem
// bytes. A device that copies from or to it is sure that the memory is alive until the copy is
// over; at other times it may be gone.
type Buffer struct {
	ID   deps.BufferID
	Host *HostMemory
	Size deps.Bytes
	Elem deps.Bytes
}

// An Event is a point in a device's work: it happens once.
type Event interface {
	// Done reports whether the event has happened, and Err with what; Err is nil before.
	Done() bool
	Err() error
	// Then calls f once when the event has happened, at once if it has. f must not block.
	Then(f func(error))
}

// Timed is what an Event also implements whose device knows when the work began and ended. Both are
// moments of the host's clock, up to Properties.ClockError; zero for work that did not run.
type Timed interface {
	Times() (began, ended time.Time)
}

// Modelled is what a Device also implements that may have a time of its own, which does not pass:
// how long things would take.
type Modelled interface {
	// Virtual returns when the last of what it has done ended, and whether the device has such a
	// time. Its events are Lasting then.
	Virtual() (elapsed time.Duration, virtual bool)
}

// Lasting is what an Event of a Modelled device also implements.
type Lasting interface {
	// Lasted returns how long the work of an event that has happened took in the time of the
	// device.
	Lasted() time.Duration
}

// Caching is what a Device also implements that keeps compiled kernels on disk.
type Caching interface {
	// FromCache reports whether the variant of a prepared kernel was found there.
	FromCache(k *Kernel) bool
}

// Attentive is what an Accelerator also implements that has a goroutine which looks for something
// to do.
type Attentive interface {
	// Attend has f called again and again while the device has work: by a goroutine that does
	// nothing else while crowded returns true, else by one that has other things to do for the
	// device. f reports whether it has done something. Attend is called before the first launch.
	Attend(f func() bool, crowded func() bool)
	// Attends reports whether f will be called soon: at least once that begins after Attends has
	// returned true.
	Attends() bool
}

// A Transfer is one copy of a region between two address spaces.
type Transfer struct {
	Region   deps.Region
	Elem     deps.Bytes // size of one element
	From, To SpaceID
}

// Size returns the number of bytes that move.
func (t Transfer) Size() deps.Bytes { return deps.Bytes(t.Region.Len()) * t.Elem }

// A Kernel is what a device needs to know of a kernel to make its variant: the Go function for CPU
// workers and the lowered program for accelerators.
type Kernel struct {
	Name string
	Pos  ir.Pos
	// Go runs the Go function on memory of the host's address space; always there.
	Go func(a *Args)
	// Split runs iterations lo to hi of the Trips(a) iterations of the kernel's one parallel loop;
	// nil when the kernel cannot be cut.
	Split func(a *Args, lo, hi int64)
	Trips func(a *Args) int64
	// MovedLine says on which line of the kernel's file now stands what a line comment of a
	// function, by its full name, calls line: the code that Split calls has such comments. It may
	// be nil.
	MovedLine func(function string, line int) int
	// Loop is what the source says; nil where that is not known, or Program has it.
	Loop *ir.Kernel
	// Program is the device IR; nil when the kernel has no accelerator variant, and then Refused
	// says why.
	Program *ir.Program
	Refused error
	// Candidates makes, once, other device IR of the kernel that leaves the same bits as Program, in
	// teams of any size; nil where only Program is right. It may take milliseconds.
	Candidates func() []Candidate
	// Portable makes the device IR for a device that need not have the operations of warps, once
	// for each form of teams and for each target, whose numbers decide between forms of loops; nil
	// where Program has none.
	Portable func(TeamForm, *target.Target) (*ir.Program, error)
	// Unchecked is the device IR without the checks that Proves makes: right for arguments for
	// which that is true. Both are nil where the host proves no check.
	Unchecked *ir.Program
	Proves    func(args []Arg) bool
	// PortableUnchecked is to Unchecked what Portable is to Program; nil where that is.
	PortableUnchecked func(TeamForm, *target.Target) (*ir.Program, error)
	// Natives are variants that the user has written for kinds of devices; they go before Program.
	Natives []Native
	// Hidden is how many of the last arguments stand for package variables that the Go function
	// reads: natives do not get them.
	Hidden int
	// Steps make the kernel a sequence of launches on one accelerator, which an accelerator may run
	// as one. It has no Program and no Natives then; Go runs the steps in order, and the arguments
	// of a launch are those of all steps.
	Steps []Step
}

// A TeamForm says what the teams of a device are made of, which Kernel.Portable makes code for.
type TeamForm uint8

// The forms.
const (
	AnyTeams      TeamForm = iota // any number of threads
	WholeTeams                    // whole groups of 32 threads (ir.Launch.Warps)
	SubgroupTeams                 // subgroups of 32 threads, which exchange values as warps do
)

// A Candidate is another device IR of a kernel. Name says how it differs from the compiler's first
// choice.
type Candidate struct {
	Name               string
	Program, Unchecked *ir.Program
}

// A Launch is one run of a kernel.
type Launch struct {
	Kernel *Kernel
	Args   *Args
	Label  string
	// Accesses are what the kernel reads and writes, where the caller knows.
	Accesses []deps.Access
}

// Args are the actual arguments of a launch, by parameter. Buffer arguments name a buffer and an
// offset; At resolves them to memory of the place where the kernel runs.
type Args struct {
	List []Arg
	// At gives the address of byte 0 of a buffer where the kernel runs, in memory that this process
	// can read. Set by the device that runs Kernel.Go or Kernel.Split.
	At func(b deps.BufferID) unsafe.Pointer
}

// An Arg is one argument: a scalar in Bits (as ir.Const.Bits), a struct or array by value in Blob,
// a slice or pointer in Buffer, Offset, Len and Cap. A nil slice or pointer has Nil set.
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
