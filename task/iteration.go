package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
)

// An Iteration is a recorded graph of tasks, kernels and Go functions. Replay runs all of them as one task of the runtime: its
// accesses are those of all its steps together, so that it is ordered with other tasks as the steps would be, and among the steps the
// recorded order holds. Nothing is analysed for a step. Where all steps are functions without a Scope and the machine has no
// accelerator, they do not become tasks at all (replay.go); else they are children of that task, on any devices (rerun.go).
//
// One replay is in flight at a time: the bodies of its steps read Args, which hold the values of one replay. The next may be asked for
// meanwhile, by who waits for it in Replay.
//
// An Iteration belongs to one runtime; its methods may be called from any goroutine, but not from the body of a task.
type Iteration struct {
	rt     *Runtime
	mu     mutex // one replay at a time
	last   Task
	broken error // why the steps cannot run as they are
	run    replay
	graph  rerun
	again  Recorder // of Again
	recording
}

// A recording is what an iteration consists of.
type recording struct {
	steps    []step
	uses     []use
	succs    []int32 // of all steps: those of one beside each other
	preds    []int32 // likewise
	tasks    bool    // steps become tasks
	roots    []int32 // steps without predecessors
	accesses []deps.Access
	buffers  []*buffer // of the accesses
	args     []slot
}

// A step is one task of an iteration.
type step struct {
	body        func() error
	nested      func(*Scope) error // in place of body
	does        *described         // in place of both
	accesses    []deps.Access
	preds       int32
	firstPred   int32 // its predecessors are preds[firstPred:lastPred]
	lastPred    int32
	first, last int32 // its successors are succs[first:last]
	uses        int32 // its accesses are uses[uses:usesEnd]
	usesEnd     int32
	label       string
}

// A use is an access as it was given, to compare with.
type use struct {
	memory memory
	mode   deps.Mode
	box    *box
}

// slot is an Arg of any type.
type slot interface{ advance() }

// An Arg is a value that the steps of an iteration read and that every replay may set anew. It may be an argument of a kernel
// that is recorded, in place of a T.
type Arg[T any] struct {
	mu        mutex
	now, next T
	set, news bool // since the last replay, and before it
}

// NewArg makes an argument of the iteration that r records. What Set says holds from the next Replay on.
func NewArg[T any](r *Recorder, value T) *Arg[T] {
	a := &Arg[T]{now: value, next: value}
	r.args = append(r.args, a)
	return a
}

// Get returns the value for this replay. It is for the bodies of steps.
func (a *Arg[T]) Get() T { return a.now }

// Set sets the value for the replays that are asked for from now on.
func (a *Arg[T]) Set(value T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next, a.set = value, true
}

func (a *Arg[T]) advance() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now, a.news, a.set = a.next, a.set, false
}

func (a *Arg[T]) value() any { return a.now }

func (a *Arg[T]) fresh() bool { return a.news }

// A Recorder takes the tasks of an iteration. Nothing runs while it does. It is a Submitter: a kernel, or a function that was
// generated for one, submits to it as to a Runtime, and so does Loop; the Task that they return is no task.
type Recorder struct {
	rt    *Runtime
	scope *Scope     // that stands for it
	old   *Iteration // what is compared with, nil from the first difference on
	at    int        // steps so far that were as in old
	args  []slot
	fresh recording // where nothing is compared
	edges [][2]int32
	graph *deps.Domain
	err   error
}

// ErrNotRecordable says that an option has no meaning for a task that is recorded.
var ErrNotRecordable = errors.New("not possible in a recorded iteration")

// Record calls build, which gives the tasks of one iteration to the recorder, and returns their graph. No task runs yet.
//
// Errors: what build returns; about accesses; options other than accesses and labels, of Go tasks; reductions, if and final.
func (rt *Runtime) Record(build func(*Recorder) error) (*Iteration, error) {
	r := &Recorder{rt: rt}
	if err := r.collect(build); err != nil {
		return nil, err
	}
	it := &Iteration{rt: rt}
	r.finish(it)
	return it, nil
}

func (r *Recorder) collect(build func(*Recorder) error) error {
	if err := build(r); err != nil {
		return err
	}
	return r.err
}

// Go records a task that runs body: see Runtime.Go. Accesses and a label are the only options.
func (r *Recorder) Go(body func() error, options ...Option) error {
	if body == nil {
		r.err = errNoBody
		return r.err
	}
	return r.goStep(body, nil, options)
}

func (r *Recorder) submitter() (*Scope, *Group) {
	if r.scope == nil {
		r.scope = &Scope{rt: r.rt, records: r}
	}
	return r.scope, nil
}

// refuse makes the recording fail when something is asked for that a recorded task cannot have.
func (r *Recorder) refuse(asked bool, what string) *Recorder {
	if asked && r.err == nil {
		r.err = fmt.Errorf("task: record: %w: %s", ErrNotRecordable, what)
	}
	return r
}

// goStep records a task that runs body, or nested with a scope.
func (r *Recorder) goStep(body func() error, nested func(*Scope) error, options []Option) error {
	if r.err != nil {
		return r.err
	}
	if r.old != nil {
		if r.sameAsBefore(nested != nil, options) {
			r.old.steps[r.at].body, r.old.steps[r.at].nested = body, nested
			r.at++
			return nil
		}
		r.startOver()
	}
	return r.record(body, nested, options)
}

// kernelStep records a task that runs a kernel.
func (r *Recorder) kernelStep(k *Kernel, args []any, options []Option) error {
	if r.err != nil {
		return r.err
	}
	d, err := r.rt.describeStep(k, args, options)
	if err != nil {
		r.err = fmt.Errorf("task: record: step %d: %w", r.at+len(r.fresh.steps), err)
		return r.err
	}
	if r.old != nil {
		if r.at < len(r.old.steps) && r.old.steps[r.at].does != nil && r.old.steps[r.at].does.same(d) {
			r.old.steps[r.at].does = d
			r.at++
			return nil
		}
		r.startOver()
	}
	return r.addKernel(d)
}

func (r *Recorder) addKernel(d *described) error {
	at := int32(len(r.fresh.uses))
	r.fresh.tasks = true
	return r.addStep(step{does: d, uses: at, usesEnd: at, label: d.label}, d.accesses)
}

func (r *Recorder) record(body func() error, nested func(*Scope) error, options []Option) error {
	if err := r.add(body, nested, options); err != nil {
		r.err = fmt.Errorf("task: record: step %d: %w", len(r.fresh.steps), err)
	}
	return r.err
}

// add appends a step and finds its predecessors.
func (r *Recorder) add(body func() error, nested func(*Scope) error, options []Option) error {
	if r.rt.host < 0 {
		return errors.New("a go task needs CPU workers")
	}
	r.fresh.tasks = r.fresh.tasks || nested != nil || r.rt.accelerators
	s := step{body: body, nested: nested, uses: int32(len(r.fresh.uses)), label: "go task"}
	var accesses []deps.Access
	for i := range options {
		o := &options[i]
		switch o.what() {
		case noOption:
		case labelOption:
			s.label = o.text()
		case accessOption, specialOption:
			a, err := r.rt.accessOf(o)
			if err != nil {
				return err
			}
			r.fresh.uses = append(r.fresh.uses, use{o.memory(), o.mode(), o.box()})
			accesses = append(accesses, a)
		default:
			return fmt.Errorf("%w: options other than accesses and labels", ErrNotRecordable)
		}
	}
	s.usesEnd = int32(len(r.fresh.uses))
	return r.addStep(s, accesses)
}

func (r *Recorder) addStep(s step, accesses []deps.Access) error {
	for i := range accesses {
		switch accesses[i].Mode {
		case deps.Commutative:
			accesses[i].Mode = deps.InOut // in the recorded order, which is one of those allowed
		case deps.Reduction:
			return fmt.Errorf("%w: mode %s", ErrNotRecordable, accesses[i].Mode)
		}
	}
	buffers, err := r.rt.keep(r.fresh.buffers, accesses)
	if err != nil {
		return err
	}
	r.fresh.buffers = buffers
	if r.graph == nil {
		r.graph = &deps.Domain{Edge: func(pred, succ deps.TaskID) { r.edges = append(r.edges, [2]int32{int32(pred - 1), int32(succ - 1)}) }}
	}
	r.graph.Submit(&deps.Node{}, accesses)
	s.accesses = accesses
	r.fresh.steps = append(r.fresh.steps, s)
	r.fresh.accesses = append(r.fresh.accesses, accesses...)
	return nil
}

// keep adds the buffers of a step to those of its recording. It is called while the step is recorded: afterwards they may be gone, and
// their ids those of others.
func (rt *Runtime) keep(buffers []*buffer, accesses []deps.Access) ([]*buffer, error) {
	table := rt.buffers.load()
	for _, a := range accesses {
		if a.Region.Empty() {
			continue
		}
		b := table.byID[a.Region.Buffer]
		if b == nil {
			return buffers, &ChangedError{What: fmt.Sprintf("buffer %d was freed", a.Region.Buffer)}
		}
		if !slices.Contains(buffers, b) {
			buffers = append(buffers, b)
		}
	}
	return buffers, nil
}

// accessOf returns the access that an option says.
func (rt *Runtime) accessOf(o *Option) (deps.Access, error) {
	r := record{home: &rt.root, detail: &detail{rt: rt}}
	if err := rt.addAccess(&r, o); err != nil || len(r.accesses) == 0 {
		return deps.Access{Mode: o.mode()}, err
	}
	return r.accesses[0], nil
}

// finish makes it the iteration that was collected.
func (r *Recorder) finish(it *Iteration) {
	args := it.args
	it.recording = r.fresh
	if it.args = r.args; len(r.args) == 0 {
		it.args = args
	}
	it.linkSteps(r.edges)
	it.accesses = together(it.accesses)
	if it.tasks {
		it.graph = rerun{it: it, refs: make([]deps.Ref, len(it.steps)), errs: make([]*Error, len(it.steps))}
	} else {
		it.run.prepare(it)
	}
	*r = Recorder{}
}

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

// together returns accesses that conflict with just what one of the given ones conflicts with: what is written, and what is
// only read.
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

// Tasks returns the number of steps.
func (it *Iteration) Tasks() int { return len(it.steps) }

// Edges returns the number of recorded edges.
func (it *Iteration) Edges() int { return len(it.succs) }

// Replay submits the iteration as it was recorded, with what Arg.Set has said since. It waits for the replay before, if that is
// not over. The steps that fail are the task's error, a *FailedError; steps that depend on them are skipped.
//
// Errors: those of Runtime.Go; a *ChangedError when memory that the steps use is no buffer any more.
func (it *Iteration) Replay() (Task, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay()
}

func (it *Iteration) replay() (Task, error) {
	it.settle()
	if it.broken != nil {
		return Task{}, it.broken
	}
	for _, b := range it.buffers {
		if b.gone.Load() {
			return Task{}, &ChangedError{What: fmt.Sprintf("buffer %d was freed", b.id)}
		}
	}
	for _, a := range it.args {
		a.advance()
	}
	if err := it.rebind(); err != nil {
		return Task{}, err
	}
	t, err := it.rt.submitIteration(it)
	it.last = t
	return t, err
}

// settle waits until the steps are not in use.
func (it *Iteration) settle() {
	if it.last.record != nil {
		<-it.last.Done()
	}
}

// A ChangedError says that a recorded iteration cannot be replayed any more.
type ChangedError struct {
	What string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("task: replay: %s since it was recorded", e.What)
}

// submitIteration submits an iteration as one task.
func (rt *Runtime) submitIteration(it *Iteration) (Task, error) {
	kind := goBody
	if it.tasks {
		kind = replayBody
	}
	r, err := rt.root.begin(nil, kind)
	if err != nil {
		return Task{}, err
	}
	if r.need().label = "iteration"; it.tasks {
		r.rerun = &it.graph
	} else {
		r.body = it.run.body
	}
	r.accesses = append(r.accesses, it.accesses...)
	if err := rt.describeGo(r, nil); err != nil {
		return rt.root.giveUp(r, fmt.Errorf("task: %s: %w", r.name(), err))
	}
	return rt.root.commit(r), nil
}
