package task_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// fibTasks submits both halves as children and waits for them, down to the smallest numbers: tasks that do nothing but submit.
func fibTasks(s *task.Scope, n int, out *int, made *int) error {
	if n < 2 {
		*out = n
		return nil
	}
	var a, b, more, less int
	if _, err := s.GoScope(func(s *task.Scope) error { return fibTasks(s, n-1, &a, &more) }); err != nil {
		return err
	}
	if _, err := s.GoScope(func(s *task.Scope) error { return fibTasks(s, n-2, &b, &less) }); err != nil {
		return err
	}
	err := s.Wait(context.Background())
	*out, *made = a+b, more+less+2
	return err
}

// BenchmarkNested is recursive Fibonacci, where every call is a task; ns/op is per task, with its Scope and the wait for its children.
func BenchmarkNested(b *testing.B) {
	const n = 18
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("smp:%d", workers), func(b *testing.B) {
			rt := open(b, task.Options{Devices: fmt.Sprintf("smp:%d", workers)})
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; {
				var out, made int
				_, err := rt.GoScope(func(s *task.Scope) error { return fibTasks(s, n, &out, &made) })
				require.NoError(b, err)
				require.NoError(b, rt.Wait(context.Background()))
				require.Equal(b, 2584, out)
				done += made + 1
			}
		})
	}
}

// BenchmarkLeaves is tasks of Go that are submitted from inside a task, 100 each; ns/op is per task.
func BenchmarkLeaves(b *testing.B) {
	rt := open(b, task.Options{Devices: "smp:2"})
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += 101 {
		_, err := rt.GoScope(func(s *task.Scope) error {
			for range 100 {
				if _, err := s.Go(nothing); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(b, err)
	}
	require.NoError(b, rt.Wait(context.Background()))
}
