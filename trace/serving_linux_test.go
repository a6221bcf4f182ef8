package trace

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// clockOf reads a clock of processor time.
func clockOf(t require.TestingT, id int32) time.Duration {
	var at unix.Timespec
	require.NoError(t, unix.ClockGettime(id, &at))
	return time.Duration(at.Nano())
}

// metered counts the processor time of every request by the clock of the thread that it keeps: what
// others do on the machine is not in it.
func metered(t *testing.T, next http.Handler, spent *[2]atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := clockOf(t, unix.CLOCK_THREAD_CPUTIME_ID)
		next.ServeHTTP(w, r)
		to := &spent[0]
		if r.URL.Path == "/api/columns" {
			to = &spent[1]
		}
		to.Add(int64(clockOf(t, unix.CLOCK_THREAD_CPUTIME_ID) - before))
	})
}

// A collection is what the garbage collector has done: the processor time that tasks could have
// had, and the bytes that were allocated.
type collection struct{ spent, bytes float64 }

func collected() collection {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, {Name: "/gc/heap/allocs:bytes"}}
	runtime.GC() // the classes are of the last cycle that has finished
	metrics.Read(s)
	return collection{s[0].Value.Float64() - s[1].Value.Float64(), float64(s[2].Value.Uint64())}
}

// A serving is what a program took, and what of that was for its page.
type serving struct {
	all, states, columns, garbage time.Duration
	tasks, snapshots              int
}

// servedRun runs tasks of some microseconds for a while, with a page that ten clients look at.
func servedRun(t *testing.T, length time.Duration) (v serving) {
	content := &content{title: "live run", run: run.New(liveTasks), live: true}
	s := &Server{content: content, stopping: make(chan struct{})}
	var spent [2]atomic.Int64
	server := httptest.NewServer(metered(t, s.routes(), &spent))
	rec := record.New(record.Options{Sinks: []record.Sink{sinkOf{content}}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run", "TestWatch$")
	cmd.Env = append(os.Environ(), "GOMPSS_WATCH="+server.URL+"/")
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // our own child
		_ = cmd.Wait()
	}()
	before, began := collected(), clockOf(t, unix.CLOCK_PROCESS_CPUTIME_ID)
	x := make([]int64, 64)
	for end := time.Now().Add(length); v.tasks%1024 != 0 || time.Now().Before(end); v.tasks++ {
		c := v.tasks % len(x)
		_, err := rt.Go(func() error {
			for k := range int64(20000) {
				x[c] += k
			}
			return nil
		}, task.InOut(x[c:c+1]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	v.all = clockOf(t, unix.CLOCK_PROCESS_CPUTIME_ID) - began
	after, version := collected(), content.version()
	require.NoError(t, rt.Close())
	content.end()
	close(s.stopping)
	require.NoError(t, rec.Close())
	server.CloseClientConnections()
	server.Close()
	v.states, v.columns, v.snapshots = time.Duration(spent[0].Load()), time.Duration(spent[1].Load()), int(version)
	each := garbageOf(t, content)
	v.garbage = time.Duration((after.spent - before.spent) * float64(version) * each / (after.bytes - before.bytes) * 1e9)
	return v
}

// A sinkOf is a content as a sink whose end is set by others.
type sinkOf struct{ *content }

func (sinkOf) Close() error { return nil }

func (c *content) version() int64 {
	c.making.Lock()
	defer c.making.Unlock()
	return c.made.version
}

// garbageOf returns how many bytes a snapshot with its tasks allocates.
func garbageOf(t *testing.T, c *content) float64 {
	var before, after runtime.MemStats
	c.mu.Lock()
	c.live, c.fresh, c.next = true, true, time.Time{}
	c.mu.Unlock()
	runtime.ReadMemStats(&before)
	_, _, err := c.tasks()
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// Ten clients, of which five look at the timeline and five read nothing, take at most 2 % of the
// processor time of the program: what their requests take by the clocks of their threads, which
// holds all snapshots, and the part of the garbage collector's that their part of the garbage is.
// What others do on the machine is in none of these, but leaves the program less. GOMPSS_SOAK is
// for how many seconds.
func TestWhatServingTenClientsTakes(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("GOMPSS_SOAK"))
	if err != nil || seconds <= 0 {
		t.Skip("GOMPSS_SOAK asks for this measurement")
	}
	length := time.Duration(min(max(seconds, 10), 100)) * time.Second
	v := servedRun(t, length)
	part := func(d time.Duration) string {
		return fmt.Sprintf("%.2f %% (%v)", 100*float64(d)/float64(v.all), d.Round(time.Millisecond))
	}
	t.Logf("in %v: %d tasks, %v of processor time, of that %d snapshots with the states sent %s, the tasks sent %s, garbage %s; together %s",
		length, v.tasks, v.all.Round(time.Millisecond), v.snapshots, part(v.states), part(v.columns), part(v.garbage), part(v.states+v.columns+v.garbage))
	require.LessOrEqual(t, float64(v.states+v.columns+v.garbage), 0.02*float64(v.all))
}
