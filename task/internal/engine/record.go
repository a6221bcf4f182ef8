package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/state"
	"github.com/gompss/gompss/trace/probe"
)

// running returns the version of the kernel of r that runs at a place.
func (r *Record) running(p sched.PlaceID) *kernels.Kernel {
	if len(r.Kernel.Versions) > 0 {
		if v := r.RT.VariantsOf(r.Kernel).versions[p]; v != nil {
			return v
		}
	}
	return r.Kernel
}

func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Settings holds the places and tokens that the options of one task name.
type Settings struct {
	Places sched.PlaceSet
	Placed bool
	Tokens []sched.Tokens
}

// A Record is a task in flight. Records are recycled: a holder outside the engine keeps the task id
// too, and checks whether the record still has it.
//
// Ownership: until the task is ready, its fields belong to the goroutine that submits it, and from
// then on to the goroutine that runs it. poison, id and done are shared.
//
// Millions of tasks may be pending, so a record has at most 256 bytes, and fields that most tasks
// do not need are in its detail.
//
// It has four cache lines, in the order of the fields. The first one is equal for all simple tasks
// and written only if it changes, so all processors can cache it. The next two belong to the
// submitting goroutine; see deps.Node. The last one belongs to the worker that runs the task.
type Record struct {
	*Detail
	Scope  *Scope // where the task was submitted; does not change
	err    *Error
	poison atomic.Pointer[Error] // the failure of a predecessor that failed or was skipped
	done   atomic.Pointer[chan struct{}]

	worker int32
	Kind   BodyKind
	Holds  life.Holdings
	Traits life.Traits

	Node deps.Node
	Life life.Life
	Body func() error
	Link *Record // the next record in a list with one owner
}

// A Detail is the part of a record that simple Go tasks of the program do not need. They share
// Observers.None, which is read-only. Code that writes a field of a detail must call Need first,
// unless the record certainly has its own.
type Detail struct {
	RT   *Runtime
	Next *Detail // in the free list
	Item sched.Item

	membership
	sharing
	linking
	attempts
	merging
	clauses
	Bodies
	memoryUse
	launching
	replaying

	Trace           probe.Task       // the record for the recorder
	lastPredecessor lastPredecessor  // for the recorder
	Scratch         *kernels.Scratch // while the task is being submitted
}

// A membership is the scope and the groups of a task.
type membership struct {
	Inner  *Scope // the scope of its body, or nil
	Group  *Group // the group whose context cancels the task
	member *Group // the group that waits for the task: Group, or nil if Group waits for its parent
}

// A sharing is the state of the concurrent accesses of a task.
type sharing struct {
	groupSpace    devices.SpaceID
	sharedRegions []deps.Region // copies, because the accesses of reductions change at the start of the task
	heldIndex     int           // the index in concurrentGroups.held
}

// A linking is the set of accesses of a task that are linked to accesses of its children.
type linking struct {
	links []*link
	weak  int // the number of weak accesses, which are the last ones
	stage linkStage
}

// A linkStage says which nodes of a task with links are still open.
type linkStage uint8

const (
	linksOpen linkStage = iota // all nodes
	linksShut                  // the node of the task; the links end by themselves
	nodeOver                   // none: the node of the task is complete too
)

// attempts is the state of the repeated executions of a task.
type attempts struct {
	Retries int   // how often the task may still be repeated after a failure
	tries   int   // how often the task has been repeated after a failure
	outcome error // the error of the kernel; errStopped if its trial took too long and does not count
}

// A merging is the part of a task that concerns merged buffers.
type merging struct {
	mergeTarget *memory.Buffer // of a merge task: the buffer into which it moves the parts
	Merged      int64          // of a kernel task: Scope.Memory.Merged when it was submitted
}

// clauses are the options of a task other than accesses.
type clauses struct {
	Label    string
	Pos      ir.Pos
	Origin   uintptr  // the code address of the function that Body or Nested calls; 0 if that is the user's function
	Rank     int32    // 1 + the rank of OnRank, 0 without one
	Cost     HostCost // under virtual time
	Settings Settings
}

// Bodies are the functions of a task other than Record.Body.
type Bodies struct {
	Kernel  *kernels.Kernel
	BodyCtx func(context.Context) error
	Nested  any // a function with the public Scope as its parameter
}

// A memoryUse is the list of accesses of a task. The memory of the lists stays with the detail.
type memoryUse struct {
	Accesses     []deps.Access
	CopyAccesses []deps.Access    // the accesses to transfer, if they differ from those that order the task
	Uses         []ReductionUse   // the reductions among the accesses
	unordered    []*memory.Buffer // buffers that the task uses without an access
	Work         deps.Bytes
}

// A launching is the state of a task on an accelerator.
type launching struct {
	began        time.Duration // set if the policy learns execution times
	launch       devices.Launch
	Args         devices.Args
	Sequence     []devices.Step // with Args, if the kernel is a sequence
	Set          machine.WorkingSet
	eagerPlace   sched.PlaceID // the place of an eager launch: see eager.go
	releasedNext *Record       // the next task whose last predecessor finished after its launch
}

// A replaying is the state of the task of an iteration, or of a step of one.
type replaying struct {
	Replay replayTask // the body of the task of an iteration, else nil
	Steps  *StepGraph // of a step, else nil
	Step   int32
}

// A replayTask is the body of the task of an iteration.
type replayTask interface {
	// Start submits the steps as children of r, which has no body. The predecessors of r have
	// finished.
	Start(r *Record)
	// Close is called when the steps that Start has submitted have finished.
	Close()
	// Release is called when the record is freed.
	Release()
	// Released is called when the predecessors of r, which was started before they had finished, have
	// finished.
	Released()
	// Number returns the number of the replay, and the number of its steps.
	Number() (replay, steps int32)
	// Waits describes the steps that run now, if these are no tasks, and returns how many have
	// finished. Any goroutine may call it; live reports whether r is still the replay.
	Waits(live func() bool) (what string, finished int64)
}

// A StepGraph is the graph of the steps of one replay that are tasks.
type StepGraph struct {
	Run    any                      // of the caller: the replay
	Before func(step int32) []int32 // the predecessors of a step
	Across func(step int32) []int32 // its predecessors in the replay before
	Last   *StepGraph               // of the replay before, if that has not finished
	Scope  *Scope                   // of the replay
	Number int32                    // of the replay
	Refs   []deps.Ref               // the submitted steps, by number
	Errs   []*Error                 // of steps that failed or were skipped; guarded by Submitting of the replay's scope
	preds  []deps.Ref               // of the step that is being submitted
}

// isStep reports whether r is a step of an iteration.
func (r *Record) isStep() bool { return r.Steps != nil }

// Need returns the detail of r for writing. If r has none, it allocates one.
// Requires: r.Scope.Submitting held.
func (r *Record) Need() *Detail {
	rt := r.RT
	if r.Detail == rt.Observers.None {
		detailOf(rt, r)
	}
	return r.Detail
}

// detail allocates the detail of r, which has no accesses yet.
func detailOf(rt *Runtime, r *Record) {
	r.Detail = rt.FreeDetails.Get(rt)
	r.Item.Owner, r.Set.Owner = r, r
}

// Declared returns the accesses of a task that is being submitted.
// Requires: r.Scope.Submitting held.
func (r *Record) Declared() *[]deps.Access {
	if r.Detail == r.RT.Observers.None {
		return &r.Scope.Declared
	}
	return &r.Accesses
}

// keepAccesses is the maximum number of accesses whose memory a recycled record keeps.
const keepAccesses = 16

// A BodyKind is the kind of code that a task executes.
type BodyKind uint8

const (
	GoBody      BodyKind = iota // Body, BodyCtx or Nested, on a CPU worker
	KernelBody                  // a kernel, at any place
	CombineBody                 // the combination of the private copies of a reduction
	WaitBody                    // nothing: it waits until its accesses are valid on the host
	mergeBody                   // like WaitBody, for a merged buffer
	ReplayBody                  // the steps of an iteration, as its children
)

// Unlabelled is the name of a Go task without a label.
const Unlabelled = "go task"

// Waits reports whether a task of this kind only waits for its accesses on the host.
func (k BodyKind) Waits() bool { return k == WaitBody || k == mergeBody }

// Name returns the label of the task, or the name of its kind.
func (d *Detail) Name() string {
	switch {
	case d.Label != "":
		return d.Label
	case d.Kernel != nil:
		return d.Kernel.Name
	}
	return Unlabelled
}

func (d *Detail) kernelName() string {
	if d.Kernel == nil {
		return ""
	}
	return d.Kernel.Name
}

// Data returns the accesses whose data must be valid at the place of the task.
func (r *Record) Data() []deps.Access {
	if r.Traits.Is(life.OrderOnly) {
		return r.CopyAccesses
	}
	return r.strong(r.Accesses)
}

// strong returns the accesses that are not weak. accesses are all accesses of r.
func (r *Record) strong(accesses []deps.Access) []deps.Access { return accesses[:len(accesses)-r.weak] }

// AddWeak appends weak accesses to those of r, which must be complete otherwise. It omits weak
// accesses that a strong one of r subsumes. It returns an error if two of them overlap.
func (r *Record) AddWeak(list []deps.Access) error {
	strong := len(r.Accesses)
	for i, a := range deps.Merge(list) {
		said := false
		for k := range r.Accesses {
			o := &r.Accesses[k]
			switch {
			case !o.Region.Overlaps(a.Region):
			case k < strong && o.Region.Contains(a.Region) && (o.Mode == a.Mode || o.Mode == deps.InOut):
				said = true
			default:
				return fmt.Errorf("weak %s of %v, number %d, overlaps %s of %v of the same task: name the parts apart", a.Mode, a.Region, i+1, o.Mode, o.Region)
			}
		}
		if !said {
			r.Accesses = append(r.Accesses, a)
		}
	}
	r.weak = len(r.Accesses) - strong
	r.Traits.Set(life.Linked, r.weak > 0 || r.Traits.Is(life.EarlyRelease))
	return nil
}

// Fail sets the error of the task to cause.
func (r *Record) Fail(device string, cause error) {
	if _, skipped := cause.(*SkippedError); r.Kernel != nil && !skipped {
		r.Kernel.Device.Locate(cause, r.Args.List)
	}
	r.err = r.failure(device, cause)
}

// failure returns cause as an error of the task.
func (r *Record) failure(device string, cause error) *Error {
	return &Error{Task: r.Life.ID(), Label: r.ErrorLabel(), Kernel: r.kernelName(), Device: device, Pos: r.Position(), Cause: cause, group: r.member}
}

// skip sets the error of the task to the failure of a predecessor.
func (r *Record) skip(via *Error) {
	r.Fail("", &SkippedError{Via: titleOf(via.Label, via.Pos), First: FirstOf(via), direct: FirstOf(via) == via})
}

// clear prepares the record for another task and drops its references.
func (r *Record) clear() {
	if rt := r.RT; r.Detail != rt.Observers.None {
		r.Detail.clear()
		if !rt.Topology.Accelerators || !r.Scope.Program() { // else the detail stays with r in its free list
			rt.FreeDetails.Put(r.Detail)
			r.Detail = rt.Observers.None
		}
	}
	r.Body, r.Link = nil, nil
	// A field that already has its initial value is not written, so that its cache line is not
	// fetched.
	if r.err != nil {
		r.err = nil
	}
	if r.Kind != GoBody || r.Holds != 0 || r.Traits&^life.Traits(life.Simple) != 0 {
		r.Kind, r.Holds, r.Traits = GoBody, 0, r.Traits&life.Traits(life.Simple)
	}
	if r.poison.Load() != nil {
		r.poison.Store(nil)
	}
}

func (d *Detail) clear() {
	d.Item.Reset()
	d.Inner, d.Group, d.member = nil, nil, nil
	d.Label, d.Pos, d.Origin, d.Kernel, d.BodyCtx, d.Nested = "", ir.Pos{}, 0, nil, nil, nil
	d.Settings = Settings{Tokens: d.Settings.Tokens[:0]}
	if d.Accesses = d.Accesses[:0]; cap(d.Accesses) > keepAccesses {
		d.Accesses = nil
	}
	d.linking = linking{}
	d.Work, d.outcome, d.Steps, d.mergeTarget, d.Merged = 0, nil, nil, nil, 0
	if d.Replay != nil {
		d.Replay.Release()
		d.Replay = nil
	}
	d.Cost, d.Rank = HostCost{}, 0
	d.Retries, d.tries, d.CopyAccesses = 0, 0, d.CopyAccesses[:0]
	clear(d.Uses)
	d.sharedRegions = d.sharedRegions[:0]
	d.Uses = d.Uses[:0]
	for _, b := range d.unordered {
		b.EndUnordered()
	}
	clear(d.unordered)
	d.unordered = d.unordered[:0]
	clear(d.Args.List)
	d.Args.List, d.Args.At, d.Sequence = d.Args.List[:0], nil, nil
}

// detailFreeList is the free list of details.
type detailFreeList struct {
	mu   spin.Mutex
	List *Detail
	Made int64
}

func (l *detailFreeList) Get(rt *Runtime) *Detail {
	spin.Lock(&l.mu)
	d := l.List
	if d != nil {
		l.List, d.Next = d.Next, nil
	} else {
		l.Made++
	}
	l.mu.Unlock()
	if d == nil {
		d = &Detail{RT: rt} // outside the lock, because it takes longer than the locked part
	}
	return d
}

func (l *detailFreeList) Put(d *Detail) {
	d.Item.Owner, d.Set.Owner = nil, nil
	spin.Lock(&l.mu)
	d.Next, l.List = l.List, d
	l.mu.Unlock()
}

// ending returns the state event for the end of r.
func (r *Record) ending() state.Event {
	switch {
	case r.err == nil:
		return state.Finish
	case isSkip(r.err):
		return state.Skip
	}
	return state.Fail
}

func (r *Record) TaskID() deps.TaskID { return r.Life.ID() }

// Name names a step in reports. The next replay may change g meanwhile.
//
//go:norace
func (g *StepGraph) Name(step int32) string { return StepName(step, int32(len(g.Refs)), g.Number) }

// StepName names a step, which counts from 0, of a replay.
func StepName(step, steps, replay int32) string {
	return fmt.Sprintf("step %d of %d of replay %d", step+1, steps, replay)
}

// OnWorker returns the worker that the body of r has now. The caller is the body.
func (r *Record) OnWorker() int {
	if r.Inner != nil {
		return r.Inner.Worker
	}
	return int(r.worker)
}
