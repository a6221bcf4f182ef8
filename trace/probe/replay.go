package probe

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// A Nesting says what a task is a part of, and how many parts it has itself.
type Nesting struct {
	// Parent is the task whose body submitted the task, or the replay that the task is a step of; 0
	// for the program.
	Parent deps.TaskID
	// Replay counts the replays of an iteration, from 1, for the task of a replay and for its steps.
	// It is 0 for other tasks.
	Replay int32
	Step   int32 // the number of a step in its iteration, from 1; 0 for other tasks
	// Steps is the number of steps of a replay, which have records of their own, or the number of
	// kernels in a device graph, which have none. It is 0 for other tasks.
	Steps int32
}

// A Replay is one replay of an iteration whose steps are no tasks of the runtime. Its steps are
// numbered from 0, and step i has the id First + i.
type Replay struct {
	Task   deps.TaskID   // of the runtime: the replay as a whole
	First  deps.TaskID   // of its first step
	Submit time.Duration // of Task
	Number int32         // from 1
	Place  int16         // index in Machine.Places
	Steps  []ReplayStep  // does not change
}

// A ReplayStep is the part of a step that is the same in all replays.
type ReplayStep struct {
	Label    string
	Accesses []deps.Access
	Before   []int32 // its predecessors
}

// A StepRun is what differs from replay to replay.
type StepRun struct {
	Step   int32
	Last   int32 // the predecessor that finished last; -1 if there is none
	Worker int16
	// Skipped is true if it did not run because a predecessor failed.
	Skipped    bool
	Ready      time.Duration
	Start, End time.Duration // Start is 0 for a step that did not run
	Err        string        // the reason why it failed or was skipped
}

// ID returns the id of step i.
func (r *Replay) ID(i int32) deps.TaskID { return r.First + deps.TaskID(i) }

// TaskOf returns the record of a step.
func (r *Replay) TaskOf(s *StepRun) Task {
	t := Task{ID: r.ID(s.Step), Nesting: Nesting{Parent: r.Task, Replay: r.Number, Step: s.Step + 1}, Submit: r.Submit, Ready: s.Ready,
		Release: s.End, Label: r.Steps[s.Step].Label, Err: s.Err, Place: -1, Worker: s.Worker, Skipped: s.Skipped}
	if s.Last >= 0 {
		t.Last = r.ID(s.Last)
	}
	if s.Start > 0 {
		t.Place, t.Choice, t.Start, t.End = r.Place, s.Start, s.Start, s.End
	}
	return t
}

// A StepRecorder is a Recorder that takes the steps of replays in a form that is cheaper than
// tasks: it finds accesses and predecessors in the Replay, which does not change.
type StepRecorder interface {
	Recorder
	StepRan(r *Replay, s *StepRun)
}

// StepRan reports a step to a recorder of either kind.
func StepRan(to Recorder, r *Replay, s *StepRun) {
	if fast, ok := to.(StepRecorder); ok {
		fast.StepRan(r, s)
		return
	}
	of := &r.Steps[s.Step]
	before := make([]deps.TaskID, len(of.Before))
	for i, p := range of.Before {
		before[i] = r.ID(p)
	}
	if len(of.Accesses)+len(before) > 0 {
		to.Submitted(r.ID(s.Step), of.Accesses, before)
	}
	t := r.TaskOf(s)
	to.Ended(&t)
}
