// Command dashboard runs a long heat simulation with the live page: simulated accelerators compute
// the steps, the CPU workers draw them.
//
//	go run ./examples/dashboard                 # prints the address of the page; ends after a minute
//	go run ./examples/dashboard -for 10s -trace heat.gtrace
//	go run ./examples/dashboard -memory 4MiB    # too little for the grids: see what evictions do
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
	_ "github.com/gompss/gompss/trace" // brings the page
)

// Options are the flags.
type options struct {
	rows, columns, block, every int
	devices, memory, addr, file string
	length                      time.Duration
}

// inFlight is the number of tasks that may be submitted and not finished: some ten steps, so that
// no device waits for the program.
const inFlight = 128

func main() {
	var o options
	flag.IntVar(&o.rows, "rows", 770, "rows of the grid, with one of the border at each end")
	flag.IntVar(&o.columns, "columns", 2048, "columns of the grid")
	flag.IntVar(&o.block, "block", 64, "rows of one task")
	flag.IntVar(&o.every, "draw", 2, "steps from one picture to the next")
	flag.StringVar(&o.devices, "devices", "", "devices; empty takes a CPU worker and three simulated accelerators")
	flag.StringVar(&o.memory, "memory", "64MiB", "memory of each of those accelerators; 4MiB is too little")
	flag.StringVar(&o.addr, "dash", "127.0.0.1:0", "address of the page")
	flag.StringVar(&o.file, "trace", "", "trace file to write, too")
	flag.DurationVar(&o.length, "for", time.Minute, "how long to simulate")
	flag.Parse()
	if err := simulate(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// simulate lets heat flow down from a hot first row until the time is up.
func simulate(o options) (err error) {
	if o.rows < 3 || o.columns < 1 || o.block < 1 || o.every < 1 {
		return fmt.Errorf("dashboard: %d rows, %d columns, blocks of %d, a picture every %d steps: want at least 3, 1, 1 and 1", o.rows, o.columns, o.block, o.every)
	}
	if o.devices == "" { // as slow as hardware is beside what one core can simulate: 4 ms for a task
		o.devices = fmt.Sprintf("smp:1,sim:3(memory=%s,granule=4KiB,bandwidth=2GiB/s,speed=3GiB/s)", o.memory)
	}
	trace := "summary"
	if o.file != "" {
		trace += ",file:" + o.file
	}
	rt, err := task.New(task.Options{Devices: o.devices, Trace: trace, Dash: o.addr, Window: inFlight, Policy: "versioning"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	steps, g := 0, newGrid(o)
	for began := time.Now(); time.Since(began) < o.length; steps++ {
		if err := g.step(rt, o); err != nil {
			return err
		}
		if steps%o.every == 0 {
			if err := g.draw(rt, o); err != nil {
				return err
			}
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return err
	}
	fmt.Printf("%d steps, row 1 has %.1f degrees in the middle and the colour %06x in the last picture\n", steps, g.now[o.columns+o.columns/2], g.picture[o.columns+o.columns/2])
	return nil
}

// A grid is the temperatures before and after a step, and the last picture of them.
type grid struct {
	now, next []float32
	picture   []int32
}

func newGrid(o options) *grid {
	n := o.rows * o.columns
	g := &grid{make([]float32, n), make([]float32, n), make([]int32, n)}
	for j := range o.columns {
		g.now[j], g.next[j] = 100, 100
	}
	return g
}

// blocks calls f for the blocks of rows between the borders.
func blocks(o options, f func(lo, hi int) (task.Task, error)) error {
	for lo := 1; lo < o.rows-1; lo += o.block {
		if _, err := f(lo, min(lo+o.block, o.rows-1)); err != nil {
			return err
		}
	}
	return nil
}

// step submits the tasks of one step.
func (g *grid) step(rt *task.Runtime, o options) error {
	defer func() { g.now, g.next = g.next, g.now }()
	return blocks(o, func(lo, hi int) (task.Task, error) {
		return SubmitDiffuse(rt, o.rows, o.columns, lo, hi, 0.2, g.now, g.next)
	})
}

// draw submits the tasks of a picture.
func (g *grid) draw(rt *task.Runtime, o options) error {
	return blocks(o, func(lo, hi int) (task.Task, error) {
		return SubmitDraw(rt, o.rows, o.columns, lo, hi, g.now, g.picture)
	})
}
