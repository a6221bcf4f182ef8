package task

import (
	"fmt"
	"hash/maphash"

	"github.com/gompss/gompss/deps"
)

// CheckVariable is the environment variable that Options.Check is taken from: any value but "" and "0" turns it on.
const CheckVariable = "GOMPSS_CHECK"

// This file verifies that the bodies of Go tasks touch only what they declare, as far as sums over memory can tell. What a task
// declares as read must be the same after its body as before: no other task may write it meanwhile. With one CPU worker and
// no accelerator nothing else runs beside a body that cannot wait, so there what it does not declare of the buffers that it
// uses must be the same too; the program must not write them then while tasks are in flight.

// A ViolationError says that memory changed under a task which did not say that it would.
type ViolationError struct {
	Label  string
	Region deps.Region
	Mode   deps.Mode // as declared
	Index  int64     // of the first element that changed, in its buffer
	Stray  bool      // the region is in a buffer that the task uses, but not in its accesses
}

func (e *ViolationError) Error() string {
	if e.Stray {
		return fmt.Sprintf("check: %s wrote element %d of buffer %d, which it has not declared", e.Label, e.Index, e.Region.Buffer)
	}
	return fmt.Sprintf("check: element %d of %v changed while %s ran, which has declared it as %s: it wrote it, or another task did that has not declared it",
		e.Index, e.Region, e.Label, e.Mode)
}

// A watched is a region that must not change under a body, with a copy of what it held.
type watched struct {
	region deps.Region
	mode   deps.Mode
	stray  bool
	before []byte
	sum    uint64
}

// checkSeed is the seed of the sums: any will do, for the process that makes them.
var checkSeed = maphash.MakeSeed()

// watchBody copies what the body of r must leave as it is.
func (rt *Runtime) watchBody(r *record) (list []watched) {
	writes := map[deps.BufferID]*deps.Set{}
	for i := range r.node.Accesses() {
		a := r.node.Access(i)
		if a.Region.Empty() {
			continue
		}
		w := writes[a.Region.Buffer]
		if w == nil {
			w = &deps.Set{}
			writes[a.Region.Buffer] = w
		}
		if a.Mode.Writes() {
			w.Add(a.Region)
		}
	}
	for id, w := range writes {
		var rest deps.Set
		b := rt.buffers.byID(id)
		rest.Add(b.whole())
		for _, p := range w.Regions() {
			rest.Remove(p)
		}
		for i := range r.node.Accesses() {
			a := r.node.Access(i)
			if a.Region.Empty() || a.Region.Buffer != id || a.Mode.Writes() {
				continue
			}
			for _, p := range rest.Intersect(a.Region, nil) {
				list = append(list, watched{region: p, mode: a.Mode})
			}
			rest.Remove(a.Region)
		}
		for _, p := range rest.Regions() {
			if rt.accelerators || rt.workers.Len() > 1 || r.nested != nil {
				break
			}
			list = append(list, watched{region: p, stray: true})
		}
	}
	for i := range list {
		list[i].before = copyOut(rt.buffers.byID(list[i].region.Buffer), list[i].region)
		list[i].sum = maphash.Bytes(checkSeed, list[i].before)
	}
	return list
}

// violated returns what the body of r has changed of what it must leave as it is, nil for nothing.
func (rt *Runtime) violated(r *record, list []watched) error {
	for _, w := range list {
		b := rt.buffers.byID(w.region.Buffer)
		after := copyOut(b, w.region)
		if maphash.Bytes(checkSeed, after) == w.sum {
			continue
		}
		at := 0
		for at < len(after) && after[at] == w.before[at] {
			at++
		}
		return &ViolationError{Label: r.name(), Region: w.region, Mode: w.mode, Stray: w.stray, Index: elementAt(w.region, int64(at)/int64(b.elem))}
	}
	return nil
}

// elementAt returns element n of a region, counted along its runs, as an element of the buffer.
func elementAt(r deps.Region, n int64) int64 {
	for lo, hi := range r.Runs() {
		if n < hi-lo {
			return lo + n
		}
		n -= hi - lo
	}
	return -1
}

// checkBody is runBody with a look at what has changed under the body.
func (rt *Runtime) checkBody(r *record) {
	list := rt.watchBody(r)
	rt.runBody(r)
	if err := rt.violated(r, list); err != nil && r.err == nil {
		r.fail("smp", err)
	}
}
