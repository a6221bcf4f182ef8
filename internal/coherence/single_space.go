package coherence

import (
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// This file has the operations on kernels that concern a single space. They touch nothing that is
// kept of other spaces.

// PlanSingleSpace is Plan for all accesses of a kernel. It succeeds when nothing has to be copied
// and the kernel waits only for kernels in its own space; otherwise it reports false.
func (d *Directory) PlanSingleSpace(accesses []deps.Access, at devices.SpaceID, p *Plan) bool {
	for i := range accesses {
		a := &accesses[i]
		here := &d.buffers[a.Region.Buffer].replicas[at.Device]
		if a.Mode.Reads() && !here.valid.Contains(a.Region) {
			return false
		}
		p.Wait = overlapping(p.Wait, here.incoming, a.Region)
		if a.Mode.Writes() {
			p.Wait = overlapping(p.Wait, here.outgoing, a.Region)
		}
	}
	return !slices.ContainsFunc(p.Wait, (*Operation).IsCopy)
}

// BeginSingleSpace is Begin for data that are valid in space at alone.
func (d *Directory) BeginSingleSpace(a *deps.Access, at devices.SpaceID, e devices.Event, op *Operation) {
	b := d.buffers[a.Region.Buffer]
	op.Transfer, op.Event = devices.Transfer{Region: a.Region, Elem: b.elem, From: at, To: at}, e
	here := &b.replicas[at.Device]
	if !a.Mode.Writes() {
		here.addOutgoing(op)
		return
	}
	for _, g := range here.outgoing { // as in Commit
		for k := range g.relinquished {
			g.relinquished[k].parts.Remove(a.Region)
		}
	}
	if !here.valid.Contains(a.Region) {
		here.valid.Add(a.Region)
	}
	here.supersede(op)
	here.addIncoming(op)
}

// EndSingleSpace is End for a kernel that succeeded.
func (d *Directory) EndSingleSpace(op *Operation) {
	here := &d.buffers[op.Region.Buffer].replicas[op.To.Device]
	op.observed = true
	here.removeIncoming(op)
	here.removeOutgoing(op)
}
