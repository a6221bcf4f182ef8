package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMultiply_IsTheProductOnEveryDevice(t *testing.T) {
	const n, k, m = 70, 33, 45
	a, b := matrix(n, k, 1), matrix(k, m, 2)
	want := make([]float32, n*m)
	MatMul(0, n, k, m, a, b, want)
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		for _, tiles := range []int{0, 1, 7} {
			c, tasks, err := multiply(devices, tiles, n, k, m, a, b)
			require.NoError(t, err)
			require.Equal(t, want, c, devices)
			if tiles > 0 {
				require.Equal(t, tiles, tasks)
			}
		}
	}
}
