package task

import (
	"context"
	"iter"
	"time"
)

// Progress yields what the run does, at once, then every so often (a millisecond at least), and a
// last time when no task is in flight; then, and when ctx ends, it ends. It is for a line of
// progress in place of waiting silently, and no wait itself: data are valid on the host after Wait.
//
//	for s := range rt.Progress(ctx, time.Second) {
//		fmt.Printf("\r%d of %d tasks", s.Done, s.Submitted)
//	}
//	err := rt.Wait(ctx)
//
// In the body of a task, which would wait for itself, it yields once.
func (rt *Runtime) Progress(ctx context.Context, every time.Duration) iter.Seq[*Status] {
	return func(yield func(*Status) bool) {
		rt.mustBeUsable("Runtime.Progress")
		for {
			over := rt.window.Live() == 0 || ctx.Err() != nil || insideBody()
			if !yield(rt.status(0, 0)) || over {
				return
			}
			rt.root.endReductions()
			tick, cancel := context.WithTimeout(ctx, max(every, time.Millisecond))
			_ = rt.window.Wait(0, tick) // it ends with the tasks, or the time
			cancel()
		}
	}
}
