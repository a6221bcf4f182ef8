package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/engine"
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
//
// A replay starts before the one before it has finished, if nothing else delays it: its steps then
// come behind those steps of the one before that they conflict with. At most two replays have
// steps in flight. Args, groups and reductions are shared by all replays, so with these a replay
// waits for the one before.

// A graphReplay is one replay of such an iteration.
type graphReplay struct {
	it    *Iteration
	tasks []Task // the steps that were submitted
	steps engine.StepGraph
}

// A pipeline is what lets replays start before those before them have finished.
type pipeline struct {
	across [][]int32 // by step, its predecessors in the replay before; nil until it is needed
	// front has no predecessors left, its steps were submitted, and it has not finished; waiting are
	// the requested replays that have not started, in order. Both are guarded by runsMu.
	front   *replayRun
	waiting []*replayRun
}

// mayOverlap reports whether replays of it may have steps in flight at once.
func (it *Iteration) mayOverlap() bool {
	return it.tasks && len(it.args)+len(it.groups)+len(it.reductions) == 0
}

// findAcross finds the predecessors of the steps in the replay before.
func (l *recording) findAcross() [][]int32 {
	n := len(l.steps)
	across := make([][]int32, n)
	d := deps.Domain{Edges: func(succ deps.TaskID, preds []deps.TaskID) {
		for _, p := range preds {
			if i := int(succ) - 1 - n; i >= 0 && int(p) <= n {
				across[i] = append(across[i], int32(p-1))
			}
		}
	}}
	for range 2 {
		for i := range l.steps {
			d.Submit(&deps.Node{}, l.steps[i].accesses)
		}
	}
	last := -1
	for i := range l.steps {
		if l.steps[i].undeferred {
			last = i
		}
	}
	for i := range across {
		if last >= 0 && !slices.Contains(across[i], int32(last)) {
			across[i] = append(across[i], int32(last))
		}
	}
	return across
}

// advance starts the first replay that waits, if it waits for the front alone.
func (it *Iteration) advance() {
	it.runsMu.Lock()
	f := it.pipeline.front
	if f == nil || len(it.pipeline.waiting) == 0 {
		it.runsMu.Unlock()
		return
	}
	t := it.pipeline.waiting[0]
	held := f.task.Inner.Hold()
	it.runsMu.Unlock()
	if !held {
		return
	}
	inner, last := f.task.Inner, &f.graph.steps
	if !engine.StartBehind(t.task, f.task, func() { t.graph.steps.Last = last }) {
		engine.Unhold(inner)
	}
}

// leave takes t out of the replays that wait, if it is there.
func (o *pipeline) leave(t *replayRun) {
	if i := slices.Index(o.waiting, t); i >= 0 {
		o.waiting = slices.Delete(o.waiting, i, i+1)
	}
}

// Released implements replayTask.
func (t *replayRun) Released() {
	t.it.runsMu.Lock()
	t.released = true
	t.toFront()
	t.it.runsMu.Unlock()
	t.it.advance()
}

// toFront makes t the front, if its predecessors have finished and its steps were submitted.
// Requires: runsMu held.
func (t *replayRun) toFront() {
	if t.released && t.submitted {
		t.it.pipeline.front = t
	}
}

// resetGraph prepares t for the steps of its iteration.
func (t *replayRun) resetGraph() {
	w, n := &t.graph, len(t.it.steps)
	if len(w.tasks) != n {
		*w = graphReplay{it: t.it, tasks: make([]Task, n), steps: engine.StepGraph{Run: t, Before: t.it.before, Across: t.it.across,
			Refs: make([]deps.Ref, n), Errs: make([]*engine.Error, n)}}
	}
	w.steps.Last = nil
}

// across returns the predecessors of a step in the replay before.
func (it *Iteration) across(i int32) []int32 { return it.pipeline.across[i] }

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
	cost         engine.HostCost
	uses         []engine.ReductionUse
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
func describeStep(rt *engine.Runtime, k *kernels.Kernel, given []any, options []Option) (*taskTemplate, error) {
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
	r, err := rt.Root.Begin(nil, engine.KernelBody)
	if err != nil {
		return nil, err
	}
	r.Kernel, r.Pos, r.Label = k, k.Pos, k.IR.Task.Label
	wait, err := describeKernel(rt, r, args, options)
	if err != nil {
		_, err = rt.Root.Abort(r, err)
		return d, err
	}
	return d, d.takeGrown(r, wait)
}

// describeGoStep makes a step of a Go function.
func describeGoStep(rt *engine.Runtime, body func() error, nested func(*Scope) error, options []Option) (*taskTemplate, error) {
	d := &taskTemplate{stepBody: stepBody{body: body, nested: nested}}
	r, err := rt.Root.Begin(nil, engine.GoBody)
	if err != nil {
		return nil, err
	}
	r.Need()
	r.Body, r.Label = body, engine.Unlabelled
	setNested(r, nested)
	if err = describeGo(rt, r, options); err == nil && r.Traits.Is(life.Linked) {
		err = errWeakRecorded
	}
	if err == nil {
		return d, d.takeGrown(r, false)
	}
	_, err = rt.Root.Abort(r, err)
	return d, err
}

// takeGrown is take for a record of the program that was only described: it is given back. Buffers
// that have grown by that are merged.
func (d *taskTemplate) takeGrown(r *engine.Record, wait bool) error {
	var ready engine.RecordList
	s, rt := r.Scope, r.RT
	if s.Memory.Grew() {
		s.CatchUp(r, &ready)
	}
	d.take(r, wait)
	_, err := s.Abort(r, nil)
	engine.StartAll(rt, &ready)
	return err
}

func (d *taskTemplate) take(r *engine.Record, wait bool) {
	d.traits, d.uses = r.Traits&templateTraits, slices.Clone(r.Uses)
	if wait {
		d.traits.Set(life.Undeferred, true)
	}
	d.label, d.pos, d.origin, d.args = r.Label, r.Pos, r.Origin, slices.Clone(r.Args.List)
	d.accesses, d.copyAccesses = slices.Clone(r.Accesses), slices.Clone(r.CopyAccesses)
	d.work, d.priority, d.retries, d.cost = r.Work, r.Item.Priority, r.Retries, r.Cost
	if d.places = r.Item.Allowed; r.Traits.Is(life.Simple) {
		d.places = r.RT.Topology.HostOnly()
	}
	d.tokens = slices.Clone(r.Settings.Tokens)
	serializeCommutative(d.accesses)
	d.hold = memory.NewHold()
	d.hold.AddArgs(&r.RT.Buffers, d.args)
	for i := range d.accesses {
		if a := &d.accesses[i]; !a.Region.Empty() {
			d.hold.Add(&r.RT.Buffers, r.RT.Buffers.ByID(a.Region.Buffer))
		}
	}
}

// same reports whether o has the place in the graph that d has.
func (d *taskTemplate) same(o *taskTemplate) bool {
	return d.kernel == o.kernel && (d.nested == nil) == (o.nested == nil) && d.places == o.places && d.group == o.group && d.traits == o.traits && d.priority == o.priority && d.retries == o.retries && d.cost == o.cost &&
		slices.Equal(d.accesses, o.accesses) && slices.Equal(d.copyAccesses, o.copyAccesses) && slices.Equal(d.tokens, o.tokens) &&
		slices.EqualFunc(d.uses, o.uses, func(a, b engine.ReductionUse) bool { return a.Access == b.Access && a.Param == b.Param })
}

// shareReductions makes d, which is the same as o, take part in the reductions that o does.
func (d *taskTemplate) shareReductions(o *taskTemplate) {
	for i := range d.uses {
		d.uses[i].Group = o.uses[i].Group
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
// something else, the iteration is recorded again, as it is where a buffer of earlier values is
// gone.
func (it *Iteration) rebind(gone bool) error {
	var failed error
	for _, i := range it.dynamic {
		s := &it.steps[i]
		if !s.template.dynamic() && cpucode.VariableChanged(&it.rt.Buffers, s.template.kernel, s.template.args) == nil {
			continue
		}
		d, err := describeStep(it.rt, s.template.kernel, s.template.given, s.template.options)
		if s.template.stale = err != nil; err != nil {
			failed = fmt.Errorf("task: replay: step %d: %w", i, err)
			continue
		}
		d.group = s.template.group
		if d.same(s.template) {
			d.shareReductions(s.template)
		} else {
			it.moved = true
		}
		s.template = d
	}
	if failed == nil && gone {
		failed = it.usesGone()
		it.moved = true // the numbers of buffers that are gone may be those of others
	}
	if failed != nil || !it.moved {
		return failed
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	// Buffers of other steps may have grown with the new values.
	if err := it.followGrowth(); err != nil {
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

// Start implements replayTask.
func (t *replayRun) Start(r *engine.Record) {
	s, rt := engine.NewScope(r), r.RT
	s.Worker = smp.None
	s.Pauses.Add(1) // it has no body
	r.Inner = s
	w := &t.graph
	t.it.runsMu.Lock()
	t.it.pipeline.leave(t)
	t.it.runsMu.Unlock()
	t.begin()
	clear(w.steps.Errs)
	w.steps.Scope, w.steps.Number = s, t.number
	for i := range w.it.steps {
		if err := w.submit(s, int32(i)); err != nil {
			r.Fail("", err)
			break
		}
	}
	w.steps.Last = nil
	s.End()
	engine.EndUse(s)
	overlaps := t.it.mayOverlap()
	if overlaps {
		t.it.runsMu.Lock()
		t.submitted = true
		t.released = t.released || !r.Life.State().Early()
		t.toFront()
		t.it.runsMu.Unlock()
		t.it.advance()
	}
	if s.ChildFinished(engine.Holder) != nil {
		rt.Complete(r)
	}
}

// submit submits one step.
func (w *graphReplay) submit(s *engine.Scope, i int32) error {
	step, now := &w.it.steps[i], &w.it.current[i]
	r, err := s.Begin(s.Group, step.kind(now))
	if err != nil {
		return err
	}
	r.Need()
	r.Steps, r.Step = &w.steps, i
	if step.group > 0 {
		r.Group = w.it.groups[step.group-1]
	}
	switch {
	case now.template != nil:
		now.template.fill(r)
	case step.combines != nil:
		fillCombination(step.combines, r, step)
	default:
		r.Body, r.Label, r.Origin = now.body, now.label, now.origin
		setNested(r, now.nested)
		r.Accesses = append(r.Accesses, step.accesses...)
		r.Traits.Set(life.Relaxed, engine.HasConcurrent(r))
		r.Item.Allowed = w.it.rt.Topology.HostOnly()
	}
	if err := engine.PrepareStep(&w.it.rt.Ready, r); err != nil {
		_, err = s.Abort(r, err)
		return err
	}
	w.tasks[i] = Task{s.Commit(r)}
	return nil
}

// kind returns the kind of the task of s whose content is now.
func (s *step) kind(now *stepContent) engine.BodyKind {
	switch {
	case s.combines != nil:
		return engine.CombineBody
	case now.template != nil && now.template.kernel != nil:
		return engine.KernelBody
	}
	return engine.GoBody
}

// fillCombination makes r the task that combines the copies of g.
func fillCombination(g *engine.Reduction, r *engine.Record, s *step) {
	r.Label = s.label
	for _, a := range s.accesses {
		r.Accesses = append(r.Accesses, a)
		r.Work += deps.Bytes(a.Region.Len()) * g.Buffer.Elem
	}
	r.Uses = append(r.Uses, engine.ReductionUse{Group: g})
	if !r.RT.Topology.CombinesUnscheduled() {
		r.Item.Allowed = r.RT.Topology.HostOnly()
	}
}

// Close implements replayTask. It gives up the private copies of reductions whose combination was
// not submitted.
func (t *replayRun) Close() {
	for _, g := range t.it.reductions {
		if len(g.Copies) > 0 {
			t.it.rt.DropPrivates(g)
		}
	}
	t.it.runsMu.Lock()
	if t.it.pipeline.front == t {
		t.it.pipeline.front = nil
	}
	t.it.runsMu.Unlock()
	t.end()
}

func (d *taskTemplate) fill(r *engine.Record) {
	r.Kernel, r.Pos, r.Origin, r.Label, r.Body = d.kernel, d.pos, d.origin, d.label, d.body
	setNested(r, d.nested)
	for _, u := range d.uses {
		u.Group = u.Group.Root()
		r.Uses = append(r.Uses, u)
	}
	r.Args.List = append(r.Args.List, d.args...)
	r.Accesses, r.CopyAccesses = append(r.Accesses, d.accesses...), append(r.CopyAccesses, d.copyAccesses...)
	r.Traits |= d.traits &^ life.Traits(life.Undeferred)
	r.Work, r.Retries, r.Cost = d.work, d.retries, d.cost
	r.Item.Priority, r.Item.Allowed = d.priority, d.places
	r.Settings.Tokens = append(r.Settings.Tokens, d.tokens...)
}

// before returns the predecessors of a step.
func (it *Iteration) before(i int32) []int32 {
	return it.preds[it.steps[i].firstPred:it.steps[i].lastPred]
}
