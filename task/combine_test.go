package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// issue 16 20: a reduction without CPU workers was an error.

func TestReduction_WithoutCPUWorkers(t *testing.T) {
	sum, dot, mix := kernelOf(t, ModelSum), kernelOf(t, Dot), kernelOf(t, Mix)
	for _, spec := range []string{"sim:1", "sim:3(exec=simt)", "sim:2(memory=16KiB,granule=1KiB)"} {
		rt := open(t, task.Options{Devices: spec})
		x, y, s := make([]int32, 1000), make([]int32, 1000), make([]int32, 1)
		want := int32(7)
		s[0] = want
		for i := range x {
			x[i], y[i] = int32(i%10), int32(i%7)
			want += x[i] * y[i]
		}
		for lo := 0; lo < 1000; lo += 100 {
			_, err := dot.Submit(rt, lo, lo+100, x, y, s)
			require.NoError(t, err)
		}
		require.NoError(t, rt.WaitOn(t.Context(), task.In(s)))
		require.Equal(t, want, s[0], spec)

		d, e := make([]uint32, 300), make([]uint32, 300)
		ahead, behind := make([]uint32, 300), make([]uint32, 300)
		for k := range uint32(5) {
			_, err := sum.Submit(rt, int(k)*20, 300, k+1, d)
			require.NoError(t, err)
			ModelSum(int(k)*20, 300, k+1, ahead)
		}
		_, err := mix.Submit(rt, 0, 300, 0, 300, uint32(2), e, d) // the combination comes first
		require.NoError(t, err)
		Mix(0, 300, 0, 300, 2, behind, ahead)
		g := task.NewGroup(rt)
		_, err = sum.Submit(g, 0, 300, uint32(4), e)
		require.NoError(t, err)
		ModelSum(0, 300, 4, behind)
		require.NoError(t, g.Wait(context.Background()))
		require.Equal(t, behind, e, spec)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, ahead, d, spec)
		it, err := rt.Record(func(r *task.Recorder) error {
			for range 3 {
				if _, err := sum.Submit(r, 0, 300, uint32(1), d); err != nil {
					return err
				}
			}
			_, err := mix.Submit(r, 0, 300, 0, 300, uint32(2), e, d)
			return err
		})
		require.NoError(t, err)
		for range 3 {
			_, err = it.Replay()
			require.NoError(t, err)
			ModelSum(0, 300, 3, ahead)
			Mix(0, 300, 0, 300, 2, behind, ahead)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, ahead, d)
		require.Equal(t, behind, e)
	}
}

// TestReduction_RandomWithoutCPUWorkers runs random programs of kernels where there are accelerators alone, and compares them with the
// same kernels called one after the other. Copies fail now and then: then the failure is told, and nothing hangs or leaks.
func TestReduction_RandomWithoutCPUWorkers(t *testing.T) {
	sum, fill, mix := kernelOf(t, ModelSum), kernelOf(t, Fill), kernelOf(t, Mix)
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 20))
		o := task.Options{Devices: fmt.Sprintf("sim:%d(exec=cpu,memory=12KiB,granule=1KiB)", 1+rng.IntN(3)), Window: []int{0, 1, 5}[rng.IntN(3)]}
		faulty := rng.IntN(4) == 0
		if faulty {
			o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Transfer: 1 + rng.Int64N(40), Lose: rng.IntN(2) == 0}}}
		}
		rt, err := task.New(o)
		require.NoError(t, err)
		got, want := [2][]uint32{}, [2][]uint32{}
		for b := range got {
			got[b], want[b] = make([]uint32, 200), make([]uint32, 200)
			require.NoError(t, task.Register(rt, got[b]))
		}
		failed := false
		part := func() (int, int) { lo := rng.IntN(199); return lo, lo + 1 + rng.IntN(200-lo-1) }
		g := task.NewGroup(rt)
		for range 60 {
			b, k := rng.IntN(2), rng.Uint32()
			lo, hi := part()
			at := task.Submitter(rt)
			if rng.IntN(3) == 0 {
				at = g
			}
			switch rng.IntN(8) {
			case 0:
				_, err = fill.Submit(at, lo, hi, k, got[b])
				Fill(lo, hi, k, want[b])
			case 1, 2:
				from, to := part()
				_, err = mix.Submit(at, lo, hi, from, to, k, got[b], got[1-b])
				Mix(lo, hi, from, to, k, want[b], want[1-b])
			case 3:
				err = g.Wait(context.Background())
				g = task.NewGroup(rt)
			case 4:
				if err = rt.WaitOn(t.Context(), task.In(got[b][lo:hi])); err == nil && !failed {
					require.Equal(t, want[b][lo:hi], got[b][lo:hi], "seed %d", seed)
				}
				if errors.Is(err, task.ErrUnused) {
					err = nil
				}
			default:
				_, err = sum.Submit(at, lo, hi, k, got[b])
				ModelSum(lo, hi, k, want[b])
			}
			if failed = failed || err != nil; failed && !faulty {
				require.NoError(t, err, "seed %d", seed)
			}
		}
		if err = rt.Wait(context.Background()); !faulty {
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, want, got, "seed %d", seed)
		}
		var leak *task.LeakError
		require.False(t, errors.As(rt.Close(), &leak), "seed %d: %v", seed, leak)
	}
}
