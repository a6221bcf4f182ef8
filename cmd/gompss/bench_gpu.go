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
	suite := flags.Bool("suite", false, "")
	flags.StringVar(&o.Only, "only", "", "")
	flags.StringVar(&o.Devices, "devices", "", "")
	flags.StringVar(&o.OpenCL, "opencl", "", "")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	if *suite {
		o.Suite = gpubench.WholeSuite
	}
	if part := gpubench.Suite(flags.Arg(0)); *suite && slices.Contains(gpubench.SuiteParts, part) {
		o.Suite = part
		if err := flags.Parse(flags.Args()[1:]); err != nil { // options may follow the part
			return usageError("%v", err)
		}
	}
	if flags.NArg() > 0 {
		return usageError("unexpected %s", flags.Arg(0))
	}
	return gpubench.Run(o)
}
