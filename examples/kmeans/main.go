// Command kmeans finds clusters of points in a space of several dimensions: one task for each block
// of points and round, whose sums the runtime combines, and one that moves the centres.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	n := flag.Int("n", 100_000, "points")
	k := flag.Int("k", 8, "clusters")
	dims := flag.Int("dims", 4, "coordinates of a point")
	block := flag.Int("block", 20_000, "points of one task")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	if *k < 1 || *dims < 1 || *block < 1 || *n < *k {
		log.Fatalf("-n %d -k %d -dims %d -block %d: want positive numbers, and as many points as clusters", *n, *k, *dims, *block)
	}
	points := sample(*n, *k, *dims)
	centres, _, rounds, err := cluster(*devices, *k, *dims, *block, points)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rounds; the first centre is %.3f\n", rounds, centres[:*dims])
}

const (
	roundsMost = 100
	moveLeast  = 1e-4
)

// cluster returns the centres, the cluster of each point and the number of rounds.
func cluster(devices string, k, dims, block int, points []float64) (centres []float64, of []int32, rounds int, err error) {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, nil, 0, err
	}
	defer rt.Close()
	n := len(points) / dims
	centres, of = append([]float64(nil), points[:k*dims]...), make([]int32, n)
	sums, counts := make([]int64, k*dims), make([]int64, k)
	moved := 1.0
	for rounds = 0; rounds < roundsMost && moved > moveLeast; rounds++ {
		for lo := 0; lo < n; lo += block {
			hi := min(lo+block, n)
			if _, err := SubmitAssign(rt, k, dims, points[lo*dims:hi*dims], centres, of[lo:hi], sums, counts); err != nil {
				return nil, nil, 0, err
			}
		}
		if _, err := SubmitMove(rt, k, dims, centres, sums, counts, &moved); err != nil {
			return nil, nil, 0, err
		}
		if err := rt.WaitOn(context.Background(), task.In(task.One(&moved))); err != nil { // the rest stays on the devices
			return nil, nil, 0, err
		}
	}
	return centres, of, rounds, rt.Wait(context.Background())
}

// sample returns n points around k places.
func sample(n, k, dims int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, n*dims)
	for i := range n {
		for j := range dims {
			out[i*dims+j] = float64((i%k*(j+3))%k)*4 + r.NormFloat64()
		}
	}
	return out
}
