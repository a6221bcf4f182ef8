package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meters are the instruments; see the package comment.
type meters struct {
	meter    metric.Meter
	tasks    metric.Int64Counter
	duration metric.Float64Histogram
	queued   metric.Float64Histogram
	busy     metric.Float64Counter
	moved    metric.Int64Counter
	moving   metric.Float64Histogram
	memory   metric.Int64UpDownCounter
	evicted  metric.Int64Counter
	lookups  metric.Int64Counter
	lost     metric.Int64Counter
	held     metric.Float64Counter
	live     metric.Int64ObservableUpDownCounter
	tokens   metric.Int64ObservableUpDownCounter
}

// The bounds of histograms of times, in seconds: tasks take microseconds to minutes.
var bounds = metric.WithExplicitBucketBoundaries(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100)

func (m *meters) open(meter metric.Meter) error {
	m.meter = meter
	var errs [13]error
	m.tasks, errs[0] = meter.Int64Counter("gompss.task.count", metric.WithUnit("{task}"), metric.WithDescription("tasks that are over"))
	m.duration, errs[1] = meter.Float64Histogram("gompss.task.duration", metric.WithUnit("s"), metric.WithDescription("running time of tasks"), bounds)
	m.queued, errs[2] = meter.Float64Histogram("gompss.task.queue_time", metric.WithUnit("s"), metric.WithDescription("from ready to the choice of a place"), bounds)
	m.busy, errs[3] = meter.Float64Counter("gompss.device.busy_time", metric.WithUnit("s"), metric.WithDescription("sum of the running times of tasks"))
	m.moved, errs[4] = meter.Int64Counter("gompss.transfer.io", metric.WithUnit("By"), metric.WithDescription("bytes copied between memories"))
	m.moving, errs[5] = meter.Float64Histogram("gompss.transfer.duration", metric.WithUnit("s"), metric.WithDescription("time that copies took"), bounds)
	m.memory, errs[6] = meter.Int64UpDownCounter("gompss.device.memory.usage", metric.WithUnit("By"), metric.WithDescription("memory of accelerators that is backed"))
	m.evicted, errs[7] = meter.Int64Counter("gompss.device.evictions", metric.WithUnit("{eviction}"), metric.WithDescription("times that memory was taken away to make room"))
	m.lookups, errs[8] = meter.Int64Counter("gompss.cache.lookups", metric.WithUnit("{lookup}"), metric.WithDescription("compiled kernels asked for"))
	m.lost, errs[9] = meter.Int64Counter("gompss.trace.dropped", metric.WithUnit("{record}"), metric.WithDescription("records lost because a ring was full"))
	m.live, errs[10] = meter.Int64ObservableUpDownCounter("gompss.task.live", metric.WithUnit("{task}"), metric.WithDescription("tasks in flight"))
	m.tokens, errs[11] = meter.Int64ObservableUpDownCounter("gompss.token.held", metric.WithUnit("{token}"), metric.WithDescription("tokens held by tasks"))
	m.held, errs[12] = meter.Float64Counter("gompss.token.time", metric.WithUnit("{token}.s"), metric.WithDescription("tokens times the time that tasks held them"))
	return errors.Join(errs[:]...)
}

// watch has the runtime asked when metrics are collected.
func (m *meters) watch(live func() Live) (metric.Registration, error) {
	return m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := live()
		for state, n := range map[string]int64{"blocked": now.Blocked, "ready": now.Ready, "running": now.Running} {
			o.ObserveInt64(m.live, n, metric.WithAttributes(attribute.String("state", state)))
		}
		for kind, n := range now.Tokens {
			o.ObserveInt64(m.tokens, n, metric.WithAttributes(attribute.String("hw.type", kind)))
		}
		return nil
	}, m.live, m.tokens)
}
