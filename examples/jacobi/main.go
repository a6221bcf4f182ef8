// Command jacobi solves the Laplace equation on a square by Jacobi iteration on several devices.
// The tasks of two sweeps are recorded once and replayed, so that later sweeps are not analysed
// again.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	n := flag.Int("n", 130, "points on each side")
	block := flag.Int("block", 64, "rows of one task")
	pairs := flag.Int("pairs", 1000, "pairs of sweeps")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	grid, change, err := solve(*devices, *n, *block, *pairs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d sweeps; the middle is %.6f, the last sweep changed %.2g\n", 2**pairs, grid[*n/2**n+*n/2], change)
}

// solve returns the grid after pairs of sweeps, and the largest change in the last one.
func solve(devices string, n, block, pairs int) (grid []float64, change float64, err error) {
	if n < 3 || block < 1 || pairs < 0 {
		return nil, 0, fmt.Errorf("-n %d -block %d -pairs %d: want at least 3, 1 and 0", n, block, pairs)
	}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, 0, err
	}
	defer rt.Close()
	from, to := start(n), start(n)
	changes := make([]float64, n)
	sweeps, err := rt.Record(func(r *task.Recorder) error {
		for range 2 {
			for lo := 1; lo < n-1; lo += block {
				if _, err := SubmitRelax(r, lo, min(lo+block, n-1), n, from, to, changes); err != nil {
					return err
				}
			}
			from, to = to, from
		}
		_, err := SubmitLargest(r, changes, &change)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for range pairs {
		if _, err := sweeps.Replay(); err != nil {
			return nil, 0, err
		}
	}
	return from, change, rt.Wait(context.Background())
}

// start returns n by n zeros with a first row of ones.
func start(n int) []float64 {
	grid := make([]float64, n*n)
	for j := range n {
		grid[j] = 1
	}
	return grid
}
