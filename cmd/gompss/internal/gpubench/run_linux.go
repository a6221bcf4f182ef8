//go:build amd64 || arm64

package gpubench

import (
	"errors"
	"fmt"
	"runtime"
)

// Run measures and prints the rows that o names. A row that fails is reported, and the others are
// still measured.
func Run(o Options) error {
	switch o.Suite {
	case NoSuite:
	case NestedLoops:
		return runNested(o)
	case Overheads:
		return runOverheads(o)
	default:
		return runSuite(o)
	}
	if o.OpenCL != "" {
		return runBesideOpenCL(o)
	}
	var errs []error
	if o.Devices == "" {
		errs = append(errs, runOnGPUs(o))
	}
	return errors.Join(append(errs, runPrograms(o))...)
}

// runOnGPUs measures the rows of kernels and of the driver.
func runOnGPUs(o Options) error {
	b, err := openBench(o)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range append(kernelRows, driverRows...) {
		if !o.wants(m.name) {
			continue
		}
		if err := m.run(b); err != nil {
			errs = append(errs, fmt.Errorf("bench gpu: %s: %w", m.name, err))
		}
		b.keep = nil
		runtime.GC()
	}
	return errors.Join(append(errs, b.close())...)
}
