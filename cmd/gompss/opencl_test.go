package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/machine"
)

// The OpenCL C of a kernel, as a device with what OpenCL 1.2 promises gets it.
func TestExplain_EmitsOpenCL(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explain", "-kernel", "Triad", "-emit", "opencl", "../../examples/stream/kernels.go"}, &out, &errs), errs.String())
	for _, part := range []string{"// Kernel Triad, kernels.go:", "// Compile with -cl-std=CL1.2 ", "#pragma OPENCL FP_CONTRACT OFF\n", "kernel void Triad("} {
		require.Contains(t, out.String(), part)
	}
}

func TestDevices_ListsOpenCL(t *testing.T) {
	const spec = "opencl:1(platform=pocl,cache=off)"
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	require.NoError(t, m.Close())
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"devices", spec}, &out, &errs), errs.String())
	require.Regexp(t, `opencl:0 .*\(cpu, platform Portable Computing Language, OpenCL `, out.String())
}
