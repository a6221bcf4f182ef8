package trace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
)

// A heard is what a client got of the stream of events.
type heard struct {
	events, bytes, largest int
	last                   int64
	live                   bool  // the last state said so
	tasks                  int64 // and how many
	ended                  bool
}

// listen reads the events of a page until they end.
func listen(ctx context.Context, address string, connected func()) (h heard, err error) {
	q, err := http.NewRequestWithContext(ctx, "GET", address+"api/events", nil)
	if err != nil {
		return h, err
	}
	r, err := http.DefaultClient.Do(q)
	connected()
	if err != nil {
		return h, err
	}
	defer r.Body.Close()
	lines := bufio.NewReaderSize(r.Body, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return h, err
		}
		h.bytes += len(line)
		switch name, rest, _ := strings.Cut(strings.TrimSpace(line), ": "); {
		case name == "id":
			h.last, err = strconv.ParseInt(rest, 10, 64)
			h.events++
		case name == "event" && rest == "end":
			h.ended = true
			return h, nil
		case name == "data":
			h.largest = max(h.largest, len(rest))
			var state struct {
				Live    bool
				Summary *struct{ Tasks int64 }
			}
			if err = json.Unmarshal([]byte(rest), &state); err == nil && state.Summary != nil {
				h.live, h.tasks = state.Live, state.Summary.Tasks
			}
		}
		if err != nil {
			return h, err
		}
	}
}

// visit runs a number of tasks with ten clients, of which five do not read what they get, and
// returns what the others heard.
func visit(t *testing.T, tasks int) (all []heard, took time.Duration) {
	s, err := trace.Serve("127.0.0.1:0")
	require.NoError(t, err)
	rec := record.New(record.Options{Sinks: []record.Sink{s}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	all = make([]heard, 5)
	errs := make([]error, len(all))
	var clients, connected sync.WaitGroup
	connected.Add(len(all))
	for i := range all {
		clients.Go(func() { all[i], errs[i] = listen(ctx, s.URL(), connected.Done) })
		r, err := http.Get(s.URL() + "api/events")
		require.NoError(t, err)
		defer r.Body.Close() // never read
	}
	connected.Wait()
	x := make([]int64, 64)
	for i := range tasks {
		c := i % len(x)
		_, err := rt.Go(func() error { x[c]++; return nil }, task.InOut(x[c:c+1]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	done := int64(0)
	for _, n := range x {
		done += n
	}
	require.EqualValues(t, tasks, done)
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	took = time.Since(began)
	clients.Wait()
	for i, err := range errs {
		require.NoError(t, err)
		if rec.Dropped() == 0 {
			require.EqualValues(t, tasks, all[i].tasks)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return all, took
}

// What a client is sent goes by the time and not by the tasks, no more often than people can read,
// and five clients that read nothing change none of it: all tasks run, and those that read get the
// last state and the end.
func TestTenClientsGetLittle(t *testing.T) {
	for _, tasks := range []int{1000, 100_000} {
		all, took := visit(t, tasks)
		t.Logf("%d tasks in %v: %+v", tasks, took, all)
		for _, h := range all {
			require.True(t, h.ended)
			require.False(t, h.live, "the last state is that of the end")
			require.Positive(t, h.events)
			require.LessOrEqual(t, h.events, 3+int(took/(500*time.Millisecond)))
			require.LessOrEqual(t, h.last, int64(3+took/(500*time.Millisecond)), "as many snapshots as if there were one client")
			require.Less(t, h.largest, 100<<10)
			require.LessOrEqual(t, h.bytes, (h.events+1)*(h.largest+200))
		}
	}
}
