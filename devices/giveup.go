package devices

import "github.com/gompss/gompss/deps"

// This file is how the directory gives up what a space has: by eviction, or because the device is lost.

// Evict says that an accelerator gives up r: what no other space has is copied to the host (p), and from now on r
// counts as not valid there. p.Wait are the flights that must land before its memory goes: if one of them fails, what
// it should have brought is valid there again. Nothing of r may be used there, nor be under way to or from there.
func (d *Directory) Evict(r deps.Region, at SpaceID, p *Plan) {
	e := d.buffers[r.Buffer]
	here := &e.at[at.Device]
	if here.valid.Empty() {
		return
	}
	var dirty deps.Set
	addAll(&dirty, here.valid.Intersect(r, nil))
	for i := range e.at {
		if i != int(at.Device) {
			d.sparing(&e.at[i], &dirty, r, at, p)
		}
	}
	d.abandon(e, &dirty)
	for _, piece := range dirty.Regions() {
		d.take(e, piece, at, Host, p).giveUp(at, piece)
	}
	here.valid.Remove(r)
}

// sparing takes out of dirty what another space has of r, or will have when flights have landed: those are waited for.
func (d *Directory) sparing(other *replicas, dirty *deps.Set, r deps.Region, at SpaceID, p *Plan) {
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
	for _, f := range other.in {
		pieces := has.Intersect(f.Region, nil)
		for _, piece := range pieces {
			f.giveUp(at, piece)
		}
		if len(pieces) > 0 {
			p.Wait = overlapping(p.Wait, []*Flight{f}, f.Region)
		}
	}
}

// abandon takes out of dirty what a task on the host is writing over: the value from before would be wanted again only
// if that task failed, and then what it has written counts, as it would in sequential execution.
func (d *Directory) abandon(e *entry, dirty *deps.Set) {
	if e.fresh.Empty() {
		return
	}
	for _, r := range dirty.Regions() {
		for _, piece := range e.fresh.Intersect(r, nil) {
			dirty.Remove(piece)
			e.at[Host.Device].valid.Add(piece)
		}
	}
}

// Lose says that a device is out of service: nothing is valid there any more. It returns what is lost by that.
func (d *Directory) Lose(at SpaceID, cause *DeviceError) []deps.Region {
	d.gone[at.Device] = cause
	var lost []deps.Region
	for _, e := range d.buffers {
		if e == nil || e.at[at.Device].valid.Empty() {
			continue
		}
		had := e.at[at.Device].valid.Regions()
		e.at[at.Device].valid = deps.Set{}
		e.from = int(at.Device) // also where a copy of it counts: it may not be made, and be heard of later
		for _, r := range had {
			for _, gone := range d.nowhere(e, r) {
				e.lost.Add(gone)
				lost = append(lost, gone)
			}
		}
	}
	return lost
}
