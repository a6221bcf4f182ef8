// Command distributed solves a system of equations on any number of ranks, and continues from a
// checkpoint that any other number of ranks has written.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

func main() {
	n := flag.Int("n", 256, "points of the grid in each direction")
	rows := flag.Int("rows", 16, "rows of one task")
	tolerance := flag.Float64("tolerance", 1e-8, "residual at which to end")
	most := flag.Int("most", 2000, "iterations at which to end")
	path := flag.String("checkpoint", "", "file to continue from, if it is there, and to write in the end")
	devices := flag.String("devices", "smp", "CPU workers of each rank, such as smp:4")
	flag.Parse()
	if *n < 1 || *rows < 1 || *most < 1 {
		log.Fatalf("-n %d -rows %d -most %d: want positive numbers", *n, *rows, *most)
	}
	w, err := dist.Init(dist.Options{}) // one rank, where no launcher has started the program
	check(err)
	rt, err := task.New(task.Options{World: w, Devices: *devices})
	check(err)
	s, err := newSolver(rt, *n, *rows)
	check(err)
	iterations, residual, err := s.solve(context.Background(), *tolerance, *most, *path)
	check(err)
	if w.Rank() == 0 {
		fmt.Printf("%d iterations, residual %.3g\n", iterations, residual)
	}
	check(rt.Close())
	w.Exit(0)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
