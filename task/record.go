package task

import (
	"context"
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

// A record is a task while it is in flight. Records are recycled: a holder outside the engine keeps
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
type record struct {
	*detail
	scope  *Scope // where it was submitted; stays
	err    *Error
	poison atomic.Pointer[Error] // a predecessor that failed or was skipped
	done   atomic.Pointer[chan struct{}]

	worker int32
	kind   bodyKind
	holds  life.Holdings
	traits life.Traits

	node deps.Node
	life life.Life
	body func() error
	link *record // in lists that one goroutine owns
}

// A detail is the part of a record that plain Go tasks of the program with nothing but accesses do
// without: all of those have that of observers.none, which is for reading only. A writer of a field
// of a record that may be one of them calls need before.
type detail struct {
	rt   *Runtime
	next *detail // in the free list
	item sched.Item

	membership
	sharing
	attempts
	merging
	clauses
	bodies
	memoryUse
	launching
	replaying

	trace           probe.Task       // what the recorder gets in the end
	lastPredecessor lastPredecessor  // what it followed, for the recorder
	scratch         *kernels.Scratch // while it is being described
}

// A membership is where a task belongs.
type membership struct {
	inner  *Scope // of its body; nil when that has none
	group  *Group // whose context ends it
	member *Group // that waits for it: group, or nil when that waits for its parent
}

// A sharing is where the concurrent regions of a task are.
type sharing struct {
	groupSpace    devices.SpaceID
	sharedRegions []deps.Region // for others to compare with: accesses of reductions change when the task starts
	heldIndex     int           // in concurrentGroups.held
}

// An attempts is the number of times that a task runs, and what came of its kernel.
type attempts struct {
	retries int   // how often it may still run again after a failure
	tries   int   // how often it has failed and was run again
	outcome error // of the kernel; errStopped where its trial took too long, and counts for nothing
}

// A merging is what a task has to do with buffers that have grown.
type merging struct {
	mergeTarget    *memory.Buffer  // of a merge: the buffer whose parts it moves
	poisonedInputs []poisonedInput // of a merge
	merged         int64           // of a kernel: Scope.merged when it was described
}

// The clauses of a task are what its options say beside accesses.
type clauses struct {
	label    string
	pos      ir.Pos
	origin   uintptr  // of the function that body or nested calls; 0 where that is the program's own
	rank     int32    // 1 + where OnRank puts it, 0 where nothing does
	cost     hostCost // in a virtual time
	settings settings
}

// The bodies of a task are what it runs, where that is not record.body.
type bodies struct {
	kernel  *kernels.Kernel
	bodyCtx func(context.Context) error
	nested  func(*Scope) error
}

// A memoryUse is what a task accesses. The memory of the lists stays with the detail.
type memoryUse struct {
	accesses     []deps.Access
	copyAccesses []deps.Access    // in place of accesses, for what is copied, where those only order
	uses         []reductionUse   // reductions among accesses
	unordered    []*memory.Buffer // that it uses without an access
	work         deps.Bytes
}

// A launching is a task on an accelerator.
type launching struct {
	began        time.Duration // where the policy learns
	launch       devices.Launch
	args         devices.Args
	set          machine.WorkingSet
	eagerPlace   sched.PlaceID // where it is launched behind its predecessors: see eager.go
	releasedNext *record       // in the list of those whose last predecessor has finished after their launch
}

// A replaying is a task of an iteration, or a step.
type replaying struct {
	graphReplay *graphReplay // for the iteration, and for its steps
	replayRun   *replayRun   // of the iteration
	step        int32
}

// need gives r a detail of its own, before a field of it is written. Requires: the submitting of
// its home held.
func (r *record) need() *detail {
	rt := r.rt
	if r.detail == rt.observers.none {
		rt.detail(r)
	}
	return r.detail
}

// detail gives r, which has accesses neither here nor there, a detail of its own.
func (rt *Runtime) detail(r *record) {
	r.detail = rt.freeDetails.get(rt)
	r.item.Owner, r.set.Owner = r, r
}

// checkNone panics when a field was written of a record that had no detail of its own.
func (rt *Runtime) checkNone() {
	n := rt.observers.none
	if n.item.Owner != nil || n.inner != nil || n.group != nil || n.label != "" || n.kernel != nil || len(n.accesses) > 0 || len(n.uses) > 0 ||
		n.set.Owner != nil || len(n.settings.tokens) > 0 {
		bug("the detail of tasks without one was written to")
	}
}

// declared returns the accesses of a task that is being submitted. Requires: the submitting of its
// home held.
func (r *record) declared() *[]deps.Access {
	if r.detail == r.rt.observers.none {
		return &r.scope.declared
	}
	return &r.accesses
}

// keepAccesses is the number of accesses that a record keeps the memory for.
const keepAccesses = 16

// A bodyKind says what a task does.
type bodyKind uint8

const (
	goBody      bodyKind = iota // body, bodyCtx or nested, on a CPU worker
	kernelBody                  // kernel, anywhere
	combineBody                 // the private copies of a reduction become one
	waitBody                    // nothing: it is there to wait for its accesses on the host
	mergeBody                   // likewise, for a buffer that has grown
	replayBody                  // the steps of an iteration, as its children
)

// unlabelled is the name of a Go task without a label.
const unlabelled = "go task"

// waits reports whether a task of this kind does nothing but wait for its accesses on the host.
func (k bodyKind) waits() bool { return k == waitBody || k == mergeBody }

// name returns what the task is called.
func (d *detail) name() string {
	switch {
	case d.label != "":
		return d.label
	case d.kernel != nil:
		return d.kernel.Name
	}
	return unlabelled
}

func (d *detail) kernelName() string {
	if d.kernel == nil {
		return ""
	}
	return d.kernel.Name
}

// data returns the accesses that are brought to where the task runs.
func (r *record) data() []deps.Access {
	if r.traits.Is(life.OrderOnly) {
		return r.copyAccesses
	}
	return r.accesses
}

// fail makes cause the error of the task.
func (r *record) fail(device string, cause error) {
	if _, skipped := cause.(*SkippedError); r.kernel != nil && !skipped {
		r.kernel.Device.Locate(cause, r.args.List)
	}
	r.err = &Error{Task: r.life.ID(), Label: r.errorLabel(), Kernel: r.kernelName(), Device: device, Pos: r.position(), Cause: cause, group: r.member}
}

// skip makes the failure of a predecessor the error of the task.
func (r *record) skip(via *Error) {
	r.fail("", &SkippedError{Via: titleOf(via.Label, via.Pos), First: via.first(), direct: via.first() == via})
}

// clear makes the record ready for another task. What it pointed at is let go.
func (r *record) clear() {
	if rt := r.rt; r.detail != rt.observers.none {
		r.detail.clear()
		if !rt.topology.accelerators || !r.scope.program() { // else it is put on a shelf with r
			rt.freeDetails.put(r.detail)
			r.detail = rt.observers.none
		}
	}
	r.body, r.link = nil, nil
	// What is as it should be is not written, so that the line need not come here.
	if r.err != nil {
		r.err = nil
	}
	if r.kind != goBody || r.holds != 0 || r.traits&^life.Traits(life.Simple) != 0 {
		r.kind, r.holds, r.traits = goBody, 0, r.traits&life.Traits(life.Simple)
	}
	if r.poison.Load() != nil {
		r.poison.Store(nil)
	}
}

func (d *detail) clear() {
	d.item.Reset()
	d.inner, d.group, d.member = nil, nil, nil
	d.label, d.pos, d.origin, d.kernel, d.bodyCtx, d.nested = "", ir.Pos{}, 0, nil, nil, nil
	d.settings = settings{tokens: d.settings.tokens[:0]}
	if d.accesses = d.accesses[:0]; cap(d.accesses) > keepAccesses {
		d.accesses = nil
	}
	d.work, d.outcome, d.graphReplay, d.mergeTarget, d.poisonedInputs, d.merged = 0, nil, nil, nil, nil, 0
	if d.replayRun != nil {
		d.replayRun.release()
		d.replayRun = nil
	}
	d.cost, d.rank = hostCost{}, 0
	d.retries, d.tries, d.copyAccesses = 0, 0, d.copyAccesses[:0]
	clear(d.uses)
	d.sharedRegions = d.sharedRegions[:0]
	d.uses = d.uses[:0]
	for _, b := range d.unordered {
		b.Users.Add(-1)
	}
	clear(d.unordered)
	d.unordered = d.unordered[:0]
	clear(d.args.List)
	d.args.List, d.args.At = d.args.List[:0], nil
}

// detailFreeList holds the free details.
type detailFreeList struct {
	mu   spin.Mutex
	list *detail
	made int64
}

func (l *detailFreeList) get(rt *Runtime) *detail {
	spin.Lock(&l.mu)
	d := l.list
	if d != nil {
		l.list, d.next = d.next, nil
	} else {
		l.made++
	}
	l.mu.Unlock()
	if d == nil {
		d = &detail{rt: rt} // takes longer than all that is done under the lock
	}
	return d
}

func (l *detailFreeList) put(d *detail) {
	d.item.Owner, d.set.Owner = nil, nil
	spin.Lock(&l.mu)
	d.next, l.list = l.list, d
	l.mu.Unlock()
}

// ending returns the event that ends r.
func (r *record) ending() state.Event {
	switch {
	case r.err == nil:
		return state.Finish
	case isSkip(r.err):
		return state.Skip
	}
	return state.Fail
}
