package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/replay"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// errGrown means that a buffer of an iteration has grown.
var errGrown = errors.New("gompss: a buffer of an iteration has grown")

// followGrowth waits for the replays in flight, and then makes the steps use the buffers into which
// theirs have been merged.
func (it *Iteration) followGrowth() error {
	root := &it.rt.Root
	if !slices.ContainsFunc(it.buffers, func(b *memory.Buffer) bool { return b.Grown.Load() != nil }) {
		return nil
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	endReductions(root) // also submits the merges of grown buffers
	it.recording.followGrowth(&it.rt.Buffers)
	return nil
}

// followGrowth makes the steps use the buffers into which theirs have been merged.
func (l *recording) followGrowth(t *memory.Table) {
	parts := map[deps.BufferID]*memory.Buffer{} // the table may have dropped them
	var kept []*memory.Buffer
	for _, b := range l.buffers {
		to, _ := b.Target()
		if to != b {
			parts[b.ID] = b
			l.hold.Add(t, to)
		}
		if !slices.Contains(kept, to) {
			kept = append(kept, to)
		}
	}
	l.buffers, l.traced = kept, nil
	move := func(list []deps.Access) {
		for i := range list {
			if b := parts[list[i].Region.Buffer]; b != nil {
				list[i].Region = b.MovedRegion(list[i].Region)
			}
		}
	}
	move(l.accesses)
	for i := range l.steps {
		s := &l.steps[i]
		move(s.accesses)
		templates := []*taskTemplate{s.template}
		if len(l.current) > 0 {
			templates = append(templates, l.current[i].template)
		}
		for _, d := range templates {
			if d == nil {
				continue
			}
			move(d.accesses)
			move(d.copyAccesses)
			for k := range d.args {
				if a := &d.args[k]; a.InMemory() {
					parts[a.Buffer].MoveArg(a)
				}
			}
			for k := range d.uses {
				u := &d.uses[k]
				u.Buffer, _ = u.Buffer.Target()
				u.Group.FollowGrowth()
			}
		}
	}
	for _, g := range l.reductions {
		g.FollowGrowth()
	}
}

// An Iteration is a recorded graph of tasks: kernels and Go functions. Replay runs them as one task
// of the runtime, whose accesses are the union of those of all steps, so that it is ordered with
// other tasks as the steps would be. The recorded edges order the steps; no dependences are
// computed for them. If all steps are functions without a Scope, with accesses and labels only, and
// the machine has no accelerator, the steps do not become tasks (package replay). Otherwise they
// are children of that task and run on any device (rerun.go).
//
// Many replays may be in flight, of the same iteration and of others. If the steps are tasks, and
// without Args, groups and reductions, a replay starts while the one before runs: its steps follow
// those that they conflict with. Otherwise the replays of one iteration run one after the other,
// each with the values that its Args had when Replay was called.
//
// An Iteration belongs to one runtime. Any goroutine may call its methods, but a task body must
// not.
type Iteration struct {
	rt       *engine.Runtime
	mu       spin.Mutex // serialises calls
	last     Task
	broken   error      // the reason why the steps cannot be replayed in their current state
	moved    bool       // a step has other accesses than those for which the edges were computed
	runsMu   spin.Mutex // the innermost lock
	freeRuns *replayRun // a free list
	runsMade int
	run      replay.Run
	failures stepFailures
	within   context.Context // of the groups
	pipeline pipeline
	recorder Recorder // the recorder of ReplayOrRecord
	contents contentVersions
	origin   uintptr // the function that describes the steps
	replays  int32   // that were requested
	recording
}

// contentVersions counts the calls that changed the contents of the steps.
type contentVersions struct {
	requested int64        // guarded by Iteration.mu
	begun     atomic.Int64 // the contents of the latest replay that has begun
}

// A recording contains the steps of an iteration.
type recording struct {
	steps      []step
	current    []stepContent // of the replay that runs, or was the last to run
	uses       []use
	succs      []int32 // the successors of all steps, concatenated
	preds      []int32 // the predecessors, likewise
	tasks      bool    // the steps become tasks
	ordered    bool    // the writes of the steps order consecutive replays
	roots      []int32 // steps without predecessors
	dynamic    []int32 // steps with Args as arguments
	accesses   []deps.Access
	buffers    []*memory.Buffer // of the accesses
	hold       *memory.Hold     // keeps the buffers alive
	args       []anyArg
	groups     []*engine.Group
	reductions []*engine.Reduction
	traced     []probe.ReplayStep // of the steps, once they were traced; its elements do not change
}

// A stepContent is the part of a step that may differ from replay to replay.
type stepContent struct {
	body     func() error
	nested   func(*Scope) error // instead of body
	template *taskTemplate      // instead of body and nested
	label    string
	origin   uintptr // as in a record
}

// A step is one task of an iteration.
type step struct {
	stepContent                   // for the latest call of Replay; guarded by Iteration.mu
	combines    *engine.Reduction // instead of all three: a step added by the runtime that combines a reduction
	accesses    []deps.Access
	buffers     []*memory.Buffer // of the accesses of a Go function: their numbers may become those of others
	preds       int32
	firstPred   int32 // its predecessors are preds[firstPred:lastPred]
	lastPred    int32
	first, last int32 // its successors are succs[first:last]
	uses        int32 // its accesses are uses[uses:usesEnd]
	usesEnd     int32
	group       int32 // it is in groups[group-1]
	waits       int32 // it represents the wait for groups[waits-1]
	undeferred  bool  // all later steps depend on it
}

// A use is an access as the program specified it, for comparison.
type use struct {
	memory values.Range
	mode   deps.Mode
	box    *box
}

// ErrNotRecordable means that a recorded task does not support an option.
var ErrNotRecordable = errors.New("not possible in a recorded iteration")

// together returns accesses that conflict with exactly the accesses that one of the given ones
// conflicts with: the written memory, and the memory that is only read.
func together(accesses []deps.Access) []deps.Access {
	type sets struct{ written, read deps.Set }
	var order []deps.BufferID
	byBuffer := map[deps.BufferID]*sets{}
	for _, a := range accesses {
		if a.Region.Empty() {
			continue
		}
		s := byBuffer[a.Region.Buffer]
		if s == nil {
			s = &sets{}
			byBuffer[a.Region.Buffer] = s
			order = append(order, a.Region.Buffer)
		}
		if a.Mode.Writes() {
			s.written.Add(a.Region)
		} else {
			s.read.Add(a.Region)
		}
	}
	var out []deps.Access
	for _, id := range order {
		s := byBuffer[id]
		for _, w := range s.written.Regions() {
			s.read.Remove(w)
			out = append(out, deps.Access{Region: w, Mode: deps.InOut})
		}
		for _, r := range s.read.Regions() {
			out = append(out, deps.Access{Region: r, Mode: deps.In})
		}
	}
	return out
}

// Tasks returns the number of steps, including those that combine reductions or represent the wait
// for a group.
func (it *Iteration) Tasks() int { return len(it.steps) }

// Edges returns the number of recorded edges.
func (it *Iteration) Edges() int { return len(it.succs) }

// Replay submits the iteration with the values that Arg.Set has set. Its steps run after those of
// earlier replays that they depend on, but Replay does not wait for them, unless the steps write
// nothing, or an Arg changes the accesses of a step. If steps fail, the error of the task is a
// *FailedError; steps that depend on them are skipped, and so are later replays that were requested
// before Wait has reported it, of which some steps may have run.
//
// If there are only CPU workers, the replay is one task, and idle workers help with its steps.
// While it waits for steps that others run, its worker runs other tasks. Each running step occupies
// one worker, like a task.
//
// Errors: those of Runtime.Go; a *ChangedError if memory that the steps use is not a buffer any
// more, unless it was that of an Arg that has other memory now; ErrInsideTask in the body of a
// task.
func (it *Iteration) Replay() (Task, error) {
	if it == nil || it.rt == nil {
		return Task{}, misuse("Iteration.Replay", errNilHandle)
	}
	if err := it.inBody("Iteration.Replay"); err != nil {
		return Task{}, err
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay(nil)
}

// ReplayIn is Replay for a Runtime or for a Group of the program. The group then waits for the
// iteration and can cancel it.
func (it *Iteration) ReplayIn(at Submitter) (Task, error) {
	if it == nil || it.rt == nil {
		return Task{}, misuse("Iteration.ReplayIn", errNilHandle)
	}
	if c, ok := at.(*Collector); ok {
		return collected(c, "Iteration.ReplayIn", it.ReplayIn)
	}
	s, g, err := submitterOf("Iteration.ReplayIn", at)
	if err != nil {
		return Task{}, err
	}
	if err := it.inBody("Iteration.ReplayIn"); err != nil {
		return Task{}, err
	}
	if s != &it.rt.Root {
		return Task{}, fmt.Errorf("task: replay: %w: want the runtime that has recorded it, or a group of it", ErrNotRecordable)
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay(g)
}

// inBody returns ErrInsideTask where the caller is the body of a task: a replay may wait for the
// earlier ones, and for that task with them.
func (it *Iteration) inBody(call string) error {
	if it.rt.Window.Live() > 0 && smp.InBody() {
		return misuse(call, engine.ErrInBody)
	}
	return nil
}

func (it *Iteration) replay(g *engine.Group) (Task, error) {
	if !it.ordered {
		if err := it.waitIdle(); err != nil {
			return Task{}, err
		}
	}
	if it.broken != nil {
		return Task{}, it.broken
	}
	if err := it.followGrowth(); err != nil {
		return Task{}, err
	}
	gone := it.freed()
	if gone != nil && (len(it.dynamic) == 0 || !errors.As(gone, new(*ChangedError))) {
		return Task{}, gone
	}
	t := it.takeRun()
	for _, a := range it.args {
		a.save(t.index)
	}
	if err := it.rebind(gone != nil); err != nil {
		t.Release()
		return Task{}, err
	}
	t.group = g
	if it.tasks {
		t.resetGraph()
	}
	if it.pipeline.across == nil && it.mayOverlap() && it.last.h.Record != nil {
		it.pipeline.across = it.findAcross()
	}
	t.contents, t.version, t.number = t.contents[:0], it.contents.requested, it.replays+1
	if it.contents.begun.Load() != t.version {
		for i := range it.steps {
			t.contents = append(t.contents, it.steps[i].stepContent)
		}
	}
	t.templates = t.templates[:0]
	for _, i := range it.dynamic {
		t.templates = append(t.templates, it.steps[i].template)
	}
	task, err := submitIteration(it.rt, t)
	if errors.Is(err, errGrown) { // after the check
		return it.replay(g)
	}
	if err == nil { // otherwise the previous replay is still the last
		it.last, it.replays = task, t.number
	}
	return task, err
}

// freed returns an error if a buffer that the steps use has been freed, or is about to be. If all
// of them have, the reason is the end of the runtime.
func (it *Iteration) freed() error {
	for _, b := range it.buffers {
		switch {
		case !b.Gone.Load() && !b.Dropping.Load():
		case it.rt.Refuses():
			return engine.ErrClosed
		case b.Grown.Load() != nil:
			return errGrown
		default:
			return goneError(b, it.userOf(b))
		}
	}
	return nil
}

// usesGone returns an error if a step, with the arguments that it has now, uses a buffer that has
// been freed, or is about to be.
func (it *Iteration) usesGone() error {
	for i := range it.steps {
		s := &it.steps[i]
		b := memory.GoneOf(s.buffers)
		if s.template != nil {
			b = s.template.hold.Gone()
		}
		if b != nil {
			return goneError(b, it.userOf(b))
		}
	}
	return nil
}

// userOf returns the name of the first step that uses b.
func (it *Iteration) userOf(b *memory.Buffer) string {
	for i := range it.steps {
		s := &it.steps[i]
		uses, label := memory.AnyInside(s.buffers, b), s.label
		if d := s.template; d != nil {
			if uses = d.hold.Has(b); label == "" && d.kernel != nil {
				label = d.kernel.Name
			}
		}
		if uses {
			return fmt.Sprintf(", which step %d, %s, uses,", i, label)
		}
	}
	return ""
}

// goneError returns the error that b is not a buffer any more. user names the task or replay that
// uses it, or is empty.
func goneError(b *memory.Buffer, user string) error {
	if g := b.Grown.Load(); g != nil { // the buffer of a sequence of kernels, whose device has its addresses
		return &ChangedError{What: fmt.Sprintf("buffer %d (%s)%s has become a part of a larger one (%s), as memory around it was used,", b.ID, b.String(), user, g.String())}
	}
	by := "Unregister"
	if b.Pages != nil {
		by = "Free"
	}
	return &ChangedError{What: fmt.Sprintf("buffer %d (%s)%s was given back by %s", b.ID, b.String(), user, by)}
}

// goneIn returns an error if a buffer of a sequence of kernels has been freed, or is about to be.
func goneIn(buffers []*memory.Buffer) error {
	for _, b := range buffers {
		if b.Gone.Load() || b.Dropping.Load() {
			return goneError(b, "")
		}
	}
	return nil
}

// waitIdle waits until no replay uses the steps. Replays end in order.
//
// Errors: ErrInsideTask.
func (it *Iteration) waitIdle() error {
	if it.last.h.Record == nil {
		return nil
	}
	if err := it.last.Wait(context.Background()); errors.As(err, new(*misuseError)) { // other errors are failures of the replay
		return err
	}
	return nil
}

// A ChangedError means that a recorded iteration can no longer be replayed.
type ChangedError struct {
	What string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("task: replay: %s since it was recorded: record it again", e.What)
}

// submitIteration submits an iteration as one task. The end of the task frees run t.
func submitIteration(rt *engine.Runtime, t *replayRun) (Task, error) {
	kind := engine.GoBody
	if t.it.tasks {
		kind = engine.ReplayBody
	}
	r, err := rt.Root.Begin(t.group, kind)
	if err != nil {
		t.Release()
		return Task{}, err
	}
	r.Need().Replay, r.Origin = t, t.it.origin
	t.task = r
	if r.Label = "iteration"; !t.it.tasks {
		r.Body = t.body
	}
	if err := t.it.freed(); err != nil { // a second check: from here on a caller that frees memory waits for r
		return handle(rt.Root.Abort(r, err))
	}
	r.Accesses = append(r.Accesses, t.it.accesses...)
	r.KeepBuffers(t.it.buffers)
	if err := describeGo(rt, r, nil); err != nil {
		return handle(rt.Root.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err)))
	}
	overlaps := t.it.mayOverlap()
	if overlaps {
		t.it.runsMu.Lock()
		t.it.pipeline.waiting = append(t.it.pipeline.waiting, t)
		t.it.runsMu.Unlock()
	}
	task := Task{rt.Root.Commit(r)}
	if overlaps {
		t.it.advance()
	}
	return task, nil
}

// A stepFailures collects the errors of the steps of a replay. It implements replay.Failures.
type stepFailures struct {
	it         *Iteration
	failing    spin.Mutex
	skipCauses map[int32]*engine.Error // the steps to skip, with the failure that causes it
	failed     engine.FailedError
}

// Skipped implements replay.Failures.
func (f *stepFailures) Skipped(i int32) error {
	f.failing.Lock()
	defer f.failing.Unlock()
	if via := f.skipCauses[i]; via != nil {
		return &engine.SkippedError{Via: via.Label, First: engine.FirstOf(via)}
	}
	return nil
}

// Fail implements replay.Failures.
func (f *stepFailures) Fail(i int32, cause error) error {
	s, now := &f.it.steps[i], &f.it.current[i]
	e := &engine.Error{Task: deps.TaskID(i) + 1, Label: now.label, Device: "smp", Pos: now.position(), Cause: cause}
	f.failing.Lock()
	defer f.failing.Unlock()
	if errors.Is(cause, engine.ErrSkipped) {
		f.failed.Skipped++
	} else {
		f.failed.Failed = append(f.failed.Failed, e)
	}
	for _, j := range f.it.succs[s.first:s.last] {
		if f.skipCauses[j] == nil {
			f.skipCauses[j] = e
		}
	}
	return e
}

// take returns the collected errors and clears the list.
func (f *stepFailures) take() error {
	clear(f.skipCauses)
	failed := f.failed
	f.failed = engine.FailedError{}
	return &failed
}

// runSteps runs the steps of it on the worker of owner, the task of the replay, and on idle
// workers.
func (it *Iteration) runSteps(owner *engine.Record) (err error) {
	broken := true
	defer func() { // deferred, because a step may end the goroutine
		if broken {
			err = it.failures.take()
		}
	}()
	broken = it.run.All(func(done func() bool, f func()) { runBlocking(it.rt, owner, done, f) })
	return nil
}

// prepareRun prepares the run for the steps.
func (it *Iteration) prepareRun() {
	g := replay.Graph{Steps: make([]replay.Step, len(it.steps)), Succs: it.succs, Roots: it.roots}
	for i := range it.steps {
		s := &it.steps[i]
		g.Steps[i] = replay.Step{Body: s.body, Preds: s.preds, First: s.first, Last: s.last}
	}
	it.failures = stepFailures{it: it, skipCauses: map[int32]*engine.Error{}}
	it.run.Prepare(g, it.rt.Pool.Workers, &it.failures)
}
