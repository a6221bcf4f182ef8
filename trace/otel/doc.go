// Package otel exports a run to OpenTelemetry: metrics, a span for the run and for each of its
// phases, and, with Options.TaskSpans, spans of tasks.
//
// It uses the API of OpenTelemetry alone; the program brings the SDK and injects its providers.
// Without providers nothing is sent: the global ones are not used unless they are passed in. A Sink
// is a record.Sink, so OpenTelemetry is called by the collecting goroutine of a recorder and never
// on the path of a task: a slow exporter costs records, which are counted in
// gompss.trace.record.dropped, and no time.
//
// The metrics, with their units and attributes, are the table of docs/reference/metrics.md. There
// is no semantic convention for task runtimes, so names are in a space of their own and follow the
// rules for names: counters of things are plural, usage goes with limit, durations are seconds.
// hw.id and hw.type (of spans: cpu, gpu) are those of the conventions for hardware, error.type that
// of the general ones.
//
// Spans: gompss.run from the opening to the end, a child of the span in Options.Parent;
// gompss.compile for each variant; with Options.TaskSpans a span with true times for each sampled
// task, and one for each that failed, linked to the spans of its predecessors.
package otel
