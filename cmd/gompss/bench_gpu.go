package main

import (
	"flag"
	"io"
	"slices"

	"github.com/gompss/gompss/cmd/gompss/internal/gpubench"
)

// benchGPU measures kernels and tasks on GPUs beside hand-written CUDA.
func benchGPU(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench gpu", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o := gpubench.Options{Stdout: stdout, Stderr: stderr}
	flags.BoolVar(&o.JSON, "json", false, "")
	flags.BoolVar(&o.Quick, "quick", false, "")
	flags.BoolVar(&o.Trials, "trials", false, "")
	flags.BoolVar(&o.Suite, "suite", false, "")
	flags.StringVar(&o.Only, "only", "", "")
	flags.StringVar(&o.Devices, "devices", "", "")
	flags.StringVar(&o.OpenCL, "opencl", "", "")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	if o.Suite && slices.Contains(gpubench.SuiteParts, flags.Arg(0)) {
		o.Of = flags.Arg(0)
	} else if flags.NArg() > 0 {
		return usageError("unexpected %s", flags.Arg(0))
	}
	return gpubench.Run(o)
}
