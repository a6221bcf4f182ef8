package deps

import (
	"fmt"
	"sync/atomic"
)

// A Link joins a region of a task in its own domain, the outer one, to the same region in the
// domain of its children, the inner one. It is a task of both without a body:
//
//   - Outer comes after what an access of the task to the region comes after, and later tasks of
//     the outer domain come after it;
//   - the opener, the first node on the region in the inner domain, is complete when the
//     predecessors of Outer are: so children come after them, as if they were tasks of the outer
//     domain;
//   - Closer, the last node on the region in the inner domain, comes after the opener and after
//     all children on the region. Outer is complete when Closer is.
//
// A link without an opener, of a region whose predecessors the task itself waits for, only ends
// early. Links of links are nested tasks of any depth: Outer of the deeper one is a node of the
// inner domain of the other.
//
// A Link is used once. The decisions are the table below; the caller completes the nodes.
//
// Source: Perez, Beltran, Labarta, Ayguade, Improving the Integration of Task Nesting and
// Dependencies in OpenMP, IPDPS 2017, sections 4 and 5; differs: an access is linked as a whole,
// so that parts of it which are declared apart are released apart, and others together.
type Link struct {
	Outer, Closer Node
	opener        Node
	access        Access
	state         atomic.Uint32 // a linkState
}

// A linkState is a stage in the life of a Link. The zero linkState is linkBlocked.
type linkState uint32

const (
	linkBlocked linkState = iota // Outer has predecessors, and nothing inside waits for the link
	linkOpened                   // Outer has predecessors, and the opener waits for them
	linkPassed                   // Outer has none, and something inside may use the region
	linkClosed                   // nothing inside uses the region any more, and Outer has predecessors
	linkEnded                    // Outer is complete, or an action completes it

	linkStates = iota
)

// A LinkEvent changes the state of a Link.
type LinkEvent uint8

const (
	// Arrive: the predecessors of Outer are complete.
	Arrive LinkEvent = iota
	// opening: the opener was entered into the inner domain.
	opening
	// Shut: nothing inside uses the region any more: the Closer is complete, or nothing was
	// submitted inside and nothing will be.
	Shut

	linkEvents = iota
)

// A LinkAction is the duty of the goroutine that raised an event of a Link.
type LinkAction uint8

const (
	// NoAction: nothing is to do.
	NoAction LinkAction = iota
	// CompleteOpener: the opener is to be completed in the inner domain.
	CompleteOpener
	// CompleteOuter: Outer is to be completed in the outer domain.
	CompleteOuter
)

// A linkTransition is an entry of the table. The zero one marks an event that must not happen.
type linkTransition struct {
	to    linkState
	do    LinkAction
	legal bool
}

var linkTable = [linkStates][linkEvents]linkTransition{
	linkBlocked: {
		Arrive:  {linkPassed, NoAction, true},
		opening: {linkOpened, NoAction, true},
		Shut:    {linkClosed, NoAction, true},
	},
	linkOpened: {
		Arrive: {linkPassed, CompleteOpener, true}, // the Closer comes after the opener, so Shut comes later
	},
	linkPassed: {
		opening: {linkPassed, CompleteOpener, true}, // the predecessors have completed meanwhile
		Shut:    {linkEnded, CompleteOuter, true},
	},
	linkClosed: {
		Arrive: {linkEnded, CompleteOuter, true},
	},
}

// After raises event e and returns what the caller is to do. The node of the event, Outer for
// Arrive and the Closer for Shut, has no predecessors any more. Safe for concurrent use.
func (l *Link) After(e LinkEvent) LinkAction {
	for {
		s := linkState(l.state.Load())
		t := linkTable[s][e]
		if !t.legal {
			panic(fmt.Sprintf("gompss: bug: link: event %d in state %d", e, s))
		}
		if l.state.CompareAndSwap(uint32(s), uint32(t.to)) {
			return t.do
		}
	}
}

// Passed reports whether the predecessors of Outer are complete, and Outer is not.
func (l *Link) Passed() bool { return linkState(l.state.Load()) == linkPassed }

// Access returns the access that the link is of.
func (l *Link) Access() Access { return l.access }

// Opener returns the node that children come after.
func (l *Link) Opener() *Node { return &l.opener }

// hidden is the Owner of openers: edges from them are not reported.
type hidden struct{}

// Enter enters l, of access a of task id, into its outer domain, and reports whether it has no
// predecessors: then Arrive is due. It is part of the submission of the task: between
// Domain.Enter, or Place, and Settle of the node of the task. Its edges are not reported: those
// of a weak access are none of the task, others are those of the node of the task.
//
// Requires: a.Mode is In, Out or InOut, and l.Outer.Owner is set. An access of the task that
// conflicts with a, of its node or linked, must not wait for the task to finish.
func (l *Link) Enter(d *Domain, id TaskID, a Access) (arrived bool) {
	l.access, l.Outer.ID = a, id
	return enterPart(d, &l.Outer, a)
}

// Open enters the opener of l into the inner domain d, before anything else there, where it is
// needed: it reports true for an opener that CompleteOpener will complete.
func (l *Link) Open(d *Domain) bool {
	if linkState(l.state.Load()) != linkBlocked {
		return false
	}
	l.opener.Owner, l.opener.ID = hidden{}, l.Outer.ID
	enterPart(d, &l.opener, l.inside())
	if l.After(opening) == CompleteOpener {
		d.Finish(&l.opener, func(*Node) {}) // nothing waits for it yet
		return false
	}
	return true
}

// Close enters the Closer of l into the inner domain d, after everything else there, and
// reports whether it has no predecessors: then it is to be completed, and Shut is due. Requires:
// l.Closer.Owner is set.
func (l *Link) Close(d *Domain) (ready bool) {
	l.Closer.ID = l.Outer.ID
	return enterPart(d, &l.Closer, l.inside())
}

// inside is the access of the opener and the Closer.
func (l *Link) inside() Access { return Access{Region: l.access.Region, Mode: InOut} }

// enterPart submits a node of a link, whose edges are not reported and which is launched nowhere.
func enterPart(d *Domain, n *Node, a Access) (ready bool) {
	list := [1]Access{a}
	d.Prepare(n, list[:])
	d.next++
	n.mark = d.next
	edges := d.enterAll(n, list[:])
	d.found = d.found[:0]
	d.Behind(n)
	return d.Settle(n, edges)
}
