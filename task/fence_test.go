package task_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Each of these tasks reads a page that it has not declared, of a task that is over or not, in one way or another; the others do as they say.
func TestReadsThatWereNotDeclared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no pages of our own")
	}
	page := os.Getpagesize() / 8
	for name, submit := range map[string]func(rt *task.Runtime, x []int64) error{
		"go": func(rt *task.Runtime, x []int64) error {
			_, err := rt.Go(func() error { x[0] = x[3*page+7]; return nil }, task.Out(x[:page]), task.Label("bad"))
			return err
		},
		"with a retry": func(rt *task.Runtime, x []int64) error {
			_, err := rt.Go(func() error { x[0] += x[3*page+7]; return nil }, task.InOut(x[:page]), task.Retry(2), task.Label("bad"))
			return err
		},
		"by a child": func(rt *task.Runtime, x []int64) error {
			_, err := rt.GoScope(func(s *task.Scope) error {
				_, err := s.Go(func() error { x[0] += x[3*page+7]; return nil }, task.InOut(x[:page]), task.Label("bad"))
				return errors.Join(err, s.Wait(context.Background()))
			}, task.InOut(x[:2*page]))
			return err
		},
		"by a wide task": func(rt *task.Runtime, x []int64) error {
			_, err := task.ParallelFor(rt, 0, page, 1, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					x[i] = x[3*page+7+i%8]
				}
				return nil
			}, task.Out(x[:page]), task.Label("bad"))
			return err
		},
		"by an iteration": func(rt *task.Runtime, x []int64) error {
			it, err := rt.Record(func(r *task.Recorder) error {
				return errors.Join(r.Go(func() error { x[0] = x[page]; return nil }, task.InOut(x[:page]), task.In(x[page:2*page])),
					r.Go(func() error { x[0] = x[3*page+7]; return nil }, task.InOut(x[:page]), task.Label("bad")))
			})
			if err == nil {
				_, err = it.Replay()
			}
			return err
		},
		"by a kernel": func(rt *task.Runtime, x []int64) error {
			k := task.MustKernel(task.KernelSpec{Name: "bad", Go: func(a *task.Args) {
				all, at := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
				all[0] = all[at[0]]
			}, Files: []task.SourceFile{{Name: "bad.go", Text: `package p

//omp:target device(smp)
//omp:task inout(x[0:1]) in(at)
func bad(x, at []int64) {
	x[0] = x[at[0]]
}
`}}})
			_, err := k.Submit(rt, x, []int64{int64(3*page + 7)})
			return err
		},
	} {
		for _, spec := range []string{"smp:1", "smp:3"} {
			t.Run(name+"/"+spec, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec, CheckReads: true})
				x, err := task.Alloc[int64](rt, 6*page+10)
				require.NoError(t, err)
				for i := page; i < len(x); i += page {
					part := x[i:min(i+page, len(x))]
					_, err := rt.Go(func() error { part[len(part)-1]++; part[0] += part[len(part)-1]; return nil }, task.InOut(part))
					require.NoError(t, err)
				}
				require.NoError(t, submit(rt, x))
				_, err = rt.Go(func() error { x[3*page]++; return nil }, task.InOut(x[2*page:4*page]))
				require.NoError(t, err)
				err = rt.Wait(context.Background())
				var v *task.ViolationError
				require.ErrorAs(t, err, &v)
				require.Equal(t, "bad", v.Label)
				require.True(t, v.Touched)
				require.EqualValues(t, 3*page+7, v.Index)
				require.ErrorContains(t, v, "was read or written by bad, which has not declared it")
				require.EqualValues(t, 2, x[3*page], "the program may touch all again")
				require.NoError(t, rt.Wait(context.Background()))
				_, err = rt.Go(func() error { x[0] = x[3*page+7]; return nil }, task.Out(x[:page]))
				require.NoError(t, err)
				require.NoError(t, rt.Wait(context.Background()), "no task has to do with it any more")
				require.NoError(t, task.Free(rt, x))
			})
		}
	}
}

// Who keeps to the rules notices nothing: bodies that talk, end their goroutine, have children or free memory, and a program that reads
// what it has waited for while others run.
func TestAFenceStopsNobodyInnocent(t *testing.T) {
	if raceEnabled {
		t.Skip("what is not declared is looked at while others may write it: then nothing is judged by it, but it is a race")
	}
	rt := open(t, task.Options{Devices: "smp:3", CheckReads: true})
	page := os.Getpagesize() / 8
	x, err := task.Alloc[int64](rt, 8*page)
	require.NoError(t, err)
	part := func(i int) []int64 { return x[i*page : (i+1)*page] }
	for round := range 5 {
		ping := make(chan int64)
		_, err = rt.Go(func() error { part(0)[0] = <-ping; return nil }, task.Out(part(0)))
		require.NoError(t, err)
		_, err = rt.Go(func() error { ping <- 5; part(1)[0] = 6; return nil }, task.Out(part(1)))
		require.NoError(t, err)
		_, err = rt.GoScope(func(s *task.Scope) error {
			for i := 2; i < 4; i++ {
				if _, err := s.Go(func() error { part(i)[0]++; return nil }, task.InOut(part(i))); err != nil {
					return err
				}
			}
			part(4)[0]++
			err := s.Wait(context.Background())
			part(2)[0] += part(3)[0]
			return err
		}, task.InOut(x[2*page:5*page]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { part(5)[0]++; runtime.Goexit(); return nil }, task.InOut(part(5)))
		require.NoError(t, err)
		require.NoError(t, rt.WaitOn(t.Context(), task.In(part(1))))
		for range 50 {
			y, err := task.Alloc[int64](rt, page)
			require.NoError(t, err)
			_, err = rt.Go(func() error { y[1]++; part(6)[0] += y[1]; return nil }, task.InOut(y), task.InOut(part(6)))
			require.NoError(t, err)
			require.EqualValues(t, 6, part(1)[0])
			require.NoError(t, task.Free(rt, y))
		}
		err := rt.Wait(context.Background())
		require.ErrorContains(t, err, "Goexit")
		var failed *task.FailedError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failed, 1, "%v", err)
		require.EqualValues(t, 5, part(0)[0])
		require.EqualValues(t, round+1, part(4)[0])
		require.EqualValues(t, 50*(round+1), part(6)[0])
	}
}

// What is kept of a task that may run again is copied before its turn, while another body has it and the pages are closed.
func TestAFenceOpensForWhatIsKept(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", CheckReads: true})
	page := os.Getpagesize() / 8
	x, err := task.Alloc[int64](rt, 2*page)
	require.NoError(t, err)
	for range 20 {
		hold := make(chan struct{})
		_, err = rt.Go(func() error { <-hold; return nil }, task.Out(x)) // both are submitted before one begins
		require.NoError(t, err)
		for i := range 2 {
			_, err = rt.Go(func() error { time.Sleep(5 * time.Millisecond); x[i*page]++; return nil }, task.InOut(x[i*page:(i+1)*page]), task.Retry(1))
			require.NoError(t, err)
		}
		close(hold)
		require.NoError(t, rt.Wait(context.Background()))
	}
	require.EqualValues(t, 20, x[0])
	require.EqualValues(t, 20, x[page])
}
