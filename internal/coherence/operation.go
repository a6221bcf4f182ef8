package coherence

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// An Operation is pending work that the directory knows of: a copy that was planned and has not
// completed, or a kernel under way, whose From and To are the same space.
type Operation struct {
	devices.Transfer
	// After are the operations that must complete before this copy starts.
	After []*Operation
	// Event ends the operation. The caller sets it when it has issued the copy.
	Event devices.Event
	Owner any // for the caller

	observed bool // its end was reported
	failed   bool // it is a copy, and failed
	// relinquished is what spaces gave up in favour of this operation, without what was written
	// since: if the operation fails, they still have it.
	relinquished []relinquishment
	retained     []deps.Region // after a failure: what its source still has
	inbound      []*Operation  // of a kernel: pending copies to the host of the elements it writes
	// refs counts the users of a kernel: its working set, those that wait for it, and the copies
	// after it. The machine reuses a kernel without users.
	refs int32
	// inIndex and outIndex are the positions in incoming and outgoing, from 1; 0 is in neither.
	inIndex, outIndex int32
}

// addIncoming and addOutgoing append to the lists of a replica; removeIncoming and removeOutgoing
// remove the operation where it is in the list.
func (p *replica) addIncoming(op *Operation) {
	p.incoming = append(p.incoming, op)
	op.inIndex = int32(len(p.incoming))
}
func (p *replica) addOutgoing(op *Operation) {
	p.outgoing = append(p.outgoing, op)
	op.outIndex = int32(len(p.outgoing))
}

func (p *replica) removeIncoming(op *Operation) {
	if i := int(op.inIndex) - 1; i >= 0 {
		last := len(p.incoming) - 1
		moved := p.incoming[last]
		p.incoming[i], moved.inIndex = moved, op.inIndex
		p.incoming[last], op.inIndex = nil, 0
		p.incoming = p.incoming[:last]
	}
}

func (p *replica) removeOutgoing(op *Operation) {
	if i := int(op.outIndex) - 1; i >= 0 {
		last := len(p.outgoing) - 1
		moved := p.outgoing[last]
		p.outgoing[i], moved.outIndex = moved, op.outIndex
		p.outgoing[last], op.outIndex = nil, 0
		p.outgoing = p.outgoing[:last]
	}
}

// supersede removes the kernels that op, a kernel that writes, comes after and covers: what has
// to wait for one of them has to wait for op, and that is enough.
func (p *replica) supersede(op *Operation) {
	for i := len(p.incoming) - 1; i >= 0; i-- {
		if g := p.incoming[i]; g.From == g.To && op.Region.Contains(g.Region) {
			p.removeIncoming(g)
		}
	}
	for i := len(p.outgoing) - 1; i >= 0; i-- {
		if g := p.outgoing[i]; g.From == g.To && op.Region.Contains(g.Region) {
			p.removeOutgoing(g)
		}
	}
}

// IsCopy reports whether op is a copy and not a kernel.
func (op *Operation) IsCopy() bool { return op.From != op.To }

// Observed reports whether the directory knows that op has completed.
func (op *Operation) Observed() bool { return op.observed }

// Ref adds a user.
func (op *Operation) Ref() { op.refs++ }

// Unref removes a user, and reports whether it was the last.
func (op *Operation) Unref() (last bool) {
	op.refs--
	return op.refs == 0
}

// A relinquishment is the parts of a buffer that a space gave up.
type relinquishment struct {
	from  devices.SpaceID
	parts deps.Set
}

// FailsOnlyWith reports whether op cannot fail, and has not failed, because of a device other than
// that of s: it has completed, is a kernel in s or copies from the host alone.
func (op *Operation) FailsOnlyWith(s devices.SpaceID) bool {
	switch {
	case op.failed:
		return false
	case op.observed, op.From == s:
		return true
	case op.From != devices.Host:
		return false
	}
	for _, g := range op.After {
		if g.failed || !g.observed && g.From != s && (g.From != devices.Host || len(g.After) > 0) {
			return false
		}
	}
	return true
}

// relinquish notes that a space gives up a part of the region in favour of op.
func (op *Operation) relinquish(by devices.SpaceID, part deps.Region) {
	for i := range op.relinquished {
		if op.relinquished[i].from == by {
			op.relinquished[i].parts.Add(part)
			return
		}
	}
	op.relinquished = append(op.relinquished, relinquishment{from: by})
	op.relinquished[len(op.relinquished)-1].parts.Add(part)
}

// A Plan is what makes accesses valid: copies to issue, in this order, and operations to wait for.
// Several calls fill it, and it is reused.
type Plan struct {
	Copies []*Operation
	Wait   []*Operation // all whose completion makes the accesses valid, those of Copies included
}

// Reset empties p and keeps its memory.
func (p *Plan) Reset() {
	clear(p.Copies)
	clear(p.Wait)
	p.Copies, p.Wait = p.Copies[:0], p.Wait[:0]
}
