package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/replay"
	"github.com/gompss/gompss/task/internal/values"
)

// errGrown means that a buffer that an iteration uses has grown.
var errGrown = errors.New("gompss: a buffer of an iteration has grown")

// followGrowth makes the steps use the buffers that theirs have become parts of. No replay may be
// in flight then, so it waits for them.
func (it *Iteration) followGrowth() error {
	root := &it.rt.Root
	if !slices.ContainsFunc(it.buffers, func(b *memory.Buffer) bool { return b.Grown.Load() != nil }) {
		return nil
	}
	if err := it.waitIdle(); err != nil {
		return err
	}
	endReductions(root) // and merges what has grown
	it.recording.followGrowth(&it.rt.Buffers)
	return nil
}

// followGrowth makes the steps use the buffers that theirs have become parts of.
func (l *recording) followGrowth(t *memory.Table) {
	parts := map[deps.BufferID]*memory.Buffer{} // the table may not have them any more
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
	l.buffers = kept
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
		for _, d := range []*taskTemplate{s.template, s.requested} {
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

// An Iteration is a recorded graph of tasks, kernels and Go functions. Replay runs all of them as
// one task of the runtime: its accesses are those of all its steps together, so that it is ordered
// with other tasks as the steps would be, and among the steps the recorded order holds. Nothing is
// analysed for a step. Where all steps are functions without a Scope, with accesses and labels
// only, and the machine has no accelerator, they do not become tasks at all (package replay); else
// they are children of that task, on any devices (rerun.go).
//
// Many replays may be in flight, of one iteration and of several: those of one run one after the
// other, each with the values that Args had when it was asked for.
//
// An Iteration belongs to one runtime; its methods may be called from any goroutine, but not from
// the body of a task.
type Iteration struct {
	rt       *engine.Runtime
	mu       spin.Mutex // one call at a time
	last     Task
	broken   error      // why the steps cannot run as they are
	moved    bool       // a step accesses something else than when the edges were found
	runsMu   spin.Mutex // innermost
	freeRuns *replayRun // unused
	runsMade int
	run      replay.Run
	failures stepFailures
	graph    graphReplay
	recorder Recorder // of ReplayOrRecord
	recording
}

// A recording holds the steps of an iteration.
type recording struct {
	steps      []step
	uses       []use
	succs      []int32 // of all steps: those of one beside each other
	preds      []int32 // likewise
	tasks      bool    // steps become tasks
	ordered    bool    // one replay comes after another because of what they write
	roots      []int32 // steps without predecessors
	dynamic    []int32 // steps with Args among the arguments
	accesses   []deps.Access
	buffers    []*memory.Buffer // of the accesses
	hold       *memory.Hold     // of them
	args       []anyArg
	groups     []*engine.Group
	reductions []*engine.Reduction
}

// A step is one task of an iteration.
type step struct {
	body        func() error
	nested      func(*Scope) error // in place of body
	template    *taskTemplate      // in place of both
	requested   *taskTemplate      // does, for the latest replay that was asked for; guarded by Iteration.mu
	combines    *engine.Reduction  // in place of all: the step was not asked for, it ends a reduction
	accesses    []deps.Access
	preds       int32
	firstPred   int32 // its predecessors are preds[firstPred:lastPred]
	lastPred    int32
	first, last int32 // its successors are succs[first:last]
	uses        int32 // its accesses are uses[uses:usesEnd]
	usesEnd     int32
	group       int32 // it is in groups[group-1]
	waits       int32 // it is there for a wait for groups[waits-1]
	undeferred  bool  // all that come later come after it
	label       string
	origin      uintptr // as of a record
}

// A use is an access as it was given, to compare with.
type use struct {
	memory values.Range
	mode   deps.Mode
	box    *box
}

// Record calls build, which gives the tasks of one iteration to the recorder, and returns their
// graph. No task runs yet.
//
// A task with If(false), or a kernel whose if clause is false, comes before all that are recorded
// after it, and so do the tasks of a Group before what is recorded after its Wait. Reductions are
// combined where a task accesses the same elements otherwise, and at the end of the iteration.
//
// Errors: what build returns; those of submitting the tasks.
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

// ErrNotRecordable means that an option is not possible for a recorded task.
var ErrNotRecordable = errors.New("not possible in a recorded iteration")

// together returns accesses that conflict with just what one of the given ones conflicts with: what
// is written, and what is only read.
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

// Tasks returns the number of steps, those included that combine reductions or stand for the wait
// of a group.
func (it *Iteration) Tasks() int { return len(it.steps) }

// Edges returns the number of recorded edges.
func (it *Iteration) Edges() int { return len(it.succs) }

// Replay submits the iteration as it was recorded, with the values of Arg.Set since then. It comes
// after the replays before it, and does not wait for them, but where its steps write nothing, or an
// Arg makes a step access something else than before. The steps that fail are the task's error, a
// *FailedError; steps that depend on them are skipped.
//
// On CPU workers alone the replay is one task, whose steps idle workers help with. While it waits
// for steps that others run, its worker runs other tasks: a step keeps one worker, as a task does.
//
// Errors: those of Runtime.Go; a *ChangedError when memory that the steps use is no buffer any
// more.
func (it *Iteration) Replay() (Task, error) {
	if it == nil || it.rt == nil {
		return Task{}, misuse("Iteration.Replay", errNilHandle)
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay(nil)
}

// ReplayIn is Replay for a Group of the program, which then waits for the iteration and cancels it,
// or for the Runtime.
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
	if s != &it.rt.Root {
		return Task{}, fmt.Errorf("task: replay: %w: want the runtime that has recorded it, or a group of it", ErrNotRecordable)
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay(g)
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
	if err := it.freed(); err != nil {
		return Task{}, err
	}
	t := it.takeRun()
	for _, a := range it.args {
		a.save(t.index)
	}
	if err := it.rebind(); err != nil {
		t.Release()
		return Task{}, err
	}
	t.group = g
	t.templates = t.templates[:0]
	for _, i := range it.dynamic {
		t.templates = append(t.templates, it.steps[i].requested)
	}
	task, err := submitIteration(it.rt, t)
	if errors.Is(err, errGrown) { // since it was looked at
		return it.replay(g)
	}
	if err == nil { // else the one before is still the last
		it.last = task
	}
	return task, err
}

// freed returns an error when a buffer that the steps use is gone, or about to be; of all of them
// the runtime's end is the reason.
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

// userOf names the first step that accesses b.
func (it *Iteration) userOf(b *memory.Buffer) string {
	for i := range it.steps {
		s := &it.steps[i]
		accesses, label := s.accesses, s.label
		if d := s.requested; d != nil {
			if accesses = d.accesses; label == "" && d.kernel != nil {
				label = d.kernel.Name
			}
		}
		if slices.ContainsFunc(accesses, func(a deps.Access) bool { return a.Region.Buffer == b.ID }) {
			return fmt.Sprintf(", which step %d, %s, uses,", i, label)
		}
	}
	return ""
}

// goneError reports that b is no longer a buffer; user names the task or replay that uses it, or is
// empty.
func goneError(b *memory.Buffer, user string) error {
	if g := b.Grown.Load(); g != nil { // of a sequence of kernels, whose addresses its device has
		return &ChangedError{What: fmt.Sprintf("buffer %d (%s)%s has become a part of a larger one (%s), as memory around it was used,", b.ID, b.String(), user, g.String())}
	}
	by := "Unregister"
	if b.Pages != nil {
		by = "Free"
	}
	return &ChangedError{What: fmt.Sprintf("buffer %d (%s)%s was given back by %s", b.ID, b.String(), user, by)}
}

// goneIn returns an error where one of the buffers of a sequence of kernels is gone, or about to
// be.
func goneIn(buffers []*memory.Buffer) error {
	for _, b := range buffers {
		if b.Gone.Load() || b.Dropping.Load() {
			return goneError(b, "")
		}
	}
	return nil
}

// waitIdle waits until the steps are not in use. Replays end in order.
//
// Errors: ErrInsideTask.
func (it *Iteration) waitIdle() error {
	if it.last.h.Record == nil {
		return nil
	}
	if err := it.last.Wait(context.Background()); errors.As(err, new(*misuseError)) { // others are of the replay
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

// submitIteration submits an iteration as one task. The turn is given back with its record.
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
	r.Need().Replay = t
	t.task = r
	if r.Label = "iteration"; !t.it.tasks {
		r.Body = t.body
	}
	if err := t.it.freed(); err != nil { // checked again since Replay: from here on a caller that frees it waits for r
		return handle(rt.Root.Abort(r, err))
	}
	r.Accesses = append(r.Accesses, t.it.accesses...)
	if err := describeGo(rt, r, nil); err != nil {
		return handle(rt.Root.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err)))
	}
	return Task{rt.Root.Commit(r)}, nil
}

// A stepFailures keeps the errors of the steps of a replay. It implements replay.Failures.
type stepFailures struct {
	it         *Iteration
	failing    spin.Mutex
	skipCauses map[int32]*engine.Error // steps that are to be skipped, and because of which failure
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
func (f *stepFailures) Fail(i int32, cause error) {
	s := &f.it.steps[i]
	e := &engine.Error{Task: deps.TaskID(i) + 1, Label: s.label, Device: "smp", Pos: s.position(), Cause: cause}
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
}

// take returns what failed and forgets it.
func (f *stepFailures) take() error {
	clear(f.skipCauses)
	failed := f.failed
	f.failed = engine.FailedError{}
	return &failed
}

// runSteps runs the steps of it on the worker of owner, the task of the replay, and on idle ones.
func (it *Iteration) runSteps(owner *engine.Record) (err error) {
	broken := true
	defer func() { // also when a step ended the goroutine
		if broken {
			err = it.failures.take()
		}
	}()
	broken = it.run.All(func(done func() bool, f func()) { runBlocking(it.rt, owner, done, f) })
	return nil
}

// prepareRun makes the run ready for the steps.
func (it *Iteration) prepareRun() {
	g := replay.Graph{Steps: make([]replay.Step, len(it.steps)), Succs: it.succs, Roots: it.roots}
	for i := range it.steps {
		s := &it.steps[i]
		g.Steps[i] = replay.Step{Body: s.body, Preds: s.preds, First: s.first, Last: s.last}
	}
	it.failures = stepFailures{it: it, skipCauses: map[int32]*engine.Error{}}
	it.run.Prepare(g, it.rt.Pool.Workers, &it.failures)
}
