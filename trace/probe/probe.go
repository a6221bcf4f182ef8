// Package probe defines the observable points of a task's life, and the observer that receives
// them.
//
// The runtime calls the observer at each transition of a task (submit, edge, ready, choice,
// transfer, launch, start, end, release, failure). Without an observer a point costs one nil check.
// Traces, metrics and tests are observers.
//
// A Recorder is an observer that receives one record for each finished task instead of its points.
// A Collector reads most of these records itself, at the place where the runtime has written them
// (Briefs).
//
// Invariants: the points of a task have the order Submit, Ready, Choice, Start, End, Release. A
// task that is skipped has Submit, Failure and Release only. A body that is repeated on a CPU
// worker (its trial took too long, or it failed and is retried) has a Start and an End for each
// run; all of these Ends but the last have an error. Many goroutines report points of different
// tasks concurrently. For a task that was launched before its predecessors had finished, the points
// from Ready on are reported when it has finished, with their times.
package probe

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Kind is the kind of a point.
type Kind uint8

// The kinds of points, and the fields of Point that each sets besides Task and Time.
const (
	Submit   Kind = iota + 1 // Label, Kernel; Other: the parent task, 0 for the program
	Edge                     // Other: the predecessor
	Ready                    // all predecessors have finished
	Choice                   // Device: the chosen place, with tokens taken; Bytes: the data missing there
	Transfer                 // From, To, Bytes, Region: a copy was enqueued; Task may be 0
	Launch                   // Device: enqueued on an accelerator
	Start                    // Device, Worker: the body starts, or on an accelerator its inputs are complete
	End                      // Device, Worker, Err: the body has finished
	Release                  // the successors have been notified
	Failure                  // Err: the reason why it failed or was skipped
	Arrive                   // From, To, Bytes, Region, Begin, Err: a copy has finished
	Alloc                    // Device, Other: the buffer, Bytes: memory was backed
	Evict                    // Device, Other: the buffer, Bytes: memory was freed for other buffers
	Compile                  // Device, Kernel, Begin, Hit, Err: a variant was compiled, or loaded from a cache
	Explain                  // Kernel, Label: the compiler's decisions for a kernel with reasons, once for each
	// Kernel, Device: a kind, Bytes: the lower limit of the size class, Learned: the times that a
	// policy has learned so far
	Learn
	// Label, Device, Begin, Err: an action of the runtime or the program that is not a task; Other,
	// Bytes: the number of buffers that the runtime knew, and their size
	Phase
	Message // From, To, Bytes, Region, Begin, Err: a rank has sent a message
	Clock   // Begin, Bytes: the clock of rank 0 was read
)

// The reception of a message is an Arrive between two ranks. Both points of a message have its key,
// in Other and Kernel. A Clock says that the clock of rank 0 is Bytes nanoseconds ahead at the
// middle of Begin and Time.

var kindNames = [...]string{"?", "submit", "edge", "ready", "choice", "transfer", "launch", "start", "end", "release", "failure",
	"arrive", "alloc", "evict", "compile", "explain", "learn", "phase", "message", "clock"}

// The labels of phases.
const (
	PhaseOpen  = "open devices" // devices were found and opened, with all other work before the first task
	PhaseInit  = "open device"  // Device: one of them
	PhaseWait  = "wait"         // the program waited for tasks
	PhaseClose = "close"        // the remaining tasks were waited for and the devices were closed
)

// CPUCode begins the line of an Explain that names the code for the kernel on the CPU workers.
const CPUCode = "on the CPU: "

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// A Point is an event in the life of a task or of the runtime.
type Point struct {
	Kind   Kind
	Task   deps.TaskID
	Other  deps.TaskID
	Time   time.Duration // since the runtime was opened
	Label  string
	Kernel string
	// "smp", "sim:1"; for Start and End on an accelerator, Time is the device's time, mapped to the
	// host's clock
	Device   string
	Worker   int    // of a CPU worker
	From, To string // address spaces
	Bytes    deps.Bytes
	Err      error
	Region   deps.Region   // of a copy
	Begin    time.Duration // the start of an action with a duration; Time is its end
	Hit      bool          // found in a cache
	Learned  *Learned
}

// Learned is a learned execution time of a kernel on a kind of device, for data of one size class.
type Learned struct {
	Samples             int64
	Middle, Least, Most time.Duration // of the samples that count; Middle is the expected time
}

// An Observer receives points. Many goroutines call Observe, on the path of the tasks: it must be
// fast, must not block and must not call the runtime.
type Observer interface {
	Observe(p Point)
}

// Func is a function as an Observer.
type Func func(p Point)

// Observe calls f.
func (f Func) Observe(p Point) { f(p) }
