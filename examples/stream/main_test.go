package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/examples/internal/demotest"
	"github.com/gompss/gompss/task"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

// TestRunAgreesWithTheSequentialRun runs the demo on several machines, with -check: uneven blocks,
// one block, and the lowered program in the interpreter.
func TestRunAgreesWithTheSequentialRun(t *testing.T) {
	for _, f := range []demo.Flags{
		{N: 1000, Block: 96, Devices: "smp:2"},
		{N: 1000, Block: 1000, Devices: "smp:1,sim:1"},
		{N: 1024, Block: 64, Devices: "smp:2,sim:3"},
		{N: 333, Block: 50, Devices: "sim:2(exec=simt)"},
		{N: 1, Block: 7, Devices: "sim:1(exec=simt)"},
	} {
		t.Run(f.Devices, func(t *testing.T) {
			f.Rounds, f.Policy, f.Check, f.JSON = 3, "locality", true, true
			require.Zero(t, run(f))
		})
	}
}

// TestRun_ByOpenCL runs the demo, unchanged, on a device with an OpenCL driver, and beside others.
func TestRun_ByOpenCL(t *testing.T) {
	for _, devices := range demotest.ByOpenCL(t) {
		t.Run(devices, func(t *testing.T) {
			require.Zero(t, run(demo.Flags{N: 1024, Block: 64, Devices: devices, Rounds: 3, Policy: "locality", Check: true, JSON: true}))
		})
	}
}

// The check of this program compares bits.
func TestRanks_AgreeWithTheSequentialRun(t *testing.T) {
	demotest.Launch(t, 4, "-n", "5000", "-block", "300", "-reps", "3", "-devices", "smp:2")
}

func TestRanks_TheSameBitsAsOneRank(t *testing.T) {
	for _, devices := range []string{"smp:2", "smp:1,sim:1"} {
		f := demo.Flags{N: 5000, Block: 300, Rounds: 3, Devices: devices, Policy: "locality", JSON: true}
		demotest.SameBits(t, f, func(rt *task.Runtime, f demo.Flags) (copied arrays, err error) {
			x, err := allocate(rt, f.N, f.Block)
			if err != nil {
				return x, err
			}
			if err := x.stream(rt, f); err != nil {
				return x, err
			}
			err = x.bring(rt, f)
			return arrays{slices.Clone(x.a), slices.Clone(x.b), slices.Clone(x.c)}, err
		})
	}
}
