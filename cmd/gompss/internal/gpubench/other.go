//go:build !linux || !(amd64 || arm64)

package gpubench

import "errors"

// Run says that there is nothing to measure.
func Run(Options) error { return errors.New("bench gpu: GPUs are supported on Linux alone") }
