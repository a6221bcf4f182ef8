package task_test

import (
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A recorded sequence gives what its steps give one by one, in order with the tasks around it, on both ways to run kernels.
func TestARecordedSequenceOfKernels(t *testing.T) {
	for _, spec := range []string{"sim:2(exec=cpu)", "sim:1(exec=simt)", "smp:2,sim:2(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
			x, want := make([]uint32, 64), make([]uint32, 64)
			it, err := rt.RecordKernels("iteration", func(r *task.KernelRecorder) error {
				for k := range uint32(4) {
					for lo := 0; lo < 64; lo += 32 {
						if err := r.Submit(mix, lo, lo+32, lo, lo+32, k, x, x); err != nil {
							return err
						}
					}
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 8, it.Len())
			_, err = fill.Submit(rt, 0, 64, uint32(5), x)
			require.NoError(t, err)
			Fill(0, 64, 5, want)
			for range 3 {
				_, err := it.Replay(task.Label("one iteration"))
				require.NoError(t, err)
				for k := range uint32(4) {
					for lo := 0; lo < 64; lo += 32 {
						Mix(lo, lo+32, lo, lo+32, k, want, want)
					}
				}
				_, err = mix.Submit(rt, 0, 64, 0, 64, uint32(9), x, x)
				require.NoError(t, err)
				Mix(0, 64, 0, 64, 9, want, want)
			}
			require.NoError(t, rt.Wait())
			require.Equal(t, want, x)
		})
	}
}

func TestASequenceThatCannotBe(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	mix := kernelOf(t, Mix)
	x, err := task.Alloc[uint32](rt, 64)
	require.NoError(t, err)
	_, err = rt.RecordKernels("bad", func(r *task.KernelRecorder) error { return r.Submit(mix, 1) })
	require.ErrorContains(t, err, "1 argument, want 7")
	_, err = rt.RecordKernels("empty", func(*task.KernelRecorder) error { return nil })
	require.ErrorContains(t, err, "no steps")
	it, err := rt.RecordKernels("good", func(r *task.KernelRecorder) error { return r.Submit(mix, 0, 64, 0, 64, uint32(1), x, x) })
	require.NoError(t, err)
	_, err = it.Replay(task.On("smp"))
	require.Error(t, err, "it runs on accelerators")
	require.NoError(t, task.Free(rt, x))
	_, err = it.Replay()
	var changed *task.ChangedError
	require.ErrorAs(t, err, &changed)
}

// A step that fails fails the whole sequence.
func TestAStepThatFails(t *testing.T) {
	var o task.Options
	o.Devices = "sim:1(exec=cpu)"
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1}}}
	rt, err := task.New(o)
	require.NoError(t, err)
	mix := kernelOf(t, Mix)
	x := make([]uint32, 64)
	it, err := rt.RecordKernels("broken", func(r *task.KernelRecorder) error { return r.Submit(mix, 0, 64, 0, 64, uint32(1), x, x) })
	require.NoError(t, err)
	one, err := it.Replay()
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(), sim.ErrInjected)
	require.ErrorContains(t, one.Err(), "broken")
	require.NoError(t, rt.Close())
}
