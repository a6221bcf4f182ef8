package demo

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// join makes the process a rank if -ranks is set or a launcher (gompss run, mpirun, srun) has
// started it. With -ranks it starts that many processes of the same program, and ends with their
// status.
func (f *Flags) join() {
	if f.Ranks > 1 && !dist.Launched() {
		program, err := os.Executable()
		if err == nil {
			err = dist.Launch(context.Background(), f.Ranks, append([]string{program}, os.Args[1:]...), os.Stdout, os.Stderr)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(dist.ExitCode(err))
		}
		os.Exit(0)
	}
	if !dist.Launched() {
		return
	}
	w, err := dist.Init(dist.Options{})
	if err != nil {
		Fail(err)
	}
	f.World = w
}

// Options returns those of the runtime.
func (f Flags) Options() task.Options {
	o := task.Options{Devices: f.Devices, Policy: f.Policy}
	if f.World != nil {
		o.World = f.World
	}
	return o
}

// Output returns where a rank prints its result: rank 0 alone does.
func (f Flags) Output() io.Writer {
	if f.World != nil && f.World.Rank() != 0 {
		return io.Discard
	}
	return os.Stdout
}

// Exit leaves the program.
func (f Flags) Exit(code int) {
	if f.World != nil {
		f.World.Exit(code)
	}
	os.Exit(code)
}
