package trace_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// oddRuns are what a page may be asked to show besides a run as it should be.
func oddRuns(t *testing.T) map[string]*run.Run {
	empty := run.New(0)
	unopened := run.New(0)
	unopened.Machine = small().Machine
	one := run.New(0)
	one.Machine = small().Machine
	one.Append(probe.Task{ID: 1, Submit: 5, Ready: 6, Choice: 7, Start: 8, End: 9, Release: 10, Kernel: "K"})
	nowhere := run.New(0)
	nowhere.Machine = small().Machine
	for i := range 3 {
		nowhere.Append(probe.Task{ID: deps.TaskID(i + 1), Submit: 5, Release: 10, Kernel: "K", Place: -1, Err: "boom", Skipped: i > 0})
	}
	at := run.New(0) // a task that takes no time
	at.Machine = small().Machine
	at.Append(probe.Task{ID: 7, Submit: 8, Ready: 8, Choice: 8, Start: 8, End: 8, Release: 8, Kernel: "K"})
	for _, r := range []*run.Run{empty, unopened, one, nowhere, at} {
		r.Finish()
	}

	var file bytes.Buffer
	w := record.NewWriter(&file)
	from := small()
	require.NoError(t, w.Open(&from.Machine))
	for i := range from.Len() {
		require.NoError(t, w.Take(&record.Batch{Tasks: []probe.Task{*from.Task(i)}}))
	}
	require.NoError(t, w.Close())
	cut, err := run.Read(bytes.NewReader(file.Bytes()[:file.Len()/2]))
	require.NoError(t, err)
	require.False(t, cut.Damage.Whole())
	changed := bytes.Clone(file.Bytes())
	for i := len(changed) / 3; i < len(changed)/3+300; i++ {
		changed[i] ^= 0x5a
	}
	damaged, err := run.Read(bytes.NewReader(changed))
	require.NoError(t, err)
	require.False(t, damaged.Damage.Whole())
	return map[string]*run.Run{"empty": empty, "no task": unopened, "one task": one, "no task ran": nowhere, "no time": at, "cut off": cut, "damaged": damaged}
}

// Every page of runs that are not as they should be shows what there is, by keys and clicks too,
// and has no error.
func TestOddRunsInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	b := openBrowser(t, true)
	for name, r := range oddRuns(t) {
		s, err := trace.ServeRun("127.0.0.1:0", name, r)
		require.NoError(t, err)
		b.goTo(s.URL())
		b.until(`document.querySelector('.verdict b')?.innerText`)
		require.Contains(t, b.eval(`document.querySelector('header').innerText`), name)
		if !r.Damage.Whole() {
			require.Contains(t, b.eval(`document.querySelector('header .warn').innerText`), r.Damage.String())
		}
		for _, page := range []string{"timeline", "graph", "transfers", "memory", "tokens", "kernels", "failures", "overview"} {
			b.eval(fmt.Sprintf(`location.hash = %q`, page))
			b.until(fmt.Sprintf(`document.querySelector('main').id == %q && document.querySelector('main').innerText.length > 10`, page))
			switch page {
			case "timeline":
				b.until(`document.querySelector('canvas')?.dataset.drawn`)
				b.eval(`document.querySelector('canvas').focus()`)
				for _, key := range []string{"n", "p", "c", "x", "l", "+", "-", "0"} {
					b.key(key)
				}
				require.NotContains(t, b.eval(`document.querySelector('main').innerText`), "NaN", name)
			case "graph":
				b.until(`!document.body.innerText.includes('loading')`)
				b.eval(`[...document.querySelectorAll('button')].at(-1).click()`)
			}
			require.False(t, strings.Contains(b.eval(`document.body.innerText`), "NaN") || strings.Contains(b.eval(`document.body.innerText`), "undefined"), "%s, page %s: %s", name, page, b.eval(`document.body.innerText`))
		}
		require.Empty(t, b.noted(), name)
		time.Sleep(300 * time.Millisecond) // so that no request is under way when the page ends
		b.goTo("about:blank")
		require.NoError(t, s.Close())
	}
}

// Two runtimes of a program that were given the same address, by the environment say, have a page
// each.
func TestTwoPagesOfOneProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	t.Setenv("GOMPSS_DASH", address)
	_, err = task.New(task.Options{Devices: "smp:1"})
	require.ErrorContains(t, err, "address already in use", "another program is there")
	require.NoError(t, l.Close())
	var all []*task.Runtime
	for range 2 {
		rt, err := task.New(task.Options{Devices: "smp:1"})
		require.NoError(t, err)
		all = append(all, rt)
	}
	code, _, _ := get(t, "http://"+address+"/")
	require.Equal(t, 200, code)
	http.DefaultClient.CloseIdleConnections()
	for _, rt := range all {
		require.NoError(t, rt.Close())
	}
}
