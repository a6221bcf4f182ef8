package task

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkManyBodies_Bodies reports the time of an empty child, where each worker has a body that submits a thousand of them.
func BenchmarkManyBodies_Bodies(b *testing.B) {
	for _, workers := range bodyWorkers() {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			const children = 1000
			rt, err := New(Options{Devices: fmt.Sprintf("smp:%d", workers)})
			require.NoError(b, err)
			defer rt.Close()
			b.ReportAllocs()
			for done := 0; done < b.N; {
				for range workers {
					_, err := rt.GoScope(func(s *Scope) error {
						for range children {
							if _, err := s.Go(func() error { return nil }); err != nil {
								return err
							}
						}
						return s.Wait(context.Background())
					})
					require.NoError(b, err)
					done += children
				}
				require.NoError(b, rt.Wait(context.Background()))
			}
		})
	}
}

// BenchmarkManyBodies_Fib reports the time of a task of a recursion that makes two tasks in each body: an operation is a task.
func BenchmarkManyBodies_Fib(b *testing.B) {
	for _, workers := range bodyWorkers() {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			rt, err := New(Options{Devices: fmt.Sprintf("smp:%d", workers)})
			require.NoError(b, err)
			defer rt.Close()
			b.ReportAllocs()
			const n, tasks = 16, 3193 // calls of fib(16)
			for done := 0; done < b.N; done += tasks {
				var got int
				_, err := rt.GoScope(func(s *Scope) error { return fibOfTasks(s, n, &got) })
				require.NoError(b, err)
				require.NoError(b, rt.Wait(context.Background()))
				require.Equal(b, 987, got)
			}
		})
	}
}

func fibOfTasks(s *Scope, n int, out *int) error {
	if n < 2 {
		*out = n
		return nil
	}
	var x, y int
	if _, err := s.GoScope(func(s *Scope) error { return fibOfTasks(s, n-1, &x) }); err != nil {
		return err
	}
	if err := fibOfTasks(s, n-2, &y); err != nil {
		return err
	}
	if err := s.Wait(context.Background()); err != nil {
		return err
	}
	*out = x + y
	return nil
}

// bodyWorkers returns 2, 4 and so on, up to the number of processors.
func bodyWorkers() []int {
	out := []int{2}
	for n := 4; n < runtime.GOMAXPROCS(0); n *= 2 {
		out = append(out, n)
	}
	if n := runtime.GOMAXPROCS(0) - 1; n > 2 {
		out = append(out, n)
	}
	return out
}
