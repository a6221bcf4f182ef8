package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/sched"
)

// This file replays iterations whose steps are more than functions for CPU workers: kernels, on any device, tasks with children, and
// all iterations on a machine with accelerators. The iteration is a task without a body; its steps are submitted as children of it,
// as what was made of them when they were recorded, each behind the steps that it comes after by the recorded edges. From there on
// they are tasks as others are: the scheduler gives each a place, data are moved and kernels put behind each other on their devices.

// A rerun is one replay of such an iteration.
type rerun struct {
	it    *Iteration
	refs  []deps.Ref // the steps that were submitted, by number
	errs  []*Error   // of those that failed or were skipped; guarded by the submitting of the scope of the replay
	preds []deps.Ref // of the step that is being submitted
}

// A described is a kernel task with its arguments, as it is when it has been described and before it is submitted.
type described struct {
	kernel  *Kernel
	given   []any // arguments, as they were given: Args among them are looked at again before a replay
	options []Option

	label    string
	pos      ir.Pos
	args     []devices.Arg
	accesses []deps.Access
	moved    []deps.Access
	apart    bool
	relaxed  bool
	work     deps.Bytes
	places   sched.PlaceSet
	tokens   []sched.Tokens
	priority int
	retries  int
	stale    bool // the arguments that it has now could not be had
}

// An argSlot is an Arg of any type, as an argument of a kernel.
type argSlot interface {
	slot
	value() any
	fresh() bool
}

// describeStep makes a step of a kernel and arguments.
func (rt *Runtime) describeStep(k *Kernel, given []any, options []Option) (*described, error) {
	d := &described{kernel: k, given: slices.Clone(given), options: options}
	args := slices.Clone(given)
	for i, x := range args {
		if a, ok := x.(argSlot); ok {
			args[i] = a.value()
		}
	}
	if err := k.checkArgs(args); err != nil {
		return nil, err
	}
	r, err := rt.root.begin(nil, kernelBody)
	if err != nil {
		return nil, err
	}
	r.kernel, r.pos, r.label = k, k.pos, k.ir.Task.Label
	wait, err := rt.describeKernel(r, args, options)
	if err == nil {
		err = d.take(r, wait)
	}
	_, err = rt.root.giveUp(r, err) // it was only described
	return d, err
}

func (d *described) take(r *record, wait bool) error {
	if len(r.uses) > 0 || wait || r.now || r.final {
		return r.refused(fmt.Errorf("%w: reductions, if and final", ErrNotRecordable))
	}
	d.label, d.pos, d.args = r.label, r.pos, slices.Clone(r.args.List)
	d.accesses, d.moved, d.apart, d.relaxed = slices.Clone(r.accesses), slices.Clone(r.moved), r.apart, r.relaxed
	d.work, d.priority, d.retries = r.work, r.item.Priority, r.retries
	if d.places = r.item.Allowed; r.plain {
		d.places = r.rt.hostOnly()
	}
	d.tokens = slices.Clone(r.settings.tokens)
	for i := range d.accesses {
		if d.accesses[i].Mode == deps.Commutative {
			d.accesses[i].Mode = deps.InOut // in the recorded order, which is one of those allowed
		}
	}
	return nil
}

// same reports whether o has the place in the graph that d has.
func (d *described) same(o *described) bool {
	return d.kernel == o.kernel && d.places == o.places && d.priority == o.priority && d.retries == o.retries && d.apart == o.apart &&
		slices.Equal(d.accesses, o.accesses) && slices.Equal(d.moved, o.moved) && slices.Equal(d.tokens, o.tokens)
}

// dynamic reports whether an Arg among the arguments has been set since the last replay.
func (d *described) dynamic() bool {
	return d.stale || slices.ContainsFunc(d.given, func(x any) bool {
		a, ok := x.(argSlot)
		return ok && a.fresh()
	})
}

// rebind takes the values of Args that are arguments of kernels over. Where a step then accesses something else, the iteration is
// recorded anew.
func (it *Iteration) rebind() error {
	changed := false
	var failed error
	for i := range it.steps {
		s := &it.steps[i]
		if s.does == nil || !s.does.dynamic() {
			continue
		}
		d, err := it.rt.describeStep(s.does.kernel, s.does.given, s.does.options)
		if s.does.stale = err != nil; err != nil {
			failed = fmt.Errorf("task: replay: step %d: %w", i, err)
			continue
		}
		changed = changed || !s.does.same(d)
		s.does = d
	}
	if failed != nil || !changed {
		return failed
	}
	r := &Recorder{rt: it.rt, old: it, at: len(it.steps), args: it.args}
	if r.startOver(); r.err != nil {
		it.broken = &ChangedError{What: "a step accesses something else, with which it could not be recorded: " + r.err.Error()}
		return it.broken
	}
	r.finish(it)
	return nil
}

// submitSteps submits the steps of the iteration that r is, whose predecessors are over.
func (rt *Runtime) submitSteps(r *record) {
	s := newScope(r)
	s.worker = smp.None
	r.inner = s
	w := r.rerun
	clear(w.errs)
	for i := range w.it.steps {
		if err := w.submit(s, int32(i)); err != nil {
			r.fail("", err)
			break
		}
	}
	s.end()
	if s.childOver(holder) != nil {
		rt.complete(r)
	}
}

// submit submits one step.
func (w *rerun) submit(s *Scope, i int32) error {
	step := &w.it.steps[i]
	kind := goBody
	if step.does != nil {
		kind = kernelBody
	}
	r, err := s.begin(s.group, kind)
	if err != nil {
		return err
	}
	r.need()
	r.rerun, r.step = w, i
	if step.does != nil {
		step.does.fill(r)
	} else {
		r.body, r.nested, r.label = step.body, step.nested, step.label
		r.accesses = append(r.accesses, step.accesses...)
		r.relaxed = hasConcurrent(r)
		r.item.Allowed = w.it.rt.hostOnly()
	}
	if err := w.it.rt.prepareStep(r); err != nil {
		_, err = s.giveUp(r, err)
		return err
	}
	s.commit(r)
	return nil
}

func (d *described) fill(r *record) {
	r.kernel, r.pos, r.label = d.kernel, d.pos, d.label
	r.args.List = append(r.args.List, d.args...)
	r.accesses, r.moved = append(r.accesses, d.accesses...), append(r.moved, d.moved...)
	r.apart, r.relaxed, r.work, r.retries = d.apart, d.relaxed, d.work, d.retries
	r.item.Priority, r.item.Allowed = d.priority, d.places
	r.settings.tokens = append(r.settings.tokens, d.tokens...)
}

func (rt *Runtime) prepareStep(r *record) error {
	if r.plain = rt.isPlain(r); r.plain {
		return nil
	}
	if r.item.Name = r.name(); r.kernel != nil {
		r.item.Version = r.kernel.name
	}
	return rt.sched.Prepare(&r.item, r.item.Allowed, r.settings.tokens)
}

// addStep is graphAdd for a step of an iteration: its predecessors are known.
func (rt *Runtime) addStep(r *record) bool {
	w, d, home := r.rerun, r.home.graph.domain, r.home
	w.refs[r.step] = r.node.Ref()
	w.preds = w.preds[:0]
	for _, p := range w.it.before(r.step) {
		w.preds = append(w.preds, w.refs[p])
		if e := w.errs[p]; e != nil {
			r.poison.CompareAndSwap(nil, e)
		}
	}
	if rt.recorder == nil {
		return d.SubmitAfter(&r.node, w.preds)
	}
	id, kind := r.taskID(), r.kind // unless it is ready, r may be over and gone from here on
	ready := d.SubmitAfter(&r.node, w.preds)
	rt.observeWaits(home, id, kind)
	return ready
}

// before returns the predecessors of a step.
func (it *Iteration) before(i int32) []int32 {
	return it.preds[it.steps[i].firstPred:it.steps[i].lastPred]
}

// isStep reports whether r is a step of an iteration that is replayed by this file.
func (r *record) isStep() bool { return r.rerun != nil && r.kind != replayBody }
