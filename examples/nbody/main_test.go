package main

import (
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

func TestRanks_AgreeWithTheSequentialRun(t *testing.T) {
	demotest.Launch(t, 4, "-n", "500", "-block", "64", "-steps", "3", "-devices", "smp:2")
}

// The velocities and positions of several ranks are those of one, bit for bit: with blocks that the
// ranks cannot share evenly, and on accelerators too. All run the Go function: vector code adds up
// the forces in another order, and it depends on times which of the two a task gets.
func TestRanks_TheSameBitsAsOneRank(t *testing.T) {
	t.Setenv("GOMPSS_VECTOR", "off")
	for _, devices := range []string{"smp:2", "smp:1,sim:1"} {
		f := demo.Flags{N: 500, Block: 64, Rounds: 3, Devices: devices, Policy: "locality", JSON: true}
		demotest.SameBits(t, f, func(rt *task.Runtime, f demo.Flags) (bodies, error) {
			b, err := allocate(rt, f.N, f.Block)
			if err != nil {
				return b, err
			}
			b.fill()
			if err := b.simulate(rt, f); err != nil {
				return b, err
			}
			err = b.bring(rt, f)
			return b.clone(), err
		})
	}
}

// BenchmarkGoFunction is one step of 4096 bodies by the plain Go function, on one goroutine.
func BenchmarkGoFunction(b *testing.B) {
	const n = 4096
	var x bodies
	for _, p := range x.fields() {
		*p = make([]float32, n)
	}
	x.fill()
	for b.Loop() {
		Forces(0, n, dt, x.px, x.py, x.pz, x.vx, x.vy, x.vz)
	}
	b.ReportMetric(20*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
