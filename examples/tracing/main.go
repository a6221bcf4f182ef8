// Command tracing runs the same work in three forms, traces each, and prints what bounds it. The
// simulated accelerators take 10 ms for a task, so that every machine finds the same bounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/run"
)

const simulated = "smp:1,sim:2(speed=3MB/s)"

func main() {
	dir := flag.String("dir", "", "folder for a trace file and a page of each form; empty: a temporary one")
	flag.Parse()
	if *dir == "" {
		var err error
		if *dir, err = os.MkdirTemp("", "tracing-"); err != nil {
			log.Fatal(err)
		}
	}
	for _, f := range forms {
		s, err := traced(f, *dir)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-8s %v, %v\n", f.name, s.Elapsed, s.Verdict)
	}
	fmt.Println("the traces and their pages are in", *dir)
}

// A form is a way to submit the tasks of the blocks.
type form struct {
	name string
	// total is where the task of block k adds what it has moved.
	total func(totals []float64, k int) []float64
	// device is where the task of block k runs; of the devices of a kind the policy chooses one.
	device func(k int) string
}

var forms = []form{
	{"chained", func(totals []float64, _ int) []float64 { return totals[:1] }, anywhere}, // each task waits for the one before
	{"uneven", own, func(k int) string { return fmt.Sprintf("sim:%d", k%8/7) }},
	{"free", own, anywhere},
}

func own(totals []float64, k int) []float64 { return totals[k : k+1] }
func anywhere(int) string                   { return "sim" }

const (
	blocks = 32
	block  = 1 << 12
	rounds = 3
)

// settle submits a task for each block, and returns the sum of what they have moved.
func (f form) settle(rt *task.Runtime) (moved float64, err error) {
	x, totals := make([]float64, blocks*block), make([]float64, blocks)
	for k := range blocks {
		_, err := settleKernel.With(task.OnDevice(f.device(k))).Submit(rt, rounds, x[k*block:(k+1)*block], f.total(totals, k))
		if err != nil {
			return 0, err
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return 0, err
	}
	for _, t := range totals {
		moved += t
	}
	return moved, nil
}

// traced runs a form, writes its trace and the page of that into dir, and returns the summary.
func traced(f form, dir string) (*run.Summary, error) {
	file := filepath.Join(dir, f.name+".gtrace")
	rt, err := task.New(task.Options{Devices: simulated, Trace: "wait,file:" + file})
	if err != nil {
		return nil, err
	}
	_, err = f.settle(rt)
	if err := errors.Join(err, rt.Close()); err != nil { // Close ends the file
		return nil, err
	}
	r, err := run.ReadFile(file)
	if err != nil {
		return nil, err
	}
	page, err := os.Create(filepath.Join(dir, f.name+".html"))
	if err != nil {
		return nil, err
	}
	return r.Summary(), errors.Join(trace.Report(page, r), page.Close())
}
