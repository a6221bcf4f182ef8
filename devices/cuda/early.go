//go:build linux && (amd64 || arm64)

package cuda

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
)

// A kernel of a recorded sequence is set up while the one before it in a chain still runs, and
// waits by itself until that has finished: the driver calls it a programmatic edge. What that rests
// on:
//
//   - A kernel with such an edge in front of it is of a version that waits (codegen/cuda,
//     Options.Early) before it touches memory, in all its threads, if its argument early is set.
//     Kernels of the user have ordinary edges in front of them.
//   - The wait is for all that the kernel before wrote, after that has ended. That one waited in
//     turn, or had an ordinary edge in front of it, so nothing of the chain before runs any more
//     either, and what it wrote is seen.
//   - An edge of this kind is the only edge into its kernel, and the only one out of the kernel
//     before: at forks and joins, at the beginning and end of a graph, and behind copies and
//     events, which are outside of graphs, the driver waits.
//   - A kernel that waits has taken its place on the GPU, which others need while what is before it
//     runs long. So it has this edge only where all its threads are few (leavesRoom).
//
// Kernels that are sent as they come have ordinary edges: on one H200 a task of 64 chains took a
// tenth longer with others, on another the same, and a chain as long. Source: measured on an H200,
// a chain of kernels that count, replayed: 0.62 us a kernel, 0.94 without; of empty ones 0.44, 0.61
// without. Another at 100b024: 0.51, 0.82 without.

// edges reports whether graphs may have such edges.
func (t *moduleTable) edges() bool { return t.waits && !t.noEdges.Load() }

// A kernel that waits may have so many threads and so much team memory for each multiprocessor, of
// the 2048 and 228 KiB that one has.
const (
	waitingThreads            = 256
	waitingMemory  deps.Bytes = 28 << 10
)

// leavesRoom reports whether others hardly miss what a kernel of that shape takes while it waits.
func (g *gpu) leavesRoom(e *cuda.Entry, grid launch.Grid) bool {
	sms := int64(g.chip.sms)
	return grid.Teams*grid.Threads <= sms*waitingThreads && deps.Bytes(grid.Teams)*e.TeamMemory <= deps.Bytes(sms)*waitingMemory
}

// prepareWaiting compiles the versions of recorded kernels that can wait.
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
