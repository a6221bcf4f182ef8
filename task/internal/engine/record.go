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

// A Record is a task while it is in flight. Records are recycled: a holder outside the engine keeps
// the id with it and asks whether they still belong together.
//
// Ownership: until the task is ready its fields belong to the goroutine that submits it, from then
// on to the goroutine that runs it. poison, id and done are shared.
//
// Millions may be pending, so a record is 256 bytes at most, and what most tasks do not need is in
// its detail.
//
// It is four cache lines, in the order of the fields. The first one is the same for all plain
// tasks, and only written where something changes in it, so all processors keep it. The next two
// belong to the submitting goroutine; see deps.Node. The last one belongs to the worker that runs
// the task and comes back.
type Record struct {
	*Detail
	Scope  *Scope // where it was submitted; stays
	err    *Error
	poison atomic.Pointer[Error] // a predecessor that failed or was skipped
	done   atomic.Pointer[chan struct{}]

	worker int32
	Kind   BodyKind
	Holds  life.Holdings
	Traits life.Traits

	Node deps.Node
	Life life.Life
	Body func() error
	Link *Record // in lists that one goroutine owns
}

// A Detail is the part of a record that plain Go tasks of the program with nothing but accesses do
// without: all of those have that of Observers.None, which is for reading only. A writer of a field
// of a record that may be one of them calls need before.
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

	Trace           probe.Task       // what the recorder gets in the end
	lastPredecessor lastPredecessor  // what it followed, for the recorder
	Scratch         *kernels.Scratch // while it is being described
}

// A membership is where a task belongs.
type membership struct {
	Inner  *Scope // of its body; nil when that has none
	Group  *Group // whose context ends it
	member *Group // that waits for it: group, or nil when that waits for its parent
}

// A sharing is where the concurrent regions of a task are.
type sharing struct {
	groupSpace    devices.SpaceID
	sharedRegions []deps.Region // for others to compare with: accesses of reductions change when the task starts
	heldIndex     int           // in concurrentGroups.held
}

// A linking is the accesses of a task that are linked to those of its children.
type linking struct {
	links []*link
	weak  int // how many of its accesses, the last ones, are weak
	stage linkStage
}

// A linkStage says what is left of the accesses of a task that has links.
type linkStage uint8

const (
	linksOpen linkStage = iota // all
	linksShut                  // the node; the links end by themselves
	nodeOver                   // nothing: the node is complete too
)

// An attempts is the number of times that a task runs, and what came of its kernel.
type attempts struct {
	Retries int   // how often it may still run again after a failure
	tries   int   // how often it has failed and was run again
	outcome error // of the kernel; errStopped where its trial took too long, and counts for nothing
}

// A merging is what a task has to do with buffers that have grown.
type merging struct {
	mergeTarget    *memory.Buffer  // of a merge: the buffer whose parts it moves
	poisonedInputs []poisonedInput // of a merge
	Merged         int64           // of a kernel: Scope.merged when it was described
}

// The clauses of a task are what its options say beside accesses.
type clauses struct {
	Label    string
	Pos      ir.Pos
	Origin   uintptr  // of the function that body or nested calls; 0 where that is the program's own
	Rank     int32    // 1 + where OnRank puts it, 0 where nothing does
	Cost     HostCost // in a virtual time
	Settings Settings
}

// The Bodies of a task are what it runs, where that is not record.body.
type Bodies struct {
	Kernel  *kernels.Kernel
	BodyCtx func(context.Context) error
	Nested  any // a function that takes the public scope
}

// A memoryUse is what a task accesses. The memory of the lists stays with the detail.
type memoryUse struct {
	Accesses     []deps.Access
	CopyAccesses []deps.Access    // in place of accesses, for what is copied, where those only order
	Uses         []ReductionUse   // reductions among accesses
	unordered    []*memory.Buffer // that it uses without an access
	Work         deps.Bytes
}

// A launching is a task on an accelerator.
type launching struct {
	began        time.Duration // where the policy learns
	launch       devices.Launch
	Args         devices.Args
	Set          machine.WorkingSet
	eagerPlace   sched.PlaceID // where it is launched behind its predecessors: see eager.go
	releasedNext *Record       // in the list of those whose last predecessor has finished after their launch
}

// A replaying is the task of an iteration, or a step of one.
type replaying struct {
	Replay replayTask // of the task of an iteration, nil for others
	Steps  *StepGraph // of a step, nil for others
	Step   int32
}

// A replayTask is what the task of an iteration runs.
type replayTask interface {
	// Start submits the steps as children of r, whose predecessors have finished: for a task that
	// has no body.
	Start(r *Record)
	// Close is called when the steps have finished that Start has submitted.
	Close()
	// Release is called when the record is free.
	Release()
}

// A StepGraph is the steps of one replay that are tasks.
type StepGraph struct {
	Before func(step int32) []int32 // the predecessors of a step
	Refs   []deps.Ref               // the steps that were submitted, by number
	Errs   []*Error                 // of those that failed or were skipped; guarded by the submitting of the scope of the replay
	preds  []deps.Ref               // of the step that is being submitted
}

// isStep reports whether r is a step of an iteration.
func (r *Record) isStep() bool { return r.Steps != nil }

// Need gives r a detail of its own, before a field of it is written. Requires: the submitting of
// its home held.
func (r *Record) Need() *Detail {
	rt := r.RT
	if r.Detail == rt.Observers.None {
		rt.detail(r)
	}
	return r.Detail
}

// detail gives r, which has accesses neither here nor there, a detail of its own.
func (rt *Runtime) detail(r *Record) {
	r.Detail = rt.FreeDetails.Get(rt)
	r.Item.Owner, r.Set.Owner = r, r
}

// Declared returns the accesses of a task that is being submitted. Requires: the submitting of its
// home held.
func (r *Record) Declared() *[]deps.Access {
	if r.Detail == r.RT.Observers.None {
		return &r.Scope.Declared
	}
	return &r.Accesses
}

// keepAccesses is the number of accesses that a record keeps the memory for.
const keepAccesses = 16

// A BodyKind says what a task does.
type BodyKind uint8

const (
	GoBody      BodyKind = iota // body, bodyCtx or nested, on a CPU worker
	KernelBody                  // kernel, anywhere
	CombineBody                 // the private copies of a reduction become one
	WaitBody                    // nothing: it is there to wait for its accesses on the host
	mergeBody                   // likewise, for a buffer that has grown
	ReplayBody                  // the steps of an iteration, as its children
)

// Unlabelled is the name of a Go task without a label.
const Unlabelled = "go task"

// Waits reports whether a task of this kind does nothing but wait for its accesses on the host.
func (k BodyKind) Waits() bool { return k == WaitBody || k == mergeBody }

// Name returns what the task is called.
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

// Data returns the accesses that are brought to where the task runs.
func (r *Record) Data() []deps.Access {
	if r.Traits.Is(life.OrderOnly) {
		return r.CopyAccesses
	}
	return r.strong(r.Accesses)
}

// strong returns those of accesses, all of r, that are not weak.
func (r *Record) strong(accesses []deps.Access) []deps.Access { return accesses[:len(accesses)-r.weak] }

// AddWeak adds weak accesses to those of r, which has all others. Those that others of r say as
// much as are dropped. Error: one overlaps another.
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

// Fail makes cause the error of the task.
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

// skip makes the failure of a predecessor the error of the task.
func (r *Record) skip(via *Error) {
	r.Fail("", &SkippedError{Via: titleOf(via.Label, via.Pos), First: FirstOf(via), direct: FirstOf(via) == via})
}

// clear makes the record ready for another task. What it pointed at is let go.
func (r *Record) clear() {
	if rt := r.RT; r.Detail != rt.Observers.None {
		r.Detail.clear()
		if !rt.Topology.Accelerators || !r.Scope.Program() { // else it is put on a shelf with r
			rt.FreeDetails.Put(r.Detail)
			r.Detail = rt.Observers.None
		}
	}
	r.Body, r.Link = nil, nil
	// What is as it should be is not written, so that the line need not come here.
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
	d.Work, d.outcome, d.Steps, d.mergeTarget, d.poisonedInputs, d.Merged = 0, nil, nil, nil, nil, 0
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
		b.Users.Add(-1)
	}
	clear(d.unordered)
	d.unordered = d.unordered[:0]
	clear(d.Args.List)
	d.Args.List, d.Args.At = d.Args.List[:0], nil
}

// detailFreeList holds the free details.
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
		d = &Detail{RT: rt} // takes longer than all that is done under the lock
	}
	return d
}

func (l *detailFreeList) Put(d *Detail) {
	d.Item.Owner, d.Set.Owner = nil, nil
	spin.Lock(&l.mu)
	d.Next, l.List = l.List, d
	l.mu.Unlock()
}

// ending returns the event that ends r.
func (r *Record) ending() state.Event {
	switch {
	case r.err == nil:
		return state.Finish
	case isSkip(r.err):
		return state.Skip
	}
	return state.Fail
}
