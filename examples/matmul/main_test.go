package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMultiply_IsTheProductOnEveryDevice(t *testing.T) {
	const n, k, m = 70, 33, 45
	a, b := matrix(n, k, 1), matrix(k, m, 2)
	rounded, fused := product(n, k, m, a, b), make([]float32, n*m)
	MatMul(0, n, k, m, a, b, fused) // as Go compiles it, which may fuse products and sums
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		for _, tiles := range []int{0, 1, 7} {
			c, tasks, err := multiply(devices, tiles, n, k, m, a, b)
			require.NoError(t, err)
			for i := range c {
				if c[i] != rounded[i] && c[i] != fused[i] {
					t.Fatalf("%s: element %d is %v: want %v, or %v where the Go function runs", devices, i, c[i], rounded[i], fused[i])
				}
			}
			if tiles > 0 {
				require.Equal(t, tiles, tasks)
			}
		}
	}
}

// product is that of a and b with every operation rounded, as kernels compute it.
func product(n, k, m int, a, b []float32) []float32 {
	c := make([]float32, n*m)
	for i := range c {
		for l := range k {
			c[i] += float32(a[i/m*k+l] * b[l*m+i%m])
		}
	}
	return c
}
