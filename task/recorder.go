package task

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// A Recorder takes the tasks of an iteration. Nothing runs while it does. It is a Submitter: a
// kernel, or a function that was generated for one, submits to it as to a Runtime, and so do
// Taskloop, ParallelFor, GoValue and the tasks of a Group; the Task that they return is no task.
type Recorder struct {
	rt       *engine.Runtime
	it       *Iteration
	scope    *engine.Scope // that stands for it
	old      *Iteration    // what is compared with, nil from the first difference on
	at       int           // steps so far that were as in old
	args     []anyArg      // that were made
	used     []anyArg      // others that steps have
	groups   []*engine.Group
	fresh    recording // where nothing is compared
	edges    [][2]int32
	graph    *deps.Domain
	spare    spare
	open     []*engine.Reduction // that more steps may join
	merged   int64               // Scope.merged of the program, as of the latest step
	after    int32               // 1 + the step that all later ones come after; 0 where there is none
	finished bool
	err      error
}

// recorderOf returns the recorder of what is submitted to s, nil where that is not recorded.
func recorderOf(s *engine.Scope) *Recorder {
	r, _ := s.Recorder.(*Recorder)
	return r
}

func (r *Recorder) collect(build func(*Recorder) error) error {
	if build == nil {
		return errNoBuild
	}
	if r.it.origin == 0 {
		r.it.origin = reflect.ValueOf(build).Pointer()
	}
	if err := build(r); err != nil {
		return err
	}
	return r.err
}

var errNoBuild = errors.New("task: record: build is nil")

// Go records a task that runs body: see Runtime.Go.
func (r *Recorder) Go(body func() error, options ...Option) error {
	if body == nil {
		return r.fail(errNoBody)
	}
	return r.goStep(body, nil, nil, options, false)
}

// GoScope records a task that runs body, which may submit tasks of its own: see Runtime.GoScope.
func (r *Recorder) GoScope(body func(*Scope) error, options ...Option) error {
	if body == nil {
		return r.fail(errNoBody)
	}
	return r.goStep(nil, body, nil, options, false)
}

func (r *Recorder) submitter() (*engine.Scope, *engine.Group) {
	if r.scope == nil {
		r.scope = &engine.Scope{RT: r.rt, Recorder: r}
	}
	return r.scope, nil
}

// fail makes the recording fail, if it has not yet.
func (r *Recorder) fail(err error) error {
	if r.err == nil {
		r.err = err
	}
	return r.err
}

// stepError is fail for the step that comes next.
func (r *Recorder) stepError(err error) error {
	return r.fail(fmt.Errorf("task: record: step %d: %w", r.at+len(r.fresh.steps), err))
}

// check returns why no step can be added.
func (r *Recorder) check() error {
	if r.finished {
		return engine.ErrRecorderFinished
	}
	return r.err
}

// goStep records a task that runs body, or nested with a scope. With value the program uses the
// handle of the task.
func (r *Recorder) goStep(body func() error, nested func(*Scope) error, g *engine.Group, options []Option, value bool) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.rt.Topology.Host < 0 {
		return r.stepError(errors.New("a go task needs CPU workers"))
	}
	if g != nil || value || !needsNoTask(options) {
		d, err := describeGoStep(r.rt, body, nested, options)
		if err != nil {
			return r.stepError(err)
		}
		return r.take(d, g)
	}
	if r.old != nil {
		if s := r.expected(); s != nil && r.sameAsBefore(s, nested != nil, options) {
			s.body, s.nested = body, nested
			r.at++
			return nil
		}
		r.restart()
	}
	return r.record(body, nested, options)
}

// latest returns the index of the step that was recorded last.
func (r *Recorder) latest() int {
	if r.old != nil {
		return r.at - 1
	}
	return len(r.fresh.steps) - 1
}

// needsNoTask reports whether a step with such options may be one that does not become a task.
func needsNoTask(options []Option) bool {
	for i := range options {
		switch o := &options[i]; o.what() {
		case untiedOption, labelOption, ifOption, originOption:
		case finalOption:
			if o.n != 0 {
				return false
			}
		case accessOption, specialOption:
			if o.mode() == deps.Reduction || o.weak() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// kernelStep records a task that runs a kernel.
func (r *Recorder) kernelStep(k *Kernel, g *engine.Group, args []any, options []Option) error {
	if err := r.check(); err != nil {
		return err
	}
	own := make([]any, len(args)) // slices.Clone would have args of every Submit allocated
	for i, x := range args {
		if a, ok := x.(anyArg); ok {
			x = a.in(r)
		}
		own[i] = x
	}
	d, err := describeStep(r.rt, k.description, own, options)
	if err != nil {
		return r.stepError(err)
	}
	return r.take(d, g)
}

// take records a task that was described.
func (r *Recorder) take(d *taskTemplate, g *engine.Group) error {
	if g != nil {
		d.group = g.Index
	}
	if r.old != nil {
		if s := r.expected(); s != nil && s.template != nil && s.template.same(d) {
			d.shareReductions(s.template)
			s.template = d
			r.at++
			return nil
		}
		r.restart()
	}
	return r.addDescribed(d)
}

// expected returns the step of the old iteration that comes next, nil at the end. Steps that the
// program did not submit itself are left out: they follow from the others.
func (r *Recorder) expected() *step {
	for r.at < len(r.old.steps) && r.old.steps[r.at].combines != nil {
		r.at++
	}
	if r.at == len(r.old.steps) {
		return nil
	}
	return &r.old.steps[r.at]
}

func (r *Recorder) addDescribed(d *taskTemplate) error {
	at := int32(len(r.fresh.uses))
	r.fresh.tasks = true
	if err := r.addStep(step{stepContent: stepContent{template: d, label: d.label}, uses: at, usesEnd: at, group: d.group, undeferred: d.traits.Is(life.Undeferred)}, d.accesses); err != nil {
		return r.stepError(err)
	}
	return nil
}

func (r *Recorder) record(body func() error, nested func(*Scope) error, options []Option) error {
	if err := r.add(body, nested, options); err != nil {
		return r.stepError(err)
	}
	return nil
}

// add appends a step and finds its predecessors.
func (r *Recorder) add(body func() error, nested func(*Scope) error, options []Option) error {
	r.fresh.tasks = r.fresh.tasks || nested != nil || wantsTasks(r.rt)
	s := step{stepContent: stepContent{body: body, nested: nested, label: engine.Unlabelled}, uses: int32(len(r.fresh.uses))}
	accesses := r.room(len(options))
	var ready engine.RecordList
	defer engine.StartAll(r.rt, &ready)
	r.rt.Root.Submitting.Lock()
	defer r.rt.Root.Submitting.Unlock()
	for i := range options {
		o := &options[i]
		switch o.what() {
		case labelOption:
			s.label = o.text()
		case originOption:
			s.origin = uintptr(o.n)
		case ifOption:
			s.undeferred = s.undeferred || o.n == 0
		case accessOption, specialOption:
			a, err := accessOf(r.rt, o)
			if err != nil {
				return err
			}
			r.fresh.uses = append(r.fresh.uses, use{o.memory(), o.mode(), o.box()})
			if !a.Region.Empty() {
				accesses = append(accesses, a)
			}
		}
	}
	if r.rt.Root.SubmitMerges(&ready) {
		r.rt.Root.FollowGrowth(accesses)
	}
	serializeCommutative(accesses)
	s.usesEnd = int32(len(r.fresh.uses))
	return r.addStep(s, accesses)
}

// A spare is memory for more steps, made for several at once.
type spare struct {
	nodes    []deps.Node
	accesses []deps.Access
}

// room returns an empty slice for n accesses of a step.
func (r *Recorder) room(n int) []deps.Access {
	if len(r.spare.accesses) < n {
		r.spare.accesses = make([]deps.Access, max(n, r.batch()))
	}
	list := r.spare.accesses[:0:n]
	r.spare.accesses = r.spare.accesses[n:]
	return list
}

// node returns a new node for r.graph.
func (r *Recorder) node() *deps.Node {
	if len(r.spare.nodes) == 0 {
		r.spare.nodes = make([]deps.Node, r.batch())
	}
	n := &r.spare.nodes[0]
	r.spare.nodes = r.spare.nodes[1:]
	return n
}

// batch returns the number of steps for which memory is made at once: a part of those so far.
func (r *Recorder) batch() int { return max(1, min(64, len(r.fresh.steps)/4)) }

// wantsTasks reports whether steps that are functions alone become tasks too: for data that move,
// and to be looked at one by one.
func wantsTasks(rt *engine.Runtime) bool { return rt.Topology.Accelerators || rt.Check }

// serializeCommutative gives commutative accesses the recorded order, which is one of those
// allowed.
func serializeCommutative(accesses []deps.Access) {
	for i := range accesses {
		if accesses[i].Mode == deps.Commutative {
			accesses[i].Mode = deps.InOut
		}
	}
}

// serializeReductions has reductions made without private copies, one after the other.
func serializeReductions(accesses []deps.Access) {
	for i := range accesses {
		if accesses[i].Mode == deps.Reduction {
			accesses[i].Mode, accesses[i].Op = deps.InOut, 0
		}
	}
}

// addStep appends a step that was asked for, behind those that combine the reductions that it
// meets.
func (r *Recorder) addStep(s step, accesses []deps.Access) error {
	r.followGrowth()
	if r.fresh.hold == nil {
		r.fresh.hold = memory.NewHold()
	}
	var args []devices.Arg
	if s.template != nil {
		args = s.template.args
	}
	buffers, own, err := keepBuffers(&r.rt.Buffers, r.fresh.buffers, r.fresh.hold, accesses, args)
	if err != nil {
		return err
	}
	r.fresh.buffers = buffers
	if s.template == nil {
		s.buffers = own
	}
	r.closeReductions(func(g *engine.Reduction) bool { return g.Conflicts(accesses) })
	if s.template != nil {
		r.joinReductions(s.template)
	}
	r.append(s, accesses, len(r.edges))
	return nil
}

// append appends a step, with the edges that its accesses say and the one from what all later steps
// come after. Edges to it may be there from index since on.
func (r *Recorder) append(s step, accesses []deps.Access, since int) {
	if r.graph == nil {
		r.graph = &deps.Domain{Edges: r.noteEdges}
	}
	at := int32(len(r.fresh.steps))
	r.graph.Submit(r.node(), accesses)
	if r.after > 0 {
		r.edge(since, r.after-1, at)
	}
	if s.undeferred {
		r.after = at + 1
	}
	s.accesses = accesses
	r.fresh.steps = append(r.fresh.steps, s)
	r.fresh.accesses = append(r.fresh.accesses, accesses...)
}

// noteEdges notes the predecessors of a step, unless they are known already.
func (r *Recorder) noteEdges(succ deps.TaskID, preds []deps.TaskID) {
	for _, p := range preds {
		if int(succ) > len(r.fresh.steps) {
			r.edges = append(r.edges, [2]int32{int32(p - 1), int32(succ - 1)})
		}
	}
}

// followGrowth makes the steps so far use the buffers that theirs have become parts of, if some
// have.
func (r *Recorder) followGrowth() {
	now := r.rt.Root.Memory.Merged.Load()
	if now == r.merged {
		return
	}
	r.merged = now
	r.fresh.followGrowth(&r.rt.Buffers)
	for _, g := range r.open {
		g.FollowGrowth()
	}
	if r.graph != nil {
		r.graph = &deps.Domain{Edges: r.noteEdges}
		for i := range r.fresh.steps {
			r.graph.Submit(r.node(), r.fresh.steps[i].accesses)
		}
	}
}

// edge adds an edge, if it is not among those from index since on.
func (r *Recorder) edge(since int, pred, succ int32) {
	if e := [2]int32{pred, succ}; !slices.Contains(r.edges[since:], e) {
		r.edges = append(r.edges, e)
	}
}

// closeReductions appends the steps that combine the open reductions that end says.
func (r *Recorder) closeReductions(end func(*engine.Reduction) bool) {
	kept := r.open[:0]
	for _, g := range r.open {
		if !end(g) {
			kept = append(kept, g)
			continue
		}
		var accesses []deps.Access
		for _, p := range g.Regions.Regions() {
			accesses = append(accesses, deps.Access{Region: p, Mode: deps.InOut})
		}
		at := int32(len(r.fresh.uses))
		r.fresh.reductions = append(r.fresh.reductions, g)
		r.append(step{stepContent: stepContent{label: "combine " + g.Op.Name}, combines: g, uses: at, usesEnd: at}, accesses, len(r.edges))
	}
	clear(r.open[len(kept):])
	r.open = kept
}

// joinReductions puts the reductions of a step into those that are open.
func (r *Recorder) joinReductions(d *taskTemplate) {
	for i := range d.uses {
		u := &d.uses[i]
		// What an earlier recording made of it is gone.
		g := &engine.Reduction{Op: u.Group.Op, ID: u.Group.ID, Buffer: u.Buffer}
		g.Regions.Add(d.accesses[u.Access].Region)
		kept := r.open[:0]
		for _, o := range r.open {
			if o.Buffer == g.Buffer && o.ID == g.ID && o.Regions.Overlaps(d.accesses[u.Access].Region) {
				r.rt.JoinGroups(g, o)
			} else {
				kept = append(kept, o)
			}
		}
		clear(r.open[len(kept):])
		r.open, u.Group = append(kept, g), g
	}
}

// addGroup makes g, in which nothing is yet, one of the groups of the iteration.
func (r *Recorder) addGroup(g *engine.Group) {
	r.groups = append(r.groups, g)
	g.Index = int32(len(r.groups))
	if r.old != nil && (int(g.Index) > len(r.old.groups) || indexOf(r.old.groups[g.Index-1].Outer) != indexOf(g.Outer)) {
		r.restart()
	}
}

// indexOf returns the index of a group of an iteration, 0 for none.
func indexOf(g *engine.Group) int32 {
	if g == nil {
		return 0
	}
	return g.Index
}

// wait records that all that comes later comes after the tasks of g.
func (r *Recorder) wait(g *engine.Group) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.rt.Topology.Host < 0 {
		return r.stepError(errors.New("the wait of a group needs CPU workers"))
	}
	if r.old != nil {
		if s := r.expected(); s != nil && s.waits == g.Index {
			r.at++
			return nil
		}
		r.restart()
	}
	r.addWait(g)
	return nil
}

func (r *Recorder) addWait(g *engine.Group) {
	r.fresh.tasks = r.fresh.tasks || wantsTasks(r.rt)
	at := int32(len(r.fresh.uses))
	since := len(r.edges)
	for i := range r.fresh.steps {
		if s := &r.fresh.steps[i]; s.group > 0 && r.groups[s.group-1].Within(g) {
			r.edge(since, int32(i), int32(len(r.fresh.steps)))
		}
	}
	r.append(step{stepContent: stepContent{body: func() error { return nil }, label: "wait"}, uses: at, usesEnd: at, waits: g.Index, undeferred: true}, nil, since)
}

// keepBuffers adds the buffers of a step, accessed or not, to those of its recording, and returns
// both. It is called while the step is recorded: afterwards they may be gone, and their ids those
// of others.
func keepBuffers(t *memory.Table, buffers []*memory.Buffer, h *memory.Hold, accesses []deps.Access, args []devices.Arg) (all, own []*memory.Buffer, err error) {
	table := t.Load()
	keep := func(id deps.BufferID) error {
		b := table.Get(id)
		if b == nil || !h.Add(t, b) && !b.Gone.Load() {
			return &ChangedError{What: fmt.Sprintf("buffer %d was given back", id)}
		}
		if !slices.Contains(own, b) {
			own = append(own, b)
		}
		if !slices.Contains(buffers, b) {
			buffers = append(buffers, b)
		}
		return nil
	}
	for _, a := range accesses {
		if !a.Region.Empty() && err == nil {
			err = keep(a.Region.Buffer)
		}
	}
	for i := range args {
		if a := &args[i]; a.InMemory() && err == nil {
			err = keep(a.Buffer)
		}
	}
	return buffers, own, err
}

// accessOf returns the access that an option says, with an empty region where it says no memory.
func accessOf(rt *engine.Runtime, o *Option) (deps.Access, error) {
	_, region, err := regionOf(&rt.Buffers, &rt.Root.Memory, o)
	return deps.Access{Region: region, Mode: o.mode()}, err
}

// finish makes it the iteration that was collected.
func (r *Recorder) finish(it *Iteration) {
	r.followGrowth()
	r.closeReductions(func(*engine.Reduction) bool { return true })
	args := r.finalArgs()
	it.runsMu.Lock() // a run may still be on its way to the free list, and observers look at the steps
	defer it.runsMu.Unlock()
	it.recording = r.fresh
	it.args = args
	it.groups = r.groups
	it.current = make([]stepContent, len(it.steps))
	for i := range it.steps {
		it.current[i] = it.steps[i].stepContent
	}
	it.contents.begun.Store(it.contents.requested)
	it.linkSteps(r.edges)
	it.accesses = together(it.accesses)
	for _, a := range it.accesses {
		it.ordered = it.ordered || a.Mode.Writes()
	}
	it.pipeline = pipeline{}
	if !it.tasks {
		it.prepareRun()
	}
	r.end()
}

// end makes r refuse what comes later.
func (r *Recorder) end() { *r = Recorder{rt: r.rt, it: r.it, finished: true} }

// linkSteps fills in the successors of the steps.
func (it *Iteration) linkSteps(edges [][2]int32) {
	counts := make([]int32, len(it.steps))
	for _, e := range edges {
		counts[e[0]]++
		it.steps[e[1]].preds++
	}
	at := int32(0)
	preds := int32(0)
	for i := range it.steps {
		s := &it.steps[i]
		s.first, s.last = at, at
		at += counts[i]
		s.firstPred, s.lastPred = preds, preds
		preds += s.preds
		if s.preds == 0 {
			it.roots = append(it.roots, int32(i))
		}
		if s.template != nil && (s.template.takesArgs() || s.template.kernel != nil && len(s.template.kernel.Variables) > 0) {
			it.dynamic = append(it.dynamic, int32(i))
		}
	}
	it.succs, it.preds = make([]int32, len(edges)), make([]int32, len(edges))
	for _, e := range edges {
		s := &it.steps[e[0]]
		it.succs[s.last] = e[1]
		s.last++
		s = &it.steps[e[1]]
		it.preds[s.lastPred] = e[0]
		s.lastPred++
	}
}
