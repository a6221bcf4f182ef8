//go:build linux && (amd64 || arm64)

package cuda

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/deps"
)

// A kernel of a graph, recorded or sent together, is set up while the one before it in a chain still runs, and waits by itself until
// that is over: the driver calls it a programmatic edge. What that rests on:
//
//   - A kernel with such an edge in front of it is a generated one that waits (codegen/cuda, Options.Early) before it touches memory, in
//     all its threads, and is told to by an argument. Kernels of the user have ordinary edges in front of them.
//   - The wait is for all that the kernel before wrote, after that has ended. That one waited in turn, or had an ordinary edge in front
//     of it, so nothing of the chain before runs any more either, and what it wrote is seen.
//   - An edge of this kind is the only edge into its kernel, and the only one out of the kernel before: at forks and joins, at the
//     beginning and end of a graph, and behind copies and events, which are outside of graphs, the driver waits.
//   - A kernel that waits has taken its place on the GPU, which others need while what is before it runs long. So it has this
//     edge only where all its threads are few (leavesRoom).
//
// Source: measured on an H200 at 100b024: a chain of kernels that count, replayed, 0.51 us a kernel instead of 0.82; a task of a chain that
// is sent as it comes 4.1 us instead of 4.4, with three accesses 3.8 instead of 4.7.

// edges reports whether graphs may have such edges.
func (d *Device) edges() bool { return d.waits && !d.noEdges.Load() }

// A kernel that waits may have so many threads and so much team memory for each multiprocessor, of the 2048 and 228 KiB that one has.
const (
	waitingThreads            = 256
	waitingMemory  deps.Bytes = 28 << 10
)

// leavesRoom reports whether others hardly miss what a kernel of that shape takes while it waits.
func (d *Device) leavesRoom(e *cuda.Entry, g grid) bool {
	sms := int64(d.chip.sms)
	return g.Teams*g.Threads <= sms*waitingThreads && deps.Bytes(g.Teams)*e.TeamMemory <= deps.Bytes(sms)*waitingMemory
}

// allEarly reports whether all kernels of list, each a single one, may have such an edge.
func (d *Device) allEarly(list []*operation) bool {
	if !d.edges() {
		return false
	}
	for _, op := range list {
		if r, _ := op.lone(); !d.leavesRoom(&r.version.source.Entries[0], r.grids[0]) {
			return false
		}
	}
	return true
}
