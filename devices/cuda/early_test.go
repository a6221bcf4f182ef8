//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
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

// Recorded steps get edges that let the next kernel start early where two are a piece of a chain,
// unless it was said that none should.
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
			s := newSubject(t, Options{NoEarly: !c.early})
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

// What is sent together as it comes has ordinary edges, and kernels that do not wait.
func TestNoEarlyEdgesInWhatIsSentTogether(t *testing.T) {
	s := newSubject(t, Options{})
	edges, ran := calls(t, earlyEdge), calls(t, "kernel")
	for _, e := range s.together(16, inChain) {
		require.NoError(t, waitFor(e))
	}
	require.Equal(t, ran+16, calls(t, "kernel"))
	require.Equal(t, edges, calls(t, earlyEdge))
	for _, p := range s.d.modules.of {
		for i := range p.versions {
			require.False(t, p.versions[i].waits && p.versions[i].module != 0)
		}
	}
	s.close()
}

// A recorded sequence whose early edges the driver refuses is a graph with ordinary ones.
func TestEarlyEdgesThatAreRefused(t *testing.T) {
	for _, function := range []string{earlyEdge, "cuGraphInstantiateWithFlags"} {
		s := newSubject(t, Options{})
		k := sequenceOf(t, 9, inChain)
		require.NoError(t, s.d.Prepare(k))
		failNext(t, function, 1, 304)
		graphs, ran := calls(t, "cuGraphLaunch"), calls(t, "kernel")
		for range 2 {
			require.NoError(t, waitFor(s.d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{}}, nil)))
		}
		require.Equal(t, graphs+2, calls(t, "cuGraphLaunch"))
		require.Equal(t, ran+18, calls(t, "kernel"))
		require.False(t, s.d.modules.edges())
		s.close()
	}
}

// Kernels that take much of the GPU while they wait have ordinary edges in front of them, and so
// have those written by hand, which do not wait: an early edge is where the kernel behind it is
// told to wait, and nowhere else.
func TestEarlyEdgesAreForKernelsThatWait(t *testing.T) {
	s := newSubject(t, Options{})
	small, byHand := benchKernel(t, "Triad"), &devices.Kernel{Name: "ByHand", Natives: []devices.Native{{Kind: Kind, Entry: "by_hand",
		Source: "extern \"C\" __global__ void\nby_hand(long long n)\n{\n}\n", Shape: func(*devices.Args) devices.NDRange {
			return devices.NDRange{Items: [3]int64{1}, Team: [3]int64{1}}
		}}}}
	args := func(n int64) []devices.Arg {
		x := devices.Arg{Type: ir.SliceOf(ir.Float64Type), Len: n, Cap: n}
		return []devices.Arg{x, x, x, {Type: ir.Float64Type}}
	}
	const few, many = 100, 20000 // the second are more than 256 threads for each of the 4 multiprocessors
	k := &devices.Kernel{Name: "sequence"}
	for i, n := range []int64{few, few, many, few, 0, few, few} { // 0: by hand
		step := devices.Step{Kernel: small, Args: args(n), After: inChain(i)}
		if n == 0 {
			step.Kernel, step.Args = byHand, []devices.Arg{{Type: ir.IntType}}
		}
		k.Steps = append(k.Steps, step)
	}
	require.NoError(t, s.d.Prepare(k))
	r, err := s.d.modules.program(k).graph.decide(s.d, k.Steps)
	require.NoError(t, err)
	var early, told []bool
	for _, one := range r.steps {
		require.NoError(t, one.nodes(s.d, 0, func(n *kernelNode) error {
			early = append(early, n.early)
			told = append(told, n.params != nil && n.params[len(n.params)-4] == 1)
			return nil
		}))
	}
	require.Equal(t, []bool{true, true, false, true, false, true, true}, early)
	require.Equal(t, early, told)
	edges := calls(t, earlyEdge)
	require.NoError(t, waitFor(s.d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{}}, nil)))
	require.Equal(t, edges+4, calls(t, earlyEdge), "in front of all such kernels but the first")
	s.close()
}

// Without the driver's call, or on an older GPU, all edges are ordinary.
func TestEarlyEdgesNeedTheirDriver(t *testing.T) {
	needFake(t)
	drv, err := driver.Open()
	require.NoError(t, err)
	at := drv.Addresses[driver.CuGraphAddDependencies]
	drv.Addresses[driver.CuGraphAddDependencies] = 0
	defer func() { drv.Addresses[driver.CuGraphAddDependencies] = at }()
	s := newSubject(t, Options{})
	require.False(t, s.d.modules.edges())
	k := sequenceOf(t, 9, inChain)
	require.NoError(t, s.d.Prepare(k))
	ran := calls(t, "kernel")
	require.NoError(t, waitFor(s.d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{}}, nil)))
	require.Equal(t, ran+9, calls(t, "kernel"))
	s.close()
}
