package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// vector makes a distributed slice.
func vector(rt *task.Runtime, n int, d dist.Distribution) ([]int64, error) {
	x, err := task.Alloc[int64](rt, n)
	if err != nil {
		return nil, err
	}
	return x, dist.Distribute(rt, x, d)
}

func increment(x []int64) func() error {
	return func() error {
		for i := range x {
			x[i]++
		}
		return nil
	}
}

// ring has each block take from its neighbour, again and again, so that all ranks wait for all
// others.
func ring(rt *task.Runtime, x []int64, blocks, rounds int, also func(round int) error) error {
	n := len(x) / blocks
	for r := range rounds {
		for b := range blocks {
			to, from := x[b*n:(b+1)*n], x[(b+1)%blocks*n:(b+1)%blocks*n+n]
			if _, err := rt.Go(func() error { to[0] += from[n-1]; return nil }, task.InOut(to), task.In(from), task.Label("Ring")); err != nil {
				return err
			}
		}
		if err := also(r); err != nil {
			return err
		}
	}
	return rt.Wait(context.Background())
}

// Every rank fails with the same text, which names both submissions, and none hangs.
func TestControlReplication_ADifferenceIsAnErrorOnAllRanks(t *testing.T) {
	for name, change := range map[string]func(rt *task.Runtime, x []int64, rank int) error{
		"an extra task": func(rt *task.Runtime, x []int64, rank int) error {
			if rank != 2 {
				return nil
			}
			_, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label("Extra"))
			return err
		},
		"another box": func(rt *task.Runtime, x []int64, rank int) error {
			n := 8
			if rank == 1 {
				n = 7
			}
			_, err := rt.Go(increment(x[:n]), task.InOut(x[:n]), task.Label("Boxed"))
			return err
		},
		"another order": func(rt *task.Runtime, x []int64, rank int) error {
			labels := []string{"First", "Second"}
			if rank == 3 {
				labels = []string{"Second", "First"}
			}
			for _, l := range labels {
				if _, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label(l)); err != nil {
					return err
				}
			}
			return nil
		},
		"another wait for data": func(rt *task.Runtime, x []int64, rank int) error {
			if rank != 1 {
				return nil
			}
			return rt.WaitOn(context.Background(), task.In(x))
		},
		"another wait for data on rank 0": func(rt *task.Runtime, x []int64, rank int) error {
			if rank != 0 {
				return nil
			}
			return rt.WaitOn(context.Background(), task.In(x))
		},
		"another wait for all": func(rt *task.Runtime, x []int64, rank int) error {
			if rank != 2 {
				return nil
			}
			return rt.Wait(context.Background())
		},
		"another wait for all on rank 0": func(rt *task.Runtime, x []int64, rank int) error {
			if rank != 0 {
				return nil
			}
			return rt.Wait(context.Background())
		},
		"other owners": func(rt *task.Runtime, x []int64, rank int) error {
			_, err := vector(rt, 20, dist.By(5, func(k, ranks int) int { return (k + rank/3) % ranks }))
			if err == nil {
				_, err = rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label("Behind"))
			}
			return err
		},
		"another order of buffers": func(rt *task.Runtime, x []int64, rank int) error {
			for i := range 2 {
				if _, err := vector(rt, 20+(i+rank/3)%2, dist.Block(1)); err != nil {
					return err
				}
			}
			_, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label("Behind"))
			return err
		},
		"one missing on rank 0": func(rt *task.Runtime, x []int64, rank int) error {
			if rank == 0 {
				return nil
			}
			_, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label("Missing"))
			return err
		},
	} {
		for _, at := range []int{0, 3, 299} { // the last: at the end
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				began := time.Now()
				errs := inProcess(t, 4, 1, func(rt *task.Runtime, rank int) error {
					x, err := vector(rt, 32, dist.Block(1))
					if err != nil {
						return err
					}
					return ring(rt, x, 4, 300, func(round int) error {
						if round != at {
							return nil
						}
						return change(rt, x, rank)
					})
				})
				requireEnds(t, began, false, errs)
				for _, err := range errs {
					var failed *dist.RankError
					require.ErrorAs(t, err, &failed, "%v", errs)
					require.Contains(t, err.Error(), "the ranks do not submit the same")
				}
			})
		}
	}
}

// The text names the rank, the task, its number, and its first access.
func TestControlReplication_NamesBothSubmissions(t *testing.T) {
	errs := inProcess(t, 3, 1, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 32, dist.Block(1))
		if err != nil {
			return err
		}
		label := "Gemm"
		if rank == 2 {
			label = "Trsm"
		}
		if _, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label(label)); err != nil {
			return err
		}
		return rt.Wait(context.Background())
	})
	require.ErrorContains(t, errs[1], "Trsm #1 (inout b0[0:8]) on rank 0")
	require.ErrorContains(t, errs[1], "Gemm #1 (inout b0[0:8]) on rank 0")
}

// An error or a panic of a task on one rank is the error of all, and tasks on other ranks that wait
// for its data do not hang.
func TestFailure_OfATaskIsThatOfAllRanks(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		for _, failing := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s on rank %d", how, failing), func(t *testing.T) {
				began := time.Now()
				errs := inProcess(t, 4, 1, func(rt *task.Runtime, rank int) error {
					x, err := vector(rt, 32, dist.Block(1))
					if err != nil {
						return err
					}
					return ring(rt, x, 4, 100, func(round int) error {
						if round != 50 {
							return nil
						}
						_, err := rt.Go(func() error {
							if how == "panic" {
								panic("it broke")
							}
							return errors.New("it broke")
						}, task.InOut(x[8*failing:8*failing+8]), task.Label("Breaks"))
						return err
					})
				})
				requireEnds(t, began, false, errs)
				for _, err := range errs {
					require.ErrorContains(t, err, fmt.Sprintf("rank %d: task: Breaks", failing))
					require.ErrorContains(t, err, "it broke")
				}
			})
		}
	}
}

// The root cause is printed once by all ranks together, and kept in a file by each.
func TestFailure_IsPrintedOnce(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(dist.ErrorsVariable, folder)
	var printed lockedBuffer
	var all sync.WaitGroup
	for _, tr := range dist.InProcess(3, 1) {
		all.Go(func() {
			w, err := dist.NewWorld(tr, dist.Options{Errors: &printed, Silence: -1})
			require.NoError(t, err)
			rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
			require.NoError(t, err)
			x, err := vector(rt, 3, dist.Block(1))
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background())) // all are there
			rt.Go(func() error { return errors.New("it broke") }, task.InOut(x[2:]))
			require.Error(t, rt.Wait(context.Background()))
			rt.Close()
		})
	}
	all.Wait()
	require.Equal(t, 1, bytes.Count(printed.Bytes(), []byte("it broke")), "%s", printed.Bytes())
	require.FileExists(t, folder+"/rank-0.txt")
	require.FileExists(t, folder+"/rank-2.txt")
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Misuse is refused with its reason, and nothing is submitted.
func TestWorld_RefusesMisuse(t *testing.T) {
	errs := inProcess(t, 2, 0, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 8, dist.Block(1))
		if err != nil {
			return err
		}
		y := make([]int64, 4)
		if _, err := rt.Go(increment(y), task.InOut(y)); err == nil || !bytes.Contains([]byte(err.Error()), []byte("memory without an owner")) {
			return fmt.Errorf("memory without an owner: %v", err)
		}
		if _, err := rt.Go(increment(x), task.InOut(x), task.OnRank(2)); err == nil {
			return errors.New("rank 2 of 2")
		}
		if err := dist.Distribute(rt, x, dist.Block(1)); err == nil {
			return errors.New("distributed twice")
		}
		if err := dist.Distribute(rt, y, dist.On(7)); err == nil {
			return errors.New("an owner that is not there")
		}
		if _, err := rt.Record(func(*task.Recorder) error { return nil }); err == nil {
			return errors.New("recorded")
		}
		f, err := task.GoValue(rt, func() (int, error) { return 7, nil }, task.OnRank(1))
		if err != nil {
			return err
		}
		if v, err := f.Get(context.Background()); rank == 1 && v != 7 || (err == nil) != (rank == 1) {
			return fmt.Errorf("rank %d: %d, %v", rank, v, err)
		}
		return rt.Wait(context.Background())
	})
	require.NoError(t, errors.Join(errs...))
}
