package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/export"
	"github.com/gompss/gompss/trace/otel"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// A meter keeps the sums of counters, by name and attributes.
type meter struct {
	noop.Meter
	sums map[string]map[attribute.Distinct]float64
	sets map[attribute.Distinct]attribute.Set
}

type provider struct {
	noop.MeterProvider
	m *meter
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.m }

func (m *meter) add(name string, v float64, o []metric.AddOption) {
	c := metric.NewAddConfig(o)
	m.see(name, v, c.Attributes())
}

func (m *meter) see(name string, v float64, set attribute.Set) {
	if m.sums[name] == nil {
		m.sums[name] = map[attribute.Distinct]float64{}
	}
	m.sums[name][set.Equivalent()] += v
	m.sets[set.Equivalent()] = set
}

type ints struct {
	noop.Int64Counter
	m    *meter
	name string
}

func (c ints) Add(_ context.Context, v int64, o ...metric.AddOption) { c.m.add(c.name, float64(v), o) }

type floats struct {
	noop.Float64Counter
	m    *meter
	name string
}

func (c floats) Add(_ context.Context, v float64, o ...metric.AddOption) { c.m.add(c.name, v, o) }

func (m *meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return ints{m: m, name: name}, nil
}

func (m *meter) Float64Counter(name string, _ ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	return floats{m: m, name: name}, nil
}

type upDown struct {
	noop.Int64UpDownCounter
	m    *meter
	name string
}

func (c upDown) Add(_ context.Context, v int64, o ...metric.AddOption) {
	c.m.add(c.name, float64(v), o)
}

func (m *meter) Int64UpDownCounter(name string, _ ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return upDown{m: m, name: name}, nil
}

type histogram struct {
	noop.Float64Histogram
	m    *meter
	name string
}

func (h histogram) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	c := metric.NewRecordConfig(o)
	h.m.see(h.name, v, c.Attributes())
}

func (m *meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{m: m, name: name}, nil
}

// each calls f for every set of attributes of a metric.
func (m *meter) each(name string, f func(of func(key attribute.Key) string, sum float64)) {
	for d, sum := range m.sums[name] {
		set := m.sets[d]
		f(func(k attribute.Key) string { v, _ := set.Value(k); return v.AsString() }, sum)
	}
}

func metricsOf(t *testing.T, r *run.Run) *meter {
	m := &meter{sums: map[string]map[attribute.Distinct]float64{}, sets: map[attribute.Distinct]attribute.Set{}}
	s, err := otel.New(otel.Options{MeterProvider: provider{m: m}})
	require.NoError(t, err)
	require.NoError(t, s.Open(&r.Machine))
	require.NoError(t, s.Take(r.Records()))
	require.NoError(t, s.Close())
	return m
}

// viewOfMetrics feeds the run to OpenTelemetry's metrics. Tasks are counted by kernel or label
// there, and by how they ended; those that failed in their body ran, too.
func viewOfMetrics(t *testing.T, r *run.Run) view {
	m := metricsOf(t, r)
	v := newView()
	seconds := func(x float64) time.Duration { return time.Duration(x*1e9 + 0.5) }
	m.each("gompss.tasks", func(of func(attribute.Key) string, n float64) {
		if of("hw.id") != "" {
			v.tasks[of("gompss.task.name")] += int(n)
		}
		for range int(n) {
			v.end(of("gompss.task.outcome"))
		}
	})
	m.each("gompss.device.busy_time", func(of func(attribute.Key) string, n float64) { v.busy[of("hw.id")] += seconds(n) })
	m.each("gompss.transfer.io", func(of func(attribute.Key) string, n float64) {
		v.bytes[of("gompss.transfer.source")+" -> "+of("gompss.transfer.destination")] += int64(n)
	})
	m.each("gompss.token.time", func(of func(attribute.Key) string, n float64) { v.tokens[of("gompss.device.kind")] += seconds(n) })
	m.each("gompss.trace.record.dropped", func(_ func(attribute.Key) string, n float64) { v.dropped = int(n) })
	return v
}

// viewOfReport reads the state out of the page that is one file.
func viewOfReport(t *testing.T, r *run.Run) view {
	var out bytes.Buffer
	require.NoError(t, trace.Report(&out, r))
	_, rest, ok := strings.Cut(out.String(), `id="state">`)
	require.True(t, ok)
	text, _, _ := strings.Cut(rest, "</script>")
	return viewOfState(t, []byte(text))
}

func viewOfState(t *testing.T, text []byte) view {
	var state struct{ Summary *run.Summary }
	require.NoError(t, json.Unmarshal(text, &state))
	return viewOfSummary(state.Summary)
}

// viewOfPage asks the served page.
func viewOfPage(t *testing.T, r *run.Run) view {
	s, err := trace.ServeRun("127.0.0.1:0", "agree", r)
	require.NoError(t, err)
	defer s.Close()
	answer, err := http.Get(s.URL() + "api/state")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return viewOfState(t, text)
}

var dotNode = regexp.MustCompile(`(?m)^\tt\d+ \[label="(.*?)\\n\d+(?: on (\S+), (\S+?))?(?:\\n(failed|skipped))?"`)

// viewOfDOT reads the nodes of the graph, which has neither copies nor tokens: these are taken from
// want.
func viewOfDOT(t *testing.T, r *run.Run, want view) view {
	var out bytes.Buffer
	require.NoError(t, export.DOT(&out, r, export.DotOptions{}))
	v := newView()
	v.bytes, v.tokens = want.bytes, want.tokens
	for _, m := range dotNode.FindAllStringSubmatch(out.String(), -1) {
		if m[2] != "" {
			d, err := time.ParseDuration(m[3])
			require.NoError(t, err)
			v.tasks[m[1]]++
			v.busy[m[2]] += d
		}
		v.end(m[4])
	}
	_, rest, ok := strings.Cut(out.String(), "dropped ")
	require.True(t, ok)
	n, err := strconv.Atoi(strings.FieldsFunc(rest, func(c rune) bool { return c < '0' || c > '9' })[0])
	require.NoError(t, err)
	v.dropped = n
	return v
}

// Perfetto's own schema, as its Python package has it compiled, finds the same as our reader. It is
// skipped where that package is not installed: pip install perfetto.
func TestPerfettoByItsOwnSchema(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2").Run() != nil {
		t.Skip("no python3 with the package perfetto: its schema is not asked")
	}
	r := recorded(t)
	name := filepath.Join(t.TempDir(), "run.pftrace")
	var out bytes.Buffer
	require.NoError(t, export.Perfetto(&out, r))
	require.NoError(t, os.WriteFile(name, out.Bytes(), 0o644))
	cmd := exec.Command(python, "testdata/read_perfetto.py", name)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var found struct {
		Tasks           map[string]int
		Busy            map[string]time.Duration
		Bytes           map[string]int64
		Ends            map[string]int
		Flows, Counters int
	}
	require.NoError(t, json.Unmarshal(text, &found))
	want := viewOfRun(r)
	require.Equal(t, want.tasks, found.Tasks)
	require.Equal(t, want.busy, found.Busy)
	require.Equal(t, want.bytes, found.Bytes)
	require.Equal(t, map[string]int{"failed": want.failed, "skipped": want.skipped}, found.Ends)
	require.NotZero(t, found.Flows)
	require.GreaterOrEqual(t, found.Counters, 5)
}

// Every metric of a run in which everything happens has the attributes that
// docs/reference/metrics.md gives it, and no other.
func TestMetricsHaveTheDocumentedAttributes(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	require.NoError(t, err)
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(gompss\\.[a-z_.]+)` \\| (observed)?[^|]+ \\| `[^`]+` \\|([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		if row[2] != "" {
			continue // examples/otlp
		}
		documented[row[1]] = []string{}
		for _, key := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(row[3], -1) {
			documented[row[1]] = append(documented[row[1]], key[1])
		}
		slices.Sort(documented[row[1]])
	}
	r := recorded(t)
	r.Points = append(r.Points, // whatever the run did
		probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 4, Time: 1}, probe.Point{Kind: probe.Alloc, Device: "sim:0", Bytes: 4},
		probe.Point{Kind: probe.Evict, Device: "sim:0", Bytes: 4}, probe.Point{Kind: probe.Compile, Device: "sim:0", Kernel: "K"})
	m := metricsOf(t, r)
	told := map[string][]string{}
	for name, sums := range m.sums {
		keys := []string{}
		for d := range sums {
			set := m.sets[d]
			for _, kv := range set.ToSlice() {
				if !slices.Contains(keys, string(kv.Key)) {
					keys = append(keys, string(kv.Key))
				}
			}
		}
		slices.Sort(keys)
		told[name] = keys
	}
	require.Equal(t, documented, told)
}
