package machine

import (
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// A WorkingSet is what one task accesses, acquired in the address space where the task will run. It
// can be part of the task's record and is reused after ReleaseSet. The caller sets the exported
// fields before Acquire and does not change them until ReleaseSet.
//
// The caller orders accesses that conflict with those of another working set: the later one is
// acquired after the earlier one was released.
type WorkingSet struct {
	Accesses []deps.Access
	Space    devices.SpaceID
	Label    string
	Pos      ir.Pos
	Owner    any // for the caller
	// Ready, if not nil, is called once when everything that is read is valid in Space, or with the
	// error because of which it will not be; never when Acquire returned true.
	Ready func(ws *WorkingSet, err error)
	// Done is called once after Launch, when the kernel has ended or will not run. Ready and Done
	// are called from any goroutine, also inside calls of the Machine, with no lock held; they must
	// not block and may call the Machine again.
	Done func(ws *WorkingSet, err error)
	// Launched, if not nil, is called at most once, before Done, when the kernel is issued and what
	// it writes counts as written: from then on working sets of the same space that conflict with
	// this one may be acquired, and their kernels wait for its event. It is called as Done is, and
	// not at all where the kernel could fail because of another device than its own, for then it
	// would be launched again.
	Launched func(ws *WorkingSet)

	// Began and Ended are, when Done is called and the Machine has an observer, when the kernel
	// ran, on the clock of Options.Now; 0 where the device does not know.
	Began, Ended time.Duration
	// Lasted is, when Done is called, how long the kernel took in the time of a devices.Modelled
	// device that has one; else 0.
	Lasted time.Duration

	progress
}

// progress is how far the Machine has come with a working set; under its lock.
type progress struct {
	state       setState
	reported    bool // Ready was called, or must not be
	err         error
	need        coherence.Need
	victims     []*coherence.Granule
	waits       []*coherence.Operation // what its kernel waits for
	pending     int                    // operations that must complete before the next state
	launch      *devices.Launch
	next        *WorkingSet   // in a setQueue
	onEnd       *continuation // kernelEnded, bound to this working set once
	machine     *Machine
	kernel      []*coherence.Operation // its kernel once Launched was called, by access
	launchesNow bool                   // Start issues its kernel, past the actions
	events      []devices.Event        // of waits, for the device
	room        int                    // granules of space.held, for a message
}

// A setState says where a WorkingSet is in its life.
type setState uint8

const (
	idleSet     setState = iota // not acquired, or released
	ownedSet                    // on the host, which has it all: the directory was not asked
	waitingSet                  // waits for memory
	evictingSet                 // its victims are being written back; then its granules are mapped
	grantedSet                  // its copies have been planned
	replanning                  // the source of a copy was lost: its copies are planned again
	failedSet                   // err says why; holds what it holds until Release
)

// A setQueue is a list of working sets, first in first out.
type setQueue struct {
	head, tail *WorkingSet
}

func (q *setQueue) push(ws *WorkingSet) {
	ws.next = nil
	if q.tail == nil {
		q.head = ws
	} else {
		q.tail.next = ws
	}
	q.tail = ws
}

func (q *setQueue) pop() *WorkingSet {
	ws := q.head
	q.head = ws.next
	if q.head == nil {
		q.tail = nil
	}
	ws.next = nil
	return ws
}
