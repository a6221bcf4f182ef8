// Command otlp runs a small program of tasks and tells an OpenTelemetry collector of it: metrics,
// the span of the run and a sample of task spans, by OTLP over HTTP. It is a module of its own, so
// that the library does not need the SDK.
//
//	go run . -endpoint 127.0.0.1:4318
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"go.opentelemetry.io/otel/attribute"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/otel"
	"github.com/gompss/gompss/trace/record"
)

func main() {
	endpoint := flag.String("endpoint", "127.0.0.1:4318", "host:port of a collector that takes OTLP over HTTP")
	spans := flag.Float64("spans", 0.1, "share of the tasks that get a span")
	flag.Parse()
	if err := run(context.Background(), *endpoint, *spans, 200); err != nil {
		log.Fatal(err)
	}
}

// patience is the time that a collector may take to answer.
const patience = 2 * time.Second

// run tells the collector of a run of two chains of n tasks each.
func run(ctx context.Context, endpoint string, spans float64, n int) (err error) {
	traces, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure(), otlptracehttp.WithTimeout(patience), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return err
	}
	numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(endpoint), otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithTimeout(patience), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
	if err != nil {
		return err
	}
	who := resource.NewSchemaless(attribute.String("service.name", "gompss-example"))
	// A blocking processor loses no span; it is the collecting goroutine of the recorder that
	// waits, never a task.
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithBatcher(traces, sdktrace.WithBlocking()))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithResource(who), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(numbers, sdkmetric.WithInterval(time.Second))))
	defer func() {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = errors.Join(err, tp.Shutdown(limited), mp.Shutdown(limited))
	}()
	ctx, parent := tp.Tracer("example").Start(ctx, "main")
	defer parent.End()
	return work(ctx, tp, mp, spans, n)
}

func work(ctx context.Context, tp *sdktrace.TracerProvider, mp *sdkmetric.MeterProvider, spans float64, n int) error {
	sink, err := otel.New(otel.Options{TracerProvider: tp, MeterProvider: mp, Parent: ctx, TaskSpans: spans})
	if err != nil {
		return err
	}
	rec := record.New(record.Options{Sinks: []record.Sink{sink}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	if err != nil {
		return err
	}
	if err := sink.Watch(func() otel.Live { return live(rt) }); err != nil {
		return err
	}
	x := make([]int, 2)
	for i := range n {
		for c := range x {
			if _, err := rt.Go(func() error { x[c] += i; return nil }, task.InOut(x[c:c+1]), task.Label("add")); err != nil {
				return err
			}
		}
	}
	err = errors.Join(rt.Wait(ctx), mp.ForceFlush(ctx), rt.Close(), rec.Close()) // so short a run ends before the first collection
	fmt.Println("sums", x)
	return err
}

// live says what the runtime has in flight.
func live(rt *task.Runtime) otel.Live {
	l := rt.Live()
	out := otel.Live{Blocked: l.Blocked, Ready: l.Ready, Running: l.Running, RunningOn: l.RunningOn, Tokens: map[string]int64{}}
	for kind, held := range l.Tokens {
		out.Tokens[string(kind)] = int64(held)
	}
	return out
}
