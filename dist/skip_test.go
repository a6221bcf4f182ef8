package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

// Random calls of kernels, of which ranks skip those of others by the shape of their arguments,
// give the values of one rank.
func TestWorld_RandomKernelsAreSequential(t *testing.T) {
	const block, blocks = 12, 9
	run := func(rt *task.Runtime, seed uint64) ([]int64, error) {
		r := rand.New(rand.NewPCG(seed, 2))
		x, err := vector(rt, block*blocks, dist.By(block, func(k, ranks int) int { return (k*5 + int(seed)) % ranks }))
		if err != nil {
			return nil, err
		}
		_, err = rt.Go(func() error {
			for i := range x {
				x[i] = int64(i*i%31) - 7
			}
			return nil
		}, task.Out(x))
		if err != nil {
			return nil, err
		}
		for range 60 {
			a, b := r.IntN(blocks)*block, r.IntN(blocks)*block
			from, to := x[a:a+block], x[b:b+block]
			if r.IntN(5) == 0 { // no block
				from = x[a+1 : a+block]
			}
			options := []task.Option{task.Priority(r.IntN(3))}
			if r.IntN(4) == 0 {
				options = append(options, task.Label("labelled"))
			}
			if r.IntN(8) == 0 {
				options = append(options, task.OnRank(r.IntN(2)))
			}
			switch n := r.IntN(4); {
			case n == 0:
				_, err = lib.SubmitSort(rt, from, options...)
			case a == b: // what follows takes different slices
			case n == 1:
				_, err = lib.SubmitScan(rt, from, to[:len(from)], options...)
			case n == 2:
				_, err = lib.SubmitTranspose(rt, 3, block/3, x[a:a+block], to, options...)
			default:
				_, err = lib.SubmitMatMul(rt, 2, 2, 3, from[:4], to[:6], x[a+5:a+11], options...)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := rt.WaitOn(context.Background(), task.In(x)); err != nil {
			return nil, err
		}
		return slices.Clone(x), rt.Wait(context.Background())
	}
	n := uint64(40)
	if testing.Short() {
		n = 10
	}
	alone, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	defer alone.Close()
	for ranks := 2; ranks < 5; ranks++ {
		require.NoError(t, errors.Join(inProcess(t, ranks, 5, func(rt *task.Runtime, rank int) error {
			for seed := range n {
				got, err := run(rt, seed)
				if err != nil {
					return fmt.Errorf("seed %d, rank %d of %d: %w", seed, rank, ranks, err)
				}
				want, err := run(alone, seed)
				if err != nil || !slices.Equal(got, want) {
					return fmt.Errorf("seed %d, rank %d of %d: %v, sequential %v: %w", seed, rank, ranks, got, want, err)
				}
			}
			return nil
		})...))
	}
}
