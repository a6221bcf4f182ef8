// Command dashboard runs a long heat simulation over CPU workers and simulated accelerators, with the live page.
//
//	go run ./examples/dashboard                 # prints the address of the page; ends after a minute
//	go run ./examples/dashboard -for 10s -trace heat.gtrace
package main

import (
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
	rows, columns, block int
	devices, addr, file  string
	length               time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.rows, "rows", 1026, "rows of the grid, with one of the border at each end")
	flag.IntVar(&o.columns, "columns", 512, "columns of the grid")
	flag.IntVar(&o.block, "block", 64, "rows of one task")
	flag.StringVar(&o.devices, "devices", "smp:1,sim:3(memory=4MiB,granule=4KiB,bandwidth=2GiB/s,speed=32GB/s)", "devices")
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
	if o.rows < 3 || o.columns < 1 || o.block < 1 {
		return fmt.Errorf("dashboard: %d rows, %d columns, blocks of %d: want at least 3, 1 and 1", o.rows, o.columns, o.block)
	}
	trace := "summary"
	if o.file != "" {
		trace += ",file:" + o.file
	}
	rt, err := task.New(task.Options{Devices: o.devices, Trace: trace, Dash: o.addr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	now, next := make([]float32, o.rows*o.columns), make([]float32, o.rows*o.columns)
	for j := range o.columns {
		now[j], next[j] = 100, 100
	}
	const together = 10 // steps between two looks at the clock
	began, steps := time.Now(), 0
	for time.Since(began) < o.length {
		for range together {
			if err := step(rt, o, now, next); err != nil {
				return err
			}
			now, next = next, now
			steps++
		}
		if err := rt.Wait(); err != nil {
			return err
		}
	}
	fmt.Printf("%d steps, row 1 has %.1f degrees in the middle\n", steps, now[o.columns+o.columns/2])
	return nil
}

// step submits the tasks of one step.
func step(rt *task.Runtime, o options, now, next []float32) error {
	for lo := 1; lo < o.rows-1; lo += o.block {
		hi := min(lo+o.block, o.rows-1)
		if _, err := SubmitDiffuse(rt, o.rows, o.columns, lo, hi, 0.2, now, next); err != nil {
			return err
		}
	}
	return nil
}
