package task_test

import (
	"context"
	_ "embed"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

//go:embed part_kernels_test.go
var partSource string

func partKernel(t *testing.T, fn any) *task.Kernel {
	k, err := task.NewKernel(fn, task.SourceFile{Name: "part_kernels_test.go", Text: partSource})
	require.NoError(t, err)
	return k
}

// TestParts_SliceTooShortIsRefused: a slice that is too short for the parts of its iterations was only noticed in the kernel, by some devices
// (issue 16, item 8). It is refused at submission, with one text.
func TestParts_SliceTooShortIsRefused(t *testing.T) {
	four, size, inferred := partKernel(t, PartsOfFour), partKernel(t, PartsBySize), partKernel(t, PartsInferred)
	for _, spec := range overlapSpecs {
		rt := open(t, task.Options{Devices: spec})
		for _, c := range []struct {
			name   string
			k      *task.Kernel
			length int
			args   func(x, y, part []int64) []any
			fn     func(x, y, part []int64)
			want   string
		}{
			{"one short", four, 39, func(x, y, part []int64) []any { return []any{0, 10, x, y, part} }, nil,
				"part_kernels_test.go:8:38: dist_private([4]t): t needs length 40 and has length 39: iteration i = 9 owns elements 36 to 39"},
			{"many short", four, 2, func(x, y, part []int64) []any { return []any{3, 10, x, y, part} }, nil,
				"dist_private([4]t): t needs length 40 and has length 2: iteration i = 9 owns elements 36 to 39"},
			{"below 0", four, 40, func(x, y, part []int64) []any { return []any{-1, 10, x, y, part} }, nil,
				"dist_private([4]t): iteration i = -1 owns elements -4 to -1 of t: none is below 0"},
			{"enough", four, 40, func(x, y, part []int64) []any { return []any{0, 10, x, y, part} }, func(x, y, part []int64) { PartsOfFour(0, 10, x, y, part) }, ""},
			{"no iterations", four, 0, func(x, y, part []int64) []any { return []any{10, 10, x, y, part} }, func(x, y, part []int64) {}, ""},
			{"size from a parameter", size, 26, func(x, y, part []int64) []any { return []any{10, 3, x, y, part} }, nil,
				"dist_firstlastprivate([size]t): t needs length 27 and has length 26: iteration i = 8 owns elements 24 to 26"},
			{"size from a parameter, enough", size, 27, func(x, y, part []int64) []any { return []any{10, 3, x, y, part} }, func(x, y, part []int64) { PartsBySize(10, 3, x, y, part) }, ""},
			{"under a false condition", size, 0, func(x, y, part []int64) []any { return []any{1, 3, x, y, part} }, func(x, y, part []int64) {}, ""},
			{"no size", size, 27, func(x, y, part []int64) []any { return []any{10, 0, x, y, part} }, nil, "dist_firstlastprivate([size]t): a part of t has 0 elements, at least 1"},
			{"inferred, backwards", inferred, 19, func(x, y, part []int64) []any { return []any{10, x, part} }, nil,
				"dist_lastprivate([2]t): t needs length 20 and has length 19: iteration i = 9 owns elements 18 to 19"},
			{"inferred, enough", inferred, 20, func(x, y, part []int64) []any { return []any{10, x, part} }, func(x, y, part []int64) { PartsInferred(10, x, part) }, ""},
		} {
			t.Run(c.name+" on "+spec, func(t *testing.T) {
				x, y, part := []int64{5, 6, 7, 8, 9, 1, 2, 3, 4, 5}, make([]int64, 10), make([]int64, c.length)
				want, wantPart := slices.Clone(y), slices.Clone(part)
				_, err := c.k.Submit(rt, c.args(x, y, part)...)
				if c.want != "" {
					var short *task.PartError
					require.ErrorAs(t, err, &short)
					require.ErrorIs(t, err, task.ErrBounds)
					require.ErrorContains(t, err, c.want)
				} else {
					require.NoError(t, err)
					c.fn(x, want, wantPart)
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, want, y)
				if c.k != four { // whose parts have no value behind the loop
					require.Equal(t, wantPart, part)
				}
			})
		}
	}
}

// TestParts_MessagesOfKernelsNameThem: what a kernel said of an index in a part named the copy on chip, tPart.
func TestParts_MessagesOfKernelsNameThem(t *testing.T) {
	k := partKernel(t, PartsByData)
	rt := open(t, task.Options{Devices: "sim:1(exec=simt)"})
	_, err := k.Submit(rt, 3, []int64{0, 3, 5}, make([]int64, 12))
	require.NoError(t, err)
	err = rt.Wait(context.Background())
	require.ErrorIs(t, err, task.ErrBounds)
	require.ErrorContains(t, err, "t[i*4 : (i+1)*4]: index 5 out of range: length 4")
	require.NotContains(t, err.Error(), "tPart")
}

// TestRegions_OutOfRangeIsErrBounds: an index out of range was no ErrBounds where it was found as a region that does not fit, declared or
// inferred (issue 16, point h).
func TestRegions_OutOfRangeIsErrBounds(t *testing.T) {
	inferred, declared := partKernel(t, RegionInferred), partKernel(t, RegionDeclared)
	rt := open(t, task.Options{Devices: "smp:1"})
	x, y := make([]int64, 10), make([]int64, 12)
	for _, c := range []struct {
		name string
		k    *task.Kernel
		args []any
		want error
	}{
		{"inferred, too far", inferred, []any{0, 10, x, y}, task.ErrBounds},
		{"inferred, below 0", inferred, []any{-2, 5, x, y}, task.ErrBounds},
		{"inferred, right", inferred, []any{0, 9, x, y}, nil},
		{"declared, too far", declared, []any{0, 11, 1, x, y}, task.ErrBounds},
		{"declared, below 0", declared, []any{-1, 11, 2, x, y}, task.ErrBounds},
		{"declared, right", declared, []any{0, 11, 2, x, y}, nil},
		{"declared, no value", declared, []any{0, 11, 0, x, y}, task.ErrDivide},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.k.Submit(rt, c.args...)
			require.ErrorIs(t, err, c.want)
			if c.want == task.ErrDivide {
				require.NotErrorIs(t, err, task.ErrBounds)
			}
			require.NoError(t, rt.Wait(context.Background()))
		})
	}
}
