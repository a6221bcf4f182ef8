package cpucode

import (
	"context"
	"unsafe"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/trace/clock"
)

// goBytes is how much memory a kernel that cannot be cut may work on and run as its Go function
// while its vector code is being compiled: the function is expected to take no longer than that.
const goBytes deps.Bytes = 64 << 10

// An Executor runs kernels on CPU workers.
type Executor struct {
	Vectors *Vectors
	workers *smp.Workers
	clock   *clock.Clock
	table   *memory.Table
	hostAt  func(deps.BufferID) unsafe.Pointer
	chosen  func(*kernels.Kernel) // called when the faster variant is known for launches of a size
	Share   func(*vec.Loop) error // shareVector, made once; nil where one worker is all there is
	whole   bool                  // Go functions run all of a loop on one worker
	states  []executorState       // by worker
}

// An executorState is the state of one worker that runs kernels.
type executorState struct {
	launcher vec.Launcher
	launch   Launch
	// untypical says that what the worker ran last was no run that tells how long the kernel takes:
	// another variant than usual.
	untypical bool
	_         spin.Line
}

// A Launch is one run of a kernel. It belongs to the worker that runs it.
type Launch struct {
	kernel  *kernels.Kernel // the version that runs
	args    *devices.Args
	variant *string // the code that runs
	worker  int
	of      contexter
}

// A contexter is a task with the context of its body.
type contexter interface{ Context() context.Context }

// Open makes ex ready for kernels on some workers.
func (ex *Executor) Open(workers int, c *clock.Clock, t *memory.Table, hostAt func(deps.BufferID) unsafe.Pointer, chosen func(*kernels.Kernel), whole bool) {
	ex.clock, ex.table, ex.hostAt, ex.chosen, ex.whole = c, t, hostAt, chosen, whole
	ex.states = make([]executorState, workers)
	ex.Vectors.Options.Workers = max(1, workers)
	if workers > 1 {
		ex.Share = ex.shareVector
	}
}

// Start gives the executor the workers that loops are shared with.
func (ex *Executor) Start(workers *smp.Workers) { ex.workers = workers }

// Begin returns the launch of a kernel on a worker, which has one at a time. variant is where it
// says what runs.
func (ex *Executor) Begin(worker int, k *kernels.Kernel, a *devices.Args, variant *string, of contexter) *Launch {
	a.At = ex.hostAt
	l := &ex.states[worker].launch
	*l = Launch{kernel: k, args: a, variant: variant, worker: worker, of: of}
	return l
}

// Typical reports whether the time of the latest launch of a worker tells how long the kernel
// takes.
func (ex *Executor) Typical(worker int) bool { return !ex.states[worker].untypical }

// Await waits for the vector code of a kernel where the Go function must not run instead. It is
// called before the body begins; trial says that the time of the code is to be found.
func (ex *Executor) Await(k *kernels.Kernel, a *devices.Args, trial bool) {
	if k.IR != nil {
		if c := ex.Vectors.Of(k); c.Vector.Load() == nil && ex.needsCode(a, c, trial) {
			c.Wait()
		}
	}
}

// needsCode reports whether the Go function must not run meanwhile.
func (ex *Executor) needsCode(a *devices.Args, c *Code, trial bool) bool {
	switch {
	case c.Always != "" || ex.Vectors.await:
		return true
	case trial: // its time is to be that of the code
		return true
	case c.Kernel.Device.Split != nil: // the code continues with the rest of the loop
		return false
	}
	return sizeOfArgs(a) > goBytes
}

// sizeOfArgs returns the bytes of slices.
func sizeOfArgs(a *devices.Args) (size deps.Bytes) {
	for i := range a.List {
		if arg := &a.List[i]; arg.Type.Elem != nil {
			size += deps.Bytes(arg.Len) * arg.Type.Elem.Size
		}
	}
	return size
}
