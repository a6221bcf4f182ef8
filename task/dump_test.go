package task_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// rows returns state and reason of the tasks in flight, by label.
func rows(s *probe.Status) map[string]string {
	out := map[string]string{}
	for _, k := range s.Tasks {
		out[k.Label] = k.State + ": " + k.Waits
	}
	return out
}

// eventually waits until the run stands as the test says.
func eventually(t *testing.T, rt *task.Runtime, want map[string]string) *probe.Status {
	t.Helper()
	var s *probe.Status
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s = rt.Status(100)
		got := rows(s)
		same := len(got) == len(want)
		for label, text := range want {
			same = same && regexp.MustCompile("^"+text+"$").MatchString(got[label])
		}
		if same || time.Now().After(end) {
			require.True(t, same, "%v: want %v", got, want)
			return s
		}
	}
}

// Dump shows a task whose event is not fulfilled, one that runs, those that wait for them, one without a worker, and children.
func TestDump_SaysWhatEachTaskWaitsFor(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y, z := make([]int, 10), make([]int, 10), make([]int, 10)
	var event *task.Event
	begun, gate := make(chan struct{}), make(chan struct{})
	opened := sync.OnceFunc(func() { close(gate) })
	defer opened()
	submit := func(err error) { require.NoError(t, err) }
	_, err := rt.GoScope(func(s *task.Scope) (err error) { event, err = s.Event(); close(begun); return err }, task.InOut(x), task.Label("loads"))
	submit(err)
	<-begun
	defer func() { _ = event.Fulfill(nil) }()
	_, err = rt.Go(nothing, task.In(x), task.InOut(y), task.Label("reads"))
	submit(err)
	_, err = rt.Go(nothing, task.In(x), task.In(y), task.Label("last"))
	submit(err)
	_, err = rt.GoScope(func(s *task.Scope) error {
		if _, err := s.Go(func() error { <-gate; return nil }, task.In(z), task.Label("child")); err != nil {
			return err
		}
		return s.Wait(context.Background())
	}, task.InOut(z), task.Label("parent"))
	submit(err)
	_, err = rt.Go(func() error { <-gate; return nil }, task.Label("runs"))
	submit(err)
	eventually(t, rt, map[string]string{"loads": "waiting: an event that is not fulfilled", "reads": "blocked: task 1", "last": "blocked: task 2 and 1 more",
		"parent": "(waiting: 1 of its children|running: smp)", "child": "running: smp", "runs": "running: smp"}) // a parent that waits may run its child
	_, err = rt.Go(nothing, task.Label("queued"))
	submit(err)
	s := rt.Status(100)
	require.Equal(t, "ready: a CPU worker", rows(s)["queued"])
	require.EqualValues(t, 7, s.Submitted)
	require.EqualValues(t, 0, s.Done)
	require.Equal(t, "dump_test.go", strings.Split(s.Tasks[0].At, ":")[0])
	var text bytes.Buffer
	require.NoError(t, rt.Dump(&text))
	require.Regexp(t, `(?m)^2 +reads +\S+\.go:\d+ +blocked +task 1 `, text.String())

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err = rt.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Regexp(t, `^task: wait: context deadline exceeded: task 1 loads \(dump_test.go:\d+\) waits for an event that is not fulfilled; task 2 reads \(\S+\) waits for task 1; .*; 4 more are in flight$`, err.Error())
	s = rt.Status(1)
	s.Idle = 12 * time.Second
	s.Stalled()
	require.Regexp(t, `^no progress for 12s: task 1 loads \(dump_test.go:\d+\) waits for an event that is not fulfilled; 2 tasks are blocked$`, s.Verdict)
	require.NoError(t, event.Fulfill(nil))
	opened()
	require.NoError(t, rt.Wait(context.Background()))
	require.Empty(t, rt.Status(10).Tasks)
}

// The error of a wait for one task begins with that task.
func TestDump_AWaitNamesItsTask(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	gate := make(chan struct{})
	x := make([]int, 1)
	_, err := rt.Go(func() error { <-gate; return nil }, task.InOut(x), task.Label("first"))
	require.NoError(t, err)
	second, err := rt.Go(nothing, task.InOut(x), task.Label("second"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err = second.Wait(ctx)
	require.Regexp(t, `^task: wait for task 2: context deadline exceeded: task 2 second \(\S+\) waits for task 1; task 1 first \(\S+\) runs on smp$`, err.Error())
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
}

// Tokens and memory are named, with the numbers.
func TestDump_TokensAndMemory(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:4"})
	gate := make(chan struct{})
	_, err := rt.Go(func() error { <-gate; return nil }, task.Resources("smp", 70), task.Label("holds"))
	require.NoError(t, err)
	eventually(t, rt, map[string]string{"holds": "running: smp"})
	_, err = rt.Go(nothing, task.Resources("smp", 40), task.Label("wants"))
	require.NoError(t, err)
	eventually(t, rt, map[string]string{"holds": "running: smp", "wants": "ready: 40 tokens of smp, of which 30 are free"})
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
}

// What is read of tasks that begin and end meanwhile is never mixed up, and never touches what has gone.
func TestDump_WhileTasksGoOn(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2", Window: 64})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, k := range rt.Status(100).Tasks {
				if k.Label != "short" && k.Label != "a longer label" && k.Label != "go task" {
					t.Errorf("a label that no task has: %q", k.Label)
					return
				}
			}
		}
	}()
	x := make([]int, 8)
	for i := range 20000 {
		var err error
		switch i % 3 {
		case 0:
			_, err = rt.Go(nothing, task.InOut(x[i%8:i%8+1]), task.Label("short"))
		case 1:
			_, err = rt.GoScope(func(s *task.Scope) error { _, err := s.Go(nothing); return err }, task.Label("a longer label"))
		default:
			_, err = rt.Go(nothing, task.In(x))
		}
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	close(stop)
	<-done
}

// SIGQUIT prints the table before Go's goroutines, and ends the process as it always does.
func TestDump_SIGQUIT(t *testing.T) {
	if os.Getenv("GOMPSS_TEST_STOPS") == "quit" {
		rt, err := task.New(task.Options{Devices: "smp:1"})
		require.NoError(t, err)
		_, err = rt.Go(func() error { println("ready"); select {} }, task.Label("stuck"))
		require.NoError(t, err)
		_ = rt.Wait(context.Background())
		return
	}
	quit, ok := quitSignal()
	if !ok {
		t.Skip("no SIGQUIT on this system")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestDump_SIGQUIT$")
	cmd.Env = append(os.Environ(), "GOMPSS_TEST_STOPS=quit", "GOTRACEBACK=single")
	out := &readyBuffer{ready: make(chan struct{})}
	cmd.Stderr = out
	require.NoError(t, cmd.Start())
	<-out.ready
	require.NoError(t, cmd.Process.Signal(quit))
	require.Error(t, cmd.Wait())
	require.Regexp(t, `(?s)gompss: runtime 1\ntasks: 1 submitted, .*1 running.*stuck +dump_test.go:\d+ +running +smp.*SIGQUIT: quit`, out.text.String())
}

// A readyBuffer says when something was written.
type readyBuffer struct {
	text  bytes.Buffer
	ready chan struct{}
	said  bool
}

func (b *readyBuffer) Write(p []byte) (int, error) {
	n, err := b.text.Write(p)
	if !b.said && strings.Contains(b.text.String(), "ready") {
		b.said = true
		close(b.ready)
	}
	return n, err
}
