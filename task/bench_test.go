package task_test

import (
	"fmt"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

func nothing() error { return nil }

// BenchmarkIndependent is empty tasks without accesses; ns/op is per task, from submission to the end of Wait.
func BenchmarkIndependent(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("smp:%d", workers), func(b *testing.B) {
			rt := open(b, task.Options{Devices: fmt.Sprintf("smp:%d", workers)})
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := rt.Go(nothing); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, rt.Wait())
		})
	}
}

// BenchmarkChain is width chains of empty tasks.
func BenchmarkChain(b *testing.B) {
	for _, width := range []int{1, 16} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			rt := open(b, task.Options{Devices: "smp:2"})
			x := make([]float64, width)
			require.NoError(b, task.Register(rt, x))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				c := i % width
				if _, err := rt.Go(nothing, task.InOut(x[c:c+1])); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, rt.Wait())
		})
	}
}

// BenchmarkStencil is the stencil1d of the overhead comparison: width 16, two buffers, each task reads three cells of the
// last step and writes one.
func BenchmarkStencil(b *testing.B) {
	const width = 16
	rt := open(b, task.Options{Devices: "smp:2"})
	cells := [2][]float64{make([]float64, width), make([]float64, width)}
	require.NoError(b, task.Register(rt, cells[0]))
	require.NoError(b, task.Register(rt, cells[1]))
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		step, i := n/width, n%width
		from, to := cells[step%2], cells[(step+1)%2]
		left, right := max(i-1, 0), min(i+1, width-1)
		if _, err := rt.Go(nothing, task.In(from[left:left+1]), task.In(from[i:i+1]), task.In(from[right:right+1]), task.Out(to[i:i+1])); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, rt.Wait())
}

// BenchmarkKernel is tiny kernels on disjoint tiles: what submitting, placing and running one costs.
func BenchmarkKernel(b *testing.B) {
	for _, spec := range []string{"smp:2", "sim:2(exec=cpu)", "smp:1,sim:1(exec=cpu)"} {
		b.Run(spec, func(b *testing.B) {
			fill := kernelOf(b, Fill)
			rt := open(b, task.Options{Devices: spec})
			x, err := task.Alloc[uint32](rt, 1024)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				lo := n % 64 * 16
				if _, err := fill.Submit(rt, lo, lo+16, uint32(n), x); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, rt.Wait())
		})
	}
}
