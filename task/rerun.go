package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file replays iterations whose steps are more than functions for CPU workers: kernels, on any
// device, tasks with children, and all iterations on a machine with accelerators. The iteration is
// a task without a body; its steps are submitted as children of it, as what was made of them when
// they were recorded, each behind the steps that it comes after by the recorded edges. From there
// on they are tasks as others are: the scheduler gives each a place, data are moved and kernels put
// behind each other on their devices.

// A graphReplay is one replay of such an iteration.
type graphReplay struct {
	it     *Iteration
	tasks  []Task          // the steps that were submitted
	within context.Context // of the groups
	refs   []deps.Ref      // the steps that were submitted, by number
	errs   []*Error        // of those that failed or were skipped; guarded by the submitting of the scope of the replay
	preds  []deps.Ref      // of the step that is being submitted
}

// A taskTemplate is a task with its arguments and clauses, as it is when it has been described and
// before it is submitted: a kernel, or a Go function with options other than accesses and a label.
type taskTemplate struct {
	stepBody
	given   []any // arguments, as they were given: Args among them are looked at again before a replay
	options []Option

	label        string
	pos          ir.Pos
	origin       uintptr
	args         []devices.Arg
	accesses     []deps.Access
	copyAccesses []deps.Access
	hold         *memory.Hold // of the buffers of args and accesses
	work         deps.Bytes
	places       sched.PlaceSet
	tokens       []sched.Tokens
	priority     int
	retries      int
	cost         hostCost
	uses         []reductionUse
	group        int32
	traits       life.Traits // of templateTraits
	stale        bool        // the arguments that it has now could not be had
}

// A stepBody is a kernel, or a Go function in one of two forms.
type stepBody struct {
	kernel *kernels.Kernel
	body   func() error
	nested func(*Scope) error
}

// templateTraits are the traits that a template keeps.
const templateTraits = life.Traits(life.OrderOnly | life.Relaxed | life.Undeferred | life.Final)

// A kernelArg is an Arg of any type, as an argument of a kernel.
type kernelArg interface {
	anyArg
	value() any
	changedSinceReplay() bool
}

// describeStep makes a step of a kernel and arguments.
func (rt *Runtime) describeStep(k *kernels.Kernel, given []any, options []Option) (*taskTemplate, error) {
	d := &taskTemplate{stepBody: stepBody{kernel: k}, given: given, options: options}
	args := slices.Clone(given)
	for i, x := range args {
		if a, ok := x.(kernelArg); ok {
			args[i] = a.value()
		}
	}
	if err := k.CheckArgs(args); err != nil {
		return nil, err
	}
	r, err := rt.root.begin(nil, kernelBody)
	if err != nil {
		return nil, err
	}
	r.kernel, r.pos, r.label = k, k.Pos, k.IR.Task.Label
	wait, err := rt.describeKernel(r, args, options)
	if err != nil {
		_, err = rt.root.abort(r, err)
		return d, err
	}
	return d, d.takeGrown(r, wait)
}

// describeGoStep makes a step of a Go function.
func (rt *Runtime) describeGoStep(body func() error, nested func(*Scope) error, options []Option) (*taskTemplate, error) {
	d := &taskTemplate{stepBody: stepBody{body: body, nested: nested}}
	r, err := rt.root.begin(nil, goBody)
	if err != nil {
		return nil, err
	}
	r.need()
	r.body, r.nested, r.label = body, nested, unlabelled
	if err = rt.describeGo(r, options); err == nil {
		return d, d.takeGrown(r, false)
	}
	_, err = rt.root.abort(r, err)
	return d, err
}

// takeGrown is take for a record of the program that was only described: it is given back. Buffers
// that have grown by that are merged.
func (d *taskTemplate) takeGrown(r *record, wait bool) error {
	var ready recordList
	s, rt := r.scope, r.rt
	if s.memory.Grew() {
		s.catchUp(r, &ready)
	}
	d.take(r, wait)
	_, err := s.abort(r, nil)
	rt.startAll(&ready)
	return err
}

func (d *taskTemplate) take(r *record, wait bool) {
	d.traits, d.uses = r.traits&templateTraits, slices.Clone(r.uses)
	if wait {
		d.traits.Set(life.Undeferred, true)
	}
	d.label, d.pos, d.origin, d.args = r.label, r.pos, r.origin, slices.Clone(r.args.List)
	d.accesses, d.copyAccesses = slices.Clone(r.accesses), slices.Clone(r.copyAccesses)
	d.work, d.priority, d.retries, d.cost = r.work, r.item.Priority, r.retries, r.cost
	if d.places = r.item.Allowed; r.traits.Is(life.Simple) {
		d.places = r.rt.topology.hostOnly()
	}
	d.tokens = slices.Clone(r.settings.tokens)
	serializeCommutative(d.accesses)
	d.hold = memory.NewHold()
	d.hold.AddArgs(&r.rt.buffers, d.args)
	for i := range d.accesses {
		if a := &d.accesses[i]; !a.Region.Empty() {
			d.hold.Add(&r.rt.buffers, r.rt.buffers.ByID(a.Region.Buffer))
		}
	}
}

// same reports whether o has the place in the graph that d has.
func (d *taskTemplate) same(o *taskTemplate) bool {
	return d.kernel == o.kernel && (d.nested == nil) == (o.nested == nil) && d.places == o.places && d.group == o.group && d.traits == o.traits && d.priority == o.priority && d.retries == o.retries && d.cost == o.cost &&
		slices.Equal(d.accesses, o.accesses) && slices.Equal(d.copyAccesses, o.copyAccesses) && slices.Equal(d.tokens, o.tokens) &&
		slices.EqualFunc(d.uses, o.uses, func(a, b reductionUse) bool { return a.access == b.access && a.param == b.param })
}

// shareReductions makes d, which is the same as o, take part in the reductions that o does.
func (d *taskTemplate) shareReductions(o *taskTemplate) {
	for i := range d.uses {
		d.uses[i].group = o.uses[i].group
	}
}

// takesArgs reports whether an Arg is among the arguments.
func (d *taskTemplate) takesArgs() bool {
	return slices.ContainsFunc(d.given, func(x any) bool { _, ok := x.(kernelArg); return ok })
}

// dynamic reports whether an Arg among the arguments has been set since the last replay.
func (d *taskTemplate) dynamic() bool {
	return d.stale || slices.ContainsFunc(d.given, func(x any) bool {
		a, ok := x.(kernelArg)
		return ok && a.changedSinceReplay()
	})
}

// rebind takes the values of Args that are arguments of kernels over. Where a step then accesses
// something else, the iteration is recorded again.
func (it *Iteration) rebind() error {
	var failed error
	for _, i := range it.dynamic {
		s := &it.steps[i]
		if !s.requested.dynamic() && cpucode.VariableChanged(&it.rt.buffers, s.requested.kernel, s.requested.args) == nil {
			continue
		}
		d, err := it.rt.describeStep(s.requested.kernel, s.requested.given, s.requested.options)
		if s.requested.stale = err != nil; err != nil {
			failed = fmt.Errorf("task: replay: step %d: %w", i, err)
			continue
		}
		d.group = s.requested.group
		if d.same(s.requested) {
			d.shareReductions(s.requested)
		} else {
			it.moved = true
		}
		s.requested = d
	}
	if failed != nil || !it.moved {
		return failed
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	it.moved = false
	r := &Recorder{rt: it.rt, it: it, old: it, at: len(it.steps), args: it.args, groups: it.groups}
	if r.restart(); r.err != nil {
		it.broken = &ChangedError{What: "a step accesses something else, with which it could not be recorded: " + r.err.Error()}
		return it.broken
	}
	r.finish(it)
	return nil
}

// submitSteps submits the steps of the iteration that r is, whose predecessors have finished.
func (rt *Runtime) submitSteps(r *record) {
	s := newScope(r)
	s.worker = smp.None
	s.pauses.Add(1) // it has no body
	r.inner = s
	w := r.graphReplay
	r.replayRun.begin()
	clear(w.errs)
	for i := range w.it.steps {
		if err := w.submit(s, int32(i)); err != nil {
			r.fail("", err)
			break
		}
	}
	s.end()
	if s.childFinished(holder) != nil {
		rt.complete(r)
	}
}

// submit submits one step.
func (w *graphReplay) submit(s *Scope, i int32) error {
	step := &w.it.steps[i]
	r, err := s.begin(s.group, step.kind())
	if err != nil {
		return err
	}
	r.need()
	r.graphReplay, r.step = w, i
	if step.group > 0 {
		r.group = w.it.groups[step.group-1]
	}
	switch {
	case step.template != nil:
		step.template.fill(r)
	case step.combines != nil:
		step.combines.fill(r, step)
	default:
		r.body, r.nested, r.label, r.origin = step.body, step.nested, step.label, step.origin
		r.accesses = append(r.accesses, step.accesses...)
		r.traits.Set(life.Relaxed, hasConcurrent(r))
		r.item.Allowed = w.it.rt.topology.hostOnly()
	}
	if err := w.it.rt.ready.prepareStep(r); err != nil {
		_, err = s.abort(r, err)
		return err
	}
	w.tasks[i] = s.commit(r)
	return nil
}

func (s *step) kind() bodyKind {
	switch {
	case s.combines != nil:
		return combineBody
	case s.template != nil && s.template.kernel != nil:
		return kernelBody
	}
	return goBody
}

// fill makes r the task that combines the copies of g.
func (g *reduction) fill(r *record, s *step) {
	r.label = s.label
	for _, a := range s.accesses {
		r.accesses = append(r.accesses, a)
		r.work += deps.Bytes(a.Region.Len()) * g.buffer.Elem
	}
	r.uses = append(r.uses, reductionUse{group: g})
	if !r.rt.topology.combinesUnscheduled() {
		r.item.Allowed = r.rt.topology.hostOnly()
	}
}

// dropCopies gives up the private copies of reductions whose combination was not submitted.
func (rt *Runtime) dropCopies(w *graphReplay) {
	for _, g := range w.it.reductions {
		if len(g.copies) > 0 {
			rt.dropPrivates(g)
		}
	}
}

func (d *taskTemplate) fill(r *record) {
	r.kernel, r.pos, r.origin, r.label, r.body, r.nested = d.kernel, d.pos, d.origin, d.label, d.body, d.nested
	for _, u := range d.uses {
		u.group = u.group.root()
		r.uses = append(r.uses, u)
	}
	r.args.List = append(r.args.List, d.args...)
	r.accesses, r.copyAccesses = append(r.accesses, d.accesses...), append(r.copyAccesses, d.copyAccesses...)
	r.traits |= d.traits &^ life.Traits(life.Undeferred)
	r.work, r.retries, r.cost = d.work, d.retries, d.cost
	r.item.Priority, r.item.Allowed = d.priority, d.places
	r.settings.tokens = append(r.settings.tokens, d.tokens...)
}

func (hq *readyQueues) prepareStep(r *record) error {
	if r.traits.Set(life.Simple, hq.isSimple(r)); r.traits.Is(life.Simple) || r.kind == combineBody && hq.topology.combinesUnscheduled() {
		return nil
	}
	if r.item.Name = r.name(); r.kernel != nil {
		r.item.Version = r.kernel.Name
	}
	return hq.sched.Prepare(&r.item, r.item.Allowed, r.settings.tokens)
}

// addStep is graphAdd for a step of an iteration: its predecessors are known.
func (rt *Runtime) addStep(r *record) (ready, start bool) {
	w, d, scope := r.graphReplay, r.scope.graph.domain, r.scope
	w.refs[r.step] = r.node.Ref()
	w.preds = w.preds[:0]
	for _, p := range w.it.before(r.step) {
		w.preds = append(w.preds, w.refs[p])
		if e := w.errs[p]; e != nil {
			r.poison.CompareAndSwap(nil, e)
		}
	}
	if rt.observers.recorder == nil || r.kind.waits() {
		return rt.settle(r, d, d.EnterAfter(&r.node, w.preds))
	}
	id := r.taskID() // unless it is ready, r may be over and gone from here on
	scope.unreported, scope.pendingAccesses = true, *r.declared()
	ready, start = rt.settle(r, d, d.EnterAfter(&r.node, w.preds))
	rt.observers.observeAccesses(scope, id, nil)
	return ready, start
}

// before returns the predecessors of a step.
func (it *Iteration) before(i int32) []int32 {
	return it.preds[it.steps[i].firstPred:it.steps[i].lastPred]
}

// isStep reports whether r is a step of an iteration that is replayed by this file.
func (r *record) isStep() bool { return r.graphReplay != nil && r.kind != replayBody }
