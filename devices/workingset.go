package devices

import (
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// A WorkingSet is what one task touches, acquired in the address space where it will run. It is meant to be part of
// the task's record and used again after Release. The caller sets the exported fields before Acquire and leaves them
// alone until Release.
//
// Accesses that conflict with those of another working set must be ordered by the caller: the later one is acquired
// when the earlier one was released.
type WorkingSet struct {
	Accesses []deps.Access
	Space    SpaceID
	Label    string
	Pos      ir.Pos
	Owner    any // the caller's
	// Ready, if not nil, is called once when everything that is read is valid in Space, or with the error because of
	// which it will not be; not at all when Acquire returned true.
	Ready func(ws *WorkingSet, err error)
	// Done is called once after Launch, when the kernel is over or will not run. Ready and Done come from any
	// goroutine, also from inside calls of the Machine, with no lock held; they must not block and may call the
	// Machine again.
	Done func(ws *WorkingSet, err error)
	// Launched, if not nil, is called at most once, before Done, when the kernel is enqueued and what it writes counts as
	// written already: working sets of the same space that conflict with this one may be acquired from then on, and are put
	// behind it by its event. It comes from inside calls of the Machine, as Done does, and is not called where the kernel
	// could fail because of another device than its own, for then it would be launched again.
	Launched func(ws *WorkingSet)

	// Began and Ended are, when Done is called and the Machine has an observer, when the kernel ran: on the clock of
	// Options.Now; 0 where the device does not say.
	Began, Ended time.Duration

	state   setState
	told    bool // Ready was called, or will not be
	err     error
	need    need
	victims []*granule
	waits   []*Flight // copies of its inputs
	pending int       // flights that have to land before the next state
	launch  *Launch
	next    *WorkingSet // in a setQueue
	over    func(error) // finished, bound to this working set once
	machine *Machine
	kernel  []*Flight // the kernel under way, an entry for each access, once Launched was called
	direct  bool      // who started it launches it, past the steps
	events  []Event   // of waits, for the device
}

// A setState says where a WorkingSet is in its life.
type setState uint8

const (
	idleSet      setState = iota // not acquired, or released
	ownedSet                     // on the host, which has it all: the directory was not asked
	waitingSet                   // wants room
	makingRoom                   // victims are being written back, then its granules are mapped
	grantedSet                   // its copies have been planned
	plannedAgain                 // a device that it was to get something from is lost: its copies are being planned again
	failedSet                    // err says why; holds what it holds until Release
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
