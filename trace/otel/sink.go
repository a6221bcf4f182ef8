package otel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// scope is the name of the instrumentation.
const scope = "github.com/gompss/gompss/trace/otel"

// Options name the receivers and the amount of detail. The zero value has no receiver.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Parent holds the span that the run is a part of; its end does not end the recording.
	Parent context.Context
	// TaskSpans is the share of the tasks that get a span of their own, between 0 and 1. A span
	// costs the SDK microseconds and about a kilobyte, and its batch processor drops what comes too
	// fast without a word: prefer small shares, or a blocking processor.
	TaskSpans float64
	// Patience is the time that Close waits for exporters that do not take what they are sent; 0 is 5
	// s.
	Patience time.Duration
}

// Live counts the tasks in flight of a runtime.
type Live struct {
	Blocked, Ready, Running int64
	RunningOn               map[string]int64 // Running by the name of the device, where that is known
	Tokens                  map[string]int64 // held, by kind
}

// A Sink forwards the records of a recorder to OpenTelemetry, from a goroutine of its own: an
// exporter that blocks, or a collector that hangs behind it, keeps up neither the recorder nor its
// other sinks. Records that do not fit in the queue are lost and counted; Close reports them.
type Sink struct {
	queue     chan *record.Batch
	done      chan struct{} // closed when the goroutine has finished
	abandoned atomic.Bool
	waiting   atomic.Int64 // records in the queue
	missed    atomic.Int64 // records that were not told

	options Options
	tracer  trace.Tracer
	meters
	machine *probe.Machine
	ctx     context.Context // of the run's span
	run     trace.Span
	spans   spanTable
	last    time.Duration
	dropped uint64
	counted map[[5]string]int64 // of tasks and bytes without a record
	sets    map[setKey]metric.MeasurementOption
	watch   metric.Registration
}

// New returns a sink. Errors: instruments that the provider refuses, a share that is none.
func New(o Options) (*Sink, error) {
	if o.TaskSpans < 0 || o.TaskSpans > 1 {
		return nil, fmt.Errorf("trace: otel: task spans %v: want a share between 0 and 1", o.TaskSpans)
	}
	if o.TracerProvider == nil {
		o.TracerProvider = tracenoop.NewTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = metricnoop.NewMeterProvider()
	}
	if o.Parent == nil {
		o.Parent = context.Background()
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	s := &Sink{options: o, tracer: o.TracerProvider.Tracer(scope), sets: map[setKey]metric.MeasurementOption{}}
	if err := s.meters.open(o.MeterProvider.Meter(scope)); err != nil {
		return nil, fmt.Errorf("trace: otel: %w", err)
	}
	s.spans.waits = map[uint64][]uint64{}
	s.spans.known = map[uint64]trace.SpanContext{}
	return s, nil
}

// Open starts the span of the run.
func (s *Sink) Open(m *probe.Machine) error {
	s.machine = m
	s.ctx, s.run = s.tracer.Start(s.options.Parent, "gompss.run", trace.WithTimestamp(m.Opened),
		trace.WithAttributes(attribute.String("gompss.policy", m.Policy), attribute.StringSlice("gompss.devices", names(m))))
	s.limits(1)
	s.queue, s.done = make(chan *record.Batch, queued), make(chan struct{})
	go s.work()
	return nil
}

// queued is the number of batches that may wait: of tasks of a microsecond some seconds' worth.
const queued = 4096

// maxWaiting bounds the queue, in records.
const maxWaiting = 1 << 19

// Take has a batch told.
func (s *Sink) Take(b *record.Batch) error {
	n := int64(b.Len())
	if s.waiting.Load()+n > maxWaiting {
		s.missed.Add(n)
		return nil
	}
	s.waiting.Add(n)
	select {
	case s.queue <- b.Clone():
	default:
		s.waiting.Add(-n)
		s.missed.Add(n)
	}
	return nil
}

// work forwards the records of the queue until the queue is closed.
func (s *Sink) work() {
	defer close(s.done)
	for b := range s.queue {
		n := int64(b.Len())
		if s.abandoned.Load() {
			s.missed.Add(n)
		} else {
			s.tell(b)
		}
		s.waiting.Add(-n)
	}
	s.end()
}

// Watch has live asked for the tasks in flight when metrics are collected, until Close: what
// task.Runtime.Live returns. Call it once, when the runtime is open. Errors: the provider's.
func (s *Sink) Watch(live func() Live) (err error) {
	s.watch, err = s.meters.watch(live)
	return err
}

func names(m *probe.Machine) (out []string) {
	for _, p := range m.Places {
		out = append(out, p.Name)
	}
	return out
}

// tell exports a batch.
func (s *Sink) tell(b *record.Batch) {
	b.Unpack()
	if s.options.TaskSpans > 0 {
		s.spans.learn(b.Details)
	}
	if added := b.Dropped - s.dropped; added > 0 {
		s.lost.Add(s.ctx, int64(added))
		s.dropped = b.Dropped
	}
	if b.Lost != nil {
		s.countLost(b.Lost)
	}
	tasks := slices.Clone(b.Tasks)
	slices.SortFunc(tasks, func(x, y probe.Task) int { return cmp.Compare(x.End, y.End) })
	for i := range tasks {
		s.task(&tasks[i])
		s.last = max(s.last, tasks[i].Release)
	}
	for i := range b.Points {
		s.point(&b.Points[i])
		s.last = max(s.last, b.Points[i].Time)
	}
}

// countLost adds the tasks and bytes without a record to their counters. l counts since the start
// of the run.
func (s *Sink) countLost(l *record.Losses) {
	for i := range l.Tasks {
		t := &l.Tasks[i]
		of := &probe.Task{Kernel: t.Kernel, Label: t.Label, Place: t.Place}
		sort, place := run.Sort(of), s.place(of)
		for _, x := range []struct {
			outcome string
			count   int64
		}{{"ok", t.Count - t.Failed - t.Skipped}, {"failed", t.Failed}, {"skipped", t.Skipped}} {
			set := s.set(taskName, sort, hwID, place.Name, outcome, x.outcome)
			s.tasks.Add(s.ctx, s.added([5]string{"task", sort, t.Variant, place.Name, x.outcome}, x.count), set)
		}
	}
	for i := range l.Copies {
		c := &l.Copies[i]
		s.moved.Add(s.ctx, s.added([5]string{"copy", c.From, c.To}, int64(c.Bytes)), s.set(source, c.From, target, c.To))
	}
}

// added returns the growth of a count of lost records since the last call.
func (s *Sink) added(of [5]string, count int64) int64 {
	if s.counted == nil {
		s.counted = map[[5]string]int64{}
	}
	more := count - s.counted[of]
	s.counted[of] = count
	return more
}

// end ends the span of the run.
func (s *Sink) end() {
	if lost := int64(s.dropped) + s.missed.Load(); lost > 0 {
		s.run.SetAttributes(attribute.Int64("gompss.trace.record.dropped", lost))
		s.lost.Add(s.ctx, s.missed.Load())
	}
	s.limits(-1)
	s.run.End(trace.WithTimestamp(s.machine.Opened.Add(s.last)))
}

// Close waits, no longer than its patience, until all is sent and the span of the run has ended.
// Errors: records that were not told.
func (s *Sink) Close() error {
	if s.machine == nil {
		return nil
	}
	close(s.queue)
	limit := time.NewTimer(s.options.Patience)
	defer limit.Stop()
	var err error
	select {
	case <-s.done:
	case <-limit.C:
		s.abandoned.Store(true)
		err = fmt.Errorf("trace: otel: an exporter still blocks after %v: %d records are not told", s.options.Patience, s.waiting.Load()+s.missed.Load())
	}
	if missed := s.missed.Load(); err == nil && missed > 0 {
		err = fmt.Errorf("trace: otel: exporters were too slow: %d records were not told", missed)
	}
	if s.watch != nil {
		err = errors.Join(err, s.watch.Unregister())
	}
	return err
}

// place returns the place of a task; one without a name when it had none.
func (s *Sink) place(t *probe.Task) probe.Place {
	if t.Place >= 0 && int(t.Place) < len(s.machine.Places) {
		return s.machine.Places[t.Place]
	}
	return probe.Place{}
}

func (s *Sink) task(t *probe.Task) {
	p := s.place(t)
	ended := "ok"
	switch {
	case t.Skipped:
		ended = "skipped"
	case t.Err != "":
		ended = "failed"
	}
	sort := run.Sort(t)
	s.tasks.Add(s.ctx, 1, s.set(taskName, sort, hwID, p.Name, outcome, ended))
	if run.Ran(t) {
		took := (t.End - t.Start).Seconds()
		s.duration.Record(s.ctx, took, s.set(taskName, sort, deviceKind, p.Kind))
		s.queued.Record(s.ctx, max(0, t.Choice-t.Ready).Seconds(), s.set(deviceKind, p.Kind))
		s.busy.Add(s.ctx, took, s.set(hwID, p.Name))
		if t.Tokens > 0 {
			s.held.Add(s.ctx, float64(t.Tokens)*(t.End-t.Choice).Seconds(), s.set(deviceKind, p.Kind))
		}
	}
	if s.options.TaskSpans > 0 {
		s.taskSpan(t, p, sort)
	}
}

func (s *Sink) point(p *probe.Point) {
	switch p.Kind {
	case probe.Arrive:
		if p.Err == nil {
			link := s.set(source, p.From, target, p.To)
			s.moved.Add(s.ctx, int64(p.Bytes), link)
			s.moving.Record(s.ctx, (p.Time - p.Begin).Seconds(), link)
		}
	case probe.Alloc, probe.Evict:
		if p.Err != nil {
			return
		}
		of, n := s.set(hwID, p.Device), int64(p.Bytes)
		if p.Kind == probe.Evict {
			s.evicted.Add(s.ctx, 1, of)
			n = -n
		}
		s.memory.Add(s.ctx, n, of)
	case probe.Compile:
		s.compile(p)
	case probe.Phase:
		s.phase(p)
	}
}

// phases are the names of their spans.
var phases = map[string]string{probe.PhaseOpen: "gompss.open", probe.PhaseInit: "gompss.device.open", probe.PhaseWait: "gompss.wait", probe.PhaseClose: "gompss.close"}

// phase exports a phase of the program or the runtime outside tasks.
func (s *Sink) phase(p *probe.Point) {
	name := phases[p.Label]
	if name == "" {
		return
	}
	o := []trace.SpanStartOption{trace.WithTimestamp(s.machine.Opened.Add(p.Begin))}
	if p.Device != "" {
		o = append(o, trace.WithAttributes(attribute.String(deviceKind, p.Device)))
	}
	_, span := s.tracer.Start(s.ctx, name, o...)
	if p.Err != nil {
		fail(span, "failed", p.Err)
	}
	span.End(trace.WithTimestamp(s.machine.Opened.Add(p.Time)))
}

func (s *Sink) compile(p *probe.Point) {
	result := "miss"
	if p.Hit {
		result = "hit"
	}
	s.lookups.Add(s.ctx, 1, s.set(hwID, p.Device, cacheSaid, result))
	_, span := s.tracer.Start(s.ctx, "gompss.compile", trace.WithTimestamp(s.machine.Opened.Add(p.Begin)),
		trace.WithAttributes(attribute.String(taskName, p.Kernel), attribute.String(hwID, p.Device), attribute.String(cacheSaid, result)))
	if p.Err != nil {
		fail(span, "refused", p.Err)
	}
	span.End(trace.WithTimestamp(s.machine.Opened.Add(p.Time)))
}

// A setKey is up to three attributes, keys and values in turn.
type setKey [6]string

// set returns a set of attributes, made once.
func (s *Sink) set(pairs ...string) metric.MeasurementOption {
	var k setKey
	copy(k[:], pairs)
	if o, ok := s.sets[k]; ok {
		return o
	}
	var list []attribute.KeyValue
	for i := 0; i < len(k); i += 2 {
		if k[i] != "" && k[i+1] != "" { // a task that got no place has no device
			list = append(list, attribute.String(k[i], k[i+1]))
		}
	}
	o := metric.WithAttributeSet(attribute.NewSet(list...))
	if len(s.sets) < maxSets {
		s.sets[k] = o
	}
	return o
}

// maxSets bounds the sets that are kept: names of tasks are few, unless a program makes a label for
// each.
const maxSets = 1 << 12
