package otel

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
)

// maxLinks is the number of predecessors that a span is linked to: well below the limit of the SDK,
// which is 128.
const maxLinks = 16

// A spanTable keeps the data for links: the predecessors of tasks that are not finished, and the
// spans of the last tasks.
type spanTable struct {
	waits map[uint64][]uint64
	known map[uint64]trace.SpanContext
	order []uint64 // of known, oldest first
}

// keepSpans bounds the spans that later tasks can be linked to.
const keepSpans = 1 << 14

func (t *spanTable) learn(details []record.Detail) {
	for i := range details {
		if d := &details[i]; d.What == record.Waits {
			list := t.waits[uint64(d.Task)]
			for _, p := range d.Values[:d.Count] {
				list = append(list, uint64(p))
			}
			t.waits[uint64(d.Task)] = list
		}
	}
	if len(t.waits) > 4*keepSpans { // of tasks whose records were dropped
		clear(t.waits)
	}
}

func (t *spanTable) add(id uint64, c trace.SpanContext) {
	if len(t.order) >= keepSpans {
		for _, old := range t.order[:keepSpans/2] {
			delete(t.known, old)
		}
		t.order = append(t.order[:0], t.order[keepSpans/2:]...)
	}
	t.known[id], t.order = c, append(t.order, id)
}

// sampled says whether a task gets a span, by its number alone.
func (s *Sink) sampled(id uint64) bool {
	x := id * 0x9e3779b97f4a7c15
	x ^= x >> 32
	return float64(x>>11)/(1<<53) < s.options.TaskSpans
}

// taskSpan exports the span of one task, with its true times.
func (s *Sink) taskSpan(t *probe.Task, p probe.Place, sort string) {
	id := uint64(t.ID)
	preds := s.spans.waits[id]
	delete(s.spans.waits, id)
	if !s.sampled(id) && t.Err == "" {
		return
	}
	begin, end := t.Start, t.End
	switch {
	case begin > 0:
	case t.Replay > 0 && t.Step == 0 && !t.Skipped: // its steps ran
		begin, end = t.Submit, t.Release
	default:
		begin, end = t.Release, t.Release
	}
	var links []trace.Link
	for _, pred := range preds {
		if c, ok := s.spans.known[pred]; ok && len(links) < maxLinks {
			links = append(links, trace.Link{SpanContext: c, Attributes: []attribute.KeyValue{attribute.Bool("gompss.task.last", pred == uint64(t.Last))}})
		}
	}
	_, span := s.tracer.Start(s.ctx, sort, trace.WithTimestamp(s.machine.Opened.Add(begin)), trace.WithLinks(links...), trace.WithAttributes(s.about(t, p, sort, len(preds))...))
	if t.Err != "" {
		kind := "failed"
		if t.Skipped {
			kind = "skipped"
		}
		fail(span, kind, errors.New(t.Err))
	}
	s.spans.add(id, span.SpanContext())
	span.End(trace.WithTimestamp(s.machine.Opened.Add(end)))
}

// about is the attributes of a task's span.
func (s *Sink) about(t *probe.Task, p probe.Place, sort string, preds int) []attribute.KeyValue {
	out := []attribute.KeyValue{attribute.String(taskName, sort), attribute.Int64("gompss.task.id", int64(t.ID)), attribute.Int("gompss.task.predecessor.count", preds),
		attribute.Float64("gompss.task.time_in_queue", max(0, t.Choice-t.Ready).Seconds())}
	for _, x := range [][2]string{{"gompss.task.label", t.Label}, {"gompss.task.variant", t.Variant}, {hwID, p.Name}, {"hw.type", hardware[p.Kind]}, {deviceKind, p.Kind}} {
		if x[1] != "" {
			out = append(out, attribute.String(x[0], x[1]))
		}
	}
	for _, x := range []struct {
		key string
		n   int32
	}{{"gompss.replay.number", t.Replay}, {"gompss.replay.step", t.Step}, {"gompss.task.steps", t.Steps}} {
		if x.n > 0 {
			out = append(out, attribute.Int(x.key, int(x.n)))
		}
	}
	return out
}

// hardware maps the kinds of devices that are always hardware to their names in the conventions.
var hardware = map[string]string{"smp": "cpu", "cuda": "gpu"}

func fail(span trace.Span, kind string, err error) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, err.Error())
}
