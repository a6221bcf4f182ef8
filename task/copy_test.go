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
