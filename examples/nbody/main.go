// Command nbody moves bodies that attract each other, over CPU workers and accelerators, from one
// kernel source.
//
// Every step is two tasks a block: Forces reads all positions and changes the velocities of its
// block, Move changes the positions of its block. The order among them, and the copies, follow from
// what the tasks say they read and write.
package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/task"
)

// bound is the largest relative error that the check accepts: the targets may add up the forces in
// another order.
const bound = 1e-4

const dt = 0.01

// bodies is the state: positions and velocities, one array a coordinate.
type bodies struct{ px, py, pz, vx, vy, vz []float32 }

func main() {
	f := demo.Parse(demo.Flags{N: 4096, Rounds: 5, Block: 256, Devices: "smp:2,sim:2", Policy: "locality"}, "steps")
	f.Exit(run(f))
}

func run(f demo.Flags) int {
	rt, err := task.New(f.Options())
	if err != nil {
		demo.Fail(err)
	}
	b, err := allocate(rt, f.N, f.Block)
	if err != nil {
		demo.Fail(err)
	}
	b.fill()
	var want bodies
	if f.Check {
		want = b.clone()
		want.sequential(f)
	}
	start := time.Now()
	if err := b.simulate(rt, f); err != nil {
		demo.Fail(err)
	}
	elapsed := time.Since(start)
	r := demo.Result{Example: "nbody", N: f.N, Devices: f.Devices, Check: "off", CPUCode: rt.CPUCode(forcesKernel)}
	r.Count(rt, elapsed)
	r.Gflops = 20 * float64(f.N) * float64(f.N) * float64(f.Rounds) / elapsed.Seconds() / 1e9
	if f.Check {
		if err := b.bring(rt, f); err != nil {
			demo.Fail(err)
		}
		r.Judge(b.difference(want), bound)
	}
	if err := rt.Close(); err != nil {
		demo.Fail(err)
	}
	return r.Print(f.Output(), f.JSON)
}

// simulate submits all steps and waits for them. Submission runs ahead of the work.
func (b bodies) simulate(rt *task.Runtime, f demo.Flags) error {
	cuts := demo.Blocks(f.N, f.Block)
	line := demo.NewProgress(f, "step")
	for step := range f.Rounds {
		for i := range len(cuts) - 1 {
			if _, err := SubmitForces(rt, cuts[i], cuts[i+1], dt, b.px, b.py, b.pz, b.vx, b.vy, b.vz); err != nil {
				return err
			}
		}
		for i := range len(cuts) - 1 {
			if _, err := SubmitMove(rt, cuts[i], cuts[i+1], dt, b.px, b.py, b.pz, b.vx, b.vy, b.vz); err != nil {
				return err
			}
		}
		line.Step(step)
	}
	return rt.Wait(context.Background())
}

// sequential is the plain Go run that the tasks must agree with.
func (b bodies) sequential(f demo.Flags) {
	for range f.Rounds {
		Forces(0, f.N, dt, b.px, b.py, b.pz, b.vx, b.vy, b.vz)
		Move(0, f.N, dt, b.px, b.py, b.pz, b.vx, b.vy, b.vz)
	}
}

// allocate makes arrays whose blocks the ranks own in equal parts.
func allocate(rt *task.Runtime, n, block int) (b bodies, err error) {
	for _, p := range b.fields() {
		if *p, err = task.Alloc[float32](rt, n); err != nil {
			return b, err
		}
		if err := dist.Distribute(rt, *p, dist.Block(block)); err != nil {
			return b, err
		}
	}
	return b, nil
}

// bring has all ranks receive what the others own, for the check.
func (b *bodies) bring(rt *task.Runtime, f demo.Flags) error {
	if f.World == nil {
		return nil
	}
	for _, p := range b.fields() {
		if err := rt.WaitOn(context.Background(), task.In(*p)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bodies) fields() []*[]float32 {
	return []*[]float32{&b.px, &b.py, &b.pz, &b.vx, &b.vy, &b.vz}
}

func (b *bodies) fill() {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range b.fields()[:3] {
		for i := range *p {
			(*p)[i] = 2*r.Float32() - 1
		}
	}
}

func (b *bodies) clone() bodies {
	var c bodies
	for i, p := range b.fields() {
		*c.fields()[i] = append([]float32(nil), *p...)
	}
	return c
}

// difference is the largest distance of a coordinate from want, relative to the largest coordinate
// of its array.
func (b *bodies) difference(want bodies) float64 {
	worst := 0.0
	for i, p := range b.fields() {
		w := *want.fields()[i]
		largest, apart := 0.0, 0.0
		for j, v := range *p {
			largest = math.Max(largest, math.Abs(float64(w[j])))
			apart = math.Max(apart, math.Abs(float64(v)-float64(w[j])))
		}
		if largest > 0 {
			apart /= largest
		}
		worst = math.Max(worst, apart)
	}
	return worst
}
