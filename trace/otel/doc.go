// Package otel tells OpenTelemetry of a run: metrics, a span for the run and its phases, and, when asked for, spans of tasks.
//
// It uses the API of OpenTelemetry alone; the program brings the SDK and injects its providers. Without providers nothing is told: the
// global ones are not used unless they are passed in. A Sink is a record.Sink, so OpenTelemetry is called by the collecting goroutine of a
// recorder and never on the path of a task: a slow exporter costs records, which are counted in gompss.trace.dropped, and no time.
//
// Metrics, with their units and attributes:
//
//	gompss.task.count           {task}      task.name, hw.id, outcome (ok, failed, skipped)
//	gompss.task.duration        s           task.name, hw.type; histogram
//	gompss.task.queue_time      s           hw.type; histogram, from ready to the choice of a place
//	gompss.task.live            {task}      state (blocked, ready, running); needs Watch
//	gompss.token.held           {token}     hw.type; needs Watch
//	gompss.device.busy_time     s           hw.id; sum of the running times of tasks
//	gompss.device.memory.usage  By          hw.id
//	gompss.device.evictions     {eviction}  hw.id
//	gompss.transfer.io          By          src, dst
//	gompss.transfer.duration    s           src, dst; histogram
//	gompss.cache.lookups        {lookup}    hw.id, result (hit, miss): compiled kernels
//	gompss.trace.dropped        {record}
//
// There is no semantic convention for task runtimes, so names are in a space of their own; hw.id and hw.type are those of the hardware
// conventions, error.type of a failed task's span that of the general ones.
//
// Spans: gompss.run from the opening to the end, a child of the span in Options.Parent; gompss.compile for each variant; with
// Options.TaskSpans a span with true times for each sampled task, and one for each that failed, linked to the spans of its predecessors.
package otel
