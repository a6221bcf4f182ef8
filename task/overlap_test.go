package task_test

import (
	"context"
	_ "embed"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/task"
)

//go:embed overlap_kernels_test.go
var overlapSource string

func overlapKernel(t testing.TB, fn any) *task.Kernel {
	k, err := task.NewKernel(fn, task.SourceFile{Name: "overlap_kernels_test.go", Text: overlapSource})
	require.NoError(t, err)
	return k
}

var overlapSpecs = []string{"smp:2", "sim:1(exec=cpu)", "sim:1(exec=simt)"}

// TestOverlappingArguments_AreRefusedWhereIterationsConflict: overlapping arguments of a prescriptive loop gave wrong elements and no error:
// issue 16 item 2. What does not conflict runs, and gives what Go gives.
func TestOverlappingArguments_AreRefusedWhereIterationsConflict(t *testing.T) {
	saxpy, stride, gather, rows := overlapKernel(t, OverlapSaxpy), overlapKernel(t, OverlapStride), overlapKernel(t, OverlapGather), overlapKernel(t, OverlapRows)
	const n = 300
	for _, spec := range overlapSpecs {
		for _, c := range []struct {
			name string
			k    *task.Kernel
			fn   func(all []int64)
			args func(all []int64) []any
			want string
		}{
			{"shifted", saxpy, nil, func(all []int64) []any { return []any{int64(1), all[:n], all[100:]} }, "arguments y and x overlap: elements y[0] and x[100] are the same memory, touched in two iterations"},
			{"shifted back", saxpy, nil, func(all []int64) []any { return []any{int64(1), all[1 : n+1], all[:n]} }, "y[1] and x[0] are the same memory"},
			{"the same", saxpy, func(all []int64) { OverlapSaxpy(3, all[:n], all[:n]) }, func(all []int64) []any { return []any{int64(3), all[:n], all[:n]} }, ""},
			{"behind each other", saxpy, func(all []int64) { OverlapSaxpy(3, all[:n], all[n:]) }, func(all []int64) []any { return []any{int64(3), all[:n], all[n:]} }, ""},
			{"beyond what is read", saxpy, func(all []int64) { OverlapSaxpy(3, all[2*n:3*n], all[n:]) }, func(all []int64) []any { return []any{int64(3), all[2*n : 3*n], all[n:]} }, ""},
			{"between", stride, func(all []int64) { OverlapStride(n, 2, all, all[1:]) }, func(all []int64) []any { return []any{n, 2, all, all[1:]} }, ""},
			{"not between", stride, nil, func(all []int64) []any { return []any{n, 2, all, all[2:]} }, "are the same memory, touched in two iterations"},
			{"gather", gather, nil, func(all []int64) []any { return []any{all[:n], all[:n], make([]int32, n)} }, "which cannot be told"},
			{"rows", rows, func(all []int64) { OverlapRows(10, 20, all, all) }, func(all []int64) []any { return []any{10, 20, all, all} }, ""},
			{"rows shifted", rows, nil, func(all []int64) []any { return []any{10, 20, all, all[20:]} }, "are the same memory, touched in two iterations"},
			{"rows shifted by less", rows, nil, func(all []int64) []any { return []any{10, 20, all, all[1:]} }, "are the same memory, touched in two iterations"},
		} {
			t.Run(c.name+" on "+spec, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec})
				all := make([]int64, 4*n)
				for i := range all {
					all[i] = int64(i%17) - 3
				}
				require.NoError(t, task.Register(rt, all))
				want := slices.Clone(all)
				_, err := c.k.Submit(rt, c.args(all)...)
				if c.want != "" {
					var overlap *codegen.OverlapError
					require.ErrorAs(t, err, &overlap)
					require.ErrorContains(t, err, c.want)
					require.ErrorContains(t, err, "overlap_kernels_test.go:")
				} else {
					require.NoError(t, err)
					c.fn(want)
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, want, all)
			})
		}
	}
}

// TestOverlappingArguments_InRecordedIterations: what is recorded is checked as what is submitted.
func TestOverlappingArguments_InRecordedIterations(t *testing.T) {
	k := overlapKernel(t, OverlapSaxpy)
	rt := open(t, task.Options{Devices: "smp:2"})
	all := make([]int64, 300)
	require.NoError(t, task.Register(rt, all))
	_, err := rt.Record(func(r *task.Recorder) error {
		_, err := k.Submit(r, int64(1), all[:200], all[100:])
		return err
	})
	require.ErrorContains(t, err, "arguments y and x overlap")
}

// TestOverlappingArguments_AllowedOrInOrder: overlap(ok) lets all through, and a descriptive loop runs in order.
func TestOverlappingArguments_AllowedOrInOrder(t *testing.T) {
	allowed, loop := overlapKernel(t, OverlapAllowed), overlapKernel(t, OverlapLoop)
	require.Contains(t, allowed.IR().String(), "overlap(ok)")
	for _, spec := range overlapSpecs {
		for _, vector := range []string{task.VectorAuto, task.VectorOff} {
			rt := open(t, task.Options{Devices: spec, Vector: vector})
			all := make([]int64, 40_000)
			for i := range all {
				all[i] = int64(i % 5)
			}
			require.NoError(t, task.Register(rt, all))
			want := slices.Clone(all)
			OverlapLoop(3, want[:30_000], want[100:])
			_, err := loop.Submit(rt, int64(3), all[:30_000], all[100:])
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, all, spec)
			_, err = allowed.Submit(rt, int64(3), all[:200], all[100:])
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
		}
	}
}
