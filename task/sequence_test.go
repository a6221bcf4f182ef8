package task_test

import (
	"context"
	"errors"
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
			require.NoError(t, rt.Wait(context.Background()))
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
	_, err = it.Replay(task.OnDevice("smp"))
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
	require.ErrorIs(t, rt.Wait(context.Background()), sim.ErrInjected)
	require.ErrorContains(t, one.Err(), "broken")
	require.NoError(t, rt.Close())
}

// A sequence has kernels of every mode and clause: what they make of their data is what they would one after the other, also with copy
// clauses, and beside other tasks of these modes.
func TestASequenceOfEveryMode(t *testing.T) {
	dot, tally, histogram, shuffle, count, sometimes := kernelOf(t, Dot), kernelOf(t, Tally), kernelOf(t, Histogram), kernelOf(t, Shuffle), kernelOf(t, Count), kernelOf(t, SometimesNow)
	for _, spec := range []string{"smp:2,sim:1(exec=simt)", "smp:1,sim:2(exec=simt)", "smp:2,sim:2(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec, Tokens: map[devices.Kind]int{"sim": 2, "smp": 100}})
			x, bins, hist, sum := make([]int32, 64), make([]int32, 10), make([]int32, 10), make([]int32, 1)
			y, c, z := make([]uint32, 64), make([]uint32, 1), make([]int32, 8)
			for i := range x {
				x[i] = int32(i * 7 % 64)
			}
			wantBins, wantHist, wantSum, wantY, wantZ := make([]int32, 10), make([]int32, 10), make([]int32, 1), make([]uint32, 64), make([]int32, 8)
			it, err := rt.RecordKernels("every mode", func(r *task.KernelRecorder) error {
				var err error
				for lo := 0; lo < 64; lo += 16 {
					err = errors.Join(err,
						r.Submit(dot, lo, lo+16, x, x, sum), r.Submit(tally, lo, lo+16, lo/16, x, bins),
						r.Submit(histogram, lo, lo+16, x, hist), r.Submit(shuffle, lo/2, lo/2+16, uint32(lo), y),
						r.Submit(count, 3, c), r.Submit(sometimes, lo%32 == 0, z))
				}
				return err
			})
			require.NoError(t, err)
			require.Equal(t, 24, it.Len())
			round := func() {
				for lo := 0; lo < 64; lo += 16 {
					Dot(lo, lo+16, x, x, wantSum)
					Tally(lo, lo+16, lo/16, x, wantBins)
					Histogram(lo, lo+16, x, wantHist)
					Shuffle(lo/2, lo/2+16, uint32(lo), wantY)
					SometimesNow(true, wantZ)
				}
			}
			for range 3 {
				_, err := it.Replay()
				require.NoError(t, err)
				round()
				_, err = dot.Submit(rt, 0, 64, x, x, sum) // with private copies
				require.NoError(t, err)
				Dot(0, 64, x, x, wantSum)
				_, err = histogram.Submit(rt, 0, 64, x, hist)
				require.NoError(t, err)
				Histogram(0, 64, x, wantHist)
				_, err = shuffle.Submit(rt, 0, 64, uint32(1), y)
				require.NoError(t, err)
				Shuffle(0, 64, 1, wantY)
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, wantSum, sum)
			require.Equal(t, wantBins, bins)
			require.Equal(t, wantHist, hist)
			require.Equal(t, wantY, y)
			require.Equal(t, wantZ, z)
			require.NotZero(t, c[0])
		})
	}
}

// A sequence holds the tokens of the step that needs most, and is refused where no accelerator has as many; who is recorded too late for
// the accelerators that are left is named.
func TestTokensOfASequence(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)", Tokens: map[devices.Kind]int{"sim": 4}})
	spec := func(n string) *task.Kernel {
		return task.MustKernel(task.KernelSpec{Name: "Greedy", Go: func(*task.Args) {}, Files: []task.SourceFile{{Name: "greedy.go", Text: `package p

//omp:target device(acc, smp) resources(acc: ` + n + `)
//omp:task inout(x)
func Greedy(x []int32) {
	x[0]++
}
`}}})
	}
	x, y := make([]int32, 4), make([]int32, 4)
	record := func(ks ...*task.Kernel) (*task.KernelIteration, error) {
		return rt.RecordKernels("greedy", func(r *task.KernelRecorder) (err error) {
			for i, k := range ks {
				err = errors.Join(err, r.Submit(k, [][]int32{x, y}[i%2]))
			}
			return err
		})
	}
	it, err := record(spec("1"), spec("3"), spec("2"))
	require.NoError(t, err)
	require.Equal(t, []int{0, 3}, task.TokensOf(it), "at the host and the accelerator")
	require.Equal(t, [][]int{nil, {0}, {0, 1}}, task.StepsOf(it), "holders come one after the other")
	_, err = it.Replay()
	require.NoError(t, err)
	_, err = it.Replay(task.Resources("sim", 5))
	require.Error(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	_, err = record(spec("1"), spec("5"))
	require.ErrorContains(t, err, "task: record: task: kernel Greedy (greedy.go:5): no accelerator can run it and the steps before it")
}

// no_copy_deps of a step holds for that step alone: what the others access is copied.
func TestASequenceWithoutCopyDeps(t *testing.T) {
	fill := kernelOf(t, Fill)
	apart := task.MustKernel(task.KernelSpec{Name: "Apart", Go: func(a *task.Args) { devices.SliceArg[uint32](a, 0)[0]++ }, Files: []task.SourceFile{{Name: "apart.go", Text: `package p

//omp:target device(acc, smp) no_copy_deps copy_inout(y)
//omp:task in(x) out(y)
func Apart(y, x []uint32) {
	y[0]++
}
`}}})
	rt := open(t, task.Options{Devices: "smp:1,sim:1(exec=cpu)"})
	x, y, z := make([]uint32, 1<<12), make([]uint32, 8), make([]uint32, 8)
	it, err := rt.RecordKernels("apart", func(r *task.KernelRecorder) error {
		return errors.Join(r.Submit(apart, y, x), r.Submit(fill, 0, 8, uint32(3), z))
	})
	require.NoError(t, err)
	for range 3 {
		_, err = it.Replay()
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 3, y[0])
	want := make([]uint32, 8)
	Fill(0, 8, 3, want)
	require.Equal(t, want, z)
	require.Less(t, int64(rt.Stats().HostToDevice), int64(1<<12), "x stays where it is")
}

// TestReplayOrRecord_ASequenceTakesNewArguments replays a sequence with other scalars, slices and
// steps, beside tasks on the same memory, without a wait in between.
func TestReplayOrRecord_ASequenceTakesNewArguments(t *testing.T) {
	for _, spec := range []string{"sim:2(exec=cpu)", "sim:1(exec=simt)", "smp:2,sim:2(exec=cpu)"} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
			var memory, want [2][]uint32
			for i := range memory {
				memory[i], want[i] = make([]uint32, 64), make([]uint32, 64)
			}
			round, parts := uint32(0), 2
			build := func(r *task.KernelRecorder) error {
				x, y := memory[round%2], memory[(round+1)%2]
				for i := range parts {
					lo, hi := 64/parts*i, 64/parts*(i+1)
					if err := errors.Join(r.Submit(mix, lo, hi, 0, 64, round, x, y), r.Submit(fill, lo, hi, round, y)); err != nil {
						return err
					}
				}
				return nil
			}
			it, err := rt.RecordKernels("iteration", build)
			require.NoError(t, err)
			for round = range 12 {
				if round == 7 {
					parts = 4
				}
				_, changed, err := it.ReplayOrRecord(build)
				require.NoError(t, err)
				require.Equal(t, round == 7, changed, round)
				x, y := want[round%2], want[(round+1)%2]
				for i := range parts {
					lo, hi := 64/parts*i, 64/parts*(i+1)
					Mix(lo, hi, 0, 64, round, x, y)
					Fill(lo, hi, round, y)
				}
				if round%3 == 0 {
					_, err = mix.Submit(rt, 0, 64, 0, 64, uint32(9), memory[0], memory[1])
					require.NoError(t, err)
					Mix(0, 64, 0, 64, 9, want[0], want[1])
				}
			}
			no := errors.New("no")
			_, changed, err := it.ReplayOrRecord(func(*task.KernelRecorder) error { return no })
			require.ErrorIs(t, err, no)
			require.False(t, changed)
			_, err = it.Replay() // the last arguments that were given
			require.NoError(t, err)
			x, y := want[1], want[0]
			for i := range parts {
				lo, hi := 64/parts*i, 64/parts*(i+1)
				Mix(lo, hi, 0, 64, 11, x, y)
				Fill(lo, hi, 11, y)
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, memory)
			_, _, err = it.ReplayOrRecord(nil)
			require.Error(t, err)
		})
	}
}
