package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Options behind the part of a suite were ignored, and so were words that are no option.
func TestBenchGPU_ReadsWhatFollowsThePart(t *testing.T) {
	require.ErrorContains(t, benchGPU([]string{"-suite", "fields", "-nosuch"}, io.Discard, io.Discard), "-nosuch")
	require.ErrorContains(t, benchGPU([]string{"-suite", "fields", "-quick", "more"}, io.Discard, io.Discard), "unexpected more")
	require.ErrorContains(t, benchGPU([]string{"more"}, io.Discard, io.Discard), "unexpected more")
}
