package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
)

// Go submits a task that runs body on a CPU worker, after the tasks submitted before that its accesses depend on. body
// may use what the accesses name, as they say, until it returns. What it returns, or panics with, is the task's error.
//
// A body may submit tasks, which are siblings of its own task, as if they had been submitted after it; it must not wait
// for them, nor for anything else that needs a worker. Options.Window must have room for what such bodies submit.
//
// Errors: about the accesses, the places and the tokens; nothing has been submitted then.
func (rt *Runtime) Go(body func() error, options ...Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	return rt.submitGo(goBody, body, nil, options)
}

// GoContext is Go for a body that wants to know when the runtime's context is done.
func (rt *Runtime) GoContext(body func(context.Context) error, options ...Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	return rt.submitGo(goBody, nil, body, options)
}

var errNoBody = errors.New("task: go: body is nil")

func (rt *Runtime) submitGo(kind bodyKind, body func() error, bodyCtx func(context.Context) error, options []Option) (Task, error) {
	r, err := rt.begin(kind)
	if err != nil {
		return Task{}, err
	}
	r.body, r.bodyCtx = body, bodyCtx
	if err := rt.describeGo(r, options); err != nil {
		return rt.giveUp(r, fmt.Errorf("task: %s: %w", r.name(), err))
	}
	return rt.commit(r), nil
}

// begin takes a record and the lock of submission; giveUp or commit gives the lock back.
func (rt *Runtime) begin(kind bodyKind) (*record, error) {
	if rt.closed.Load() {
		return nil, ErrClosed
	}
	if kind != waitBody && rt.ctx.Err() != nil {
		return nil, fmt.Errorf("task: submit: %w", context.Cause(rt.ctx))
	}
	rt.enterWindow()
	rt.submitting.Lock()
	if rt.closed.Load() {
		rt.submitting.Unlock()
		rt.fallen()
		return nil, ErrClosed
	}
	r := rt.free.get(rt)
	r.kind = kind
	return r, nil
}

func (rt *Runtime) giveUp(r *record, err error) (Task, error) {
	r.clear()
	rt.free.put(r)
	rt.submitting.Unlock()
	rt.fallen()
	return Task{}, err
}

// commit makes r a task: it gets its number and its predecessors, and starts if it has none.
func (rt *Runtime) commit(r *record) Task {
	rt.last++
	id := rt.last
	r.id.Store(uint64(id))
	if r.kind != waitBody {
		rt.submitted++
	}
	if rt.watched() {
		rt.observeSubmit(r, id)
	}
	ready := rt.graphAdd(r)
	rt.submitting.Unlock()
	if ready {
		var over, list recordList
		rt.becomesReady(r, nil, &over, &list)
		if over.head != nil {
			rt.retireUnscheduled(r)
		} else {
			rt.schedule(nil, &list, false)
		}
	}
	return Task{rt, r, id}
}

func (rt *Runtime) describeGo(r *record, options []Option) error {
	if err := rt.apply(r, options); err != nil {
		return err
	}
	if r.kind == waitBody {
		return nil
	}
	if rt.host < 0 {
		return fmt.Errorf("a go task needs CPU workers, and the devices are %s", rt.placeNames(rt.all))
	}
	allowed := sched.PlaceSet(0).With(rt.host)
	if r.settings.placed {
		if allowed &= r.settings.places; allowed == 0 {
			return fmt.Errorf("a go task runs on smp, and may run on %s only", rt.placeNames(r.settings.places))
		}
	}
	r.item.Name = r.name()
	return rt.sched.Prepare(&r.item, allowed, r.settings.tokens)
}

// apply reads the options into r.
func (rt *Runtime) apply(r *record, options []Option) error {
	for i := range options {
		if err := rt.applyOne(r, &options[i]); err != nil {
			return err
		}
	}
	return nil
}

func (rt *Runtime) applyOne(r *record, o *Option) error {
	switch o.what {
	case accessOption:
		return rt.addAccess(r, o)
	case labelOption:
		r.label = o.text
	case priorityOption:
		r.item.Priority = o.n
	case placeOption:
		places, err := rt.placesNamed(o.text)
		r.settings.places |= places
		r.settings.placed = true
		return err
	case tokenOption:
		return r.settings.setTokens(devices.Kind(o.text), o.n)
	}
	return nil
}

func (s *settings) setTokens(kind devices.Kind, n int) error {
	if n < 0 {
		return fmt.Errorf("resources: %s: %d tokens", kind, n)
	}
	for i := range s.tokens {
		if s.tokens[i].Kind == kind {
			s.tokens[i].Count = n
			return nil
		}
	}
	s.tokens = append(s.tokens, sched.Tokens{Kind: kind, Count: n})
	return nil
}

// placesNamed returns the places that a kind, "acc" or the name of a device stands for.
func (rt *Runtime) placesNamed(name string) (sched.PlaceSet, error) {
	var out sched.PlaceSet
	for p, place := range rt.places {
		if place.Name == name || string(place.Kind) == name || name == string(devices.Acc) && place.Kind != devices.SMP {
			out = out.With(sched.PlaceID(p))
		}
	}
	if out == 0 {
		return 0, fmt.Errorf("no device %q: the devices are %s", name, rt.placeNames(rt.all))
	}
	return out, nil
}

func (rt *Runtime) placeNames(set sched.PlaceSet) string {
	text := ""
	for p, place := range rt.places {
		if set.Has(sched.PlaceID(p)) {
			if text != "" {
				text += ", "
			}
			text += place.Name
		}
	}
	return text
}

// addAccess adds what o says to the accesses of r. An empty slice is no access.
func (rt *Runtime) addAccess(r *record, o *Option) error {
	if o.box != nil {
		return rt.addBox(r, o)
	}
	if o.memory.len == 0 {
		return nil
	}
	b, first, err := rt.buffers.locate(o.memory)
	if err != nil {
		return fmt.Errorf("%s: %w", o.mode, err)
	}
	r.addRegion(b, b.span(first, first+o.memory.len), o.mode)
	return nil
}

func (r *record) addRegion(b *buffer, region deps.Region, mode deps.Mode) {
	r.accesses = append(r.accesses, deps.Access{Region: region, Mode: mode})
	r.work += deps.Bytes(region.Len()) * b.elem
}

func (rt *Runtime) addBox(r *record, o *Option) error {
	if o.box.err != nil {
		return o.box.err
	}
	total := int64(1)
	for i, n := range o.box.shape {
		if n < 0 || o.box.hi[i] < o.box.lo[i] {
			return fmt.Errorf("%s: box of shape %v: dimension %d: [%d:%d] of %d", o.mode, o.box.shape, i, o.box.lo[i], o.box.hi[i], n)
		}
		if total *= n; total > o.memory.len {
			return fmt.Errorf("%s: box of shape %v: needs more than the %d elements of the slice", o.mode, o.box.shape, o.memory.len)
		}
	}
	if o.memory.len == 0 {
		return nil
	}
	b, first, err := rt.buffers.locate(o.memory)
	if err != nil {
		return fmt.Errorf("%s: %w", o.mode, err)
	}
	region, err := deps.Box(b.id, first, o.box.shape, o.box.lo, o.box.hi)
	if err != nil {
		return fmt.Errorf("%s: %w", o.mode, err)
	}
	if !region.Empty() {
		r.addRegion(b, region, o.mode)
	}
	return nil
}
