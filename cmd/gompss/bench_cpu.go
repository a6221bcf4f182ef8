package main

import (
	"flag"
	"io"

	"github.com/gompss/gompss/cmd/gompss/internal/cpubench"
)

// benchCPU measures the vector code of kernels beside C.
func benchCPU(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench cpu", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o := cpubench.Options{Stdout: stdout, Stderr: stderr}
	flags.BoolVar(&o.Quick, "quick", false, "")
	flags.BoolVar(&o.Calls, "calls", false, "")
	flags.BoolVar(&o.JSON, "json", false, "")
	flags.StringVar(&o.Only, "only", "", "")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	if flags.NArg() > 0 {
		return usageError("unexpected %s", flags.Arg(0))
	}
	return cpubench.Run(o)
}
