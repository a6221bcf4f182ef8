package task_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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
			require.NoError(b, rt.Wait(context.Background()))
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
			require.NoError(b, rt.Wait(context.Background()))
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
	require.NoError(b, rt.Wait(context.Background()))
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
			require.NoError(b, rt.Wait(context.Background()))
		})
	}
}

// BenchmarkSubmission is submission alone, with the workers held: tasks that update one and read the others of so many cells. The
// quickest batch counts as well as the mean, as other work on the machine only adds.
func BenchmarkSubmission(b *testing.B) {
	for _, accesses := range []int{0, 1, 2, 4} {
		b.Run(fmt.Sprintf("accesses=%d", accesses), func(b *testing.B) { submission(b, accesses) })
	}
}

func submission(b *testing.B, accesses int) {
	const batch, width = 1024, 16
	rt := open(b, task.Options{Devices: "smp:1", Window: -1})
	x := make([]float64, width+8)
	require.NoError(b, task.Register(rt, x))
	b.ReportAllocs()
	best := time.Duration(1 << 62)
	b.ResetTimer()
	for done := 0; done < b.N; done += batch {
		b.StopTimer()
		require.NoError(b, rt.Wait(context.Background()))
		gate := make(chan struct{})
		_, err := rt.Go(func() error { <-gate; return nil })
		require.NoError(b, err)
		b.StartTimer()
		began := time.Now()
		for i := range batch {
			c := i % width
			switch accesses {
			case 0:
				_, err = rt.Go(nothing)
			case 1:
				_, err = rt.Go(nothing, task.InOut(x[c:c+1]))
			case 2:
				_, err = rt.Go(nothing, task.In(x[c+1:c+2]), task.InOut(x[c:c+1]))
			default:
				_, err = rt.Go(nothing, task.In(x[c+1:c+2]), task.In(x[c+2:c+3]), task.In(x[c+3:c+4]), task.InOut(x[c:c+1]))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(began))
		close(gate)
	}
	b.ReportMetric(float64(best)/batch, "quickest-ns/op")
	require.NoError(b, rt.Wait(context.Background()))
}
