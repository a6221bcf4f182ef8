// Package engine runs tasks. It contains their records, the graph that orders them, the queues of
// ready tasks, the workers that run them, and the launches on accelerators.
//
// Package task, the public API, submits tasks with options, directives and recordings, and queries
// them; the engine does not depend on it. A submission starts with Scope.Begin and ends with
// Scope.Commit; from then on the task belongs to the engine. README.md of package task lists the
// invariants and the lock order.
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
	Virtual  *virtual.Turns // nil if no device has virtual time
	kernelVariants
	Observers Observers
	worlds
	Buffers memory.Table
	Printer printer.Printer // the output of kernels
	lifecycle
	checks
	Ready readyQueues
	eagerLaunch

	// The fields above are rarely written, and read for every task. The fields below are on
	// separate cache lines, by writer.
	_ spin.Line

	mainScope
	recordPools
	Background
	ReductionPool

	Window admission.Window

	Log failureLog
}

// A kernelVariants contains the variants of kernels.
type kernelVariants struct {
	rt       *Runtime
	Exec     cpucode.Executor // on CPU workers
	variants sync.Map         // *Kernel to *variants
}

// worlds contains the other ranks.
type worlds struct {
	World   ranks // a World; nil if this is the only rank
	Skipper any   // of package task: recognises tasks that concern only other ranks; may be nil
}

// A lifecycle is the state of closing a runtime.
type lifecycle struct {
	Ctx    context.Context // of task bodies; no task starts after it is done
	Cancel context.CancelCauseFunc
	Unhook func() bool

	Closed   atomic.Bool
	Finished atomic.Bool // no task body runs any more: see Refuses
	Broke    brokenCode  // panics of policies and observers of the program
}

// checks is the state of GOMPSS_CHECK.
type checks struct {
	Check     bool // Options.Check
	Checker   accessChecker
	PageGuard pageGuard
}

// An eagerLaunch contains the queues of tasks that are launched before their predecessors finish.
type eagerLaunch struct {
	rt               *Runtime
	OnEagerCandidate func(n *deps.Node, stream int) // called by graphs for tasks that may be launched eagerly
	EagerQueues      []EagerQueue                   // by place: tasks to launch eagerly there; nil if that is disabled
	Backlogs         []DeviceBacklog                // by place: tasks launched eagerly there
}

// A mainScope is the scope of the program, on separate cache lines.
type mainScope struct {
	Root     Scope // of the tasks of the program
	Magazine *Magazine
	Waits    atomic.Int64 // the number of waits among them
	_        spin.Line
}

// recordPools contains the free records.
type recordPools struct {
	Depot        recordDepot
	_            spin.Line
	FreeNested   recordFreeList
	FreeDetails  detailFreeList
	RecordShards shardedFreeList
	madeRecords  recordRegistry
	domains      sync.Pool
}

// A Background runs work of the runtime outside tasks.
type Background struct {
	Cleaning sync.WaitGroup
	Virtual  *virtual.Turns // nil if no device has virtual time
	// Callers are the goroutines that use the runtime and are not counted in the window.
	Callers    admission.ActiveCallers
	Contention admission.Contention
	Sweeps     memory.Sweeps
	Samples    samples
}

// A ReductionPool contains the operators of reductions, and free private copies.
type ReductionPool struct {
	rt        *Runtime
	reducing  spin.Mutex // innermost
	Operators map[any]deps.ReductionID
	Spares    map[deps.Bytes][]*PrivateCopy // by size
	_         spin.Line
}

// Init connects the parts of rt, which is a zero value.
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

// PolicyBroke ends the runtime: tasks that have not started fail with err, as after the end of its
// context.
// Requires: mu held.
func (l *lifecycle) PolicyBroke(err error) {
	l.Broke.Add(err)
	l.Cancel(err)
}

// brokenCode is the panic value of code of the program that the engine has called: Close returns
// it.
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

// Now reads the clock after all preceding instructions. soon may be about ten nanoseconds early; it
// is cheaper and suffices for the end of an operation.
func (ob *Observers) Now() time.Duration { return ob.Clock.Now() }

func (ob *Observers) soon() time.Duration { return ob.Clock.Early() }

// Refuses reports whether the caller must not submit tasks any more.
func (l *lifecycle) Refuses() bool {
	return l.Closed.Load() && (l.Finished.Load() || !smp.InBody())
}

// ranks is the part of a World that the end of a task needs.
type ranks interface{ Failed(err error) }

// A Bridge contains the functions of package task that the engine calls.
type Bridge struct {
	// NewScope returns a new scope whose Public is the argument of bodies.
	NewScope func() *Scope
	// CallNested calls a body that takes a scope.
	CallNested func(body any, s *Scope) error
}
