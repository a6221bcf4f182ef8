//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
)

// TestAReplayIsOneCall launches a sequence of many steps again and again: the driver is asked once
// for each, no node is changed, and what the steps launch is not decided again.
func TestAReplayIsOneCall(t *testing.T) {
	s := newSubject(t, Options{})
	k := benchKernel(t, "Triad")
	sequence := &devices.Kernel{Name: "sequence"}
	const steps = 200
	for i := range steps {
		step := devices.Step{Kernel: k, Args: triad(t, "", k).Args.List}
		if i > 0 {
			step.After = []int{i - 1}
		}
		sequence.Steps = append(sequence.Steps, step)
	}
	require.NoError(t, s.d.Prepare(sequence))
	replay := func() devices.Event { return s.d.Launch(&devices.Launch{Kernel: sequence, Args: &devices.Args{}}, nil) }
	require.NoError(t, waitFor(replay()))
	graphs, nodes, kernels, ran := calls(t, "cuGraphLaunch"), calls(t, "cuGraphExecKernelNodeSetParams"), calls(t, "cuLaunchKernel"), calls(t, "kernel")
	chosen := s.d.modules.program(sequence).graph.run
	const replays = 10
	for range replays {
		require.NoError(t, waitFor(replay()))
	}
	require.Equal(t, graphs+replays, calls(t, "cuGraphLaunch"))
	require.Equal(t, nodes, calls(t, "cuGraphExecKernelNodeSetParams"))
	require.Equal(t, kernels, calls(t, "cuLaunchKernel"))
	require.Equal(t, ran+replays*steps, calls(t, "kernel"))
	require.Same(t, chosen, s.d.modules.program(sequence).graph.run)
	s.close()
}
