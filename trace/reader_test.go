package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// size makes the window so large, in pixels of the page.
func (b *browser) size(width, height int) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	b.scheme("")
}

// labelled is small with labels, bytes and a peak, of a program with a name.
func labelled() *run.Run {
	from := small()
	r := run.New(0)
	r.Machine, r.Points, r.Dropped = from.Machine, from.Points, from.Dropped
	m := &r.Machine
	m.Program, m.Host, m.PID, m.Opened = "heat", "node7", 4711, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	m.Places[1].Bandwidth = 1e9
	for i := range from.Len() {
		t := from.Task(i)
		if i%50 == 7 {
			t.Label = fmt.Sprintf("row %d", i)
		}
		if t.Place == 1 {
			t.Bytes = 450_000
		}
		r.Append(*t)
		r.AppendDetails(from.DetailsOf(t.ID)...)
	}
	r.Points = append(r.Points, probe.Point{Kind: probe.Explain, Kernel: "K1", Label: "kernel K1: 1 launch\n  k.go:3:2: loop i -> threads of all teams: it says so\n  k.go:4:3: loop j -> tiles of 256 iterations in team memory: a[j] is read\n" + probe.CPUCode + "AVX2\n"})
	r.Finish()
	return r
}

func serveLabelled(t *testing.T) *trace.Server {
	s, err := trace.ServeRun("127.0.0.1:0", "small", labelled())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// set enters a value where a selector leads to, as a reader would.
func (b *browser) set(selector, value string) {
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event(e.tagName == 'SELECT' ? 'change' : 'input', { bubbles: true })) })()`, selector, value))
}

// A search finds tasks by label, kernel and number, and the lists narrow it to a kernel and a
// device; Enter goes from one to the next.
func TestPage_SearchAndFilter(t *testing.T) {
	b := openBrowser(t, false)
	s := serveLabelled(t)
	b.goTo(s.URL() + "#timeline")
	b.until(`document.querySelector('canvas')?.dataset.drawn`)
	shows := func(n int) {
		b.until(fmt.Sprintf(`document.querySelector('.found')?.innerText == '%d of 200 tasks'`, n))
	}
	b.set(".filter input", "row")
	shows(4)
	b.eval(`document.querySelector('.filter input').focus()`)
	b.key("Enter")
	b.until(`document.querySelector('.side b')?.innerText == 'row 7 8'`)
	b.key("Enter")
	b.until(`document.querySelector('.side b')?.innerText == 'row 57 58'`)
	b.set(".filter input", "123")
	shows(1)
	b.set(".filter input", "k")
	shows(200)
	b.set(".filter label:nth-of-type(2) select", "1")
	shows(67)
	b.set(".filter label:nth-of-type(3) select", "1")
	shows(14)
	require.Contains(t, b.eval(`document.querySelector('.sums').innerText`), "14 tasks ran for")
	b.shot("search")
	b.eval(`location.hash = 'kernels'`)
	b.until(`document.querySelector('main').id == 'kernels' && document.querySelector('tbody').rows.length == 1 && document.querySelector('tbody').innerText.startsWith('K1')`)
	b.eval(`[...document.querySelectorAll('.filter button')].find((x) => x.innerText == 'clear').click()`)
	b.until(`document.querySelector('tbody').rows.length > 3`)
	b.check(s.URL())
}

// A range of the timeline, by shift and drag or by a key, gives the sums of what ran in it.
func TestPage_RangeGivesSums(t *testing.T) {
	b := openBrowser(t, false)
	s := serveLabelled(t)
	b.goTo(s.URL() + "#timeline")
	b.until(`document.querySelector('canvas')?.dataset.drawn`)
	b.eval(`document.querySelector('canvas').focus()`)
	b.key("r")
	b.until(`document.querySelector('.sums p')?.innerText.startsWith('200 tasks ran for 180 ms')`)
	require.Contains(t, b.eval(`document.querySelector('.sums').innerText`), "40 copies of 160.0 KiB")
	b.key("Escape")
	b.until(`!document.querySelector('.sums')`)
	b.key("w") // half of it, around the middle
	b.key("r")
	b.until(`/^10[0-2] tasks ran for 9\d\.\d ms/.test(document.querySelector('.sums p')?.innerText)`)
	b.key("0")
	var at [3]float64
	_, err := fmt.Sscan(b.eval(`(() => { const r = document.querySelector('canvas').getBoundingClientRect(); return [r.x + 130, r.y + 40, r.width - 130].join(' ') })()`), &at[0], &at[1], &at[2])
	require.NoError(t, err)
	mouse := func(kind string, part float64) {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0] + part*at[2], "y": at[1], "button": "left", "buttons": 1, "modifiers": 8, "clickCount": 1})
	}
	mouse("mousePressed", 0.5)
	mouse("mouseMoved", 0.7)
	mouse("mouseReleased", 0.75)
	b.until(`/^5[0-2] tasks ran for 4\d\.\d ms/.test(document.querySelector('.sums p')?.innerText)`)
	b.shot("range")
	b.check(s.URL())
}

// The graph is drawn: by kernel, and the last tasks with what they waited for.
func TestPage_GraphsAreDrawn(t *testing.T) {
	b := openBrowser(t, false)
	s := serveLabelled(t)
	b.goTo(s.URL() + "#graph")
	kernels, last := `document.querySelector('svg[aria-label="graph of kernels"]')`, `document.querySelector('svg[aria-label="graph of the last tasks"]')`
	b.until(kernels + `?.querySelectorAll('rect').length == 3`)
	require.Contains(t, b.eval(kernels+`.textContent`), "67 edges from K0 to K1")
	require.Equal(t, "60", b.eval(last+`.querySelectorAll('rect').length`))
	require.Equal(t, "59", b.eval(last+`.querySelectorAll('.edge').length`))
	b.set(`select[aria-label="number of tasks"]`, "120")
	b.until(last + `.querySelectorAll('rect').length == 120`)
	b.eval(last + `.querySelectorAll('g[role=button]')[119].dispatchEvent(new MouseEvent('click', { bubbles: true }))`)
	b.until(`document.querySelector('.side b')?.innerText.endsWith(' 200')`)
	b.eval(kernels + `.querySelectorAll('g[role=button]')[1].dispatchEvent(new MouseEvent('click', { bubbles: true }))`)
	b.until(`document.querySelector('.found')?.innerText == '67 of 200 tasks' && ` + last + `.querySelectorAll('rect').length == 67`)
	b.shot("graphs")
	b.check(s.URL())
}

// Kernels have the bandwidth of what they name, its share of the peak, and how their loops are
// mapped.
func TestPage_KernelsHaveBandwidthAndStrategy(t *testing.T) {
	var got *run.KernelUse
	for _, k := range labelled().Summary().Kernels {
		if k.Sort == "K1" && k.Kind == "sim" {
			got = &k
		}
		if k.Sort == "K1" && k.Kind == "smp" {
			require.Equal(t, "AVX2", k.Strategy)
			require.Zero(t, k.Rate())
		}
	}
	require.Equal(t, "threads of all teams; tiles of 256 iterations in team memory", got.Strategy)
	require.InDelta(t, 450_000/899.97e-6, got.Rate(), 1e3)
	b := openBrowser(t, false)
	s := serveLabelled(t)
	b.goTo(s.URL() + "#kernels")
	b.until(`[...document.querySelectorAll('tbody tr')].some((r) => ['K1', 'sim', '0.50', '50.0 %', 'tiles of 256'].every((x) => r.innerText.includes(x)))`)
	require.Contains(t, b.eval(`document.querySelector('header').innerText`), "heat on node7, pid 4711, since ")
}

// A page of a run that continues has the tasks in flight, and how far the program is where it says
// how much is to come.
func TestPage_ProgressAndTasksInFlight(t *testing.T) {
	b := openBrowser(t, false)
	s, err := trace.Serve("127.0.0.1:0")
	require.NoError(t, err)
	from := labelled()
	require.NoError(t, s.Open(&from.Machine))
	s.ShowStatus(func() *probe.Status {
		return &probe.Status{Submitted: 260, Done: 250, Running: 1, Blocked: 9, Expected: 1000, Left: 14 * time.Millisecond, More: 8, Tasks: []probe.InFlight{
			{ID: 251, Label: "load", At: "main.go:21", State: "running", Waits: "smp", Since: 2500 * time.Microsecond}, {ID: 252, Label: "sum", State: "blocked", Waits: "task 251", By: 251}}}
	})
	require.NoError(t, s.Take(from.Records()))
	b.goTo(s.URL())
	b.until(`document.querySelector('section[aria-label="in flight"] tbody')?.rows.length == 2`)
	require.Equal(t, "251\tload\tmain.go:21\trunning\tsmp\t2.50 ms", b.eval(`document.querySelector('section[aria-label="in flight"] tbody tr').innerText`))
	require.Contains(t, b.eval(`document.querySelector('section[aria-label="in flight"]').innerText`), "25.0 % of 1,000 tasks, about 14.0 ms left")
	require.Contains(t, b.eval(`document.querySelector('header').innerText`), "25 %, 14.0 ms left")
	b.shot("progress")
	s.ShowStatus(nil)
	require.NoError(t, s.Close())
}

// Every page fits a telephone and a laptop: nothing but tables and pictures in frames of their own
// is wider than the window, and the navigation stays where it is while the page scrolls.
func TestPage_FitsTheWindow(t *testing.T) {
	b := openBrowser(t, false)
	s := serveLabelled(t)
	for _, window := range [][2]int{{1440, 900}, {390, 844}} {
		b.size(window[0], window[1])
		for _, page := range []string{"overview", "timeline", "graph", "transfers", "memory", "tokens", "kernels", "failures"} {
			b.goTo(s.URL() + "#" + page)
			b.eval(`location.hash = '` + page + `'`)
			b.until(fmt.Sprintf(`document.querySelector('main')?.id == %q && document.querySelector('main').innerText.length > 10`, page))
			if page == "timeline" {
				b.until(`document.querySelector('canvas')?.dataset.drawn`)
			}
			require.Equal(t, fmt.Sprint(window[0]), b.eval(`Math.max(document.documentElement.scrollWidth, innerWidth)`), "%s at %d pixels", page, window[0])
			b.shot(fmt.Sprintf("%s-%d", page, window[0]))
			b.eval(`scrollTo(0, 1e6)`)
			require.Equal(t, "0", b.eval(`Math.round(document.querySelector('.top').getBoundingClientRect().y)`), "%s: the navigation is seen", page)
			b.eval(`scrollTo(0, 0)`)
		}
	}
	b.check(strings.TrimSuffix(s.URL(), "/"))
}
