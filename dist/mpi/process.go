//go:build linux && (amd64 || arm64)

package mpi

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/ebitengine/purego"
)

// A ThreadLevel says which goroutines may call the library.
type ThreadLevel int

const (
	Single     ThreadLevel = iota // one thread is all there is; of no use to a Go program
	Funneled                      // the thread of Init alone
	Serialized                    // any, one at a time
	Multiple                      // any, at any time
)

func (t ThreadLevel) String() string {
	return [...]string{"single", "funneled", "serialized", "multiple"}[t]
}

// A Process is this process as a rank of a job: the initialised library.
type Process struct {
	*library
	level     ThreadLevel
	stolen    int
	finalized atomic.Bool
	world     Comm
}

// started guards Init: MPI can be initialised once in a process.
var started atomic.Bool

// Init opens and initialises the library of the job, and asks for a thread level.
//
// Errors: no library; a level below Serialized, with which goroutines cannot work; a world that has
// another size than the launcher's environment says, as where a launcher and a library do not
// belong together and each process is a job of its own; a second Init.
func Init(want ThreadLevel) (*Process, error) {
	if started.Swap(true) {
		return nil, fmt.Errorf("mpi: init: the library was initialised before in this process")
	}
	repair := keepSignals()
	quiet()
	l, err := open()
	if err != nil {
		started.Store(false)
		return nil, err
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1], f.args[2], f.args[3] = 0, 0, uintptr(l.levels[want]), f.at(0)
	code := l.call(fInitThread, f)
	given := f.int32(0)
	m := &Process{library: l}
	m.stolen, err = repair()
	if err := l.check(fInitThread, code); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("mpi: init: repair of signal handlers: %w", err)
	}
	for level, value := range l.levels {
		if given >= value {
			m.level = ThreadLevel(level)
		}
	}
	if m.level < Serialized && want >= Serialized {
		return nil, fmt.Errorf("mpi: init: %s gives thread level %s: want serialized or multiple", l.path, m.level)
	}
	if err := m.openWorld(); err != nil {
		return nil, err
	}
	return m, m.checkSize()
}

// openWorld makes errors of the communicator of all ranks results.
func (m *Process) openWorld() (err error) {
	m.world = Comm{m: m, handle: m.value[commWorld]}
	if err := m.world.returnErrors(); err != nil {
		return err
	}
	return m.world.measure()
}

// checkSize compares the world with what the launcher says.
func (m *Process) checkSize() error {
	if _, want := launcher(os.Getenv); want > 0 && want != m.world.size {
		return fmt.Errorf("mpi: init: the launcher started %d ranks, and %s sees %d: the launcher and the library do not belong together (with Slurm: srun --mpi=pmix or pmi2; %s names the library)",
			want, m.path, m.world.size, LibraryVariable)
	}
	return nil
}

// World returns the communicator of all ranks.
func (m *Process) World() *Comm { return &m.world }

// Level returns the thread level that the library gives.
func (m *Process) Level() ThreadLevel { return m.level }

// Version returns what the library says of itself, and Path and Interface which file it is and
// which table of handles it has.
func (m *Process) Version() string   { return m.version() }
func (m *Process) Path() string      { return m.path }
func (m *Process) Interface() string { return m.table.name }

// TakesGPUMemory reports whether the library says that messages may be in memory of NVIDIA GPUs.
//
// Source: MPIX_Query_cuda_support, an extension of Open MPI and MPICH. A library without it, such
// as Intel MPI, counts as one that cannot.
func (m *Process) TakesGPUMemory() bool {
	if m.queryCUDA == 0 {
		return false
	}
	r, _, _ := purego.SyscallN(m.queryCUDA)
	return int32(r) == 1
}

// SignalsRepaired returns how many signal handlers the library had replaced.
func (m *Process) SignalsRepaired() int { return m.stolen }

// Finalize ends MPI in this process; all ranks call it. Calls after the first do nothing.
func (m *Process) Finalize() error {
	if m.finalized.Swap(true) {
		return nil
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	return m.check(fFinalize, m.call(fFinalize, f))
}

// Abort ends the processes of all ranks. It does not return where the library ends this one, too.
func (m *Process) Abort(code int) error {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1] = m.world.handle, uintptr(code)
	return m.check(fAbort, m.call(fAbort, f))
}

// Exit leaves the process through the C library's exit, which runs what the MPI library has
// registered there.
//
// Measured: with MPICH 5.0.2 the exit of Go made 20 of 32 jobs fail after a clean Finalize, the
// exit of C none of 24.
func (m *Process) Exit(code int) {
	purego.SyscallN(m.exit, uintptr(code))
}
