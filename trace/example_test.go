package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/run"
)

// A page of a trace file, which opens without a server.
func ExampleReport() {
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
	if _, err := rt.Go(func() error { return nil }, task.Label("nothing")); err != nil {
		panic(err)
	}
	if err := rt.Close(); err != nil {
		panic(err)
	}
	r, err := run.ReadFile(file)
	if err != nil {
		panic(err)
	}
	var page bytes.Buffer
	fmt.Println(trace.Report(&page, r), bytes.Contains(page.Bytes(), []byte("</html>")))
	// Output: <nil> true
}
