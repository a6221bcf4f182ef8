// Package probe names what can be seen of a task's life: points, and the observer that gets
// them.
//
// The runtime calls the observer at every arrow of a task's life (submit, edge, ready, choice,
// transfer, launch, start, end, release, failure); with no observer a point costs one nil check.
// Traces, metrics and tests are observers.
//
// A Recorder is an observer that wants a task as a whole when it has finished, in place of its
// points; a Collector comes for most of them itself, to where the runtime has written them
// (Briefs).
//
// Invariants: of one task, Submit comes before Ready before Choice before Start before End before
// Release; a task that is skipped has Submit, Failure and Release only. A body that runs again on a
// CPU worker (its trial took too long, or it failed and is retried) has a Start and an End for each
// run; of all but the last one, End has an error. Points of different tasks come from many
// goroutines at once. The points from Ready on of a task that an accelerator got before its
// predecessors were finished come when it is finished, with their times.
package probe

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Kind says what happened.
type Kind uint8

// The kinds of points, and which fields of Point each sets besides Task and Time.
const (
	Submit   Kind = iota + 1 // Label, Kernel; Other: the task whose body submitted it, 0 for the program
	Edge                     // Other: the predecessor that is waited for
	Ready                    // all predecessors are done
	Choice                   // Device: where it will run, tokens taken; Bytes: what was missing there
	Transfer                 // From, To, Bytes, Region: a copy was enqueued; Task may be 0
	Launch                   // Device: enqueued on an accelerator
	Start                    // Device, Worker: the body begins, or on an accelerator is behind its inputs
	End                      // Device, Worker, Err: the body has finished
	Release                  // the successors have been told
	Failure                  // Err: why it failed or was skipped
	Arrive                   // From, To, Bytes, Region, Begin, Err: a copy has finished
	Alloc                    // Device, Other: the buffer, Bytes: memory was backed
	Evict                    // Device, Other: the buffer, Bytes: memory was taken away to make room
	Compile                  // Device, Kernel, Begin, Hit, Err: a variant was made, or taken from a cache
	Explain                  // Kernel, Label: what was decided for a kernel and why, once for each
	// Kernel, Device: a kind, Bytes: the least worked on of the size class, Learned: what a policy
	// knows by now
	Learn
	// Label, Device, Begin, Err: what the runtime or the program did that is no task; Other, Bytes:
	// how many buffers the runtime knew, and their size
	Phase
	Message // From, To, Bytes, Region, Begin, Err: a rank has sent a message
	Clock   // Begin, Bytes: the clock of rank 0 was read
)

// A message that a rank receives is an Arrive between two ranks. Both of its ends have its key, in
// Other and Kernel. A Clock says that rank 0 is Bytes nanoseconds ahead of the middle of Begin and
// Time.

var kindNames = [...]string{"?", "submit", "edge", "ready", "choice", "transfer", "launch", "start", "end", "release", "failure",
	"arrive", "alloc", "evict", "compile", "explain", "learn", "phase", "message", "clock"}

// The labels of phases.
const (
	PhaseOpen  = "open devices" // devices were found and opened, with all that was set up before the first task
	PhaseInit  = "open device"  // Device: one of them
	PhaseWait  = "wait"         // the program waited for tasks
	PhaseClose = "close"        // what was left was waited for and the devices were closed
)

// CPUCode begins the line of an Explain that says what runs the kernel on the CPU workers.
const CPUCode = "on the CPU: "

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// A Point is something that happened.
type Point struct {
	Kind   Kind
	Task   deps.TaskID
	Other  deps.TaskID
	Time   time.Duration // since the runtime was opened
	Label  string
	Kernel string
	// "smp", "sim:1"; of Start and End on an accelerator, Time is the device's, mapped to the host's
	// clock
	Device   string
	Worker   int    // of a CPU worker
	From, To string // address spaces
	Bytes    deps.Bytes
	Err      error
	Region   deps.Region   // of a copy
	Begin    time.Duration // of what has a length; Time is its end
	Hit      bool          // a cache had it
	Learned  *Learned
}

// Learned is what a policy has learned of how long a kernel runs on a kind of device, on data of
// one size class.
type Learned struct {
	Samples             int64
	Middle, Least, Most time.Duration // of those that count; Middle is what is expected
}

// An Observer gets points. Observe is called from many goroutines, on the path of the tasks:
// it must be quick, must not block and must not call the runtime.
type Observer interface {
	Observe(p Point)
}

// Func is an Observer made of a function.
type Func func(p Point)

// Observe calls f.
func (f Func) Observe(p Point) { f(p) }
