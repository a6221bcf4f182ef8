package coherence

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// This file has the two ways in which a space stops having data: eviction and the loss of its
// device.

// Evict makes r invalid at an accelerator. What no other space has is copied to the host, in p.
//
// p.Wait are the operations that must complete before the memory is unmapped: if one of them fails,
// what it should have brought is valid at the accelerator again. Requires: nothing of r is in use
// or being copied there.
func (d *Directory) Evict(r deps.Region, at devices.SpaceID, p *Plan) {
	e := d.buffers[r.Buffer]
	here := &e.replicas[at.Device]
	if here.valid.Empty() {
		return
	}
	var dirty deps.Set
	addAll(&dirty, here.valid.Intersect(r, nil))
	for i := range e.replicas {
		if i != int(at.Device) {
			d.excludeReplica(&e.replicas[i], &dirty, r, at, p)
		}
	}
	d.excludeHostWrites(e, &dirty)
	for _, piece := range dirty.Regions() {
		d.planCopy(e, piece, at, devices.Host, p).relinquish(at, piece)
	}
	here.valid.Remove(r)
}

// excludeReplica removes from dirty what another space has of r, or will have when pending copies
// have completed; p waits for those.
func (d *Directory) excludeReplica(other *replica, dirty *deps.Set, r deps.Region, at devices.SpaceID, p *Plan) {
	if other.valid.Empty() {
		return
	}
	var has deps.Set
	for _, part := range other.valid.Intersect(r, nil) {
		for _, piece := range dirty.Intersect(part, nil) {
			has.Add(piece)
		}
	}
	removeAll(dirty, has.Regions())
	for _, op := range other.incoming {
		pieces := has.Intersect(op.Region, nil)
		for _, piece := range pieces {
			op.relinquish(at, piece)
		}
		if len(pieces) > 0 {
			p.Wait = overlapping(p.Wait, []*Operation{op}, op.Region)
		}
	}
}

// excludeHostWrites removes from dirty what a task on the host is overwriting. The earlier value
// would be wanted only if that task failed, and then what it has written counts, as in sequential
// execution.
func (d *Directory) excludeHostWrites(e *entry, dirty *deps.Set) {
	if e.hostWrites.Empty() {
		return
	}
	for _, r := range dirty.Regions() {
		for _, piece := range e.hostWrites.Intersect(r, nil) {
			dirty.Remove(piece)
			e.replicas[devices.Host.Device].valid.Add(piece)
		}
	}
}

// MarkLost takes a space out of service: nothing is valid there any more. It returns the regions
// that are lost by that.
func (d *Directory) MarkLost(at devices.SpaceID, cause *devices.DeviceError) []deps.Region {
	d.lostCause[at.Device] = cause
	var lost []deps.Region
	for _, e := range d.buffers {
		if e == nil || e.replicas[at.Device].valid.Empty() {
			continue
		}
		had := e.replicas[at.Device].valid.Regions()
		e.replicas[at.Device].valid = deps.Set{}
		e.lostBy = int(at.Device) // also where a pending copy of it counts: that may still fail
		for _, r := range had {
			for _, gone := range d.validNowhere(e, r) {
				e.lost.Add(gone)
				lost = append(lost, gone)
			}
		}
	}
	return lost
}
