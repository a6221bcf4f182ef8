package probe

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// A Task is the record of a finished task. Times are relative to the opening of the runtime, and 0
// for states that the task has not reached.
type Task struct {
	ID deps.TaskID
	// Last is the predecessor that finished last and made the task ready; 0 if there was none.
	Last deps.TaskID
	Nesting
	Submit time.Duration
	Ready  time.Duration
	// Choice is the time at which a place was chosen; on a CPU worker, where nothing happens in
	// between, it equals Start.
	Choice time.Duration
	// Launch is the time of the launch on an accelerator; 0 on a CPU worker.
	Launch time.Duration
	Start  time.Duration // on the device; 0 for a task that did not run
	End    time.Duration // on the device
	// Release is the time at which the runtime observed the end; its successors are ready from then
	// on.
	Release time.Duration
	Traffic
	Kernel  string // "" for a Go function
	Label   string // "" when it is the kernel's name
	Variant string // the code that ran: "AVX-512", "go", "sim", "cuda"
	Err     string // the reason why it failed or was skipped
	Place   int16  // index in Machine.Places; -1 for a task without a place
	Worker  int16  // of a CPU worker
	Tokens  int32  // the tokens that it held
	// Short is true if it lacked tokens at least once between Ready and Choice.
	Short   bool
	Skipped bool // it did not run because a predecessor failed
}

// Traffic contains the sizes of the data of a task.
type Traffic struct {
	Missing deps.Bytes // the data to copy to the place when it was chosen, as far as the policy computed it
	// Bytes is the size of the accesses of a kernel, where data that are read and written count
	// twice; 0 for other tasks.
	Bytes deps.Bytes
}

// A Candidate is a possible place of a task, as the policy saw it when the task became ready.
type Candidate struct {
	Place   int16      // index in Machine.Places
	Meant   bool       // the policy intended the task for it; another place may have taken it
	Known   bool       // Run was learned; otherwise it is an estimate
	Missing deps.Bytes // to be copied there
	// For policies that learn, Run is the expected execution time of the task there, otherwise 0;
	// Ahead is the time of the work queued before it.
	Run, Ahead time.Duration
	Queued     int32 // the tasks that wait for this place, if the policy has a queue for each
	Load       int32 // the tasks that were granted to it and have not finished
	Need, Free int32 // tokens: the number that the task needs of the kind, and the number that is free
}

// A Recorder is an observer that receives each task once, when it has finished, instead of its
// points; that makes it cheap. Points that belong to no task, such as copies, arrive through
// Observe. Many goroutines call the methods concurrently. A method must be fast, and must neither
// block nor keep its arguments.
type Recorder interface {
	Observer
	// Open describes the machine, once, before all other calls.
	Open(m *Machine)
	// Submitted reports the accesses of a task and its predecessors, before it can start unless it
	// has no predecessors. It is not called for tasks without accesses and predecessors.
	Submitted(id deps.TaskID, accesses []deps.Access, predecessors []deps.TaskID)
	// Considered reports the candidates when a task with several of them became ready, and the
	// chosen place. A task that is placed again (its trial took too long, it failed and is retried,
	// its device went out of service) is reported again: the last report counts.
	Considered(id deps.TaskID, place int, candidates []Candidate)
	// Ended reports a task that has finished: it ran, failed or was skipped.
	Ended(t *Task)
}

// A Collector is a Recorder that reads the tasks that a Brief can represent from memory; it is not
// called for these. If a Brief was started for a task that it cannot represent, the Brief is
// present with Start 0, and Ended reports the task afterwards.
type Collector interface {
	Recorder
	// Collect passes the briefs, once, after Open and before the first one is written.
	Collect(l *Briefs)
}

// A Machine describes the hardware and the process of a run.
type Machine struct {
	Places []Place
	Policy string
	Absent []string `json:",omitempty"` // absent optional devices, with the reasons
	// Opened is the reference of all times.
	Opened time.Time
	// Program is the name of the executable file, and Host that of the machine. They and PID are
	// empty in files of older versions.
	Program string `json:",omitempty"`
	Host    string `json:",omitempty"`
	PID     int    `json:",omitempty"`
	// Ranks is the number of ranks of the program, 0 for a single process. Rank is the number of
	// this rank, -1 for all of them.
	Rank  int `json:",omitempty"`
	Ranks int `json:",omitempty"`
}

// A Place is the set of CPU workers, or one accelerator.
type Place struct {
	Name        string // "smp", "sim:1"
	Kind        string
	Description string
	Workers     int
	Memory      deps.Bytes // 0 for host memory
	Tokens      int        // of its kind
	Host        bool       // its memory is host memory
	// Bandwidth is the peak bandwidth of its memory in bytes per second, 0 if it is unknown.
	Bandwidth deps.Bytes `json:",omitempty"`
	// ClockError is the maximum difference between the times of its operations and the host's
	// clock.
	ClockError time.Duration
	Rank       int `json:",omitempty"` // the rank to which it belongs
}
