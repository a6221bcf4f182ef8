package task_test

import (
	"context"
	_ "embed"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

//go:embed copy_kernels_test.go
var copyKernels string

// placeSpecs are machines on which a kernel runs as vector code, or its Go function, and as device IR.
var placeSpecs = []string{"smp:3", "sim:1(exec=simt)", "sim:1(exec=cpu)"}

// TestCopy_OverlappingArguments: copy in a kernel is Go's, also where its arguments overlap (issue 16, 11).
func TestCopy_OverlappingArguments(t *testing.T) {
	k, err := task.NewKernel(copyAll, task.SourceFile{Name: "copy_kernels_test.go", Text: copyKernels})
	require.NoError(t, err)
	for _, spec := range placeSpecs {
		for _, at := range [][4]int{{0, 50, 50, 100}, {0, 60, 20, 90}, {20, 90, 0, 60}, {1, 100, 0, 100}, {0, 100, 1, 100}, {5, 9, 5, 9}, {0, 0, 3, 9}} {
			rt, err := task.New(task.Options{Devices: spec})
			require.NoError(t, err)
			got := make([]int, 100)
			for i := range got {
				got[i] = i * i
			}
			want := slices.Clone(got)
			copyAll(want[at[0]:at[1]], want[at[2]:at[3]])
			require.NoError(t, task.Register(rt, got))
			_, err = k.Submit(rt, got[at[0]:at[1]], got[at[2]:at[3]])
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, got, "%s: %v", spec, at)
			require.NoError(t, rt.Close())
		}
	}
}

func TestCopy_CapacitiesThatSayNothing(t *testing.T) {
	k, err := task.NewKernel(copyAll, task.SourceFile{Name: "copy_kernels_test.go", Text: copyKernels})
	require.NoError(t, err)
	rt, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	defer func() { require.NoError(t, rt.Close()) }()
	x := make([]int, 100)
	_, err = k.Submit(rt, x, x)
	require.NoError(t, err)
	_, err = k.Submit(rt, x[10:40], x[0:30:35])
	require.ErrorContains(t, err, "arguments 1 and 2 overlap, the kernel copies between slices, and a capacity ends inside of their memory")
	_, err = k.Submit(rt, x[10:40:50], x[50:60])
	require.NoError(t, err)
}

// TestReduction_PlacesOnEveryKind: fields, elements of arrays and of slices are combined as Go does it (issue 16, 11).
func TestReduction_PlacesOnEveryKind(t *testing.T) {
	k, err := task.NewKernel(reducePlaces, task.SourceFile{Name: "copy_kernels_test.go", Text: copyKernels})
	require.NoError(t, err)
	for _, spec := range placeSpecs {
		for _, n := range []int{1, 7, 5000, 100000} {
			rt, err := task.New(task.Options{Devices: spec})
			require.NoError(t, err)
			x := make([]int, n)
			for i := range x {
				x[i] = i * 7 % 1009
			}
			w, r := []int{1, 2, 3}, running{sum: 5, most: [2]int{1, 2}}
			wantW, want := slices.Clone(w), r
			reducePlaces(x, wantW, &want)
			_, err = k.Submit(rt, x, w, &r)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.NoError(t, rt.Close())
			require.Equal(t, want, r, "%s: %d", spec, n)
			require.Equal(t, wantW, w, "%s: %d", spec, n)
		}
	}
}

// TestReduction_ArraysByTasks: tasks reduce into what a pointer to an array is to, and into a slice of arrays, element by
// element (issue 16, 11).
func TestReduction_ArraysByTasks(t *testing.T) {
	k, err := task.NewKernel(reduceArrays, task.SourceFile{Name: "copy_kernels_test.go", Text: copyKernels})
	require.NoError(t, err)
	for _, spec := range append(placeSpecs, "smp:2,sim:2", "sim:2(exec=simt)") {
		rt, err := task.New(task.Options{Devices: spec})
		require.NoError(t, err)
		c, h := [4]int64{1, 2, 3, 4}, [][2]int32{{5, -6}, {7, 990}, {1, 1}}
		wantC, wantH := c, slices.Clone(h)
		for part := range 12 {
			x := make([]int64, 50+part)
			for i := range x {
				x[i] = int64((part*77 + i*31) % 4001)
			}
			reduceArrays(x, &wantC, wantH)
			_, err = k.Submit(rt, x, &c, h)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.NoError(t, rt.Close())
		require.Equal(t, wantC, c, spec)
		require.Equal(t, wantH, h, spec)
	}
}
