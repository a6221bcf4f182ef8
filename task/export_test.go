package task

import (
	"io"
	"runtime"
	"testing"

	"github.com/gompss/gompss/devices"
)

// OnExit calls f where a program would end.
func OnExit(t testing.TB, f func(text string)) {
	kept := exit
	t.Cleanup(func() { exit = kept })
	exit = f
}

// TokensOf returns what the sequence holds, by place: none at the CPU workers.
func TokensOf(it *KernelIteration) []int {
	out := make([]int, len(it.rt.Topology.Places))
	for p, place := range it.rt.Topology.Places {
		for _, t := range it.tokens {
			if t.Kind == place.Kind {
				out[p] = t.Count
			}
		}
	}
	return out
}

// StepsOf returns what each step comes after.
func StepsOf(it *KernelIteration) (after [][]int) {
	for _, s := range it.kernel.Device.Steps {
		after = append(after, s.After)
	}
	return after
}

// Sweep makes a sweep for buffers that nobody uses, and waits for it.
func Sweep(rt *Runtime) {
	rt.core.Sweeps.WantSweep()
	for rt.core.Sweeps.Running() {
		runtime.Gosched()
	}
}

// BufferIDs is how many numbers of buffers there have been.
func BufferIDs(rt *Runtime) int {
	return rt.core.Buffers.Numbers()
}

// GroupBuffers is of how many buffers g keeps what its tasks wrote.
func GroupBuffers(g *Group) int {
	g.core.Scope.Submitting.Lock()
	defer g.core.Scope.Submitting.Unlock()
	return len(g.core.Wrote)
}

// NDRangeOf is the shape that the clauses of k give to a launch.
func NDRangeOf(k *Kernel, a *Args) devices.NDRange { return k.description.NDRange(a) }

// PrintTo has rt write what kernels print to out and errs.
func PrintTo(rt *Runtime, out, errs io.Writer) {
	rt.core.Printer.Out, rt.core.Printer.Err = out, errs
}

// LimitedChecks says what the checks of a runtime do not find.
var LimitedChecks = limitedChecks
