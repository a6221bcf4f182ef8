// Command stencil spreads heat over a square plate, over CPU workers and accelerators: each task
// computes the next state of some rows from the state of those and of the rows beside them. On
// several ranks these two rows are all that travels.
package main

import (
	"context"
	"math"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/task"
)

func main() {
	f := demo.Parse(demo.Flags{N: 1024, Rounds: 20, Block: 64, Devices: "smp", Policy: "locality"}, "steps")
	f.Exit(run(f))
}

func run(f demo.Flags) int {
	rt, err := task.New(f.Options())
	if err != nil {
		demo.Fail(err)
	}
	plates, err := allocate(rt, f.N, f.Block)
	if err != nil {
		demo.Fail(err)
	}
	start := time.Now()
	if err := spread(rt, plates, f); err != nil {
		demo.Fail(err)
	}
	elapsed := time.Since(start)
	r := demo.Result{Example: "stencil", N: f.N, Devices: f.Devices, Check: "off", CPUCode: rt.CPUCode(rowsKernel)}
	r.Count(rt, elapsed)
	r.Gflops = 4 * float64(f.N) * float64(f.N) * float64(f.Rounds) / elapsed.Seconds() / 1e9
	if f.Check {
		if err := bring(rt, plates, f); err != nil {
			demo.Fail(err)
		}
		r.Judge(difference(plates[f.Rounds%2], f), 0)
	}
	if err := rt.Close(); err != nil {
		demo.Fail(err)
	}
	return r.Print(f.Output(), f.JSON)
}

// allocate makes two plates of n by n, with a hot upper edge, whose blocks of rows the ranks own in
// equal parts.
func allocate(rt *task.Runtime, n, block int) (plates [2][]float64, err error) {
	for i := range plates {
		if plates[i], err = task.Alloc[float64](rt, n*n); err != nil {
			return plates, err
		}
		if err := dist.Distribute(rt, plates[i], dist.Block(block*n)); err != nil {
			return plates, err
		}
		fill(plates[i], n)
	}
	return plates, nil
}

func fill(x []float64, n int) {
	for i := range n {
		x[i] = 100
	}
}

// spread submits all steps and waits for them.
func spread(rt *task.Runtime, plates [2][]float64, f demo.Flags) error {
	for step := range f.Rounds {
		if err := submitStep(rt, plates[step%2], plates[1-step%2], f.N, f.Block); err != nil {
			return err
		}
	}
	return rt.Wait(context.Background())
}

// bring has all ranks receive the last state from its owners, for the check.
func bring(rt *task.Runtime, plates [2][]float64, f demo.Flags) error {
	if f.World == nil {
		return nil
	}
	return rt.WaitOn(context.Background(), task.In(plates[f.Rounds%2]))
}

// submitStep submits a task for each block of rows.
func submitStep(rt *task.Runtime, from, to []float64, n, block int) error {
	cuts := demo.Blocks(n, block)
	for i := range len(cuts) - 1 {
		if _, err := SubmitRows(rt, cuts[i], cuts[i+1], n, from, to); err != nil {
			return err
		}
	}
	return nil
}

// difference is 0 when every element is, bit for bit, that of the plain sequential run.
func difference(x []float64, f demo.Flags) float64 {
	var plates [2][]float64
	for i := range plates {
		plates[i] = make([]float64, f.N*f.N)
		fill(plates[i], f.N)
	}
	for step := range f.Rounds {
		Rows(0, f.N, f.N, plates[step%2], plates[1-step%2])
	}
	worst := 0.0
	for i, want := range plates[f.Rounds%2] {
		if math.Float64bits(want) != math.Float64bits(x[i]) {
			worst = math.Max(worst, math.Max(math.Abs(want-x[i]), math.SmallestNonzeroFloat64))
		}
	}
	return worst
}
