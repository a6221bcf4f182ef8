package main

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	spanv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver is an OTLP collector in this process.
type receiver struct {
	t  *testing.T
	mu sync.Mutex
	// spans are all that came; numbers the last value of each metric, summed over its attributes.
	spans   []*spanv1.Span
	numbers map[string]float64
	units   map[string]string
	active  map[string]bool // the attributes of gompss.task.active
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var in io.Reader = q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		in = z
	}
	body, err := io.ReadAll(in)
	if err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch q.URL.Path {
	case "/v1/traces":
		var m tracev1.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			r.t.Error(err)
		}
		for _, rs := range m.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				r.spans = append(r.spans, ss.Spans...)
			}
		}
	case "/v1/metrics":
		var m metricsv1.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			r.t.Error(err)
		}
		r.takeMetrics(&m)
	default:
		http.NotFound(w, q)
	}
}

func (r *receiver) takeMetrics(m *metricsv1.ExportMetricsServiceRequest) {
	for _, rm := range m.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, x := range sm.Metrics {
				sum := 0.0
				if x.Name == "gompss.task.active" {
					for _, p := range x.GetSum().GetDataPoints() {
						key := "gompss.task.state=" + text(p.Attributes, "gompss.task.state")
						if on := text(p.Attributes, "hw.id"); on != "" {
							key += " hw.id=" + on
						}
						r.active[key] = true
					}
				}
				for _, p := range x.GetSum().GetDataPoints() {
					sum += float64(p.GetAsInt()) + p.GetAsDouble()
				}
				for _, p := range x.GetHistogram().GetDataPoints() {
					sum += float64(p.Count)
				}
				r.numbers[x.Name], r.units[x.Name] = sum, x.Unit
			}
		}
	}
}

func text(list []*commonv1.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			if s := kv.Value.GetStringValue(); s != "" {
				return s
			}
			return kv.Value.String()
		}
	}
	return ""
}

func TestWhatArrivesAtACollector(t *testing.T) {
	r := &receiver{t: t, numbers: map[string]float64{}, units: map[string]string{}, active: map[string]bool{}}
	server := httptest.NewServer(r)
	defer server.Close()
	const n = 100
	require.NoError(t, run(context.Background(), strings.TrimPrefix(server.URL, "http://"), 1, n))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.EqualValues(t, 2*n, r.numbers["gompss.tasks"])
	require.EqualValues(t, 2*n, r.numbers["gompss.task.duration"])
	require.Equal(t, "s", r.units["gompss.task.duration"])
	require.Contains(t, r.numbers, "gompss.task.active")
	require.Equal(t, map[string]bool{"gompss.task.state=blocked": true, "gompss.task.state=ready": true, "gompss.task.state=running hw.id=smp": true}, r.active, "as documented")

	byID := map[string]*spanv1.Span{}
	var whole, parent *spanv1.Span
	tasks := 0
	for _, s := range r.spans {
		byID[string(s.SpanId)] = s
		switch s.Name {
		case "gompss.run":
			whole = s
		case "main":
			parent = s
		}
	}
	for _, name := range []string{"gompss.open", "gompss.device.open", "gompss.wait", "gompss.close"} {
		k := slices.IndexFunc(r.spans, func(s *spanv1.Span) bool { return s.Name == name })
		require.GreaterOrEqual(t, k, 0, name)
		require.Equal(t, whole.SpanId, r.spans[k].ParentSpanId, name)
	}
	require.NotNil(t, whole)
	require.NotNil(t, parent)
	require.Equal(t, parent.SpanId, whole.ParentSpanId, "the run is a part of the submitting code")
	links := 0
	for _, s := range r.spans {
		if s.Name != "add" {
			continue
		}
		tasks++
		require.Equal(t, whole.SpanId, s.ParentSpanId)
		require.LessOrEqual(t, s.StartTimeUnixNano, s.EndTimeUnixNano)
		require.GreaterOrEqual(t, s.StartTimeUnixNano, whole.StartTimeUnixNano)
		require.LessOrEqual(t, s.EndTimeUnixNano, whole.EndTimeUnixNano)
		require.NotEmpty(t, text(s.Attributes, "gompss.task.id"))
		for _, l := range s.Links {
			links++
			before := byID[string(l.SpanId)]
			require.NotNil(t, before)
			require.LessOrEqual(t, before.EndTimeUnixNano, s.StartTimeUnixNano, "a predecessor ends before")
		}
	}
	require.Equal(t, 2*n, tasks, "no span is lost")
	require.NotZero(t, links)
}

// A collector that takes nothing loses no task and holds nobody up for long.
func TestADeadCollector(t *testing.T) {
	began := time.Now()
	err := run(context.Background(), "127.0.0.1:1", 1, 100)
	require.Error(t, err, "the exporters say that nobody is there")
	require.Less(t, time.Since(began), 2*time.Minute)
}

// A collector that takes connections and never answers loses no task and holds nobody up for long.
func TestAHungCollector(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-hang:
		case <-q.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hang)
	began := time.Now()
	const n = 2000
	err := run(context.Background(), strings.TrimPrefix(server.URL, "http://"), 1, n)
	require.Error(t, err, "the exporters say that nobody answers")
	require.Less(t, time.Since(began), 3*time.Minute)
}
