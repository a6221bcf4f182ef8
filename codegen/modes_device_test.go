package codegen_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/internal/machine"
)

// TestModesOnADevice runs the kernels of the modes on an accelerator, a GPU where there is one, in every mode, and compares
// with the Go function; and one that fails a check in front of a barrier of a part of the team: it fails, and nothing waits.
func TestModesOnADevice(t *testing.T) {
	spec := deviceSpec()
	m, err := machine.Open(spec, machine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	d := &corpusDevice{Accelerator: m.Accelerators()[0]}
	real := d.Properties().Kind == "cuda"
	sizes := []int{0, 1, 100, 333}
	if real {
		sizes = append(sizes, 5000, 40000)
	}
	for _, mode := range modes {
		p := loadModes(t, mode)
		for _, c := range modeCases {
			t.Run(name(c.kernel)+"/"+mode, func(t *testing.T) {
				kernel, err := p.Kernel(name(c.kernel))
				require.NoError(t, err)
				l, err := codegen.Lower(kernel, codegen.LowerOptions{})
				if err != nil {
					require.ErrorContains(t, err, needBroadcast[kernel.Name])
					return
				}
				k := &devices.Kernel{Name: kernel.Name, Program: l.Program}
				require.NoError(t, d.Prepare(k))
				for _, n := range sizes {
					want, got := c.makeArgs(n), c.makeArgs(n)
					c.runGo(want)
					require.NoError(t, d.run(k, got), "size %d on %s", n, spec)
					if diff := c.differ(want, got); diff != "" {
						t.Fatalf("size %d on %s: %s", n, spec, diff)
					}
				}
				if real {
					t.Logf("MODES %-14s %-17s %8.2f us", kernel.Name, mode, d.time(t, k, c.makeArgs(40000)).Seconds()*1e6)
				}
				if kernel.Name == "ModeCrew" {
					args := c.makeArgs(333)
					x := args[0].([]int32)
					args[0] = x[:len(x)/2]
					require.ErrorContains(t, d.run(k, args), "out of range")
					require.NoError(t, d.run(k, c.makeArgs(100)), "the device goes on")
				}
			})
		}
	}
}

// time returns what one launch of many in a row takes; their data stay on the device.
func (d *corpusDevice) time(t *testing.T, k *devices.Kernel, args []any) time.Duration {
	list := &devices.Args{}
	var after []devices.Event
	for i, a := range args {
		arg, memory := corpusArg(k.Program.Params[i].Type, a)
		if memory.Elem > 0 {
			memory.ID, arg.Buffer = d.next, d.next
			d.next++
			require.NoError(t, d.Reserve(memory))
			defer func(id deps.BufferID) { require.NoError(t, d.Release(id)) }(memory.ID)
			require.NoError(t, d.Map(memory.ID, 0, memory.Size))
			after = append(after, d.Copy(devicetest.Whole(memory, devices.Host, devices.SpaceID{Device: 1}), nil))
		}
		list.List = append(list.List, arg)
	}
	chain := func(n int) time.Duration {
		start := time.Now()
		for range n {
			after = []devices.Event{d.Launch(&devices.Launch{Kernel: k, Args: list, Label: k.Name}, after)}
		}
		done := make(chan error, 1)
		after[0].Then(func(err error) { done <- err })
		require.NoError(t, <-done)
		return time.Since(start)
	}
	chain(20)
	return min(chain(200), chain(200), chain(200)) / 200
}
