package otel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/otel"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// A dead collector's exporters take the first thing that they get of a task and never come
// back, until gate is closed.
type dead struct {
	tracenoop.TracerProvider
	gate  chan struct{}
	asked atomic.Bool
}

type deadTracer struct {
	tracenoop.Tracer
	d *dead
}

func (d *dead) Tracer(string, ...trace.TracerOption) trace.Tracer { return deadTracer{d: d} }

func (t deadTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if name != "gompss.run" {
		t.d.wait()
	}
	return t.Tracer.Start(ctx, name, o...)
}

func (d *dead) wait() {
	d.asked.Store(true)
	<-d.gate
}

type deadMeters struct {
	metricnoop.MeterProvider
	d *dead
}

type deadMeter struct {
	metricnoop.Meter
	d *dead
}

type deadCounter struct {
	metricnoop.Int64Counter
	d *dead
}

func (m deadMeters) Meter(string, ...metric.MeterOption) metric.Meter { return deadMeter{d: m.d} }

func (m deadMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return deadCounter{d: m.d}, nil
}

func (c deadCounter) Add(context.Context, int64, ...metric.AddOption) { c.d.wait() }

// While a collector is dead, from the first span or number on to the end of the program, every task
// runs, no wait of the program takes longer for it, and every other sink gets every record:
// nothing but the sink's own goroutine ever waits for it.
func TestADeadCollectorCostsNoTask(t *testing.T) {
	const tasks = 20000
	for _, c := range []string{"spans", "metrics"} {
		d := &dead{gate: make(chan struct{})}
		o := otel.Options{Patience: 50 * time.Millisecond}
		if c == "spans" {
			o.TracerProvider, o.TaskSpans = d, 1
		} else {
			o.MeterProvider = deadMeters{d: d}
		}
		sink, err := otel.New(o)
		require.NoError(t, err)
		seen := run.New(0)
		rec := record.New(record.Options{Sinks: []record.Sink{sink, seen}, Slots: 1 << 16}) // more than there are tasks: nothing can be lost
		rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
		require.NoError(t, err)
		x := make([]int, 64)
		for i := range tasks {
			_, err := rt.Go(func() error { x[i%64]++; return nil }, task.InOut(x[i%64:i%64+1]))
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.NoError(t, rt.Close())
		closed := make(chan error, 1)
		go func() { closed <- rec.Close() }()
		select {
		case err := <-closed:
			require.ErrorContains(t, err, "not told", "what was lost is said")
		case <-time.After(time.Minute):
			t.Fatal("the end of the recording waits for a dead collector")
		}
		require.True(t, d.asked.Load(), "the collector was asked, and is still to answer")
		sum := 0
		for _, n := range x {
			sum += n
		}
		require.Equal(t, tasks, sum)
		require.Equal(t, tasks, seen.Len())
		require.Zero(t, rec.Dropped())
		close(d.gate)
	}
}
