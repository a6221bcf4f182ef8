package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gompss/gompss/internal/source"
)

const tuneAbout = `Prints which forms of kernels were found to be the fastest on NVIDIA GPUs of this machine, by the launches of programs: those
kept on disk, of all kernels, or of the kernels in the files and folders that are named; folder/... takes the folders below,
too. GOMPSS_TUNE=full makes a program try all forms at once.
  -cache DIR   the folder that the option cache of the devices names
`

// An outcome is what is kept of a kernel: its fastest form on a device for arguments of a size
// class.
type outcome struct {
	kernel, device, class, form string
	took, first                 time.Duration // of that form, and of the first one
}

// tuneCommand prints what is kept.
func tuneCommand(args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("tune", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	cache := flags.String("cache", "", "")
	places, err := parseAround(flags, args)
	if err != nil {
		return err
	}
	names, err := kernelNames(places)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	n := 0
	for _, o := range outcomes(*cache) {
		if len(places) > 0 && !slices.Contains(names, o.kernel) {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(t, "kernel\tdevice\tsizes\tfastest form\ttime\tof the first form")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%v\t%v\n", o.kernel, o.device, o.class, o.form, o.took, o.first)
	}
	if n == 0 {
		fmt.Fprintln(t, "no form of a kernel is kept: run its program with GOMPSS_TUNE=full on a machine with an NVIDIA GPU")
	}
	return t.Flush()
}

// kernelNames returns the names of the kernels in places, none where there are no places.
func kernelNames(places []string) (names []string, err error) {
	if len(places) == 0 {
		return nil, nil
	}
	targets, err := findTargets(places)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, t := range targets {
		found, err := source.ReadFolder(source.WithTags(source.GoTags()), t.dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range found.Built {
			if t.files == nil || slices.Contains(t.files, f.Name) {
				for _, m := range namedKernel.FindAllStringSubmatch(f.Text, -1) {
					names = append(names, m[1])
				}
			}
		}
	}
	return names, errors.Join(errs...)
}

// tuned says of a kernel what is kept of kernels of its name.
func tuned(name string) (out []string) {
	for _, o := range outcomes("") {
		if o.kernel == name {
			out = append(out, fmt.Sprintf("GPU: tuned on %s, sizes %s -> %s: %v, %v as first chosen", o.device, o.class, o.form, o.took, o.first))
		}
	}
	return out
}
