package task_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/task"
)

// Loops with more iterations than an int counts are refused at submission, on every device: they
// ran no iteration. Others with such bounds run.
func TestSubmit_RefusesUncountableLoops(t *testing.T) {
	const text = `package p

//omp:target device(acc, smp)
//omp:task inout(x)
func Span(lo, hi int, x []int32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		x[i] *= 2
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Span(lo, hi int, x []int32) {
	//omp:teams distribute parallel for
	for i := hi; i >= lo; i -= 2 {
		x[i+1] *= 2
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Span(lo, hi uint64, x []int32) {
	from := lo + 0
	//omp:teams distribute parallel for
	for i := from; i < hi; i++ {
		x[i] *= 2
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Span(lo, hi int, x []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < lo; i++ {
		for j := 0; j < hi; j++ {
			x[i*hi+j] *= 2
		}
	}
}
`
	const most, least = math.MaxInt64, math.MinInt64
	kernels := strings.Split(text, "\n\n//omp:target")
	for _, c := range []struct {
		kernel int
		lo, hi any
		err    string
	}{
		{1, least, 3, "k.go:7:2: the loop over i has more than 9223372036837998591 iterations: no slice has so many elements"},
		{1, -1, most, "the loop over i"}, {1, most, least, ""}, {1, 5, least + 5, ""}, {1, least + 4, least + 4, ""}, {1, 3, 9, ""},
		{2, least, most, "the loop over i"}, {2, 0, most, ""}, {2, 3, 8, ""}, {2, most, least, ""},
		{3, uint64(0), uint64(math.MaxUint64), "the loop over i"}, {3, uint64(3), uint64(1<<63 + 3), "the loop over i"}, {3, uint64(1<<63 + 3), uint64(3), ""}, {3, uint64(3), uint64(5), ""},
		{4, 1 << 32, 1 << 32, "k.go:7:2: the 2 loops from that over i on have together more than 9223372036837998591 iterations"}, {4, 1 << 20, 0, ""}, {4, 2, 5, ""},
	} {
		source := "package p\n\n//omp:target" + kernels[c.kernel] + "\n"
		k := task.MustKernel(task.KernelSpec{Name: "Span", Go: func(*task.Args) {}, Files: []task.SourceFile{{Name: "k.go", Text: source}}})
		for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=simt)"} {
			rt := open(t, task.Options{Devices: spec})
			_, err := k.Submit(rt, c.lo, c.hi, make([]int32, 10))
			if c.err == "" {
				if !errors.Is(err, task.ErrBounds) || errors.As(err, new(*codegen.TripsError)) {
					require.NoError(t, err, "%v", c)
				}
			} else {
				require.ErrorContains(t, err, c.err)
				require.ErrorIs(t, err, task.ErrBounds)
			}
			if err = rt.Wait(t.Context()); err != nil {
				require.ErrorIs(t, err, task.ErrBounds, "%v", c)
			}
		}
	}
}

// A loop whose step is a parameter made other iterations than Go's where its counter comes near an end of 64 bits: a
// submission refuses it. It counts its iterations from its bounds, as no constant step is at hand to count one by one.
func TestSubmit_RefusesCountersThatMayPassTheEnd(t *testing.T) {
	const text = `package p

//omp:target device(acc, smp)
//omp:task inout(x)
func Stride(lo, hi, step %s, x []int32) {
	first := lo
	//omp:teams distribute parallel for
	for i := first; %s {
		x[uint64(i)/%d]++
	}
}
`
	const most, least, long = math.MaxInt64, math.MinInt64, 1 << 58
	up, down := "i < hi; i += step", "i > hi; i -= step"
	for _, c := range []struct {
		head         string
		lo, hi, step any
		refused      bool
	}{
		{up, least + 5, most - 1<<59, long, true}, {up, -5, most, long, true}, {up, least, 5, long, true}, {up, 0, 3, most, true},
		{up, 0, 1 << 60, long, false}, {up, 0, 10, 3, false}, {up, 5, 5, most, false}, {up, most, 0, long, false},
		{down, most, -5, long, true}, {down, 1 << 60, 0, long, false}, {down, 0, most, long, false},
		{up, uint64(3), uint64(math.MaxUint64 - 5), uint64(long), true}, {up, uint64(27), uint64(1<<63 + 24), uint64(1 << 61), true},
		{up, uint64(0), uint64(1 << 60), uint64(long), false}, {up, uint64(0), uint64(9), uint64(math.MaxUint64 - 3), true}, {up, uint64(9), uint64(0), uint64(long), false},
	} {
		kind, cut := "int", int64(1)
		if _, ok := c.lo.(uint64); ok {
			kind = "uint64"
		}
		if c.step == any(long) || c.step == any(uint64(long)) {
			cut = long
		}
		source := fmt.Sprintf(text, kind, c.head, cut)
		k := task.MustKernel(task.KernelSpec{Name: "Stride", Go: func(*task.Args) {}, Files: []task.SourceFile{{Name: "k.go", Text: source}}})
		for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=simt)"} {
			rt := open(t, task.Options{Devices: spec})
			_, err := k.Submit(rt, c.lo, c.hi, c.step, make([]int32, 10))
			if c.refused {
				require.ErrorContains(t, err, fmt.Sprintf("k.go:8:2: the loop over i has a bound or step of 2^62 or more: its counter may pass an end of %s, as its step (", kind), "%v", c)
				require.ErrorIs(t, err, task.ErrStep)
				require.ErrorAs(t, err, new(*codegen.CounterError))
			} else {
				require.NoError(t, err, "%v", c)
			}
			require.NoError(t, rt.Wait(t.Context()))
		}
	}
}
