// Command testing smooths random values and counts them: two kernels with one mistake waiting in
// each, an index at the edge and a race. main_test.go is what the folder is for.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	counts := make([]int32, 10)
	if err := histogram(task.Options{}, 4, values(1, 100_000), counts); err != nil {
		log.Fatal(err)
	}
	fmt.Println(counts)
}

// histogram counts the smoothed values of x.
func histogram(o task.Options, radius int, x []float64, counts []int32) error {
	rt, err := task.New(o)
	if err != nil {
		return err
	}
	y := make([]float64, len(x))
	_, err = SubmitSmooth(rt, radius, x, y)
	if err == nil {
		_, err = SubmitCount(rt, y, counts)
	}
	return errors.Join(err, rt.Wait(context.Background()), rt.Close())
}

// values returns n random values, the same for the same seed.
func values(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.Float64()
	}
	return x
}
