package coherence

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A Directory records, for every buffer, which elements are valid in which address space, and which
// operations are pending.
//
// It plans copies; its caller issues them and calls Complete. The destination of a copy counts as
// valid from the time at which the copy is planned. Invariant: every element is valid in at least
// one space, or lost.
type Directory struct {
	spaces    int
	reaches   func(from, to devices.SpaceID) bool
	buffers   []*entry
	lostCause []*devices.DeviceError // by space: the reason why its contents are lost
}

// An entry describes one buffer.
type entry struct {
	id       deps.BufferID
	elem     deps.Bytes
	whole    deps.Region
	replicas []replica // by space
	lost     deps.Set
	lostBy   int // the space that lost data last
	// hostWrites are the elements that tasks on the host write and that were not valid there
	// before: no copy may overwrite them.
	hostWrites deps.Set
}

// A replica is the copy of one buffer in one address space.
type replica struct {
	valid    deps.Set
	incoming []*Operation // pending copies to here, and kernels that write here
	outgoing []*Operation // pending copies from here, and kernels that read here
}

// NewDirectory returns a directory with the host as its only space. reaches reports whether data
// can be copied directly from one space to another. If not, copies go through the host, which
// exchanges data with all spaces.
func NewDirectory(reaches func(from, to devices.SpaceID) bool) *Directory {
	return &Directory{spaces: 1, reaches: reaches, lostCause: make([]*devices.DeviceError, 1)}
}

// AddSpace adds an address space with the next SpaceID.Device.
// Requires: no buffer was added.
func (d *Directory) AddSpace() {
	d.spaces++
	d.lostCause = append(d.lostCause, nil)
}

// Add adds a buffer with elems elements of elem bytes each, valid on the host only.
func (d *Directory) Add(b deps.BufferID, elems int64, elem deps.Bytes) {
	for int(b) >= len(d.buffers) {
		d.buffers = append(d.buffers, nil)
	}
	e := &entry{id: b, elem: elem, whole: deps.Interval(b, 0, elems), replicas: make([]replica, d.spaces)}
	if elems > 0 {
		e.replicas[0].valid.Add(e.whole)
	}
	d.buffers[b] = e
}

// Drop removes a buffer.
// Requires: no copy of it is pending.
func (d *Directory) Drop(b deps.BufferID) {
	if d.HasPendingCopies(b) {
		panic(fmt.Sprintf("gompss: bug: coherence: buffer %d is dropped while copies of it are under way", b))
	}
	d.buffers[b] = nil
}

// HasPendingCopies reports whether operations on a buffer are pending.
func (d *Directory) HasPendingCopies(b deps.BufferID) bool {
	for i := range d.buffers[b].replicas {
		if len(d.buffers[b].replicas[i].incoming) > 0 {
			return true
		}
	}
	return false
}

// Missing returns the number of bytes to copy to make access a valid in a space.
// Cost: O(replicas that overlap).
func (d *Directory) Missing(a deps.Access, to devices.SpaceID) deps.Bytes {
	if !a.Mode.Reads() {
		return 0
	}
	e := d.buffers[a.Region.Buffer]
	return deps.Bytes(a.Region.Len()-e.replicas[to.Device].valid.Count(a.Region)) * e.elem
}

// Valid reports whether a whole region is valid in a space, including pending copies.
func (d *Directory) Valid(r deps.Region, at devices.SpaceID) bool {
	return d.buffers[r.Buffer].replicas[at.Device].valid.Contains(r)
}

// OnlyOnHost reports whether a whole buffer is valid on the host, no part of it is valid elsewhere,
// and no operation is pending.
func (d *Directory) OnlyOnHost(b deps.BufferID) bool {
	e := d.buffers[b]
	for i := range e.replicas {
		at := &e.replicas[i]
		if len(at.incoming) > 0 || len(at.outgoing) > 0 || i > 0 && !at.valid.Empty() {
			return false
		}
	}
	return e.lost.Empty()
}

// Plan adds to p the copies that make access a valid in space to, for a task that will run there.
//
// Data that are only written are not copied; the plan waits for pending operations on the same
// elements. Each copy is planned once: a second Plan refers to those of the first.
//
// Cost: O(replicas and operations that overlap); no allocation if the region is already valid.
// Errors: *devices.LostError; copies of the other data are planned nevertheless.
func (d *Directory) Plan(a deps.Access, to devices.SpaceID, p *Plan) (err error) {
	e := d.buffers[a.Region.Buffer]
	here := &e.replicas[to.Device]
	if a.Mode.Reads() && !here.valid.Contains(a.Region) {
		err = d.planFetch(e, a.Region, to, p)
	}
	if !a.Mode.Reads() && to == devices.Host {
		e.hostWrites.Add(a.Region)
	}
	p.Wait = overlapping(p.Wait, here.incoming, a.Region)
	if a.Mode.Writes() {
		p.Wait = overlapping(p.Wait, here.outgoing, a.Region)
	}
	return err
}

// EndAccess records that a task for which Plan was called has finished. It precedes Commit or
// Invalidate.
func (d *Directory) EndAccess(a deps.Access, at devices.SpaceID) {
	if !a.Mode.Reads() && at == devices.Host {
		d.buffers[a.Region.Buffer].hostWrites.Remove(a.Region)
	}
}

// overlapping appends to list the elements of ops that overlap with r and are not in list.
func overlapping(list, ops []*Operation, r deps.Region) []*Operation {
next:
	for _, op := range ops {
		if !op.Region.Overlaps(r) {
			continue
		}
		for _, g := range list {
			if g == op {
				continue next
			}
		}
		list = append(list, op)
	}
	return list
}

// planFetch plans the copies of the parts of r that are missing in space to.
func (d *Directory) planFetch(e *entry, r deps.Region, to devices.SpaceID, p *Plan) error {
	var missing deps.Set
	missing.Add(r)
	removeAll(&missing, e.replicas[to.Device].valid.Intersect(r, nil))
	err := d.excludeLost(e, &missing)
	for _, completed := range []bool{true, false} {
		for _, from := range d.sources(to) {
			if missing.Empty() {
				return err
			}
			d.planFrom(e, &missing, from, to, completed, p)
		}
	}
	d.planThroughHost(e, &missing, to, p)
	if !missing.Empty() {
		panic(fmt.Sprintf("gompss: bug: coherence: %v is valid nowhere", r))
	}
	return err
}

// excludeLost removes lost data from missing.
// Errors: *devices.LostError.
func (d *Directory) excludeLost(e *entry, missing *deps.Set) (err error) {
	if e.lost.Empty() {
		return nil
	}
	for _, r := range missing.Regions() {
		for _, gone := range e.lost.Intersect(r, nil) {
			missing.Remove(gone)
			if err == nil {
				cause := d.lostCause[e.lostBy]
				err = &devices.LostError{Device: cause.Device, Region: gone, Cause: cause}
			}
		}
	}
	return err
}

// sources returns the spaces that reach to, in order of preference: other accelerators, whose links
// are faster and leave the host's link free, then the host. It starts with the accelerator before
// to, so that a buffer that all devices need does not come from a single device.
func (d *Directory) sources(to devices.SpaceID) []devices.SpaceID {
	out := make([]devices.SpaceID, 0, d.spaces)
	for i := 1; i < d.spaces && to != devices.Host; i++ {
		n := (int(to.Device)-1-i+d.spaces-1)%(d.spaces-1) + 1
		from := devices.SpaceID{Node: to.Node, Device: uint16(n)}
		if from != to && d.reaches(from, to) {
			out = append(out, from)
		}
	}
	if to != devices.Host {
		return append(out, devices.Host)
	}
	for n := 1; n < d.spaces; n++ {
		out = append(out, devices.SpaceID{Device: uint16(n)})
	}
	return out
}

// planFrom plans copies of the parts of missing that are valid in space from, and removes them from
// missing. If completed is set, pending copies to from do not count.
func (d *Directory) planFrom(e *entry, missing *deps.Set, from, to devices.SpaceID, completed bool, p *Plan) {
	source := &e.replicas[from.Device]
	if source.valid.Empty() {
		return
	}
	var found deps.Set
	for _, r := range missing.Regions() {
		for _, piece := range source.valid.Intersect(r, nil) {
			found.Add(piece)
		}
	}
	if completed {
		for _, op := range source.incoming {
			found.Remove(op.Region)
		}
	}
	for _, piece := range found.Regions() {
		missing.Remove(piece)
		d.planCopy(e, piece, from, to, p)
	}
}

// planThroughHost plans copies through the host for parts that are in no space that reaches to.
func (d *Directory) planThroughHost(e *entry, missing *deps.Set, to devices.SpaceID, p *Plan) {
	for n := 1; n < d.spaces && !missing.Empty(); n++ {
		from := devices.SpaceID{Node: to.Node, Device: uint16(n)}
		var found deps.Set
		for _, r := range missing.Regions() {
			for _, piece := range e.replicas[n].valid.Intersect(r, nil) {
				found.Add(piece)
			}
		}
		for _, piece := range found.Regions() {
			missing.Remove(piece)
			d.planCopy(e, piece, from, devices.Host, p)
			d.planCopy(e, piece, devices.Host, to, p)
		}
	}
}

// planCopy plans one copy. It follows the copies of the piece to its source, and the operations on
// the same elements at its destination.
func (d *Directory) planCopy(e *entry, piece deps.Region, from, to devices.SpaceID, p *Plan) *Operation {
	op := &Operation{Transfer: devices.Transfer{Region: piece, Elem: e.elem, From: from, To: to}}
	source, end := &e.replicas[from.Device], &e.replicas[to.Device]
	op.After = overlapping(op.After, source.incoming, piece)
	op.After = overlapping(op.After, end.incoming, piece)
	op.After = overlapping(op.After, end.outgoing, piece)
	for _, g := range op.After {
		g.refs++
	}
	source.addOutgoing(op)
	end.addIncoming(op)
	end.valid.Add(piece)
	p.Copies = append(p.Copies, op)
	p.Wait = append(p.Wait, op)
	return op
}

// Complete ends a copy. If the copy failed, its data are not valid at the destination. Data that
// the source had relinquished are valid there again, or lost with the source.
//
// Copies may complete in any order.
func (d *Directory) Complete(op *Operation, made bool) {
	e := d.buffers[op.Region.Buffer]
	source, end := &e.replicas[op.From.Device], &e.replicas[op.To.Device]
	op.observed, op.failed = true, !made
	if op.inIndex == 0 || op.outIndex == 0 {
		panic("gompss: bug: coherence: a copy completes twice")
	}
	source.removeOutgoing(op)
	end.removeIncoming(op)
	var brought []deps.Region
	if !made {
		brought = end.ownParts(op)
	}
	for _, g := range op.After {
		g.refs--
	}
	op.After = nil
	if made {
		return
	}
	removeAll(&end.valid, brought)
	if d.lostCause[op.From.Device] != nil {
		e.lostBy = int(op.From.Device)
	}
	for i := range op.relinquished {
		by := op.relinquished[i].from.Device
		switch {
		case d.lostCause[by] == nil:
			stayed := op.relinquished[i].parts.Regions()
			addAll(&e.replicas[by].valid, stayed)
			if by == op.From.Device {
				op.retained = stayed
			}
		case !op.relinquished[i].parts.Empty(): // lost with that space, although the copy came from another one
			e.lostBy = int(by)
		}
	}
	addAll(&e.lost, d.validNowhere(e, op.Region))
}

// ownParts returns the parts of a failed copy that no running task writes and no later copy
// transfers; for the other parts, that task or copy counts. It omits parts that were returned to a
// space where they were still valid, because the copy from there had failed before.
func (p *replica) ownParts(op *Operation) []deps.Region {
	var rest deps.Set
	rest.Add(op.Region)
	for _, g := range p.incoming {
		if g.From == g.To || slices.Contains(g.After, op) {
			rest.Remove(g.Region)
		}
	}
	for _, g := range op.After {
		if g.failed && g.From == op.To {
			removeAll(&rest, g.retained)
		}
	}
	return rest.Regions()
}

// validNowhere returns the parts of r that are neither valid in a space nor known to be lost.
func (d *Directory) validNowhere(e *entry, r deps.Region) []deps.Region {
	var rest deps.Set
	rest.Add(r)
	for i := range e.replicas {
		removeAll(&rest, e.replicas[i].valid.Intersect(r, nil))
	}
	removeAll(&rest, e.lost.Intersect(r, nil))
	return rest.Regions()
}

// Commit records that a task has written all of r in a space: it is valid only there, or lost if
// the space was lost meanwhile.
func (d *Directory) Commit(r deps.Region, at devices.SpaceID) {
	e := d.buffers[r.Buffer]
	for i := range e.replicas {
		if i != int(at.Device) && !e.replicas[i].valid.Empty() {
			e.replicas[i].valid.Remove(r)
		}
		for _, op := range e.replicas[i].outgoing {
			for k := range op.relinquished {
				op.relinquished[k].parts.Remove(r)
			}
		}
	}
	if d.lostCause[at.Device] != nil {
		e.lost.Add(r)
		e.lostBy = int(at.Device)
		return
	}
	if here := &e.replicas[at.Device].valid; !here.Contains(r) {
		here.Add(r)
	}
	if !e.lost.Empty() {
		e.lost.Remove(r)
	}
}

// Begin records that a task with access a runs in a space until event e. The data that it writes
// count as valid only there, and later users there wait for op, as for a copy. The caller must call
// End.
//
// Begin records the data that the host relinquishes: if the task fails, they are valid on the host
// again, except for data that pending copies to the host do not deliver. Later operations need not
// wait for kernels that op follows and covers.
// Cost: O(operations there that overlap).
// Requires: op is new, except for its users.
func (d *Directory) Begin(a *deps.Access, at devices.SpaceID, e devices.Event, op *Operation) {
	b := d.buffers[a.Region.Buffer]
	op.Transfer, op.Event = devices.Transfer{Region: a.Region, Elem: b.elem, From: at, To: at}, e
	here := &b.replicas[at.Device]
	if !a.Mode.Writes() {
		here.addOutgoing(op)
		return
	}
	if host := &b.replicas[devices.Host.Device].valid; !host.Empty() {
		for _, piece := range host.Intersect(a.Region, nil) {
			op.relinquish(devices.Host, piece)
		}
		op.inbound = overlapping(op.inbound, b.replicas[devices.Host.Device].incoming, a.Region)
	}
	d.Commit(a.Region, at)
	here.supersede(op)
	here.addIncoming(op)
}

// End ends a kernel for which Begin was called.
func (d *Directory) End(a deps.Access, op *Operation, made bool) {
	b := d.buffers[a.Region.Buffer]
	here := &b.replicas[op.To.Device]
	op.observed = true
	if !a.Mode.Writes() {
		here.removeOutgoing(op)
		return
	}
	here.removeIncoming(op)
	if made {
		return
	}
	for i := range op.relinquished {
		if by := op.relinquished[i].from.Device; d.lostCause[by] == nil {
			for _, g := range op.inbound { // copies to the host, the only space that relinquishes data to a kernel
				switch {
				case g.failed:
					if g.From == op.To {
						g.retained = append(g.retained, op.relinquished[i].parts.Intersect(g.Region, nil)...)
					}
					op.relinquished[i].parts.Remove(g.Region)
				case !g.observed && g.From == op.To: // the source of that copy may still have valid data
					for _, piece := range op.relinquished[i].parts.Intersect(g.Region, nil) {
						g.relinquish(g.From, piece)
					}
				}
			}
			parts := op.relinquished[i].parts.Regions()
			addAll(&b.replicas[by].valid, parts)
			removeAll(&b.lost, parts)
		}
	}
	d.Invalidate(a.Region, op.To)
}

// Invalidate records that a task that writes r in a space has failed. Parts with an older value in
// another space are no longer valid in this one. Parts that only this space has remain, as in
// sequential execution.
func (d *Directory) Invalidate(r deps.Region, at devices.SpaceID) {
	e := d.buffers[r.Buffer]
	for i := range e.replicas {
		if i != int(at.Device) && !e.replicas[i].valid.Empty() {
			removeAll(&e.replicas[at.Device].valid, e.replicas[i].valid.Intersect(r, nil))
		}
	}
}

// ValidElsewhere reports whether all of r is valid in a space other than at, without pending
// copies.
func (d *Directory) ValidElsewhere(r deps.Region, at devices.SpaceID) bool {
	e := d.buffers[r.Buffer]
	for i := range e.replicas {
		if i == int(at.Device) || d.lostCause[i] != nil || !e.replicas[i].valid.Contains(r) {
			continue
		}
		if len(overlapping(nil, e.replicas[i].incoming, r)) == 0 {
			return true
		}
	}
	return false
}

func addAll(s *deps.Set, regions []deps.Region) {
	for _, r := range regions {
		s.Add(r)
	}
}

func removeAll(s *deps.Set, regions []deps.Region) {
	for _, r := range regions {
		s.Remove(r)
	}
}

// Leak describes an operation that has not ended; it returns "" if there is none. Callers expect
// none, as no operation is in flight then.
func (d *Directory) Leak() string {
	for b, e := range d.buffers {
		for s := 0; e != nil && s < len(e.replicas); s++ {
			if len(e.replicas[s].incoming)+len(e.replicas[s].outgoing) > 0 {
				return fmt.Sprintf("buffer %d has pending operations at space %d", b, s)
			}
		}
	}
	return ""
}
