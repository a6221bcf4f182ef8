//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/trace/probe"
)

// gpus returns how many GPUs there are to test, and skips the test when there are none.
func gpus(t testing.TB) int {
	n, _, why := cuda.Ground()
	if n == 0 {
		t.Skip(why)
	}
	return n
}

// TestConformance is the suite that every plug-in passes.
func TestConformance(t *testing.T) {
	n := gpus(t)
	devicetest.Run(t, func(t testing.TB) []devices.Accelerator {
		opened, err := cuda.Open(n, devices.SpaceID{Device: 1}, cuda.Options{Memory: 64 << 20})
		require.NoError(t, err)
		var out []devices.Accelerator
		for _, d := range opened {
			out = append(out, d)
		}
		return out
	})
}

// TestMachine runs jobs on a machine of GPUs, with pinned and with other host memory, and with
// an observer that wants to know when what runs.
func TestMachine(t *testing.T) {
	n := gpus(t)
	for _, c := range []struct{ pin, timed, slow bool }{{true, false, false}, {false, false, false}, {true, true, false}, // what is not pinned is copied behind the host
		{true, false, true}} { // and what is not pinned yet, behind that
		pin := c.pin
		t.Run(fmt.Sprintf("pin=%t,timed=%t,slow=%t", pin, c.timed, c.slow), func(t *testing.T) {
			if c.slow && !cuda.SlowPins(t, 1000) {
				t.Skip("the driver of this machine is as fast as it is")
			}
			runSuite(t, suite{
				Accelerators: n,
				Granule:      cuda.DefaultGranule,
				Checks:       true,
				Open: func(t testing.TB, s shape) *machine.Machine {
					o := cuda.Options{Memory: deps.Bytes(s.Granules) * cuda.DefaultGranule, NoPeer: s.NoPeer, NoPin: !pin}
					all := machine.Options{ByKind: map[devices.Kind]any{cuda.Kind: o}, WriteThrough: s.WriteThrough}
					if c.timed {
						all.Observer = probe.Func(func(p probe.Point) {
							if p.Kind == probe.Arrive && p.Begin > p.Time {
								t.Errorf("a copy from %v to %v", p.Begin, p.Time)
							}
						})
					}
					m, err := machine.Open(fmt.Sprintf("cuda:%d", s.Accelerators), all)
					require.NoError(t, err)
					require.Equal(t, c.timed, m.Accelerators()[0].Properties().ClockError > 0)
					return m
				},
			})
		})
	}
}

// TestMachineOfSim runs the same jobs on simulated devices: what differs there is wrong in the
// test.
func TestMachineOfSim(t *testing.T) {
	const granule = 16 << 10
	runSuite(t, suite{
		Accelerators: 3,
		Granule:      granule,
		Checks:       true,
		Open: func(t testing.TB, s shape) *machine.Machine {
			o := sim.Options{Memory: deps.Bytes(s.Granules) * granule, Granule: granule, NoPeer: s.NoPeer}
			m, err := machine.Open(fmt.Sprintf("sim:%d", s.Accelerators),
				machine.Options{ByKind: map[devices.Kind]any{sim.Kind: o}, WriteThrough: s.WriteThrough})
			require.NoError(t, err)
			return m
		},
	})
}
