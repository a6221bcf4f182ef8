package task

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/trace/probe"
)

// A record is a task while it is in flight. Records are recycled: whoever keeps one from outside keeps the id with it
// and asks whether they still belong together.
//
// Who may touch what: until the task is ready its fields belong to the goroutine that submits it, from then on to
// whoever runs it. poison, id and done are for all.
type record struct {
	rt   *Runtime
	id   atomic.Uint64 // deps.TaskID; 0 once the task is over
	item sched.Item
	node deps.Node
	link *record // in lists that one goroutine owns

	home   *Scope // where it was submitted
	inner  *Scope // of its body; nil when that has none
	group  *Group // whose context ends it
	member *Group // that waits for it: group, or nil when that waits for its parent
	parked bool   // its body has lent its worker and wants one
	wants  bool   // and it is not in flight yet; both guarded by Runtime.mu
	plain  bool   // it goes past the scheduler

	relaxed   bool            // some access is not in, out or inout: others may run beside it that it must be kept from
	exclusive bool            // has its commutative regions, or waits for them
	gathered  bool            // has concurrent regions that keep others from other address spaces, or waits for them
	at        devices.SpaceID // of those
	onHost    bool            // may run on the host alone

	kind     bodyKind
	label    string
	pos      ir.Pos
	kernel   *Kernel
	body     func() error
	bodyCtx  func(context.Context) error
	nested   func(*Scope) error
	settings settings
	accesses []deps.Access // the memory stays with the record
	uses     []reduced     // reductions among them
	bound    bool          // uses have their private copies
	work     deps.Bytes
	launch   devices.Launch
	args     devices.Args
	set      devices.WorkingSet
	held     bool // set is acquired

	seen probe.Task // what the recorder is told in the end

	stage  atomic.Int32 // of the acquisition on the host
	worker int
	err    *Error
	// follow is 0 but for tasks that start before their predecessors are over: see follow.go.
	follow  atomic.Uint64
	adding  atomic.Uint64         // while it is being submitted
	met     atomic.Int32          // of the two that have to come before such a task ends: its kernel's end and its predecessors'
	outcome error                 // of the kernel
	poison  atomic.Pointer[Error] // a predecessor that failed or was skipped
	done    atomic.Pointer[chan struct{}]
}

// keepAccesses is how many accesses a record keeps the memory for.
const keepAccesses = 16

// A bodyKind says what a task does.
type bodyKind uint8

const (
	goBody      bodyKind = iota // body, bodyCtx or nested, on a CPU worker
	kernelBody                  // kernel, anywhere
	combineBody                 // the private copies of a reduction become one
	waitBody                    // nothing: it is there to wait for its accesses on the host
)

// name returns what the task is called.
func (r *record) name() string {
	switch {
	case r.label != "":
		return r.label
	case r.kernel != nil:
		return r.kernel.name
	}
	return "go task"
}

func (r *record) kernelName() string {
	if r.kernel == nil {
		return ""
	}
	return r.kernel.name
}

// fail makes cause the error of the task.
func (r *record) fail(device string, cause error) {
	r.err = &Error{Task: deps.TaskID(r.id.Load()), Label: r.name(), Kernel: r.kernelName(), Device: device, Pos: r.pos, Cause: cause}
}

// skip makes the failure of a predecessor the error of the task.
func (r *record) skip(via *Error) {
	r.fail("", &SkippedError{Via: via.Label, First: via.first()})
}

// clear makes the record ready for another task. What it pointed at is let go.
func (r *record) clear() {
	r.item.Reset()
	r.home, r.inner, r.group, r.member, r.parked, r.wants, r.plain = nil, nil, nil, nil, false, false, false
	r.kind, r.label, r.pos, r.kernel, r.body, r.bodyCtx, r.nested = 0, "", ir.Pos{}, nil, nil, nil, nil
	r.settings = settings{tokens: r.settings.tokens[:0]}
	if r.accesses = r.accesses[:0]; cap(r.accesses) > keepAccesses {
		r.accesses = nil
	}
	r.work, r.held, r.worker, r.err, r.link, r.outcome = 0, false, 0, nil, nil, nil
	clear(r.uses)
	r.uses, r.bound, r.relaxed, r.exclusive, r.gathered, r.onHost = r.uses[:0], false, false, false, false, false
	clear(r.args.List)
	r.args.List, r.args.At = r.args.List[:0], nil
	if r.poison.Load() != nil {
		r.poison.Store(nil)
	}
}

// records are the records that nobody uses. Those who end tasks push; one who submits takes them all at once.
type records struct {
	returned atomic.Pointer[record]
	mu       sync.Mutex
	own      *record // of those who submit
}

func (l *records) get(rt *Runtime) *record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = l.returned.Swap(nil)
	}
	r := l.own
	if r == nil {
		return newRecord(rt)
	}
	l.own, r.link = r.link, nil
	return r
}

func (l *records) put(r *record) {
	for {
		r.link = l.returned.Load()
		if l.returned.CompareAndSwap(r.link, r) {
			return
		}
	}
}

func newRecord(rt *Runtime) *record {
	r := &record{rt: rt}
	r.item.Owner, r.set.Owner = r, r
	return r
}
