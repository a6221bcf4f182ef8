//go:build linux && (amd64 || arm64)

package cuda

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
)

// A kernel of a recorded sequence can be set up while its predecessor in a chain still runs. It
// then waits itself until the predecessor has finished; the driver calls this a programmatic edge.
// It is correct for these reasons:
//
//   - A kernel with a programmatic edge uses a version that waits (codegen/cuda, Options.Early), in
//     all its threads and before it accesses memory, if its argument early is set. Kernels of the
//     user have ordinary edges.
//   - The wait ends after the predecessor has ended and its writes are visible. That kernel has
//     waited in turn, or has an ordinary edge, so all earlier kernels of the chain have ended too,
//     and their writes are visible.
//   - Such an edge is the only edge into its kernel, and the only one out of the predecessor. At
//     forks and joins, at the start and end of a graph, and after copies and events, which are
//     outside graphs, the driver waits.
//   - A waiting kernel occupies resources of the GPU that others need if its predecessor runs
//     long. It has such an edge only if all its threads are few (leavesRoom).
//
// Batches of kernels that are not recorded have ordinary edges: with others, a task of 64 chains
// took a tenth longer on one H200 and the same time on another, and one chain took the same time.
// Source: measured on an H200, replayed chains of kernels that count: 0.62 us per kernel, 0.94 with
// ordinary edges; of empty kernels 0.44, 0.61 with ordinary edges. On another H200: 0.51 and 0.82.

// edges reports whether graphs may have programmatic edges.
func (t *moduleTable) edges() bool { return t.waits && !t.noEdges.Load() }

// These are the maximum number of threads and of bytes of team memory per multiprocessor for a
// waiting kernel, of the 2048 threads and 228 KiB that a multiprocessor has.
const (
	waitingThreads            = 256
	waitingMemory  deps.Bytes = 28 << 10
)

// leavesRoom reports whether a waiting kernel of that shape leaves enough resources for others.
func (g *gpu) leavesRoom(e *cuda.Entry, grid launch.Grid) bool {
	sms := int64(g.chip.sms)
	return grid.Teams*grid.Threads <= sms*waitingThreads && deps.Bytes(grid.Teams)*e.TeamMemory <= deps.Bytes(sms)*waitingMemory
}

// prepareWaiting compiles the waiting versions of recorded kernels.
func (t *moduleTable) prepareWaiting(steps []devices.Step) error {
	if !t.edges() {
		return nil
	}
	for i := range steps {
		p := t.program(steps[i].Kernel)
		if p.native != nil || p.kernel.Program == nil {
			continue
		}
		if err := t.load(p, p.first(true)); err != nil {
			return err
		}
	}
	return nil
}
