// Package state has the life cycle of a task as a table: state x event -> state, action.
//
// It decides and does not act: the engine keeps one state for each task, passes the events in the
// order in which they happen, and carries out the actions. An event is legal in a state, late
// (another event came first, and it has no effect) or a bug of the engine.
//
// Invariants: a task is in one state; Free is the only state without a task; every state has a
// legal path to Free; of the two events that end a task which was launched before its predecessors
// finished, KernelEnd and Release, the later one has the action End.
package state

import "fmt"

// A State is a stage in the life of a task. The zero State is Free.
type State uint8

const (
	// Free: the record holds no task.
	Free State = iota
	// Blocked: the task has its number and its place in the graph, and may have predecessors that have
	// not finished. A simple task stays Blocked until its body starts, or it ends: its queue
	// determines the rest.
	Blocked
	// Offered: Blocked, and in the queue of an accelerator that may launch it behind its
	// predecessors.
	Offered
	// Enqueued: launched on an accelerator behind predecessors that have not finished; a replay, with
	// its steps submitted behind those of the replay before.
	Enqueued
	// Ended: its kernel has finished on the accelerator, or its steps have; its predecessors are not
	// yet known to have finished.
	Ended
	// Caught: launched behind predecessors, which have finished since.
	Caught
	// Ready: all predecessors have finished.
	Ready
	// Placed: granted to a place by the policy, or launched there.
	Placed
	// Acquiring: a worker has requested its data.
	Acquiring
	// Fetching: its data are being copied, and no worker waits for them.
	Fetching
	// Running: its body runs.
	Running
	// Waiting: its body waits and has lent the worker.
	Waiting
	// Recalled: its body wants a worker, and is not counted as in flight.
	Recalled
	// Resuming: its body wants a worker, or has been granted one, and does not run yet.
	Resuming
	// Returned: its body has returned, and children have not finished.
	Returned
	// Done, Failed and Skipped: the task has finished; the record is free at once.
	Done
	Failed
	Skipped

	// States is the number of states.
	States = iota
)

// An Event changes the state of a task.
type Event uint8

const (
	// Submit: the task gets its number.
	Submit Event = iota
	// Offer: its predecessors run on one accelerator, whose queue is full.
	Offer
	// Withdraw: it is taken out of the queue of the accelerator.
	Withdraw
	// Launch: it is launched behind its predecessors. This is early launch: Blocked -> Enqueued.
	Launch
	// Release: the last of its predecessors has finished.
	Release
	// Place: the policy grants it to a place.
	Place
	// KernelEnd: its kernel has finished on an accelerator, or could not be run.
	KernelEnd
	// Acquire: a worker requests its data.
	Acquire
	// Leave: the worker continues with other tasks before the data are available.
	Leave
	// Arrive: the data are available, or cannot be fetched.
	Arrive
	// Start: the body begins, perhaps once more.
	Start
	// Lend: the body waits, and lends its worker.
	Lend
	// Recall: the body wants a worker, and is not in flight.
	Recall
	// Claim: the body wants a worker, and its tokens or its place are the scheduler's.
	Claim
	// Resume: the body continues.
	Resume
	// Return: the body has returned before its children have finished.
	Return
	// Requeue: the task is to run again.
	Requeue
	// Finish, Fail and Skip end the task.
	Finish
	Fail
	Skip
	// Forget: the record is free.
	Forget

	// Events is the number of events.
	Events = iota
)

// An Action is the duty of the goroutine that raised an event.
type Action uint8

const (
	// Nothing: no action.
	Nothing Action = iota
	// Queue: the task goes to the scheduler.
	Queue
	// Begin: the goroutine starts the task on its accelerator.
	Begin
	// End: the task has finished on its accelerator.
	End
	// HandOver: a worker gets the task, whose data are available.
	HandOver
	// Late: another event came first, and the task keeps the state that it led to.
	Late

	// Actions is the number of actions.
	Actions = iota
)

// A Transition is an entry of the table. The zero Transition marks an event that must not happen.
type Transition struct {
	To    State
	Do    Action
	legal bool
}

// Legal reports whether the event may happen.
func (t Transition) Legal() bool { return t.legal }

func to(s State) Transition             { return Transition{To: s, legal: true} }
func does(s State, a Action) Transition { return Transition{s, a, true} }

// row is the transitions of one state by event.
type row [Events]Transition

// table has a row for each state. A transition that is not in it is a bug.
var table = [States]row{
	Free: {Submit: to(Blocked)},
	Blocked: {
		Offer:   to(Offered),
		Launch:  does(Enqueued, Begin),
		Release: does(Ready, Queue),
		Start:   to(Running), // a simple task
		Finish:  to(Done), Fail: to(Failed), Skip: to(Skipped),
	},
	Offered: {
		Withdraw: to(Blocked),
		Launch:   does(Enqueued, Begin),
		Release:  does(Ready, Queue),
	},
	Enqueued: {
		Release:   to(Caught),
		KernelEnd: to(Ended),
		Fail:      to(Failed), Skip: to(Skipped), // it could not be started
	},
	Ended: {Release: does(Caught, End)},
	Caught: {
		KernelEnd: does(Caught, End),
		Requeue:   to(Ready),
		Finish:    to(Done), Fail: to(Failed), Skip: to(Skipped),
	},
	Ready: {
		Place:   to(Placed),
		Acquire: to(Fetching), // a wait, which no worker runs
		Start:   to(Running),  // likewise
		Finish:  to(Done), Fail: to(Failed), Skip: to(Skipped),
	},
	Placed: {
		KernelEnd: does(Placed, End),
		Acquire:   to(Acquiring),
		Leave:     does(Placed, Late),
		Start:     to(Running),
		Requeue:   to(Ready),
		Finish:    to(Done), Fail: to(Failed), Skip: to(Skipped),
	},
	Acquiring: {
		Leave:  to(Fetching),
		Arrive: to(Placed), // the worker continues
	},
	Fetching: {
		Arrive: does(Placed, HandOver),
		Finish: to(Done), Fail: to(Failed), Skip: to(Skipped), // a wait
	},
	Running: {
		Start:   to(Running), // once more, after a failure
		Lend:    to(Waiting),
		Return:  to(Returned),
		Requeue: to(Ready),
		Finish:  to(Done), Fail: to(Failed), Skip: to(Skipped),
	},
	Waiting: {
		Recall: to(Recalled),
		Claim:  to(Resuming),
	},
	Recalled: {Claim: to(Resuming)},
	Resuming: {Resume: to(Running)},
	Returned: {Finish: to(Done), Fail: to(Failed), Skip: to(Skipped)},
	Done:     {Forget: to(Free)},
	Failed:   {Forget: to(Free)},
	Skipped:  {Forget: to(Free)},
}

// Next returns the transition of event e in state s. Cost: one table look-up.
func (s State) Next(e Event) Transition { return table[s][e] }

// After is Next for an event that must be legal. It panics if it is not.
func (s State) After(e Event) Transition {
	t := table[s][e]
	if !t.legal {
		panic(fmt.Sprintf("gompss: bug: task state: event %v in state %v", e, s))
	}
	return t
}

// Early reports whether the task was launched behind its predecessors and has not finished.
func (s State) Early() bool { return s == Enqueued || s == Ended || s == Caught }

// Over reports whether the task has finished.
func (s State) Over() bool { return s >= Done }

// Wants reports whether the body of the task wants a worker again.
func (s State) Wants() bool { return s == Recalled || s == Resuming }

var stateNames = [States]string{"free", "blocked", "offered", "enqueued", "ended", "caught", "ready", "placed", "acquiring", "fetching", "running",
	"waiting", "recalled", "resuming", "returned", "done", "failed", "skipped"}

func (s State) String() string { return stateNames[s] }

var eventNames = [Events]string{"submit", "offer", "withdraw", "launch", "release", "place", "kernel end", "acquire", "leave", "arrive", "start",
	"lend", "recall", "claim", "resume", "return", "requeue", "finish", "fail", "skip", "forget"}

func (e Event) String() string { return eventNames[e] }
