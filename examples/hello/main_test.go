package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSquares_OnEveryDevice(t *testing.T) {
	for _, devices := range []string{"auto", "smp:2", "sim:2(exec=simt)"} {
		y, err := squares(devices, 5)
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 4, 9, 16}, y, devices)
	}
}
