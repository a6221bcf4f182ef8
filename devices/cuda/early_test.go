//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
)

const earlyEdge = "cuGraphAddDependencies_v2"

// sequenceOf returns a sequence of triads, each behind those that after names.
func sequenceOf(t *testing.T, n int, after func(i int) []int) *devices.Kernel {
	k := benchKernel(t, "Triad")
	out := &devices.Kernel{Name: "sequence"}
	for i := range n {
		out.Steps = append(out.Steps, devices.Step{Kernel: k, Args: triad(t, "", k).Args.List, After: after(i)})
	}
	return out
}

// Recorded steps get edges that let the next kernel start early where two are a piece of a chain, when that is asked for, and else none.
func TestEarlyEdgesAreThoseOfChains(t *testing.T) {
	fork := func(i int) []int { // 0 -> 1, 2; 1 -> 3; 2 -> 4; 3, 4 -> 5 -> 6
		return [][]int{nil, {0}, {0}, {1}, {2}, {3, 4}, {5}}[i]
	}
	for _, c := range []struct {
		name  string
		n     int
		after func(int) []int
		early bool
		want  int
	}{{"chain", 20, inChain, true, 19}, {"chain, off", 20, inChain, false, 0}, {"fork and join", 7, fork, true, 3}, {"fork and join, off", 7, fork, false, 0}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSubject(t, Options{Early: c.early})
			k := sequenceOf(t, c.n, c.after)
			require.NoError(t, s.d.Prepare(k))
			edges, ran := calls(t, earlyEdge), calls(t, "kernel")
			for range 3 {
				require.NoError(t, waitFor(s.d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{}}, nil)))
			}
			require.Equal(t, edges+c.want, calls(t, earlyEdge))
			require.Equal(t, ran+3*c.n, calls(t, "kernel"))
			s.close()
		})
	}
}

// What is sent together is a chain with such edges; where they cannot be made it goes one by one.
func TestEarlyEdgesOfWhatIsSentTogether(t *testing.T) {
	for _, fails := range []int{0, 1, 5} {
		t.Run(fmt.Sprint("edge ", fails, " fails"), func(t *testing.T) {
			s := newSubject(t, Options{Early: true})
			before := calls(t, earlyEdge)
			if fails > 0 {
				failNext(t, earlyEdge, fails, 1)
			}
			for range 3 {
				ran := calls(t, "kernel")
				for _, e := range s.together(16, inChain) {
					require.NoError(t, waitFor(e))
				}
				require.Equal(t, ran+16, calls(t, "kernel"), "each ran once")
			}
			require.Greater(t, calls(t, earlyEdge), before)
			s.close()
		})
	}
}

// A GPU that cannot do it says so when it is opened.
func TestEarlyNeedsItsDriver(t *testing.T) {
	needFake(t)
	drv, err := theDriver()
	require.NoError(t, err)
	at := drv.fns[cuGraphAddDependencies]
	drv.fns[cuGraphAddDependencies] = 0
	defer func() { drv.fns[cuGraphAddDependencies] = at }()
	_, err = Open(1, devices.SpaceID{Device: 1}, Options{Early: true})
	require.ErrorContains(t, err, "early=on")
	require.ErrorContains(t, err, "CUDA 12.3")
	noneLive(t)
}
