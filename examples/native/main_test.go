package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/machine"
)

func TestMeasure_CountsEveryByteOnEveryDevice(t *testing.T) {
	data := sample(100_003)
	want := make([]uint32, 256)
	Count(len(data), data, want)
	for _, devices := range []string{"auto", "smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		t.Run(devices, func(t *testing.T) {
			counts, bits, err := measure(devices, data, 30_000)
			require.NoError(t, err)
			require.Equal(t, want, counts)
			require.InDelta(t, entropy(want, len(data)), bits, 1e-12)
		})
	}
}

func TestCount_GoBodiesAreTheSame(t *testing.T) {
	data := sample(1000)
	want, got := make([]uint32, 256), make([]uint32, 256)
	Count(len(data), data, want)
	CountCUDA(len(data), data, got)
	require.Equal(t, want, got)
	clear(got)
	CountOpenCL(len(data), data, got)
	require.Equal(t, want, got)
}

// TestMeasure_ByOpenCL runs the text of count.cl, alone and beside Go.
func TestMeasure_ByOpenCL(t *testing.T) {
	const device = "opencl:1(platform=pocl,cache=off)"
	m, err := machine.Open(device, machine.Options{})
	if err != nil {
		t.Skipf("no PoCL: %v", err)
	}
	require.NoError(t, m.Close())
	data := sample(100_003)
	want := make([]uint32, 256)
	Count(len(data), data, want)
	for _, devices := range []string{device, "smp:1," + device} {
		counts, bits, err := measure(devices, data, 30_000)
		require.NoError(t, err)
		require.Equal(t, want, counts)
		require.InDelta(t, entropy(want, len(data)), bits, 1e-12)
	}
}

func TestMeasure_RefusesNothing(t *testing.T) {
	_, _, err := measure("smp:1", nil, 1)
	require.ErrorContains(t, err, "0 bytes")
}

// The text has the parameters of the Go function, in order.
func TestText_HasTheParameters(t *testing.T) {
	text, err := os.ReadFile("count.cu")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), `extern "C" __global__ void CountCUDA(long long n, const unsigned char *data, unsigned int *counts)`))
	text, err = os.ReadFile("count.cl")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), "kernel void CountOpenCL(long n, global const uchar *data, long data_at, global uint *counts, long counts_at"))
}

func entropy(counts []uint32, n int) float64 {
	h := 0.0
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(n)
			h -= p * math.Log2(p)
		}
	}
	return h
}
