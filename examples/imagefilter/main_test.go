package main

import (
	"image"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// medians is the filter without tasks and kernels.
func medians(in *image.Gray) []uint8 {
	width, height := in.Rect.Dx(), in.Rect.Dy()
	out := slices.Clone(in.Pix)
	for y := 1; y < height-1; y++ {
		for x := 1; x < width-1; x++ {
			var near []uint8
			for row := y - 1; row <= y+1; row++ {
				near = append(near, in.Pix[row*width+x-1:row*width+x+2]...)
			}
			slices.Sort(near)
			out[y*width+x] = near[4]
		}
	}
	return out
}

func TestFilter_IsTheMedianOnEveryDevice(t *testing.T) {
	in := noisy(61, 47)
	for _, devices := range []string{"smp:2", "sim:2(exec=simt)", "smp:1,sim:1"} {
		for _, rows := range []int{1, 5, 47, 100} {
			out, err := filter(devices, in, rows)
			require.NoError(t, err)
			require.Equal(t, medians(in), out.Pix, "%s, %d rows", devices, rows)
		}
	}
}

func TestRun_WritesThePicture(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.png")
	require.NoError(t, run("", name, "smp:2", 64))
	again := filepath.Join(t.TempDir(), "again.png")
	require.NoError(t, run(name, again, "smp:2", 64))
	info, err := os.Stat(again)
	require.NoError(t, err)
	require.NotZero(t, info.Size())
}
