package task_test

import (
	"context"
	_ "embed"
	"fmt"
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
			{"shifted", saxpy, nil, func(all []int64) []any { return []any{int64(1), all[:n], all[100:]} }, "arguments y and x overlap: iteration i = 0 writes y[0] and iteration i = 100 reads x[100], which is the same memory"},
			{"shifted back", saxpy, nil, func(all []int64) []any { return []any{int64(1), all[1 : n+1], all[:n]} }, "iteration i = 1 writes y[1] and iteration i = 0 reads x[0]"},
			{"the same", saxpy, func(all []int64) { OverlapSaxpy(3, all[:n], all[:n]) }, func(all []int64) []any { return []any{int64(3), all[:n], all[:n]} }, ""},
			{"behind each other", saxpy, func(all []int64) { OverlapSaxpy(3, all[:n], all[n:]) }, func(all []int64) []any { return []any{int64(3), all[:n], all[n:]} }, ""},
			{"beyond what is read", saxpy, func(all []int64) { OverlapSaxpy(3, all[2*n:3*n], all[n:]) }, func(all []int64) []any { return []any{int64(3), all[2*n : 3*n], all[n:]} }, ""},
			{"between", stride, func(all []int64) { OverlapStride(n, 2, all, all[1:]) }, func(all []int64) []any { return []any{n, 2, all, all[1:]} }, ""},
			{"not between", stride, nil, func(all []int64) []any { return []any{n, 2, all, all[2:]} }, "iteration i = 0 writes y[0] and iteration i = 1 reads x[2]"},
			{"gather", gather, nil, func(all []int64) []any { return []any{all[:n], all[:n], make([]int32, n)} }, "which cannot be told"},
			{"rows", rows, func(all []int64) { OverlapRows(10, 20, all, all) }, func(all []int64) []any { return []any{10, 20, all, all} }, ""},
			{"rows shifted", rows, nil, func(all []int64) []any { return []any{10, 20, all, all[20:]} }, "iteration i = 0 writes y[0] and iteration i = 1 reads x[20]"},
			{"rows shifted by less", rows, nil, func(all []int64) []any { return []any{10, 20, all, all[1:]} }, "iteration i = 0 writes y[19] and iteration i = 1 reads x[20]"},
		} {
			testBothWays(t, c.name+" on "+spec, func(t *testing.T, registered bool) {
				rt := open(t, task.Options{Devices: spec})
				all := make([]int64, 4*n)
				for i := range all {
					all[i] = int64(i%17) - 3
				}
				if registered {
					require.NoError(t, task.Register(rt, all))
				}
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

// testBothWays runs a test with memory that is registered as a whole, and with memory of which each
// argument may make the buffer of another grow.
func testBothWays(t *testing.T, name string, test func(t *testing.T, registered bool)) {
	for _, registered := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s, registered %t", name, registered), func(t *testing.T) { test(t, registered) })
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

// TestOverlap_AffineLoopsAreDecided has loops of which only their bounds, steps, conditions and products of parameters tell whether two iterations
// conflict, which was an error where none did: triangles, other loops for the write than for the read, strides, narrow counters. Issue 16 item 2.
func TestOverlap_AffineLoopsAreDecided(t *testing.T) {
	triangle, upper, nests := overlapKernel(t, OverlapTriangle), overlapKernel(t, OverlapUpperFromLower), overlapKernel(t, OverlapTwoNests)
	backwards, collapsed, under, narrow := overlapKernel(t, OverlapBackwards), overlapKernel(t, OverlapCollapsed), overlapKernel(t, OverlapUnder), overlapKernel(t, OverlapNarrow)
	either := overlapKernel(t, OverlapEither)
	for _, spec := range overlapSpecs {
		for _, c := range []struct {
			name string
			k    *task.Kernel
			call func(all []int64)
			args func(all []int64) []any
			want string
		}{
			{"triangle, the same", triangle, func(a []int64) { OverlapTriangle(9, a, a) }, func(a []int64) []any { return []any{9, a, a} }, ""},
			{"triangle, the upper one", triangle, nil, func(a []int64) []any { return []any{9, a[101:], a[93:]} },
				"iteration i = 2 writes y[18] and iteration i = 1 reads x[10]"},
			{"triangle, behind its rows", triangle, func(a []int64) { OverlapTriangle(9, a[90:], a) }, func(a []int64) []any { return []any{9, a[90:], a} }, ""},
			{"upper from lower", upper, func(a []int64) { OverlapUpperFromLower(12, a, a) }, func(a []int64) []any { return []any{12, a, a} }, ""},
			{"upper from lower, shifted", upper, nil, func(a []int64) []any { return []any{12, a, a[1:]} }, "which is the same memory"},
			{"two nests", nests, func(a []int64) { OverlapTwoNests(7, 10, a, a) }, func(a []int64) []any { return []any{7, 10, a, a} }, ""},
			{"two nests, a row apart", nests, nil, func(a []int64) []any { return []any{7, 10, a, a[10:]} }, "iteration i = 0 writes y[1] and iteration i = 1 reads x[11]"},
			{"backwards", backwards, nil, func(a []int64) []any { return []any{20, a, a} }, "iteration i = 19 writes y[19] and iteration i = 0 reads x[19]"},
			{"backwards, one", backwards, func(a []int64) { OverlapBackwards(1, a, a) }, func(a []int64) []any { return []any{1, a, a} }, ""},
			{"three of four", collapsed, func(a []int64) { OverlapCollapsed(3, 5, 4, a, a[2:]) }, func(a []int64) []any { return []any{3, 5, 4, a, a[2:]} }, ""},
			{"one of two", collapsed, nil, func(a []int64) []any { return []any{3, 5, 4, a, a[5:]} }, "iteration i = 0, j = 0 writes y[0] and iteration i = 0, j = 1 reads x[5]"},
			{"under a condition", under, func(a []int64) { OverlapUnder(200, 150, a, a[100:]) }, func(a []int64) []any { return []any{200, 150, a, a[100:]} }, ""},
			{"under a weaker one", under, nil, func(a []int64) []any { return []any{200, 99, a, a[100:]} }, "iteration i = 99 writes y[99] and iteration i = 199 reads x[199]"},
			{"counter that does not wrap", narrow, func(a []int64) { OverlapNarrow(125, a[1:], a) }, func(a []int64) []any { return []any{uint8(125), a[1:], a} }, ""},
			{"counter that wraps", narrow, nil, func(a []int64) []any { return []any{uint8(128), a[1:], a} }, "which cannot be told before they run"},
			{"one of two slices", either, nil, func(a []int64) []any { return []any{20, 0, a[300:], a[301:]} }, "which cannot be told before they run"},
		} {
			t.Run(c.name+" on "+spec, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec})
				all := make([]int64, 800)
				for i := range all {
					all[i] = int64(i%17) - 3
				}
				require.NoError(t, task.Register(rt, all))
				want := slices.Clone(all)
				_, err := c.k.Submit(rt, c.args(all)...)
				if c.want != "" {
					require.ErrorContains(t, err, c.want)
				} else {
					require.NoError(t, err)
					c.call(want)
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, want, all)
			})
		}
	}
}

// TestOverlap_PartsOfElements: of elements that are structs only the fields that are touched count, and a pointer is to one element.
func TestOverlap_PartsOfElements(t *testing.T) {
	fields, pointer := overlapKernel(t, OverlapFields), overlapKernel(t, OverlapPointer)
	for _, spec := range overlapSpecs {
		rt := open(t, task.Options{Devices: spec})
		pairs := make([]OverlapPair, 100)
		for i := range pairs {
			pairs[i] = OverlapPair{int64(i), int64(3 * i)}
		}
		require.NoError(t, task.Register(rt, pairs))
		want := slices.Clone(pairs)
		OverlapFields(want[1:51], want[:50])
		_, err := fields.Submit(rt, pairs[1:51], pairs[:50])
		require.NoError(t, err, spec)
		numbers := make([]int64, 100)
		numbers[60] = 5
		require.NoError(t, task.Register(rt, numbers))
		_, err = pointer.Submit(rt, 60, &numbers[60], numbers)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, pairs, spec)
		require.EqualValues(t, 5, numbers[59])
		require.EqualValues(t, 5, numbers[60])
		_, err = pointer.Submit(rt, 61, &numbers[60], numbers)
		require.ErrorContains(t, err, "arguments y and p overlap: iteration i = 60 writes y[60] and iteration i = 0 reads *p, which is the same memory")
		_, err = pointer.Submit(rt, 1, &numbers[60], numbers[60:])
		require.NoError(t, err, "one iteration conflicts with none")
	}
}

// TestOverlap_PackageVariables: a slice among the package variables that a kernel reads is an argument as any.
func TestOverlap_PackageVariables(t *testing.T) {
	k := overlapKernel(t, OverlapVariable)
	require.NoError(t, k.BindVariable("overlapTable", &overlapTable))
	for _, spec := range overlapSpecs {
		rt := open(t, task.Options{Devices: spec})
		all := make([]int64, 300)
		for i := range all {
			all[i] = int64(i)
		}
		require.NoError(t, task.Register(rt, all))
		overlapTable = all[:200]
		_, err := k.Submit(rt, all[50:250])
		require.ErrorContains(t, err, "argument y and package variable overlapTable overlap: iteration i = 0 writes y[0] and iteration i = 50 reads overlapTable[50]", "%s", spec)
		_, err = k.Submit(rt, all[:200])
		require.NoError(t, err, spec)
		_, err = k.Submit(rt, all[200:])
		require.NoError(t, err, spec)
		require.NoError(t, rt.Wait(context.Background()))
		require.EqualValues(t, 2*150, all[150])
		require.EqualValues(t, 250+2*50, all[250])
	}
}

// BenchmarkOverlap submits kernels with two slices: of two buffers, and of one where they lie apart, with and without what looks for overlaps,
// and the same slice twice.
func BenchmarkOverlap(b *testing.B) {
	checked, allowed := overlapKernel(b, OverlapSaxpy), overlapKernel(b, OverlapAllowed)
	one, other := make([]int64, 64), make([]int64, 64)
	for _, c := range []struct {
		name string
		k    *task.Kernel
		x, y []int64
	}{
		{"two buffers", checked, one[:8], other[:8]}, {"two buffers, overlap(ok)", allowed, one[:8], other[:8]},
		{"apart", checked, one[:8], one[8:16]}, {"apart, overlap(ok)", allowed, one[:8], one[8:16]},
		{"the same", checked, one[:8], one[:8]}, {"the same, overlap(ok)", allowed, one[:8], one[:8]},
	} {
		b.Run(c.name, func(b *testing.B) {
			rt := open(b, task.Options{Devices: "smp:1"})
			require.NoError(b, task.Register(rt, one))
			require.NoError(b, task.Register(rt, other))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.k.Submit(rt, int64(0), c.x, c.y); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, rt.Wait(context.Background()))
		})
	}
}

// TestOneArgument_IsRefusedWhereIterationsConflict: x[i] = x[i+d] was submitted without a word, and gave other elements than Go on a device.
func TestOneArgument_IsRefusedWhereIterationsConflict(t *testing.T) {
	within, allowed, eliminate := overlapKernel(t, OverlapWithin), overlapKernel(t, OverlapWithinAllowed), overlapKernel(t, OverlapEliminate)
	transpose, halves := overlapKernel(t, OverlapTranspose), overlapKernel(t, OverlapHalves)
	for _, spec := range overlapSpecs {
		for _, c := range []struct {
			name string
			k    *task.Kernel
			call func(x []int64)
			args func(x []int64) []any
			want string
		}{
			{"three on", within, nil, func(x []int64) []any { return []any{3, x} }, "argument x: iteration i = 3 writes x[3] and iteration i = 0 reads x[3], and the loop is declared parallel"},
			{"not at all", within, func(x []int64) { OverlapWithin(0, x) }, func(x []int64) []any { return []any{0, x} }, ""},
			{"behind the loop", within, func(x []int64) { OverlapWithin(70, x[:80]) }, func(x []int64) []any { return []any{70, x[:80]} }, ""},
			{"allowed", allowed, nil, func(x []int64) []any { return []any{3, x} }, ""},
			{"elimination", eliminate, func(x []int64) { OverlapEliminate(2, 9, x[:81]) }, func(x []int64) []any { return []any{2, 9, x[:81]} }, ""},
			{"transposition", transpose, func(x []int64) { OverlapTranspose(9, x[:81]) }, func(x []int64) []any { return []any{9, x[:81]} }, ""},
			{"halves", halves, func(x []int64) { OverlapHalves(30, 30, x) }, func(x []int64) []any { return []any{30, 30, x} }, ""},
			{"less than halves", halves, nil, func(x []int64) []any { return []any{30, 29, x} }, "iteration i = 29 writes a[29] and iteration i = 0 reads a[29]"},
		} {
			t.Run(c.name+" on "+spec, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec})
				x := make([]int64, 100)
				for i := range x {
					x[i] = int64(i % 7)
				}
				require.NoError(t, task.Register(rt, x))
				want := slices.Clone(x)
				for range 2 {
					_, err := c.k.Submit(rt, c.args(x)...)
					if c.want != "" {
						require.ErrorContains(t, err, c.want)
						require.ErrorContains(t, err, "overlap_kernels_test.go:")
						continue
					}
					require.NoError(t, err)
					if c.call != nil {
						c.call(want)
					}
				}
				require.NoError(t, rt.Wait(context.Background()))
				if c.call != nil || c.want != "" {
					require.Equal(t, want, x)
				}
			})
		}
	}
}
