// Command stream runs the four operations of the STREAM benchmark, tiled into tasks, over CPU
// workers and accelerators.
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

const scalar = 3.0

// arrays are STREAM's three.
type arrays struct{ a, b, c []float64 }

func main() {
	f := demo.Parse(demo.Flags{N: 1 << 22, Rounds: 10, Block: 1 << 18, Devices: "smp:2,sim:2", Policy: "locality"}, "reps")
	f.Exit(run(f))
}

func run(f demo.Flags) int {
	rt, err := task.New(f.Options())
	if err != nil {
		demo.Fail(err)
	}
	x, err := allocate(rt, f.N, f.Block)
	if err != nil {
		demo.Fail(err)
	}
	start := time.Now()
	if err := x.stream(rt, f); err != nil {
		demo.Fail(err)
	}
	elapsed := time.Since(start)
	r := demo.Result{Example: "stream", N: f.N, Devices: f.Devices, Check: "off", CPUCode: rt.CPUCode(triadKernel)}
	r.Count(rt, elapsed)
	r.Gbps = 10 * 8 * float64(f.N) * float64(f.Rounds) / elapsed.Seconds() / 1e9 // copy 2, scale 2, add 3, triad 3 arrays
	if f.Check {
		if err := x.bring(rt, f); err != nil {
			demo.Fail(err)
		}
		r.Judge(x.difference(f), 0)
	}
	if err := rt.Close(); err != nil {
		demo.Fail(err)
	}
	return r.Print(f.Output(), f.JSON)
}

// allocate makes arrays whose blocks the ranks own in equal parts.
func allocate(rt *task.Runtime, n, block int) (x arrays, err error) {
	for _, p := range []*[]float64{&x.a, &x.b, &x.c} {
		if *p, err = task.Alloc[float64](rt, n); err != nil {
			return x, err
		}
		if err := dist.Distribute(rt, *p, dist.Block(block)); err != nil {
			return x, err
		}
	}
	owned, err := dist.Owned(rt, x.a)
	if err != nil {
		return x, err
	}
	x.fill(owned)
	return x, nil
}

// fill sets the elements of some ranges: a rank fills what it owns.
func (x arrays) fill(ranges []dist.Range) {
	for _, r := range ranges {
		for i := r.Lo; i < r.Hi; i++ {
			x.a[i], x.b[i], x.c[i] = 1+float64(i%7), 2, 0
		}
	}
}

// stream submits all repetitions and waits for them.
func (x arrays) stream(rt *task.Runtime, f demo.Flags) error {
	cuts := demo.Blocks(f.N, f.Block)
	line := demo.NewProgress(f, "repetition")
	for rep := range f.Rounds {
		for i := range len(cuts) - 1 {
			lo, hi := cuts[i], cuts[i+1]
			if err := operations(rt, x.a[lo:hi], x.b[lo:hi], x.c[lo:hi]); err != nil {
				return err
			}
		}
		line.Step(rep)
	}
	return rt.Wait(context.Background())
}

// operations submits the four tasks of one tile.
func operations(rt *task.Runtime, a, b, c []float64) error {
	if _, err := SubmitCopy(rt, c, a); err != nil {
		return err
	}
	if _, err := SubmitScale(rt, b, c, scalar); err != nil {
		return err
	}
	if _, err := SubmitAdd(rt, c, a, b); err != nil {
		return err
	}
	_, err := SubmitTriad(rt, a, b, c, scalar)
	return err
}

// bring has all ranks receive what the others own, for the check.
func (x arrays) bring(rt *task.Runtime, f demo.Flags) error {
	if f.World == nil {
		return nil
	}
	return rt.WaitOn(context.Background(), task.In(x.a), task.In(x.b), task.In(x.c))
}

// difference is 0 when every element is, bit for bit, that of the plain sequential run.
func (x arrays) difference(f demo.Flags) float64 {
	w := arrays{make([]float64, f.N), make([]float64, f.N), make([]float64, f.N)}
	w.fill([]dist.Range{{Lo: 0, Hi: f.N}})
	for range f.Rounds {
		Copy(w.c, w.a)
		Scale(w.b, w.c, scalar)
		Add(w.c, w.a, w.b)
		Triad(w.a, w.b, w.c, scalar)
	}
	worst := 0.0
	for i := range w.a {
		for _, p := range [][2]float64{{x.a[i], w.a[i]}, {x.b[i], w.b[i]}, {x.c[i], w.c[i]}} {
			if math.Float64bits(p[0]) != math.Float64bits(p[1]) {
				worst = math.Max(worst, math.Max(math.Abs(p[0]-p[1])/math.Abs(p[1]), math.SmallestNonzeroFloat64))
			}
		}
	}
	return worst
}
