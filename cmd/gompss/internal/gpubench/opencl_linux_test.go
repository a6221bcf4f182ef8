//go:build amd64 || arm64

package gpubench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/machine"
)

// Where the device of a platform is the processor, its rows stand beside our vector code, and have
// no goal.
func TestBesideOpenCL_ProcessorsBesideVectorCode(t *testing.T) {
	m, err := machine.Open("opencl:1(platform=pocl,cache=off)", machine.Options{})
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	require.NoError(t, m.Close())
	var out, said bytes.Buffer
	require.NoError(t, runBesideOpenCL(Options{Stdout: &out, Stderr: &said, JSON: true, Quick: true, Only: "histogram", OpenCL: "pocl"}), said.String())
	var row Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &row), out.String())
	require.True(t, row.Verified)
	require.Equal(t, []string{"opencl", onHost, ""}, []string{row.Devices, row.By, row.Goal})
	require.Positive(t, row.Ratio)
}
