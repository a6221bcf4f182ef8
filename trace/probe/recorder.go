package probe

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// A Task is the record of a finished task. Times are since the runtime was opened, and 0 where the
// task did not get so far.
type Task struct {
	ID deps.TaskID
	// Last is the predecessor that finished last, which made the task ready; 0 when it waited for
	// none.
	Last deps.TaskID
	// Parent is the task whose body submitted it; 0 for the program.
	Parent deps.TaskID
	Submit time.Duration
	Ready  time.Duration
	// Choice is when it was given to its place; on a CPU worker, where nothing lies between the
	// two, it is Start.
	Choice time.Duration
	// Launch is when it was handed to an accelerator; 0 on a CPU worker.
	Launch time.Duration
	Start  time.Duration // on the device; 0 for a task that did not run
	End    time.Duration // on the device
	// Release is when the runtime observed the end; its successors are ready from then on.
	Release time.Duration
	Traffic
	Kernel  string // "" for a Go function
	Label   string // "" when it is the kernel's name
	Variant string // what ran: "AVX-512", "go", "sim", "cuda"
	Err     string // why it failed or was skipped
	Place   int16  // index in Machine.Places; -1 for a task that got none
	Worker  int16  // of a CPU worker
	Tokens  int32  // that it held
	// Short says that it lacked tokens at least once between Ready and Choice.
	Short   bool
	Skipped bool // a predecessor failed, so it did not run
}

// Traffic is the bytes of a task.
type Traffic struct {
	Missing deps.Bytes // what had to be copied to the place when it was chosen, as far as that was asked
	// Bytes is what the accesses of a kernel name, those that are read and written twice; 0 of other
	// tasks.
	Bytes deps.Bytes
}

// A Candidate is a place that a task may run at, as the policy saw it when the task became ready.
type Candidate struct {
	Place   int16      // index in Machine.Places
	Meant   bool       // the policy meant the task for it; another place may have taken it
	Known   bool       // Run was learned; else it is a guess
	Missing deps.Bytes // to be copied there
	// Run is the time that the task is expected to run there, of policies that learn, else 0; Ahead is
	// the time that the place has to do before it.
	Run, Ahead time.Duration
	Queued     int32 // tasks that wait for this place, of policies with a queue for each
	Load       int32 // tasks that it was given and that are not over
	Need, Free int32 // tokens: what the task needs of the kind, and what the kind has left
}

// A Recorder is an observer that gets a task once, when it has finished, and not of each point:
// that is what makes it cheap. Points that belong to no task, such as copies, come through Observe.
// All methods are called from many goroutines at once, must be quick and must not block or keep
// what they are given.
type Recorder interface {
	Observer
	// Open says what machine the tasks run on, once, before everything else.
	Open(m *Machine)
	// Submitted tells what a task touches and which tasks it waits for, before it can start unless
	// it waits for none. Those with neither are left out.
	Submitted(id deps.TaskID, accesses []deps.Access, predecessors []deps.TaskID)
	// Considered tells what was known of the candidates when a task with several of them became
	// ready, and where it was given to. A task that is given a place again (its trial was too long,
	// it failed and is retried, its device went out of service) is reported again: the last time
	// counts.
	Considered(id deps.TaskID, place int, candidates []Candidate)
	// Ended reports a task that has finished: it ran, failed or was skipped.
	Ended(t *Task)
}

// A Collector is a Recorder that comes for the tasks that a Brief says all of: it is not called for
// those, but where they are. Where words were packed of one that a Brief does not say all of, they
// are present, with Start 0, and Ended reports the task afterwards.
type Collector interface {
	Recorder
	// Collect says where they are, once, after Open and before there are any.
	Collect(l *Briefs)
}

// A Machine is what tasks run on.
type Machine struct {
	Places []Place
	Policy string
	Absent []string `json:",omitempty"` // optional devices that are not there, and why
	// Opened is the moment that all times count from.
	Opened time.Time
	// Program is the name of the executable file, Host that of the machine; they and PID are empty in
	// files of older programs.
	Program string `json:",omitempty"`
	Host    string `json:",omitempty"`
	PID     int    `json:",omitempty"`
	// Ranks is the number of ranks that the program has, 0 where it is one process, and Rank which of
	// them this is: -1 for all of them.
	Rank  int `json:",omitempty"`
	Ranks int `json:",omitempty"`
}

// A Place is the CPU workers, or one accelerator.
type Place struct {
	Name        string // "smp", "sim:1"
	Kind        string
	Description string
	Workers     int
	Memory      deps.Bytes // 0 for host memory
	Tokens      int        // of its kind
	Host        bool       // its memory is the Go program's
	// Bandwidth is the peak of its memory in bytes a second, 0 where that is not known.
	Bandwidth deps.Bytes `json:",omitempty"`
	// ClockError bounds how far the times of its work may be from the host's clock.
	ClockError time.Duration
	Rank       int `json:",omitempty"` // that it belongs to
}
