//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without outcomes the command says how to get some; what it names must be there.
func TestTune_WithoutOutcomes(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"tune", "-cache", t.TempDir()}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "no form of a kernel is kept: run its program with GOMPSS_TUNE=full")
	require.NotZero(t, run([]string{"tune", filepath.Join(t.TempDir(), "none.go")}, &out, &errs))
}
