// Package engine runs tasks: it has their records, the graph that orders them, the queues of ready
// tasks, the workers that run them and the launches on accelerators.
//
// Package task, which programs import, describes tasks, by options, directives and recordings, and
// asks about them; the engine knows neither. A task begins with Scope.Begin and is submitted by
// Scope.Commit; from then on it belongs to the engine. README.md of package task has the invariants
// and the order of the locks.
package engine

import (
	"context"
	"errors"
	"fmt"
	"github.com/gompss/gompss/devices/smp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/virtual"
)

// A Runtime is the engine of one runtime of the program.
type Runtime struct {
	Bridge
	Topology Topology
	Pool     workerPool
	Virtual  *virtual.Turns // nil where no device has a virtual time
	kernelVariants
	Observers Observers
	worlds
	Buffers memory.Table
	Printer printer.Printer // of what kernels print
	lifecycle
	checks
	Ready readyQueues
	eagerLaunch

	// Until here all is written rarely, and read by all for every task. The fields below are kept
	// on cache lines of their own, by writer.
	_ spin.Line

	mainScope
	recordPools
	Background
	ReductionPool

	Window admission.Window

	Log failureLog
}

// A kernelVariants is the variants of kernels.
type kernelVariants struct {
	rt       *Runtime
	Exec     cpucode.Executor // on CPU workers
	variants sync.Map         // *Kernel to *variants
}

// A worlds is the other ranks.
type worlds struct {
	World   ranks // a World; nil where this is the only rank
	Skipper any   // of package task: finds the tasks that are of other ranks alone; nil where none does
}

// A lifecycle holds the state of closing a runtime.
type lifecycle struct {
	Ctx    context.Context // of task bodies; no task starts when it is done
	Cancel context.CancelCauseFunc
	Unhook func() bool

	Closed   atomic.Bool
	Finished atomic.Bool // and no body runs any more: see refuses
	Broke    brokenCode  // policies and observers of the program
}

// A checks holds the state of GOMPSS_CHECK.
type checks struct {
	Check     bool // Options.Check
	Checker   accessChecker
	PageGuard pageGuard
}

// An eagerLaunch holds the queues of tasks that are launched before their predecessors finish.
type eagerLaunch struct {
	rt               *Runtime
	OnEagerCandidate func(n *deps.Node, stream int) // of graphs, when tasks may follow
	EagerQueues      []EagerQueue                   // by place: tasks to launch eagerly there; nil where that is off
	Backlogs         []DeviceBacklog                // by place: tasks launched eagerly there
}

// A mainScope is the scope of the program, on cache lines of its own.
type mainScope struct {
	Root     Scope // of the tasks of the program
	Magazine *Magazine
	Waits    atomic.Int64 // among them
	_        spin.Line
}

// A recordPools is the free records.
type recordPools struct {
	Depot        recordDepot
	_            spin.Line
	FreeNested   recordFreeList
	FreeDetails  detailFreeList
	RecordShards shardedFreeList
	madeRecords  recordRegistry
	domains      sync.Pool
}

// A Background is the work of the runtime beside the tasks.
type Background struct {
	Cleaning sync.WaitGroup
	Virtual  *virtual.Turns // nil where no device has a virtual time
	// callers are the goroutines that use the runtime and are in no window yet.
	Callers    admission.ActiveCallers
	Contention admission.Contention
	Sweeps     memory.Sweeps
	Samples    samples
}

// A ReductionPool is the operators of reductions, and private copies that are free.
type ReductionPool struct {
	rt        *Runtime
	reducing  spin.Mutex // innermost
	Operators map[any]deps.ReductionID
	Spares    map[deps.Bytes][]*PrivateCopy // by size
	_         spin.Line
}

// Init connects the parts of rt, which is a zero value, with each other.
func (rt *Runtime) Init(b Bridge) {
	rt.Bridge = b
	rt.Root.RT = rt
	rt.Root.Memory.Init(&rt.Root, nil)
	rt.Observers.Topology = &rt.Topology
	rt.Observers.None = &Detail{RT: rt}
	rt.Ready.Topology, rt.Ready.Pool = &rt.Topology, &rt.Pool
	rt.eagerLaunch.rt, rt.kernelVariants.rt, rt.ReductionPool.rt = rt, rt, rt
	rt.Operators, rt.Spares = map[any]deps.ReductionID{}, map[deps.Bytes][]*PrivateCopy{}
	rt.Checker.Token = make(chan struct{}, 1)
}

// PolicyBroke ends the runtime: tasks that have not started fail with err, as where its context has
// ended. Requires: mu held.
func (l *lifecycle) PolicyBroke(err error) {
	l.Broke.Add(err)
	l.Cancel(err)
}

// brokenCode is the panic value of program code that the engine calls: Close returns it.
type brokenCode struct{ errs atomic.Pointer[error] }

func (b *brokenCode) Add(err error) {
	for {
		before, all := b.errs.Load(), err
		if before != nil {
			all = errors.Join(*before, err)
		}
		if b.errs.CompareAndSwap(before, &all) {
			return
		}
	}
}

func (b *brokenCode) Err() error {
	if errs := b.errs.Load(); errs != nil {
		return fmt.Errorf("task: close: %w", *errs)
	}
	return nil
}

// Now is read after all that was done before, soon perhaps some ten nanoseconds early: it suits the
// end of something, and costs less.
func (ob *Observers) Now() time.Duration { return ob.Clock.Now() }

func (ob *Observers) soon() time.Duration { return ob.Clock.Early() }

// Refuses reports whether the caller may submit nothing any more.
func (l *lifecycle) Refuses() bool {
	return l.Closed.Load() && (l.Finished.Load() || !smp.InBody())
}

// A ranks is the part of a World that tasks need when they end.
type ranks interface{ Failed(err error) }

// A Bridge is what the engine calls of the package that programs import.
type Bridge struct {
	// NewScope returns a new scope, whose Public is what bodies are called with.
	NewScope func() *Scope
	// CallNested calls a body that takes a scope.
	CallNested func(body any, s *Scope) error
}
