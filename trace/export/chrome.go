package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// Chrome writes a run as JSON for chrome://tracing and the tools that read it. Times are
// microseconds with three decimals, which is exact. Prefer Perfetto for more than some hundred
// thousand tasks.
func Chrome(w io.Writer, r *run.Run) error {
	c := &chrome{w: bufio.NewWriterSize(w, 1<<16)}
	fmt.Fprintf(c.w, `{"displayTimeUnit":"ns","otherData":{"dropped":%d,"title":%s},"traceEvents":[`, r.Dropped, quote(title(r)))
	tid := 0
	flows, lanes := flowsOf(r)
	c.meta("process_name", 0, 0, title(r))
	for _, x := range r.Phases() {
		c.event(`{"ph":"X","cat":"phase","name":%s,"pid":0,"tid":0,"ts":%s,"dur":%s}`, quote(x.Name), micros(x.From), micros(x.To-x.From))
	}
	for _, i := range flows.failed {
		t := r.Task(int(i))
		c.event(`{"ph":"i","s":"g","cat":%s,"name":%s,"pid":0,"tid":0,"ts":%s,"args":{"task":%d}}`, quote(outcome(t)), quote(t.Err), micros(t.Release), t.ID)
	}
	for _, l := range lanes {
		c.lane(r, &l, &tid, flows)
	}
	pid := len(r.Machine.Places) + 1
	for i, m := range movesOf(r) {
		if i == 0 {
			c.meta("process_name", pid, 0, "copies")
		}
		name := m.from + " -> " + m.to
		for s := range m.streams {
			c.meta("thread_name", pid, tid+1+s, streamName(name, s, m.streams))
		}
		for j, p := range m.copies {
			c.event(`{"ph":"X","cat":"copy","name":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":{"bytes":%d,"from":%s,"to":%s}}`, quote(name), pid, tid+1+m.stream[j],
				micros(p.Begin), micros(p.Time-p.Begin), int64(p.Bytes), quote(p.From), quote(p.To))
		}
		tid += m.streams
	}
	for _, k := range countersOf(r, flows) {
		for _, s := range k.samples {
			c.event(`{"ph":"C","name":%s,"pid":0,"ts":%s,"args":{"value":%g}}`, quote(k.name), micros(s.at), s.value)
		}
	}
	fmt.Fprint(c.w, "]}\n")
	return c.w.Flush()
}

type chrome struct {
	w    *bufio.Writer
	some bool
}

func (c *chrome) event(format string, args ...any) {
	if c.some {
		c.w.WriteByte(',') // a bufio.Writer keeps its error for Flush
	}
	c.some = true
	c.w.WriteByte('\n')
	fmt.Fprintf(c.w, format, args...)
}

func (c *chrome) meta(what string, pid, tid int, name string) {
	c.event(`{"ph":"M","name":%q,"pid":%d,"tid":%d,"args":{"name":%s}}`, what, pid, tid, quote(name))
}

// lane writes one lane on as many threads as it has tasks at once.
func (c *chrome) lane(r *run.Run, l *run.Lane, tid *int, flows *flowSet) {
	pid := l.Place + 1
	if l.Worker == 0 {
		c.meta("process_name", pid, 0, r.Machine.Places[l.Place].Name)
	}
	spans := make([]run.Span, len(l.Tasks))
	for i, t := range l.Tasks {
		spans[i] = r.Row(int(t)).Span()
	}
	streams, n := run.Streams(spans)
	for s := range max(1, n) {
		c.meta("thread_name", pid, *tid+1+s, streamName(l.Name, s, n))
	}
	for i, at := range l.Tasks {
		t := r.Task(int(at))
		thread := *tid + 1 + streams[i]
		c.event(`{"ph":"X","cat":"task","name":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":{"task":%d,"kernel":%s,"variant":%s,"last":%d}}`, quote(run.Name(t)), pid, thread,
			micros(t.Start), micros(t.End-t.Start), t.ID, quote(t.Kernel), quote(t.Variant), t.Last)
		if len(flows.from(at)) > 0 {
			c.event(`{"ph":"s","cat":"ready","name":"ready","id":%d,"pid":%d,"tid":%d,"ts":%s}`, t.ID, pid, thread, micros(t.Start))
		}
		if flows.ends[at] {
			c.event(`{"ph":"f","bp":"e","cat":"ready","name":"ready","id":%d,"pid":%d,"tid":%d,"ts":%s}`, flows.source(r, at), pid, thread, micros(t.Start))
		}
	}
	*tid += max(1, n)
}

// outcome says how a task ended.
func outcome(t *probe.Task) string {
	switch {
	case t.Skipped:
		return "skipped"
	case t.Err != "":
		return "failed"
	}
	return "ok"
}

func streamName(name string, i, n int) string {
	if n <= 1 {
		return name
	}
	return fmt.Sprintf("%s stream %d", name, i)
}

func micros(d time.Duration) string { return fmt.Sprintf("%d.%03d", d/1000, d%1000) }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("gompss: bug: trace: a string that JSON cannot hold: " + err.Error())
	}
	return string(b)
}
