package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

const points, rowsOfTask = 24, 5

// onRanks solves on ranks of this process. It returns the solution, the iterations and the residual.
func onRanks(t *testing.T, ranks, most int, path string) ([]float64, int, float64) {
	var x []float64
	var iterations int
	var residual float64
	rank := func(tr dist.Transport, first bool) (err error) {
		w, err := dist.NewWorld(tr, dist.Options{})
		if err != nil {
			return err
		}
		rt, err := task.New(task.Options{World: w, Devices: "smp:2"})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rt.Close()) }()
		s, err := newSolver(rt, points, rowsOfTask)
		if err != nil {
			return err
		}
		n, r, err := s.solve(context.Background(), 1e-9, most, path)
		if err != nil {
			return err
		}
		if err := dist.Gather(context.Background(), rt, 0, s.x); err != nil {
			return err
		}
		if first {
			x, iterations, residual = slices.Clone(s.x), n, r
		}
		return nil
	}
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for i, tr := range dist.InProcess(ranks, uint64(ranks)) {
		all.Go(func() { errs[i] = rank(tr, i == 0) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return x, iterations, residual
}

func TestSolve_SolvesTheEquations(t *testing.T) {
	x, iterations, residual := onRanks(t, 1, 1000, "")
	require.Less(t, residual, 1e-9)
	require.Less(t, iterations, 1000)
	for i := range points {
		for j := range points {
			sum := 4 * x[i*points+j]
			for _, d := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
				if r, c := i+d[0], j+d[1]; r >= 0 && r < points && c >= 0 && c < points {
					sum -= x[r*points+c]
				}
			}
			require.InDelta(t, 1, sum, 1e-9)
		}
	}
}

func TestSolve_TheSameBitsOnAnyNumberOfRanks(t *testing.T) {
	want, iterations, _ := onRanks(t, 1, 1000, "")
	for _, ranks := range []int{2, 3, 7} { // 7 ranks share 5 tasks: some own nothing
		x, n, _ := onRanks(t, ranks, 1000, "")
		require.Equal(t, iterations, n, "%d ranks", ranks)
		require.Equal(t, want, x, "%d ranks", ranks)
	}
}

func TestSolve_ContinuesOnAnotherNumberOfRanks(t *testing.T) {
	want, iterations, _ := onRanks(t, 1, 1000, "")
	path := filepath.Join(t.TempDir(), "solver.checkpoint")
	_, n, _ := onRanks(t, 3, 10, path)
	require.Equal(t, 10, n)
	x, n, _ := onRanks(t, 2, 1000, path)
	require.Equal(t, iterations, n)
	require.Equal(t, want, x)
}
