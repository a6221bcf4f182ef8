package trace_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
)

// heap returns what the page holds after garbage was collected, in bytes.
func (b *browser) heap() float64 {
	b.call("HeapProfiler.collectGarbage", nil)
	var got struct{ UsedSize float64 }
	require.NoError(b.t, json.Unmarshal(b.call("Runtime.getHeapUsage", nil), &got))
	return got.UsedSize
}

// The page in a browser does not grow with the tasks of a run: GOMPSS_SOAK says of how many.
func TestBrowserMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	b := openBrowser(t, false)
	n := 400_000
	if v, err := strconv.Atoi(os.Getenv("GOMPSS_SOAK")); err == nil && v > n {
		n = v
	}
	s, err := trace.Serve("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, s.Open(&small().Machine))
	at := 0
	feed := func(until int) {
		var batch record.Batch
		for ; at < until; at++ {
			when := time.Duration(at) * time.Microsecond
			batch.Tasks = append(batch.Tasks, probe.Task{ID: deps.TaskID(at + 1), Last: deps.TaskID(at), Submit: when, Ready: when, Start: when + 1, Choice: when + 1, End: when + 900, Release: when + 950, Kernel: "K", Worker: int16(at % 2)})
			batch.Details = append(batch.Details, record.Detail{Task: deps.TaskID(at + 1), What: record.Waits, Count: 1, Values: [6]int64{int64(at)}})
			if len(batch.Tasks) == 4096 {
				require.NoError(t, s.Take(&batch))
				batch = record.Batch{}
			}
		}
		require.NoError(t, s.Take(&batch))
	}
	feed(50_000)
	b.goTo(s.URL() + "#timeline")
	b.until(`document.querySelector('canvas')?.dataset.drawn`)
	var sizes []float64
	const rounds = 4
	for i := range rounds {
		feed(50_000 + (i+1)*(n-50_000)/rounds)
		want := fmt.Sprintf(`document.querySelector('main p').innerText.includes(' of %s tasks')`, commas(at))
		for end := time.Now().Add(4 * time.Minute); b.eval(want) != "true" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		} // a snapshot waits a hundred times as long as the last one took
		b.until(want)
		sizes = append(sizes, b.heap())
	}
	t.Logf("bytes of the page's heap, after %d to %d tasks: %.0f", 50_000+(n-50_000)/rounds, n, sizes)
	require.Less(t, sizes[rounds-1], 1.5*sizes[1]+4e6)
	require.NoError(t, s.Close())
}

func commas(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// All pages are reached by the keyboard, and what has the focus is seen.
func TestTheKeyboardReachesAllPages(t *testing.T) {
	b := openBrowser(t, false)
	s := serveSmall(t)
	b.goTo(s.URL())
	b.until(`document.querySelector('.verdict b')?.innerText`)
	var reached []string
	for range 8 {
		b.key("Tab")
		reached = append(reached, b.eval(`document.activeElement.getAttribute('href') ?? document.activeElement.tagName`))
		require.NotEqual(t, "none", b.eval(`getComputedStyle(document.activeElement).outlineStyle`), "the focus is seen")
	}
	require.Equal(t, []string{"#overview", "#timeline", "#graph", "#transfers", "#memory", "#tokens", "#kernels", "#failures"}, reached)
	for _, href := range reached {
		b.eval(fmt.Sprintf(`document.querySelector('nav a[href=%q]').focus()`, href))
		b.key("Enter") // after that, Tab continues in the page itself
		b.until(fmt.Sprintf(`location.hash == %q && '#' + document.querySelector('main').id == %q`, href, href))
	}
}

// Copies lie on the timeline, a row for each link, where they are: a look at one says what it
// moved, a click leads to the task it was for.
func TestCopiesOnTheTimeline(t *testing.T) {
	b := openBrowser(t, false)
	s := serveSmall(t)
	b.goTo(s.URL() + "#timeline")
	b.until(`document.querySelector('canvas')?.dataset.drawn`)
	require.Equal(t, "4", b.eval(`document.querySelector('canvas').dataset.rows`), "two workers, a device and a link")
	require.Contains(t, b.eval(`document.querySelector('main').innerText`), "40 copies")
	b.eval(`document.querySelector('canvas').focus()`)
	for range 30 { // to 50 ns, the least
		b.key("+")
	}
	b.key("c")
	b.until(`document.querySelector('.said').innerText.startsWith('host → sim:0: 4.0 KiB in 20 ns (205 GB/s) from 104 ms, for K')`)
	// It begins in the middle of the view: 20 of the 50 ns that are shown are its.
	const look = `(() => { const c = document.querySelector('canvas'), r = c.getBoundingClientRect(); c.scrollIntoView(); const x = 130 + (r.width - 130) * 0.6, y = 22 + 3 * 22 + 11, at = c.getBoundingClientRect(),
		o = Object.assign(document.createElement('canvas'), { width: c.width, height: c.height }), g2 = o.getContext('2d', { willReadFrequently: true }), line = (g2.drawImage(c, 0, 0), g2.getImageData(0, (y - 7) * devicePixelRatio, c.width, 1).data), g = (x) => [...line.slice(4 * Math.round(x * devicePixelRatio), 4 * Math.round(x * devicePixelRatio) + 4)].join(); return JSON.stringify({ X: at.x + x, Y: at.y + y, In: g(x), Before: g(130 + (r.width - 130) * 0.4), After: g(130 + (r.width - 130) * 0.95) }) })()`
	b.until(look + `.includes('"In":"0,0,0,0"') == false`) // it is drawn after the text is there
	var at struct {
		X, Y              float64
		In, Before, After string
	}
	require.NoError(t, json.Unmarshal([]byte(b.eval(look)), &at))
	require.Contains(t, []string{"181,84,138,255", "208,106,166,255"}, at.In, "the colour of copies, light or dark")
	require.Equal(t, []string{"0,0,0,0", "0,0,0,0"}, []string{at.Before, at.After}, "nothing is drawn where nothing was copied")
	require.Equal(t, "true", b.eval(`document.querySelector('.tip').hidden`))
	b.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X, "y": at.Y})
	b.until(`!document.querySelector('.tip').hidden && document.querySelector('.tip').innerText == document.querySelector('.said').innerText`)
	b.shot("copies")
	b.click(at.X, at.Y)
	b.until(`document.querySelector('.side b')?.innerText.endsWith(' 105')`)
	b.key("c")
	b.until(`document.querySelector('.said').innerText.includes('from 109 ms')`)
	b.key("x")
	b.until(`document.querySelector('.said').innerText.includes('from 104 ms')`)
	b.check(s.URL())
}

type rgb [3]float64

// What people with a kind of colour blindness see of linear light, after Machado, Oliveira and
// Fernandes (2009), severity 1.
var deficiencies = map[string][3]rgb{
	"none":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func linear(c float64) float64 {
	if c /= 255; c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

func (c rgb) seen(by [3]rgb) rgb {
	l := rgb{linear(c[0]), linear(c[1]), linear(c[2])}
	var out rgb
	for i := range out {
		for k := range l {
			out[i] += by[i][k] * l[k]
		}
		out[i] = min(1, max(0, out[i]))
	}
	return out
}

// lab returns CIE L*a*b* of linear light.
func (c rgb) lab() rgb {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return rgb{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func (c rgb) light() float64 {
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

func contrast(a, b rgb) float64 {
	x, y := a.light(), b.light()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The lines of charts are seen on their ground, in light and dark, and change when the reader
// changes that.
func TestLinesAreSeen(t *testing.T) {
	b := openBrowser(t, false)
	r := small()
	for i := range 9 {
		r.Machine.Places = append(r.Machine.Places, probe.Place{Name: fmt.Sprintf("sim:%d", i+1), Kind: "sim", Workers: 1, Memory: 1})
	}
	s, err := trace.ServeRun("127.0.0.1:0", "many", r)
	require.NoError(t, err)
	defer s.Close()
	b.goTo(s.URL())
	b.until(`document.querySelectorAll('.u-marker').length > 11`)
	var seen []string
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		var got struct {
			Lines  []string
			Ground string
		}
		require.NoError(t, json.Unmarshal([]byte(b.eval(`JSON.stringify({ Lines: [...document.querySelectorAll('.u-marker')].map((e) => getComputedStyle(e).borderTopColor), Ground: getComputedStyle(document.body).backgroundColor })`)), &got))
		of := func(text string) (c rgb) {
			_, err := fmt.Sscanf(text, "rgb(%f, %f, %f)", &c[0], &c[1], &c[2])
			require.NoError(t, err, text)
			return c
		}
		lines := 0
		for _, line := range got.Lines {
			if strings.HasPrefix(line, "rgb(") {
				lines++
				require.GreaterOrEqual(t, contrast(of(line), of(got.Ground)), 3.0, "%s on %s", line, got.Ground)
			}
		}
		require.GreaterOrEqual(t, lines, 12)
		seen = append(seen, fmt.Sprint(got))
	}
	require.NotEqual(t, seen[0], seen[1])
}

// The colours of tasks and of states stay apart for all kinds of colour vision, and texts are
// legible on their grounds, light and dark.
func TestColoursStayApart(t *testing.T) {
	source, err := os.ReadFile("web/src/data.ts")
	require.NoError(t, err)
	line := regexp.MustCompile(`const palette = (\[.*\])`).FindSubmatch(source)
	require.NotNil(t, line)
	var palette []rgb
	require.NoError(t, json.Unmarshal(line[1], &palette))
	require.GreaterOrEqual(t, len(palette), 8)
	css, err := os.ReadFile("web/src/app.css")
	require.NoError(t, err)
	themes := regexp.MustCompile(`:root\{[^}]*--bg[^}]*\}`).FindAllString(string(css), -1)
	require.Len(t, themes, 2)
	apart := func(what string, colours []rgb, least float64) {
		for name, by := range deficiencies {
			for i := range colours {
				for k := range i {
					a, b := colours[i].seen(by).lab(), colours[k].seen(by).lab()
					d := math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
					require.Greater(t, d, least, "%s, %s: colours %d and %d", what, name, i, k)
				}
			}
		}
	}
	apart("tasks", palette[:6], 10)
	for i, theme := range themes {
		of := func(name string) rgb {
			m := regexp.MustCompile(`--` + name + `:#([0-9a-f]+)`).FindStringSubmatch(theme)
			require.NotNil(t, m, name)
			hex := m[1]
			if len(hex) == 3 {
				hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
			}
			v, err := strconv.ParseUint(hex, 16, 32)
			require.NoError(t, err)
			return rgb{float64(v >> 16), float64(v >> 8 & 255), float64(v & 255)}
		}
		apart(fmt.Sprintf("states, theme %d", i), []rgb{of("busy"), of("transfer"), of("overhead"), of("idle")}, 15)
		for _, ground := range []string{"bg", "panel"} {
			for _, text := range []string{"fg", "dim", "accent", "error"} {
				require.GreaterOrEqual(t, contrast(of(text), of(ground)), 4.5, "%s on %s, theme %d", text, ground, i)
			}
		}
	}
}
