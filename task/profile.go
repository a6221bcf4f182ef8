package task

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"sync"
)

// A profile is the labels under which the bodies of tasks run on CPU workers, made once for each
// name.
//
// "go tool pprof -tagfocus task=Forces" then shows what belongs to one kernel. While Go's execution
// tracer is on, each body is a region of its own too.
type profile struct {
	on     bool
	labels sync.Map // string to context.Context
}

// of returns the context that has the labels of r.
func (p *profile) of(r *record) context.Context {
	name := r.kernelName()
	if name == "" {
		name = r.name()
	}
	if ctx, ok := p.labels.Load(name); ok {
		return ctx.(context.Context)
	}
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("task", name, "device", "smp"))
	p.labels.Store(name, ctx)
	return ctx
}

// callProfiled is callTimed under labels.
func (rt *Runtime) callProfiled(r *record) error {
	ctx := rt.observers.profile.of(r)
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	if trace.IsEnabled() {
		name, _ := pprof.Label(ctx, "task")
		defer trace.StartRegion(ctx, name).End()
	}
	return rt.callTimed(r)
}
