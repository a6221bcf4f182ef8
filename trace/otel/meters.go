package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meters are the instruments; see the package comment.
type meters struct {
	meter     metric.Meter
	tasks     metric.Int64Counter
	duration  metric.Float64Histogram
	queued    metric.Float64Histogram
	busy      metric.Float64Counter
	moved     metric.Int64Counter
	moving    metric.Float64Histogram
	memory    metric.Int64UpDownCounter
	most      metric.Int64UpDownCounter
	evicted   metric.Int64Counter
	lookups   metric.Int64Counter
	lost      metric.Int64Counter
	held      metric.Float64Counter
	allTokens metric.Int64UpDownCounter
	active    metric.Int64ObservableUpDownCounter
	tokens    metric.Int64ObservableUpDownCounter
}

// The attributes of metrics and spans that are ours. hw.id, hw.type and error.type are those of the
// conventions.
const (
	taskName   = "gompss.task.name"
	outcome    = "gompss.task.outcome"
	taskState  = "gompss.task.state"
	deviceKind = "gompss.device.kind"
	source     = "gompss.transfer.source"
	target     = "gompss.transfer.destination"
	cacheSaid  = "gompss.cache.result"
	hwID       = "hw.id"
)

// The bounds of histograms of times, in seconds: tasks take microseconds to minutes.
var bounds = metric.WithExplicitBucketBoundaries(
	1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100)

func (m *meters) open(meter metric.Meter) error {
	m.meter = meter
	var errs [15]error
	unit, says := metric.WithUnit, metric.WithDescription
	m.tasks, errs[0] = meter.Int64Counter("gompss.tasks", unit("{task}"), says("finished tasks"))
	m.duration, errs[1] = meter.Float64Histogram("gompss.task.duration", unit("s"), says("running time of tasks"), bounds)
	m.queued, errs[2] = meter.Float64Histogram("gompss.task.time_in_queue", unit("s"), says("from ready to the choice of a place"), bounds)
	m.active, errs[3] = meter.Int64ObservableUpDownCounter("gompss.task.active", unit("{task}"), says("tasks in flight; those that are ready are the queue"))
	m.busy, errs[4] = meter.Float64Counter("gompss.device.busy_time", unit("s"), says("sum of the running times of tasks"))
	m.memory, errs[5] = meter.Int64UpDownCounter("gompss.device.memory.usage", unit("By"), says("memory of accelerators that this program has backed"))
	m.most, errs[6] = meter.Int64UpDownCounter("gompss.device.memory.limit", unit("By"), says("memory of accelerators that this program may back"))
	m.evicted, errs[7] = meter.Int64Counter("gompss.device.evictions", unit("{eviction}"), says("times that memory was taken away to make room"))
	m.moved, errs[8] = meter.Int64Counter("gompss.transfer.io", unit("By"), says("bytes copied between memories"))
	m.moving, errs[9] = meter.Float64Histogram("gompss.transfer.duration", unit("s"), says("time that copies took"), bounds)
	m.tokens, errs[10] = meter.Int64ObservableUpDownCounter("gompss.token.usage", unit("{token}"), says("tokens held by tasks"))
	m.allTokens, errs[11] = meter.Int64UpDownCounter("gompss.token.limit", unit("{token}"), says("tokens that there are"))
	m.held, errs[12] = meter.Float64Counter("gompss.token.time", unit("{token}.s"), says("tokens times the time that tasks held them"))
	m.lookups, errs[13] = meter.Int64Counter("gompss.cache.lookups", unit("{lookup}"), says("compiled kernels asked for"))
	m.lost, errs[14] = meter.Int64Counter("gompss.trace.record.dropped", unit("{record}"), says("records lost because a ring was full"))
	return errors.Join(errs[:]...)
}

// limits reports the available memory and tokens; a negative sign removes them again.
func (s *Sink) limits(sign int64) {
	kinds := map[string]bool{}
	for _, p := range s.machine.Places {
		if p.Memory > 0 {
			s.most.Add(s.ctx, sign*int64(p.Memory), s.set(hwID, p.Name))
		}
		if p.Tokens > 0 && !kinds[p.Kind] {
			kinds[p.Kind] = true
			s.allTokens.Add(s.ctx, sign*int64(p.Tokens), s.set(deviceKind, p.Kind))
		}
	}
}

// watch has the runtime asked when metrics are collected.
func (m *meters) watch(live func() Live) (metric.Registration, error) {
	return m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := live()
		observe := func(n int64, about ...attribute.KeyValue) {
			o.ObserveInt64(m.active, n, metric.WithAttributes(about...))
		}
		observe(now.Blocked, attribute.String(taskState, "blocked"))
		observe(now.Ready, attribute.String(taskState, "ready"))
		for device, n := range now.RunningOn {
			observe(n, attribute.String(taskState, "running"), attribute.String(hwID, device))
		}
		if now.RunningOn == nil {
			observe(now.Running, attribute.String(taskState, "running"))
		}
		for kind, n := range now.Tokens {
			o.ObserveInt64(m.tokens, n, metric.WithAttributes(attribute.String(deviceKind, kind)))
		}
		return nil
	}, m.active, m.tokens)
}
