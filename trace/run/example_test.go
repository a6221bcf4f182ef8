package run_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/run"
)

func ExampleReadFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.gtrace")
	rt, err := task.New(task.Options{Devices: "smp:2", Trace: "wait,file:" + file})
	if err != nil {
		panic(err)
	}
	x := make([]int, 1)
	for range 3 {
		if _, err := rt.Go(func() error { x[0]++; return nil }, task.InOut(x), task.Label("add")); err != nil {
			panic(err)
		}
	}
	if err := rt.Close(); err != nil { // waits, and ends the file
		panic(err)
	}
	r, err := run.ReadFile(file)
	if err != nil {
		panic(err)
	}
	s := r.Summary()
	fmt.Println(s.Tasks, s.Path[0].Sort, s.Path[0].Count)
	// Output: 3 add 3
}
