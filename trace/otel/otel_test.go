package otel

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// A provider keeps the spans that are ended.
type provider struct {
	embedded.TracerProvider
	ended []*span
}

type tracer struct {
	embedded.Tracer
	p *provider
}

type span struct {
	trace.Span
	p      *provider
	name   string
	id     trace.SpanContext
	parent trace.SpanContext
	config trace.SpanConfig
	end    time.Time
}

func (p *provider) Tracer(string, ...trace.TracerOption) trace.Tracer { return &tracer{p: p} }

func (t *tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	n := byte(len(t.p.ended) + 1)
	s := &span{Span: noop.Span{}, p: t.p, name: name, parent: trace.SpanContextFromContext(ctx), config: trace.NewSpanStartConfig(o...)}
	s.id = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{n, 1}})
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SpanContext() trace.SpanContext { return s.id }
func (s *span) End(o ...trace.SpanEndOption) {
	config := trace.NewSpanEndConfig(o...)
	s.end = config.Timestamp()
	s.p.ended = append(s.p.ended, s)
}

func TestSpansOfTasks(t *testing.T) {
	p := &provider{}
	s, err := New(Options{TracerProvider: p, TaskSpans: 1})
	require.NoError(t, err)
	opened := time.Unix(1000, 0)
	require.NoError(t, s.Open(&probe.Machine{Opened: opened, Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}))
	const preds = 40
	b := &record.Batch{}
	for i := range preds + 1 {
		at := time.Duration(i+1) * time.Second
		b.Tasks = append(b.Tasks, probe.Task{ID: deps.TaskID(i + 1), Start: at, End: at + time.Millisecond, Release: at + 2*time.Millisecond, Kernel: "K"})
	}
	for i := 0; i < preds; i += 5 {
		b.Details = append(b.Details, record.Detail{Task: preds + 1, What: record.Waits, Count: 5, Values: [6]int64{int64(i + 1), int64(i + 2), int64(i + 3), int64(i + 4), int64(i + 5)}})
	}
	b.Points = []probe.Point{{Kind: probe.Compile, Kernel: "K", Device: "smp", Begin: 1, Time: 2}}
	require.NoError(t, s.Take(b))
	require.NoError(t, s.Close())
	require.Len(t, p.ended, preds+3)
	last := p.ended[preds]
	require.Equal(t, "K", last.name)
	require.Len(t, last.config.Links(), maxLinks, "links are bounded")
	require.Equal(t, opened.Add((preds+1)*time.Second), last.config.Timestamp())
	require.Equal(t, opened.Add((preds+1)*time.Second+time.Millisecond), last.end)
	require.Equal(t, "gompss.compile", p.ended[preds+1].name)
	require.Equal(t, "gompss.run", p.ended[preds+2].name)
	require.Empty(t, s.spans.waits)
}

func TestOnlyASampleAndAllFailures(t *testing.T) {
	p := &provider{}
	s, err := New(Options{TracerProvider: p, TaskSpans: 0.1})
	require.NoError(t, err)
	require.NoError(t, s.Open(&probe.Machine{}))
	b := &record.Batch{}
	for i := range 10000 {
		x := probe.Task{ID: deps.TaskID(i + 1), Start: 1, End: 2, Release: 3}
		if i%1000 == 0 {
			x.Err = "boom"
		}
		b.Tasks = append(b.Tasks, x)
	}
	require.NoError(t, s.Take(b))
	require.NoError(t, s.Close())
	require.InDelta(t, 1000, len(p.ended), 150)
	_, err = New(Options{TaskSpans: 2})
	require.Error(t, err)
}

// Without providers nothing is sent, and nothing breaks.
func TestNobodyListens(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	require.NoError(t, s.Open(&probe.Machine{}))
	require.NoError(t, s.Take(&record.Batch{Tasks: []probe.Task{{ID: 1}}, Dropped: 4}))
	require.NoError(t, s.Watch(func() Live { return Live{} }))
	require.NoError(t, s.Close())
}

// The main module has the API of OpenTelemetry; the SDK and exporters are the program's.
func TestTheModuleNeedsTheAPIAlone(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	got := regexp.MustCompile(`go\.opentelemetry\.io/\S+`).FindAllString(string(text), -1)
	require.Equal(t, []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace"}, got)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotRegexp(t, `(?m)^\s+"go\.opentelemetry\.io/otel"$`, string(text), "%s: that package has the global providers, which nobody here may find", name)
	}
}

// A stuck provider is one whose spans of tasks do not end until it is let go.
type stuck struct {
	provider
	gate chan struct{}
}

func (p *stuck) Tracer(string, ...trace.TracerOption) trace.Tracer { return &stuckTracer{p: p} }

type stuckTracer struct {
	noop.Tracer
	p *stuck
}

func (t *stuckTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if name != "gompss.run" {
		<-t.p.gate
	}
	return (&tracer{p: &t.p.provider}).Start(ctx, name, o...)
}

// An exporter that blocks holds up no recording, and Close says what was not sent.
func TestAnExporterThatBlocks(t *testing.T) {
	p := &stuck{gate: make(chan struct{})}
	s, err := New(Options{TracerProvider: p, TaskSpans: 1, Patience: 50 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, s.Open(&probe.Machine{}))
	b := &record.Batch{}
	for i := range 4096 {
		b.Tasks = append(b.Tasks, probe.Task{ID: deps.TaskID(i + 1), Start: 1, End: 2, Release: 3})
	}
	began := time.Now()
	const batches = 1000
	for range batches {
		require.NoError(t, s.Take(b))
	}
	err = s.Close()
	require.ErrorContains(t, err, "4096000 records are not told")
	require.Less(t, time.Since(began), time.Minute)
	require.LessOrEqual(t, s.waiting.Load(), int64(maxWaiting))
	close(p.gate)
	<-s.done
}

// A countingMeter adds up what its counters get, by name.
type countingMeter struct {
	metricnoop.Meter
	sums map[string]int64
}

type countingProvider struct {
	metricnoop.MeterProvider
	of *countingMeter
}

type counter struct {
	metricnoop.Int64Counter
	name string
	of   *countingMeter
}

func (p countingProvider) Meter(string, ...metric.MeterOption) metric.Meter { return p.of }

func (m *countingMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return &counter{name: name, of: m}, nil
}

func (c *counter) Add(_ context.Context, n int64, _ ...metric.AddOption) { c.of.sums[c.name] += n }

// Tasks and bytes without a record count in the metrics, once however often the recorder reports
// them.
func TestMetrics_CountWhatWasDropped(t *testing.T) {
	m := &countingMeter{sums: map[string]int64{}}
	s, err := New(Options{MeterProvider: countingProvider{of: m}})
	require.NoError(t, err)
	require.NoError(t, s.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}))
	for n := int64(1); n <= 3; n++ {
		lost := &record.Losses{Tasks: []record.LostTasks{{Kernel: "Forces", Count: 10 * n, Ran: 8 * n, Failed: n, Skipped: n}},
			Copies: []record.LostCopies{{From: "host", To: "sim:0", Copies: n, Bytes: 100}}}
		require.NoError(t, s.Take(&record.Batch{Tasks: []probe.Task{{ID: deps.TaskID(n), Kernel: "Forces", Start: 1, End: 2}}, Dropped: lost.Records(), Lost: lost}))
	}
	require.NoError(t, s.Close())
	require.EqualValues(t, 33, m.sums["gompss.tasks"], "%v", m.sums)
	require.EqualValues(t, 100, m.sums["gompss.transfer.io"])
	require.EqualValues(t, 33, m.sums["gompss.trace.record.dropped"])
}
