// Command reduction surveys a series of readings: a kernel finds the extremes and counts, and tasks
// with an operator of the program's own merge means and variances.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	n := flag.Int("n", 1_000_000, "readings")
	block := flag.Int("block", 100_000, "readings of one task")
	limit := flag.Float64("limit", 40, "readings above it are counted")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	if *n < 1 || *block < 1 {
		log.Fatalf("-n %d -block %d: want positive numbers", *n, *block)
	}
	s, err := survey(*devices, readings(*n), *block, *limit)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d readings from %.3f to %.3f, %d above %g\n", s.moments.N, s.low, s.high, s.above, *limit)
	fmt.Printf("mean %.3f, standard deviation %.3f\n", s.moments.Mean, s.moments.deviation())
}

// moments are the number of some values, their mean, and the sum of the squares of their distances
// from it.
type moments struct {
	N        int64
	Mean, M2 float64
}

// merge returns the moments of the values of a and b together.
// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979, equations 2.1.
func merge(a, b moments) moments {
	if a.N == 0 || b.N == 0 {
		return moments{a.N + b.N, a.Mean + b.Mean, a.M2 + b.M2} // one of them is zero
	}
	n, d := float64(a.N+b.N), b.Mean-a.Mean
	return moments{a.N + b.N, a.Mean + d*float64(b.N)/n, a.M2 + b.M2 + d*d*float64(a.N)*float64(b.N)/n}
}

func (m moments) deviation() float64 { return math.Sqrt(m.M2 / float64(m.N)) }

// merging is the operator of merge. The zero value is neutral.
var merging = task.NewOperator("merge", moments{}, merge)

// A summary holds the results of a survey.
type summary struct {
	low, high float64
	above     int64
	moments   moments
}

// survey submits two tasks for each block of x: a kernel for any device, and a Go body.
func survey(devices string, x []float64, block int, limit float64) (summary, error) {
	s := summary{low: math.Inf(1), high: math.Inf(-1)}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return s, err
	}
	for lo := 0; lo < len(x) && err == nil; lo += block {
		part := x[lo:min(lo+block, len(x))]
		_, err = SubmitSurvey(rt, limit, part, task.One(&s.low), task.One(&s.high), task.One(&s.above))
		if err == nil {
			_, err = rt.GoScope(func(own *task.Scope) error {
				m := &task.Private(own, task.One(&s.moments))[0]
				for _, v := range part {
					*m = merge(*m, moments{1, v, 0})
				}
				return nil
			}, task.In(part), task.Reduce(task.One(&s.moments), merging), task.Label("Moments"))
		}
	}
	// Wait combines the copies of the tasks.
	return s, errors.Join(err, rt.Wait(context.Background()), rt.Close())
}

// readings returns n values around 20.
func readings(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = 20 + 8*r.NormFloat64()
	}
	return x
}
