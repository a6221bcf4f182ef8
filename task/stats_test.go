package task_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Slices that tasks have used are counted until they are given up; what was first used in a scope goes with its task.
func TestStatsCountWhatIsKept(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	kept, err := task.Alloc[int64](rt, 1<<10)
	require.NoError(t, err)
	for i := range 10 {
		x := make([]int64, 100)
		_, err := rt.Go(nothing, task.InOut(x))
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			_, err := s.Go(nothing, task.InOut(make([]int64, 100)))
			return err
		})
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		if i >= 3 {
			require.NoError(t, task.Unregister(rt, x))
		}
	}
	s := rt.Stats()
	require.EqualValues(t, 4, s.Buffers)
	require.Equal(t, deps.Bytes(3*800+8<<10), s.Known)
	require.NoError(t, task.Free(rt, kept))
	require.EqualValues(t, 3, rt.Stats().Buffers)
}

// Finished tasks are counted, those that failed and were skipped among them.
func TestStats_CountsWhatIsDone(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, y := make([]int, 4), make([]int, 4)
	var g gates
	_, err := rt.Go(func() error { return errBoom }, task.InOut(x))
	require.NoError(t, err)
	_, err = rt.Go(nothing, task.In(x))
	require.NoError(t, err)
	require.Error(t, rt.WaitOn(t.Context(), task.InOut(x)))
	_, err = rt.Go(func() error { g.pass("slow"); return nil }, task.InOut(y))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return rt.Stats().Done == 2 }, 10*time.Second, time.Millisecond)
	s := rt.Stats()
	require.EqualValues(t, 3, s.Submitted)
	require.EqualValues(t, 1, s.InFlight)
	g.open("slow")
	require.Error(t, rt.Wait(context.Background()))
	require.Eventually(t, func() bool { return rt.Stats().Done == 3 }, 10*time.Second, time.Millisecond)
}

func TestStats_TextNamesWhatThereIs(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:1,sim:1"})
	require.NoError(t, err)
	defer rt.Close()
	d := make([]uint32, 1000)
	fill, err := task.NewKernel(Fill, task.SourceFile{Name: "kernels_test.go", Text: kernelsSource})
	require.NoError(t, err)
	_, err = fill.With(task.OnDevice("sim:0")).Submit(rt, 0, len(d), uint32(1), d)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	text := fmt.Sprint(rt.Stats())
	require.Contains(t, text, "tasks: 1 submitted, 1 done, 0 failed, 0 skipped, 0 in flight\n")
	require.Contains(t, text, "devices: sim:0 1, smp 0\n")
	require.Contains(t, text, "device to host 3.9 KiB")
	status := fmt.Sprint(rt.Status(10))
	require.Contains(t, status, "tasks: 1 submitted, 0 blocked, 0 ready, 0 running, 0 waiting, 1 done")
}
