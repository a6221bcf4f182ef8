package task

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// The following functions find the source line of a Go function that failed, from the function
// itself. A task stores nothing for it.

// originOf is the option that names the user's function if the body of a task is a function of the
// runtime that calls it.
func originOf(f any) Option {
	return Option{kind: originOption, n: int64(reflect.ValueOf(f).Pointer())}
}

// position returns the source position of the body of a step.
func (s *stepContent) position() ir.Pos {
	switch {
	case s.origin != 0:
		return engine.PositionOf(s.origin)
	case s.body != nil:
		return engine.PositionOf(reflect.ValueOf(s.body).Pointer())
	}
	return ir.Pos{}
}

// The following functions implement the repetition of a failed task. A task may be repeated if no
// other task can observe the first execution: it overwrites the data that it only writes, and the
// runtime restores the data that it also reads. No other task can have read its results, because
// its successors wait.

// errNoRetry is the reason why a task cannot be repeated.
var errNoRetry = errors.New("retry: what a concurrent access has written cannot be put back: other tasks write it too")

// checkRetry returns an error if the repetition of r could be observed. options are those with its
// accesses, unless it is a kernel.
func checkRetry(r *engine.Record, options []Option) error {
	if r.Retries == 0 {
		return nil
	}
	if slices.ContainsFunc(r.Accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent }) {
		return errNoRetry
	}
	return canRestore(options)
}

// canRestore returns an error if a task with retries reads and writes elements that contain Go
// pointers. A saved copy would neither keep the referenced memory alive nor restore it.
func canRestore(options []Option) error {
	for i := range options {
		if o := &options[i]; o.isAccess() && o.kind&pointerBit != 0 {
			return fmt.Errorf("retry: %s: its elements hold Go pointers, and cannot be put back", o.mode())
		}
	}
	return nil
}

// Go submits a task that runs body on a CPU worker, after the earlier tasks that its accesses
// depend on. body may access the memory of the accesses, in their modes, until it returns. Its
// result, or a panic, is the error of the task.
//
// A body that submits children takes a Scope: see GoScope. Tasks that a body submits to the Runtime
// are siblings of its own task, as if the program had submitted them after it. The body must not
// wait for them (ErrInsideTask), nor for anything else that needs a worker.
//
// Errors: of the accesses, places and tokens; no task has been submitted then.
func (rt *Runtime) Go(body func() error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.Go")
	}
	return goTask(&rt.core.Root, nil, body, options)
}

func goTask(s *engine.Scope, g *engine.Group, body func() error, options []Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	if rec := recorderOf(s); rec != nil {
		return Task{}, rec.goStep(body, nil, g, options, false)
	}
	if sk, _ := s.RT.Skipper.(*skipper); sk != nil && g == nil && s.Program() && sk.skips(s.RT, options) {
		return Task{}, nil
	}
	if isPlain(s, g, options) {
		return goPlain(s, body, options)
	}
	r, err := s.Begin(g, engine.GoBody)
	if err != nil {
		return Task{}, err
	}
	r.Body = body
	return submitGo(s, r, options)
}

// GoScope is Go for a body that submits children to the Scope that it receives. The task finishes
// after its children.
func (rt *Runtime) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.GoScope")
	}
	return goScope(&rt.core.Root, nil, body, options)
}

func goScope(s *engine.Scope, g *engine.Group, body func(*Scope) error, options []Option) (Task, error) {
	if body == nil {
		return Task{}, errNoBody
	}
	if rec := recorderOf(s); rec != nil {
		return Task{}, rec.goStep(nil, body, g, options, false)
	}
	r, err := s.Begin(g, engine.GoBody)
	if err != nil {
		return Task{}, err
	}
	r.Need().Nested = body
	return submitGo(s, r, options)
}

// GoContext is Go for a body that receives the context of the task.
func (rt *Runtime) GoContext(body func(context.Context) error, options ...Option) (Task, error) {
	if !rt.usable() {
		return Task{}, rt.unusable("Runtime.GoContext")
	}
	if body == nil {
		return Task{}, errNoBody
	}
	r, err := rt.core.Root.Begin(nil, engine.GoBody)
	if err != nil {
		return Task{}, err
	}
	r.Need().BodyCtx = body
	return submitGo(&rt.core.Root, r, options)
}

var errNoBody = errors.New("task: go: body is nil")

// submitGo submits r. Begin and the caller have set the fields that are not in options.
func submitGo(s *engine.Scope, r *engine.Record, options []Option) (Task, error) {
	if err := describeGo(s.RT, r, options); err != nil {
		return handle(s.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err)))
	}
	if r.Traits.Is(life.Undeferred) {
		if err := blocksWorker(r); err != nil {
			return handle(s.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err)))
		}
	}
	if s.RT.World != nil && s.Program() {
		if here, err := placeInWorld(s, r); !here {
			return handle(s.Abort(r, err))
		}
	}
	return Task{s.Commit(r)}, nil
}

// endReductions submits the combinations of all open reductions, so that no more tasks join them,
// and the merges of buffers that have grown.
func endReductions(s *engine.Scope) {
	var ready engine.RecordList
	s.Submitting.Lock()
	s.SubmitMerges(&ready)
	s.CloseReductions(nil, &ready)
	s.Submitting.Unlock()
	engine.StartAll(s.RT, &ready)
}

func describeGo(rt *engine.Runtime, r *engine.Record, options []Option) (err error) {
	defer catchBug("a Go task", &err)
	if err := applyOptions(rt, r, options); err != nil {
		return err
	}
	if err := addWeak(rt, r, options); err != nil {
		return err
	}
	if err := coverError(r.Scope, r); err != nil {
		return err
	}
	if err := engine.CheckReductions(r); err != nil {
		return err
	}
	if err := checkRetry(r, options); err != nil {
		return err
	}
	if r.Kind == engine.WaitBody || r.Kind == engine.ReplayBody {
		return nil
	}
	if rt.Topology.Host < 0 {
		return fmt.Errorf("a go task needs CPU workers, and the devices are %s: add smp:1", rt.Topology.PlaceNames(rt.Topology.All))
	}
	allowed := sched.PlaceSet(0).With(rt.Topology.Host)
	if r.Settings.Placed {
		if allowed &= r.Settings.Places; allowed == 0 {
			return fmt.Errorf("a go task runs on smp, and may run on %s only", rt.Topology.PlaceNames(r.Settings.Places))
		}
	}
	plain := rt.Ready.IsSimple(r)
	if plain != r.Traits.Is(life.Simple) {
		r.Traits.Set(life.Simple, plain)
	}
	if plain {
		return nil
	}
	r.Item.Name = r.Name()
	return rt.Ready.Sched.Prepare(&r.Item, allowed, r.Settings.Tokens)
}

// applyOptions sets the fields of r that the options specify.
func applyOptions(rt *engine.Runtime, r *engine.Record, options []Option) error {
	for i := range options {
		if err := applyOption(rt, r, &options[i]); err != nil {
			return err
		}
	}
	return nil
}

func applyOption(rt *engine.Runtime, r *engine.Record, o *Option) error {
	switch o.what() {
	case accessOption, specialOption:
		return addAccess(&rt.Buffers, r, o)
	case labelOption:
		r.Need().Label = o.text()
	case priorityOption:
		r.Need().Item.Priority = int(o.n)
	case placeOption:
		places, err := rt.Topology.PlacesNamed(o.text())
		r.Need().Settings.Places |= places
		r.Settings.Placed = true
		return err
	case ifOption:
		if r.Need(); o.n == 0 {
			r.Traits.Set(life.Undeferred, true)
		}
	case finalOption:
		if r.Need(); o.n != 0 {
			r.Traits.Set(life.Final, true)
		}
	case retryOption:
		if o.n < 0 {
			return fmt.Errorf("retry: %d times", o.n)
		}
		r.Need().Retries = int(o.n)
	case orderOnlyOption:
		r.Need()
		r.Traits.Set(life.OrderOnly, true)
	case costOption:
		if o.n < 0 {
			return fmt.Errorf("host cost: %v", time.Duration(o.n))
		}
		r.Need().Cost = engine.HostCost{Given: true, Time: time.Duration(o.n)}
	case rankOption:
		if o.n < 0 {
			return fmt.Errorf("on rank %d", o.n)
		}
		r.Need().Rank = int32(o.n) + 1
	case earlyOption:
		if r.Nested == nil {
			return errEarlyScope
		}
		r.Traits.Set(life.EarlyRelease, true)
	case wrongOption:
		return errWeakOption
	case originOption:
		r.Need().Origin = uintptr(o.n)
	case tokenOption:
		kind := devices.Kind(o.text())
		if err := checkKind("resources", kind); err != nil {
			return err
		}
		return setTokens(&r.Need().Settings, kind, int(o.more))
	case noOption:
		return errNoOption
	}
	return nil
}

var errNoOption = errors.New("an Option without a value: options are what In, Label and the like return")

func setTokens(s *engine.Settings, kind devices.Kind, n int) error {
	if n < 0 {
		return fmt.Errorf("resources: %s: %d tokens", kind, n)
	}
	for i := range s.Tokens {
		if s.Tokens[i].Kind == kind {
			s.Tokens[i].Count = n
			return nil
		}
	}
	s.Tokens = append(s.Tokens, sched.Tokens{Kind: kind, Count: n})
	return nil
}

// addAccess appends the access of o to those of r. An empty slice is no access.
func addAccess(t *memory.Table, r *engine.Record, o *Option) error {
	if o.weak() {
		return nil // see addWeak
	}
	b, region, err := regionOf(t, &r.Scope.Memory, o)
	if err != nil || b == nil {
		return err
	}
	return addRegion(r, b, region, o)
}

// regionOf returns the region of o and its buffer, nil for an empty region.
func regionOf(t *memory.Table, at *memory.Owner, o *Option) (*memory.Buffer, deps.Region, error) {
	if o.box() != nil {
		return regionOfBox(t, at, o)
	}
	m := o.memory()
	if m.Len == 0 {
		return nil, deps.Region{}, nil
	}
	b, first, err := t.Locate(m, at)
	if err != nil {
		return nil, deps.Region{}, fmt.Errorf("%s: %w", o.mode(), err)
	}
	return b, b.Span(first, first+m.Len), nil
}

func addRegion(r *engine.Record, b *memory.Buffer, region deps.Region, o *Option) error {
	mode := o.mode()
	if r.Kind == engine.WaitBody && mode != deps.In {
		mode = deps.InOut // no other task may access the region during the wait
	}
	if mode >= deps.Concurrent {
		r.Need()
		r.Traits.Set(life.Relaxed, true)
	}
	list := r.Declared()
	*list = append(*list, deps.Access{Region: region, Mode: mode})
	if r.RT.Topology.Accelerators {
		r.Work += deps.Bytes(region.Len()) * b.Elem
	}
	if mode != deps.Reduction {
		return nil
	}
	if r.Nested == nil {
		return errNoScope
	}
	op := o.reducer()
	if op.Wrong != nil {
		return fmt.Errorf("reduction: %w", op.Wrong)
	}
	r.RT.AddReduction(r, len(r.Accesses)-1, -1, b, op)
	return nil
}

var errNoScope = errors.New("reduction: its body needs a Scope, for its private copy: use GoScope and Private")

func regionOfBox(t *memory.Table, at *memory.Owner, o *Option) (b *memory.Buffer, region deps.Region, err error) {
	box, m, mode := o.box(), o.memory(), o.mode()
	if box.err != nil {
		return nil, region, box.err
	}
	total := int64(1)
	for i, n := range box.shape {
		if n < 0 || box.hi[i] < box.lo[i] {
			return nil, region, fmt.Errorf("%s: box of shape %v: dimension %d: [%d:%d] of %d", mode, box.shape, i+1, box.lo[i], box.hi[i], n)
		}
		if total *= n; total > m.Len {
			return nil, region, fmt.Errorf("%s: box of shape %v: needs more than the %d elements of the slice", mode, box.shape, m.Len)
		}
	}
	if m.Len == 0 {
		return nil, region, nil
	}
	b, first, err := t.Locate(m, at)
	if err != nil {
		return nil, region, fmt.Errorf("%s: %w", mode, err)
	}
	region, err = deps.Box(b.ID, first, box.shape, box.lo, box.hi)
	if err != nil {
		return nil, region, fmt.Errorf("%s: %w", mode, err)
	}
	if region.Empty() {
		return nil, region, nil
	}
	return b, region, nil
}

// addWeak appends the weak accesses among options to the other accesses of r.
func addWeak(rt *engine.Runtime, r *engine.Record, options []Option) error {
	var list []deps.Access
	for i := range options {
		o := &options[i]
		switch {
		case !o.weak():
			continue
		case r.Nested == nil:
			return errWeakScope
		case o.mode() > deps.InOut:
			return fmt.Errorf("weak %s: a weak access is in, out or inout", o.mode())
		}
		b, region, err := regionOf(&rt.Buffers, &r.Scope.Memory, o)
		if err != nil {
			return err
		}
		if b != nil {
			list = append(list, deps.Access{Region: region, Mode: o.mode()})
		}
	}
	switch {
	case len(list) == 0 && !r.Traits.Is(life.EarlyRelease):
		return nil
	case rt.World != nil && r.Scope.Program():
		return errWeakWorld
	case r.Traits.Is(life.EarlyRelease) && r.Traits.Is(life.Relaxed):
		return errEarlyRelaxed
	case slices.ContainsFunc(r.Accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent || a.Mode == deps.Commutative }):
		return errWeakRelaxed
	}
	r.Need()
	return r.AddWeak(list)
}

var (
	errWeakScope    = errors.New("weak access: its body needs a Scope, for the children that use it: use GoScope")
	errWeakOption   = errors.New("weak: of an option that is not an access")
	errWeakWorld    = errors.New("weak accesses and early release: not on several ranks, where each has a part of the children's data")
	errWeakRecorded = errors.New("weak accesses and early release: not in a recording, whose steps have fixed predecessors")
	errWeakRelaxed  = errors.New("weak accesses: of a task with concurrent or commutative accesses, which would keep from running what its children wait for")
	errEarlyScope   = errors.New("early release: its body needs a Scope, for the children that use its data longer: use GoScope")
	errEarlyRelaxed = errors.New("early release: of a task with concurrent, commutative or reduction accesses")
)

// The rest of this file submits plain tasks: Go tasks of the program whose only options are in, out
// and inout accesses. They have no detail record, because only their accesses describe them.
//
// Their accesses are found with the submission lock held. With four submitting goroutines, finding
// them before taking the lock has no measurable advantage: it takes a tenth of the time for which
// the lock is held, and the graph takes the rest.

// isPlain reports whether a Go task in group g is plain.
func isPlain(s *engine.Scope, g *engine.Group, options []Option) bool {
	rt := s.RT
	if !rt.Ready.FastPath || g != nil || !s.Program() || rt.Observers.Observer != nil || rt.World != nil {
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
func goPlain(s *engine.Scope, body func() error, options []Option) (Task, error) {
	rt := s.RT
	if rt.Refuses() || rt.Ctx.Err() != nil {
		return Task{}, rt.ClosedError(nil)
	}
	if err := s.LockSubmission(rt.Ctx); err != nil {
		return Task{}, err
	}
	r := engine.TakeRecord(s)
	r.Body = body // the error of a refused task contains its line
	if err := describePlain(&s.Declared, s, options); err != nil {
		return handle(s.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err)))
	}
	if !r.Traits.Is(life.Simple) {
		r.Traits.Set(life.Simple, true)
	}
	return Task{s.Commit(r)}, nil
}

// describePlain sets list to the accesses in the options of a plain task. An empty slice is no
// access.
func describePlain(list *[]deps.Access, s *engine.Scope, options []Option) error {
	out := (*list)[:0]
	for i := range options {
		m := options[i].memory()
		if m.Len == 0 {
			continue
		}
		mode := options[i].mode()
		b, first, err := s.RT.Buffers.Locate(m, &s.Memory)
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

// RecordKernels calls build, which submits kernels to the recorder instead of a runtime, and
// returns the sequence. The arguments keep their recorded values in replays, but for those of
// ReplayOrRecord.
//
// Commutative steps and reductions run in the order in which they were recorded. So do steps that
// need tokens; the sequence holds the maximum that one of them needs. Steps that are recorded after
// a step whose if clause is false depend on it. The priorities of the steps have no effect: Replay
// sets one for the sequence.
//
// If a step uses memory around a buffer that was used before, so that the buffer grows,
// RecordKernels calls build again.
//
// Errors: the error of build; the errors of Kernel.Submit; no accelerator that can run all kernels.
func (rt *Runtime) RecordKernels(label string, build func(*KernelRecorder) error) (*KernelIteration, error) {
	if !rt.usable() {
		return nil, rt.unusable("Runtime.RecordKernels")
	}
	if build == nil {
		return nil, errNoBuild
	}
	made, err := recordSequence(&rt.core, label, build)
	if err != nil {
		return nil, err
	}
	return &KernelIteration{rt: &rt.core, sequence: *made}, nil
}

// Record calls build, which submits the tasks of one iteration to the recorder, and returns their
// graph. No task runs yet.
//
// All tasks that are recorded after a task with If(false), or after a kernel whose if clause is
// false, depend on it. All tasks that are recorded after the Wait of a Group depend on the tasks of
// the group. Reductions are combined before a task that accesses the same elements in another mode,
// and at the end of the iteration.
//
// Errors: the error of build; errors of the submissions.
func (rt *Runtime) Record(build func(*Recorder) error) (*Iteration, error) {
	if !rt.usable() {
		return nil, rt.unusable("Runtime.Record")
	}
	if rt.core.World != nil {
		return nil, errNoReplay
	}
	it := &Iteration{rt: &rt.core}
	r := &Recorder{rt: &rt.core, it: it}
	if err := r.collect(build); err != nil {
		return nil, err
	}
	r.finish(it)
	return it, nil
}

func (rt *Runtime) submitter() (*engine.Scope, *engine.Group) { return &rt.core.Root, nil }

// ReplayOrRecord is Iteration.ReplayOrRecord for an iteration that may not have been recorded: the
// first call records the zero Iteration. So a loop that submits the same tasks in each turn becomes
// a loop of replays by this call around its body.
//
//	var step task.Iteration
//	for range turns {
//		_, _, err := rt.ReplayOrRecord(&step, func(r *task.Recorder) error { return submitAll(r) })
//	}
//
// Errors: as for the method of Iteration; an iteration of another runtime.
func (rt *Runtime) ReplayOrRecord(it *Iteration, build func(*Recorder) error) (t Task, changed bool, err error) {
	if !rt.usable() {
		return Task{}, false, rt.unusable("Runtime.ReplayOrRecord")
	}
	switch {
	case it == nil:
		return Task{}, false, misuse("Runtime.ReplayOrRecord", errNilHandle)
	case rt.core.World != nil:
		return Task{}, false, errNoReplay
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.rt != nil && it.rt != &rt.core {
		return Task{}, false, fmt.Errorf("task: replay: %w: want the runtime that has recorded it", ErrNotRecordable)
	}
	if err := (&Iteration{rt: &rt.core}).inBody("Runtime.ReplayOrRecord"); err != nil {
		return Task{}, false, err
	}
	if it.rt != nil {
		return it.replayOrRecord(build)
	}
	r := &Recorder{rt: &rt.core, it: it}
	if err := r.collect(build); err != nil {
		return Task{}, false, err
	}
	it.rt = &rt.core
	r.finish(it)
	t, err = it.replay(nil)
	return t, true, err
}
