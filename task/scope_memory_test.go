package task_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
)

// deviceSpecs are devices on which a kernel leaves what it writes away from the host.
var deviceSpecs = []string{
	"sim:1(exec=cpu),smp:1", "smp:2,sim:2(exec=cpu,latency=200us)",
	"smp:1,sim:1(exec=cpu,clock=virtual)",
}

func requireFilled(t *testing.T, x []uint32, k uint32) {
	t.Helper()
	want := make([]uint32, len(x))
	Fill(0, len(x), k, want)
	require.True(t, slices.Equal(want, x), "%v ...", x[:3])
}

// What children have written into memory of a body is valid on the host when its task has finished,
// also if the body does not wait for them.
func TestScope_MemoryIsWrittenBackAtItsEnd(t *testing.T) {
	for _, spec := range deviceSpecs {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			fill, mix := kernelOf(t, Fill).With(task.OnDevice("acc")), kernelOf(t, Mix).With(task.OnDevice("acc"))
			ctx := context.Background()
			f, err := task.GoValueScope(rt, func(s *task.Scope) ([]uint32, error) {
				x := make([]uint32, 1000)
				_, err := fill.Submit(s, 0, len(x), uint32(3), x)
				return x, err
			})
			require.NoError(t, err)
			x, err := f.Get(ctx)
			require.NoError(t, err)
			requireFilled(t, x, 3)

			// Two parts of one slice, which grow into one buffer.
			var y []uint32
			parts, err := rt.GoScope(func(s *task.Scope) error {
				y = make([]uint32, 600)
				_, err := fill.Submit(s, 0, 200, uint32(5), y[:200])
				_, more := fill.Submit(s, 0, 600, uint32(5), y)
				return errors.Join(err, more)
			}, task.EarlyRelease())
			require.NoError(t, err)
			require.NoError(t, parts.Wait(ctx))
			requireFilled(t, y, 5)

			// What a grandchild made is used by a child on a device, after the scope in which it was made.
			var z []uint32
			total := float32(0)
			outer, err := rt.GoScope(func(s *task.Scope) error {
				inner, err := s.GoScope(func(s *task.Scope) error {
					z = make([]uint32, 700)
					_, err := fill.Submit(s, 0, len(z), uint32(2), z)
					return err
				})
				if err != nil {
					return err
				}
				if err = inner.Wait(s.Context()); err == nil {
					_, err = mix.Submit(s, 0, len(z), 0, len(z), uint32(1), z, z)
				}
				return err
			}, task.InOut(task.One(&total)).Weak())
			require.NoError(t, err)
			require.NoError(t, outer.Wait(ctx))
			want := make([]uint32, 700)
			Fill(0, len(want), 2, want)
			Mix(0, len(want), 0, len(want), 1, want, want)
			require.True(t, slices.Equal(want, z), "%v ...", z[:3])
			require.NoError(t, rt.Wait(ctx))
		})
	}
}

// The end of a scope occupies no worker while its memory is written back.
func TestScope_EndOccupiesNoWorker(t *testing.T) {
	rt, fill := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu,latency=200ms)"}), kernelOf(t, Fill).With(task.OnDevice("acc"))
	f, err := task.GoValueScope(rt, func(s *task.Scope) ([]uint32, error) {
		x := make([]uint32, 1000)
		_, err := fill.Submit(s, 0, len(x), uint32(3), x)
		return x, err
	})
	require.NoError(t, err)
	var longest time.Duration
	for last := time.Now(); ; last = time.Now() { // tasks run on the only worker all the time
		one, err := rt.Go(func() error { return nil })
		require.NoError(t, err)
		require.NoError(t, one.Wait(context.Background()))
		longest = max(longest, time.Since(last))
		select {
		case <-f.Done():
			x, err := f.Get(context.Background())
			require.NoError(t, err)
			requireFilled(t, x, 3)
			require.Less(t, longest, 150*time.Millisecond)
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// Memory that cannot be written back fails the task.
func TestScope_MemoryLostWithItsDevice(t *testing.T) {
	for lose, cause := range map[bool]error{false: sim.ErrInjected, true: devices.ErrLost} {
		o := task.Options{Devices: "smp:1,sim:1"}
		o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Transfer: 1, Lose: lose}}}
		rt, err := task.New(o)
		require.NoError(t, err)
		fill := kernelOf(t, Fill).With(task.OnDevice("acc"))
		f, err := task.GoValueScope(rt, func(s *task.Scope) ([]uint32, error) {
			x := make([]uint32, 1000)
			_, err := fill.Submit(s, 0, len(x), uint32(3), x)
			return x, err
		})
		require.NoError(t, err)
		_, err = f.Get(context.Background())
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "end of its scope")
		require.ErrorIs(t, rt.Close(), cause)
	}
}
