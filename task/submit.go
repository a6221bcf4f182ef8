package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/state"
)

// Go submits a task that runs body on a CPU worker, after the tasks submitted before that its
// accesses depend on. body may use what the accesses name, as they say, until it returns. What it
// returns, or panics with, is the task's error.
//
// A body that has work for tasks of its own takes a Scope: GoScope. What it submits to the Runtime
// are siblings of its own task, as if they had been submitted after it; it must not wait for those
// (ErrInsideTask), nor for anything else that needs a worker.
//
// Errors: about the accesses, the places and the tokens; nothing has been submitted then.
func (rt *Runtime) Go(body func() error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.Go")
	}
	return goTask(&rt.root, nil, body, options)
}

func goTask(s *Scope, g *Group, body func() error, options []Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	if s.records != nil {
		return Task{}, s.records.goStep(body, nil, g, options, false)
	}
	if s.rt.skipper != nil && g == nil && s.program() && s.rt.skips(options) {
		return Task{}, nil
	}
	if s.isPlain(g, options) {
		return s.goPlain(body, options)
	}
	r, err := s.begin(g, goBody)
	if err != nil {
		return Task{}, err
	}
	r.body = body
	return s.submitGo(r, options)
}

// GoScope is Go for a body that submits tasks of its own, with the Scope that it is given. The task
// has finished when they are.
func (rt *Runtime) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.GoScope")
	}
	return goScope(&rt.root, nil, body, options)
}

func goScope(s *Scope, g *Group, body func(*Scope) error, options []Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	if s.records != nil {
		return Task{}, s.records.goStep(nil, body, g, options, false)
	}
	r, err := s.begin(g, goBody)
	if err != nil {
		return Task{}, err
	}
	r.need().nested = body
	return s.submitGo(r, options)
}

// GoContext is Go for a body that wants to know when the runtime's context is done.
func (rt *Runtime) GoContext(body func(context.Context) error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.GoContext")
	}
	if body == nil {
		return Task{}, errNoBody
	}
	r, err := rt.root.begin(nil, goBody)
	if err != nil {
		return Task{}, err
	}
	r.need().bodyCtx = body
	return rt.root.submitGo(r, options)
}

var errNoBody = errors.New("task: go: body is nil")

// submitGo submits r, of which begin and the caller have filled in what is not in options.
func (s *Scope) submitGo(r *record, options []Option) (Task, error) {
	if err := s.rt.describeGo(r, options); err != nil {
		return s.abort(r, fmt.Errorf("task: %s: %w", r.title(), err))
	}
	if r.traits.Is(life.Undeferred) {
		if err := r.blocksWorker(); err != nil {
			return s.abort(r, fmt.Errorf("task: %s: %w", r.title(), err))
		}
	}
	if s.rt.world != nil && s.program() {
		if here, err := s.placeInWorld(r); !here {
			return s.abort(r, err)
		}
	}
	return s.commit(r), nil
}

// begin takes a record and the lock of submission; abort or commit gives the lock back.
func (s *Scope) begin(g *Group, kind bodyKind) (*record, error) {
	rt := s.rt
	if s.program() && rt.refuses() {
		return nil, ErrClosed
	}
	var ctx context.Context
	if kind != waitBody {
		ctx = rt.contextOf(g)
	}
	if ctx != nil && ctx.Err() != nil {
		if s.program() {
			return nil, rt.closedError(g)
		}
		return nil, fmt.Errorf("task: submit: %w", context.Cause(ctx))
	}
	if s.program() && kind != waitBody {
		rt.virtual.Spend()
	}
	if err := s.lockSubmission(ctx); err != nil {
		return nil, err
	}
	r := s.takeRecord()
	if kind != goBody {
		r.kind = kind
		r.traits.Set(life.Simple, false)
	}
	r.need()
	if g != nil {
		r.group = g
		if g.scope == s {
			r.member = g
		}
	}
	return r, nil
}

// closedError says why no task of the program may be submitted, in group g if that is not nil.
func (l *lifecycle) closedError(g *Group) error {
	if l.refuses() {
		return ErrClosed
	}
	ctx := l.contextOf(g)
	if ctx.Err() == nil {
		return nil
	}
	if l.refuses() { // meanwhile: Close ends the context
		return ErrClosed
	}
	return fmt.Errorf("task: submit: %w", context.Cause(ctx))
}

func (s *Scope) abort(r *record, err error) (Task, error) {
	r.clear()
	s.putRecord(r, smp.None)
	s.submitting.Unlock()
	return Task{}, err
}

// commit makes r a task: it gets its number and its predecessors, and starts if it has none.
func (s *Scope) commit(r *record) Task {
	var ready recordList
	if !r.isStep() && r.replayRun == nil && s.memory.Grew() {
		s.catchUp(r, &ready)
	}
	if !r.isStep() { // of those it was recorded what they are part of
		s.closeReductions(r, &ready)
		s.joinReductions(r)
	}
	waits := r.traits.Is(life.Undeferred) || !s.program() && s.final
	var enough <-chan struct{}
	if !waits && !s.program() && s.rt.window.Full() { // then it waits for capacity, and the program does not use the handle
		waits, enough = true, r.Context().Done()
	}
	if waits && !r.traits.Is(life.Undeferred) && s.wrongScope() != nil { // nor has it asked whether it would wait for itself
		waits, enough = false, nil
	}
	id, late, follows := s.enterGraph(r, &ready)
	if follows {
		s.rt.startOn(r)
	}
	if late {
		s.rt.predecessorsDone(r, nil)
	}
	t := Task{s.rt, r, id}
	if !waits {
		s.rt.startAll(&ready)
		return t
	}
	if mine := ready.takeLast(r); mine && !s.runInline(r) {
		ready.push(r)
	}
	s.rt.startAll(&ready)
	s.awaitTask(t, enough) // the submitting goroutine takes the error
	return t
}

// enterGraph enters r into the graph and gives the lock of submission back. late is as in
// commitLocked; follows says that r is to be started behind its predecessors. Without an observer,
// the part that concerns r alone is done without the lock, so that the next submission need not
// wait.
func (s *Scope) enterGraph(r *record, ready *recordList) (id deps.TaskID, late, follows bool) {
	rt := s.rt
	if rt.eagerQueues == nil || rt.observers.recorder != nil || r.kind != kernelBody || r.isStep() {
		id, late, follows = s.commitLocked(r, ready)
		s.submitting.Unlock()
		return id, late, follows
	}
	id = s.number(r)
	edges := rt.graphEnter(r)
	domain := s.graph.domain
	s.submitting.Unlock()
	spin.Perturb()
	if late, follows = rt.settle(r, domain, edges); late { // else r may have finished, and be another task
		if late = !r.life.Release(); !late {
			ready.push(r)
		}
	}
	return id, late, follows
}

// takeLast takes r out of the list, if it is the last one there.
func (l *recordList) takeLast(r *record) bool {
	if l.tail != r {
		return false
	}
	var rest recordList
	for o := l.pop(); o != nil; o = l.pop() {
		if o != r {
			rest.push(o)
		}
	}
	*l = rest
	return true
}

// runInline runs r, a child without predecessors that was submitted just now, on the goroutine of
// the body that has submitted it. It reports false when it does not: what needs tokens or an
// accelerator, or comes from another goroutine, goes its way.
func (s *Scope) runInline(r *record) bool {
	rt := s.rt
	if s.program() || !s.holdsNoTokens() || r.traits.Is(life.Relaxed) || len(r.settings.tokens) > 0 || rt.topology.host < 0 || r.kind != goBody && (r.kind != kernelBody || rt.eagerQueues != nil) ||
		!r.traits.Is(life.Simple) && !r.item.Allowed.Has(rt.topology.host) || r.poison.Load() != nil || r.Context().Err() != nil || !s.lending.TryLock() {
		return false
	}
	defer s.lending.Unlock()
	if s.worker == smp.None {
		return false
	}
	if rt.eagerQueues == nil && !r.traits.Is(life.Simple) {
		r.life.Enter(state.Release)
	}
	if rt.observers.watched() {
		rt.observers.observeReady(r, nil)
		rt.observeChoice(r)
	}
	if !r.traits.Is(life.Simple) {
		rt.ready.mu.Lock()
		r.life.Enter(state.Place)
		rt.ready.sched.Resume(&r.item, rt.topology.host)
		rt.ready.counts.grant(rt.topology.host)
		rt.ready.unlock()
	}
	s.pauseCheck()
	s.runOnStack(r, false)
	s.resumeCheck()
	return true
}

// commitLocked is commit without what needs no lock. It adds r to ready if it has no predecessors;
// late says that these had finished when r had been granted to a place already; start is as in
// settle. Requires: submitting held.
func (s *Scope) commitLocked(r *record, ready *recordList) (id deps.TaskID, late, start bool) {
	rt := s.rt
	id = s.number(r)
	if late, start = rt.graphAdd(r); late {
		if late = rt.eagerQueues != nil && !r.life.Release(); !late {
			ready.push(r)
		}
	}
	return id, late, start
}

// number counts r in and gives it its number. Requires: submitting held.
func (s *Scope) number(r *record) deps.TaskID {
	rt := s.rt
	rt.pageGuard.use(r)
	id := deps.TaskID(rt.window.Enter())
	r.life.Submit(id)
	if r.kind.waits() {
		rt.waits.Add(1)
		s.noteWait(Task{rt, r, id})
	}
	s.count(r)
	if rt.observers.watched() {
		rt.observers.observeSubmit(r, id)
	}
	return id
}

// startAll starts tasks that were submitted and have no predecessors.
func (rt *Runtime) startAll(ready *recordList) {
	spin.Perturb()
	var over, list recordList
	for r := ready.pop(); r != nil; r = ready.pop() {
		rt.makeReady(r, nil, &over, &list)
	}
	for r := over.pop(); r != nil; r = over.pop() {
		rt.retireUnscheduled(r)
	}
	if list.head != nil {
		rt.schedule(nil, &list, smp.None)
	}
}

// endReductions has all reductions combined: no more tasks join them. Buffers that have grown are
// merged.
func (s *Scope) endReductions() {
	var ready recordList
	s.submitting.Lock()
	s.submitMerges(&ready)
	s.closeReductions(nil, &ready)
	s.submitting.Unlock()
	s.rt.startAll(&ready)
}

// count counts r in, where it is waited for.
func (s *Scope) count(r *record) {
	if r.member.enter(); r.member != nil && s.rt.topology.accelerators {
		r.member.noteWrites(r.data())
	}
	if !s.program() {
		s.pending.Add(1)
		s.submitted.Store(true)
		if len(r.accesses) > 0 {
			s.releaseSet()
		}
	}
}

// id returns the task whose children are submitted here, 0 for the program.
func (s *Scope) id() deps.TaskID {
	if s.program() {
		return 0
	}
	return s.owner.taskID()
}

func (rt *Runtime) describeGo(r *record, options []Option) (err error) {
	defer catchBug("a Go task", &err)
	if err := rt.apply(r, options); err != nil {
		return err
	}
	if err := r.scope.covers(r); err != nil {
		return err
	}
	if err := r.checkReductions(); err != nil {
		return err
	}
	if err := r.checkRetry(options); err != nil {
		return err
	}
	if r.kind == waitBody || r.kind == replayBody {
		return nil
	}
	if rt.topology.host < 0 {
		return fmt.Errorf("a go task needs CPU workers, and the devices are %s: add smp:1", rt.topology.placeNames(rt.topology.all))
	}
	allowed := sched.PlaceSet(0).With(rt.topology.host)
	if r.settings.placed {
		if allowed &= r.settings.places; allowed == 0 {
			return fmt.Errorf("a go task runs on smp, and may run on %s only", rt.topology.placeNames(r.settings.places))
		}
	}
	plain := rt.ready.isSimple(r)
	if plain != r.traits.Is(life.Simple) {
		r.traits.Set(life.Simple, plain)
	}
	if plain {
		return nil
	}
	r.item.Name = r.name()
	return rt.ready.sched.Prepare(&r.item, allowed, r.settings.tokens)
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
	switch o.what() {
	case accessOption, specialOption:
		return addAccess(&rt.buffers, r, o)
	case labelOption:
		r.need().label = o.text()
	case priorityOption:
		r.need().item.Priority = int(o.n)
	case placeOption:
		places, err := rt.topology.placesNamed(o.text())
		r.need().settings.places |= places
		r.settings.placed = true
		return err
	case ifOption:
		if r.need(); o.n == 0 {
			r.traits.Set(life.Undeferred, true)
		}
	case finalOption:
		if r.need(); o.n != 0 {
			r.traits.Set(life.Final, true)
		}
	case retryOption:
		if o.n < 0 {
			return fmt.Errorf("retry: %d times", o.n)
		}
		r.need().retries = int(o.n)
	case orderOnlyOption:
		r.need()
		r.traits.Set(life.OrderOnly, true)
	case costOption:
		if o.n < 0 {
			return fmt.Errorf("host cost: %v", time.Duration(o.n))
		}
		r.need().cost = hostCost{true, time.Duration(o.n)}
	case rankOption:
		if o.n < 0 {
			return fmt.Errorf("on rank %d", o.n)
		}
		r.need().rank = int32(o.n) + 1
	case originOption:
		r.need().origin = uintptr(o.n)
	case tokenOption:
		kind := devices.Kind(o.text())
		if err := checkKind("resources", kind); err != nil {
			return err
		}
		return r.need().settings.setTokens(kind, int(o.more))
	case noOption:
		return errNoOption
	}
	return nil
}

var errNoOption = errors.New("an Option without a value: options are what In, Label and the like return")

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

// addAccess adds what o says to the accesses of r. An empty slice is no access.
func addAccess(t *memory.Table, r *record, o *Option) error {
	if o.box() != nil {
		return addBox(t, r, o)
	}
	m := o.memory()
	if m.Len == 0 {
		return nil
	}
	b, first, err := t.Locate(m, &r.scope.memory)
	if err != nil {
		return fmt.Errorf("%s: %w", o.mode(), err)
	}
	return r.addRegion(b, b.Span(first, first+m.Len), o)
}

func (r *record) addRegion(b *memory.Buffer, region deps.Region, o *Option) error {
	mode := o.mode()
	if r.kind == waitBody && mode != deps.In {
		mode = deps.InOut // the waiting goroutine is alone
	}
	if mode >= deps.Concurrent {
		r.need()
		r.traits.Set(life.Relaxed, true)
	}
	list := r.declared()
	*list = append(*list, deps.Access{Region: region, Mode: mode})
	if r.rt.topology.accelerators {
		r.work += deps.Bytes(region.Len()) * b.Elem
	}
	if mode != deps.Reduction {
		return nil
	}
	if r.nested == nil {
		return errNoScope
	}
	op := o.reducer()
	if op.Wrong != nil {
		return fmt.Errorf("reduction: %w", op.Wrong)
	}
	r.rt.addReduction(r, len(r.accesses)-1, -1, b, op)
	return nil
}

var errNoScope = errors.New("reduction: its body needs a Scope, for its private copy: use GoScope and Private")

func addBox(t *memory.Table, r *record, o *Option) error {
	box, m, mode := o.box(), o.memory(), o.mode()
	if box.err != nil {
		return box.err
	}
	total := int64(1)
	for i, n := range box.shape {
		if n < 0 || box.hi[i] < box.lo[i] {
			return fmt.Errorf("%s: box of shape %v: dimension %d: [%d:%d] of %d", mode, box.shape, i+1, box.lo[i], box.hi[i], n)
		}
		if total *= n; total > m.Len {
			return fmt.Errorf("%s: box of shape %v: needs more than the %d elements of the slice", mode, box.shape, m.Len)
		}
	}
	if m.Len == 0 {
		return nil
	}
	b, first, err := t.Locate(m, &r.scope.memory)
	if err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	region, err := deps.Box(b.ID, first, box.shape, box.lo, box.hi)
	if err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	if region.Empty() {
		return nil
	}
	return r.addRegion(b, region, o)
}

// The rest of this file submits plain tasks: Go tasks of the program without options other than in,
// out and inout accesses. They have no detail record, since nothing but accesses describes them.
//
// They are described with the lock of submission held. Where four goroutines submit, finding the
// accesses before the lock is taken gains nothing that can be measured: it is a tenth of what the
// lock is held for, and the rest is the graph.

// isPlain reports whether a Go task in group g is plain.
func (s *Scope) isPlain(g *Group, options []Option) bool {
	rt := s.rt
	if !rt.ready.fastPath || g != nil || !s.program() || rt.observers.observer != nil || rt.world != nil {
		return false
	}
	for i := range options {
		if o := &options[i]; o.what() != accessOption || o.mode() > deps.InOut {
			return false
		}
	}
	return true
}

// goPlain submits a plain task.
func (s *Scope) goPlain(body func() error, options []Option) (Task, error) {
	rt := s.rt
	if rt.refuses() || rt.ctx.Err() != nil {
		return Task{}, rt.closedError(nil)
	}
	if err := s.lockSubmission(rt.ctx); err != nil {
		return Task{}, err
	}
	r := s.takeRecord()
	r.body = body // its line is in the error of a refusal
	if err := describePlain(&s.declared, s, options); err != nil {
		return s.abort(r, fmt.Errorf("task: %s: %w", r.title(), err))
	}
	if !r.traits.Is(life.Simple) {
		r.traits.Set(life.Simple, true)
	}
	return s.commit(r), nil
}

// describePlain sets list to the accesses in the options of a plain task. An empty slice is no
// access.
func describePlain(list *[]deps.Access, s *Scope, options []Option) error {
	out := (*list)[:0]
	for i := range options {
		m := options[i].memory()
		if m.Len == 0 {
			continue
		}
		mode := options[i].mode()
		b, first, err := s.rt.buffers.Locate(m, &s.memory)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		n := len(out)
		if n == cap(out) {
			out = append(out, deps.Access{})
		} else {
			out = out[:n+1]
		}
		out[n].SetInterval(b.ID, first, first+m.Len, mode)
	}
	*list = out
	return nil
}
