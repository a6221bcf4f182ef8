package export_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/export"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	_ "github.com/gompss/gompss/devices/all"
)

const source = `package k

//omp:target device(acc, smp) resources(acc: 30, smp: 20)
//omp:task inout(x[lo:hi])
func Twice(lo, hi int, x []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		x[i] *= 2
	}
}
`

// Twice is the kernel of source.
func Twice(lo, hi int, x []float32) {
	for i := lo; i < hi; i++ {
		x[i] *= 2
	}
}

// recorded is a real run in which no lane did two tasks at once, so that busy times are sums of
// running times: a device has several streams, and in one run of some hundred tasks of two of them
// overlap by a few microseconds.
func recorded(t testing.TB) *run.Run {
	t.Helper()
	for range 20 {
		r := recordedOnce(t)
		if !slices.ContainsFunc(r.TaskLanes(), func(l run.Lane) bool { return l.Overlap }) {
			return r
		}
	}
	t.Fatal("in 20 runs tasks of a lane overlapped")
	return nil
}

// recordedOnce is kernels over CPU workers and two simulated accelerators whose memory is too
// small, Go tasks, a failure.
func recordedOnce(t testing.TB) *run.Run {
	t.Helper()
	twice, err := task.NewKernel(Twice, task.SourceFile{Name: "k.go", Text: source})
	require.NoError(t, err)
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	rt, err := task.New(task.Options{Devices: "smp:2,sim:2(memory=32KiB,granule=4KiB)", Observer: rec})
	require.NoError(t, err)
	x := make([]float32, 1<<15)
	const block = 1 << 11
	for round := range 8 {
		for lo := 0; lo < len(x); lo += block {
			_, err := twice.Submit(rt, lo, lo+block, x)
			require.NoError(t, err)
		}
		_, err := rt.Go(func() error { time.Sleep(50 * time.Microsecond); return nil }, task.InOut(x[:block+round]), task.Label("edge"))
		require.NoError(t, err)
	}
	_, err = rt.Go(func() error { return errors.New("boom") }, task.InOut(x[:1]), task.Label("fails"))
	require.NoError(t, err)
	_, err = twice.Submit(rt, 0, block, x)
	require.NoError(t, err)
	require.Error(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	r.Dropped = 5 // as if a ring had been full
	return r
}

// A view is the numbers that every export must agree on, as an independent reader of the export
// finds them.
type view struct {
	tasks   map[string]int           // by name: those that ran
	busy    map[string]time.Duration // by place: sum of running times
	bytes   map[string]int64         // by link
	tokens  map[string]time.Duration // by kind: tokens times the time they were held
	failed  int
	skipped int
	dropped int
}

func newView() view {
	return view{map[string]int{}, map[string]time.Duration{}, map[string]int64{}, map[string]time.Duration{}, 0, 0, -1}
}

// end counts how a task ended, where an export says that in a word.
func (v *view) end(outcome string) {
	switch outcome {
	case "failed":
		v.failed++
	case "skipped":
		v.skipped++
	}
}

func viewOfRun(r *run.Run) view {
	v := newView()
	for i := range r.Len() {
		if x := r.Task(i); run.Ran(x) {
			v.tasks[run.Name(x)]++
			v.busy[r.PlaceName(x.Place)] += x.End - x.Start
			if x.Tokens > 0 {
				v.tokens[r.Machine.Places[x.Place].Kind] += time.Duration(x.Tokens) * (x.End - x.Choice)
			}
		}
		switch x := r.Task(i); {
		case x.Skipped:
			v.skipped++
		case x.Err != "":
			v.failed++
		}
	}
	for i := range r.Points {
		if p := &r.Points[i]; p.Kind == probe.Arrive {
			v.bytes[p.From+" -> "+p.To] += int64(p.Bytes)
		}
	}
	v.dropped = int(r.Dropped)
	return v
}

// The summary says what the tasks say: lanes run one task at a time here, so the union of the
// running times is their sum.
func viewOfSummary(s *run.Summary) view {
	v := newView()
	for _, k := range s.Kernels {
		v.tasks[k.Sort] += int(k.Count)
	}
	for _, p := range s.Places {
		if p.Tasks > 0 {
			v.busy[p.Name] = p.Busy
		}
	}
	for _, l := range s.Links {
		v.bytes[l.From+" -> "+l.To] = int64(l.Bytes)
	}
	for _, h := range s.Held {
		v.tokens[h.Kind] = h.Time
	}
	v.failed, v.skipped, v.dropped = int(s.Failed), int(s.Skipped), int(s.Dropped)
	return v
}

// A curve is a counter, whose area is what it counted times time.
type curve struct {
	at    time.Duration
	value int64
	area  time.Duration
}

func (c *curve) to(at time.Duration, value float64) {
	c.area += time.Duration(c.value) * (at - c.at)
	c.at, c.value = at, int64(value)
}

// areas returns those of the counters of tokens, by kind.
func areas(counters map[string]*curve) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, c := range counters {
		if kind, ok := strings.CutSuffix(name, " tokens"); ok {
			out[kind] = c.area
		}
	}
	return out
}

func viewOfChrome(t *testing.T, r *run.Run) view {
	var out bytes.Buffer
	require.NoError(t, export.Chrome(&out, r))
	var file struct {
		OtherData   struct{ Dropped int }
		TraceEvents []struct {
			Ph, Cat, Name string
			Pid           int
			Ts, Dur       json.Number
			ID            int
			Args          struct {
				Name     string
				Bytes    int64
				Value    float64
				From, To string
			}
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &file))
	v := newView()
	v.dropped = file.OtherData.Dropped
	places := map[int]string{}
	starts, ends := map[int]int{}, map[int]int{}
	counters := map[string]*curve{}
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			places[e.Pid] = e.Args.Name
		case e.Ph == "C":
			if counters[e.Name] == nil {
				counters[e.Name] = &curve{}
			}
			counters[e.Name].to(nanoseconds(t, e.Ts), e.Args.Value)
		case e.Ph == "i":
			v.end(e.Cat)
		case e.Ph == "s":
			starts[e.ID]++
		case e.Ph == "f":
			ends[e.ID]++
		case e.Ph == "X" && e.Cat == "task":
			v.tasks[e.Name]++
			v.busy[places[e.Pid]] += nanoseconds(t, e.Dur)
		case e.Ph == "X" && e.Cat == "copy":
			v.bytes[e.Args.From+" -> "+e.Args.To] += e.Args.Bytes
		}
	}
	v.tokens = areas(counters)
	require.NotEmpty(t, starts)
	for id := range ends {
		require.Equal(t, 1, starts[id], "flow %d has one beginning", id)
	}
	return v
}

func nanoseconds(t *testing.T, micros json.Number) time.Duration {
	whole, part, _ := strings.Cut(micros.String(), ".")
	n, err := strconv.ParseInt(whole+part, 10, 64)
	require.NoError(t, err)
	require.Len(t, part, 3)
	return time.Duration(n)
}

func viewOfCSV(t *testing.T, r *run.Run) view {
	v := newView()
	read := func(f func(w *bytes.Buffer) error) []map[string]string {
		var out bytes.Buffer
		require.NoError(t, f(&out))
		first, err := out.ReadString('\n')
		require.NoError(t, err)
		_, err = fmt.Sscanf(first, "# gompss, dropped %d", &v.dropped)
		require.NoError(t, err)
		lines, err := csv.NewReader(&out).ReadAll()
		require.NoError(t, err)
		var rows []map[string]string
		for _, l := range lines[1:] {
			row := map[string]string{}
			for i, name := range lines[0] {
				row[name] = l[i]
			}
			rows = append(rows, row)
		}
		return rows
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	for _, row := range read(func(w *bytes.Buffer) error { return export.CSV(w, r) }) {
		if row["place"] != "" && row["start_ns"] != "0" {
			v.tasks[row["name"]]++
			v.busy[row["place"]] += time.Duration(number(row["end_ns"]) - number(row["start_ns"]))
			if n := number(row["tokens"]); n > 0 {
				kind, _, _ := strings.Cut(row["place"], ":")
				v.tokens[kind] += time.Duration(n * (number(row["end_ns"]) - number(row["choice_ns"])))
			}
		}
		v.end(row["outcome"])
	}
	for _, row := range read(func(w *bytes.Buffer) error { return export.CopiesCSV(w, r) }) {
		v.bytes[row["from"]+" -> "+row["to"]] += number(row["bytes"])
	}
	return v
}

// A field of a protobuf message, as protowire sees it.
type field struct {
	uint  uint64
	bytes []byte
}

func message(t *testing.T, b []byte) map[protowire.Number][]field {
	out := map[protowire.Number][]field{}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		b = b[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.uint, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.uint, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("wire type %d", kind)
		}
		require.Positive(t, n)
		b = b[n:]
		out[num] = append(out[num], f)
	}
	return out
}

// viewOfPerfetto reads the trace by the field numbers of the published schema.
func viewOfPerfetto(t *testing.T, r *run.Run) view {
	var out bytes.Buffer
	require.NoError(t, export.Perfetto(&out, r))
	v := newView()
	process, trackProcess, names := map[uint64]string{}, map[uint64]uint64{}, map[uint64]string{}
	threads := map[uint64]string{}
	type open struct {
		at    uint64
		name  string
		bytes int64
	}
	numbers, annotations := map[uint64]*curve{}, map[uint64]string{}
	counterName := map[string]*curve{}
	stack := map[uint64][]open{}
	flows, ends := map[uint64]int{}, map[uint64]int{}
	counters := 0
	for _, p := range message(t, out.Bytes())[1] {
		packet := message(t, p.bytes)
		require.Equal(t, uint64(1), packet[10][0].uint, "every packet is of the sequence")
		if d := packet[60]; d != nil {
			track := message(t, d[0].bytes)
			if of := track[3]; of != nil {
				m := message(t, of[0].bytes)
				process[m[1][0].uint] = string(m[6][0].bytes)
			}
			if of := track[4]; of != nil {
				m := message(t, of[0].bytes)
				trackProcess[track[1][0].uint] = m[1][0].uint
				threads[track[1][0].uint] = string(m[5][0].bytes)
			}
			if track[8] != nil {
				counters++
				c := &curve{}
				numbers[track[1][0].uint], counterName[string(track[2][0].bytes)] = c, c
			}
		}
		if in := packet[12]; in != nil {
			for _, n := range message(t, in[0].bytes)[2] {
				m := message(t, n.bytes)
				names[m[1][0].uint] = string(m[2][0].bytes)
			}
			for _, n := range message(t, in[0].bytes)[3] {
				m := message(t, n.bytes)
				annotations[m[1][0].uint] = string(m[2][0].bytes)
			}
		}
		if packet[11] == nil {
			continue
		}
		e := message(t, packet[11][0].bytes)
		track, at := e[11][0].uint, packet[8][0].uint
		switch e[9][0].uint {
		case 1:
			require.Empty(t, stack[track], "slices of one track do not overlap")
			slice := open{at: at, name: names[e[10][0].uint]}
			for _, a := range e[4] {
				if m := message(t, a.bytes); annotations[m[1][0].uint] == "bytes" {
					slice.bytes = int64(m[3][0].uint)
				}
			}
			stack[track] = append(stack[track], slice)
			for _, f := range e[47] {
				flows[f.uint]++
			}
			for _, f := range e[48] {
				ends[f.uint]++
			}
		case 2:
			n := len(stack[track])
			require.Positive(t, n)
			s := stack[track][n-1]
			stack[track] = stack[track][:n-1]
			switch place := process[trackProcess[track]]; {
			case place == "copies":
				link, _, _ := strings.Cut(threads[track], " stream")
				v.bytes[link] += s.bytes
			case threads[track] != "program" && !strings.HasPrefix(threads[track], "program stream"):
				v.tasks[s.name]++
				v.busy[place] += time.Duration(at - s.at)
			}
		case 3:
			word, _, _ := strings.Cut(names[e[10][0].uint], ":")
			v.end(word)
		case 4:
			value := math.Float64frombits(e[44][0].uint)
			require.False(t, math.IsNaN(value))
			numbers[track].to(time.Duration(at), value)
		}
	}
	v.tokens = areas(counterName)
	require.Equal(t, flows, ends, "every flow has one beginning and one end")
	require.GreaterOrEqual(t, counters, 3)
	_, err := fmt.Sscanf(process[1], "gompss, dropped %d", &v.dropped)
	require.NoError(t, err)
	return v
}

var (
	prvHead  = regexp.MustCompile(`^#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:1\((\d+)\):1:1\((\d+):1\)$`)
	prvState = regexp.MustCompile(`^1:\d+:1:1:\d+:\d+:\d+:\d+$`)
	prvEvent = regexp.MustCompile(`^2:\d+:1:1:\d+:\d+(:\d+:\d+)+$`)
	prvComm  = regexp.MustCompile(`^3(:\d+:1:1:\d+:\d+:\d+){2}:\d+:\d+$`)
)

// viewOfParaver checks the grammar of the files and reads them.
func viewOfParaver(t *testing.T, r *run.Run, s *run.Summary) view {
	base := filepath.Join(t.TempDir(), "run")
	require.NoError(t, export.Paraver(base, r))
	lanes := prvNames(t, base+".row")
	sorts, names := prvSorts(t, base+".pcf"), readLegend(t, base+".pcf")
	over := map[int64]int64{}
	v := newView()
	f, err := os.Open(base + ".prv")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	require.True(t, lines.Scan())
	head := prvHead.FindStringSubmatch(lines.Text())
	require.NotNil(t, head, lines.Text())
	require.Equal(t, strconv.Itoa(len(lanes)), head[2])
	duration, _ := strconv.ParseInt(head[1], 10, 64)
	require.Equal(t, int64(s.Elapsed), duration)
	states := map[int]int64{} // time by lane
	type holding struct{ tokens, since int64 }
	held := map[int64]*holding{}
	last := int64(0)
	for lines.Scan() {
		text := lines.Text()
		var n []int64
		for _, w := range strings.Split(text, ":") {
			k, err := strconv.ParseInt(w, 10, 64)
			require.NoError(t, err, text)
			n = append(n, k)
		}
		names.checkRecord(t, text, n, len(lanes), duration, over)
		lane := lanes[n[4]-1]
		place, _, _ := strings.Cut(lane, " worker")
		require.GreaterOrEqual(t, n[5], last, "records are in order")
		last = n[5]
		switch n[0] {
		case 1:
			require.Regexp(t, prvState, text)
			states[int(n[4])] += n[6] - n[5]
			if n[7] == 1 {
				v.busy[place] += time.Duration(n[6] - n[5])
			}
		case 2:
			require.Regexp(t, prvEvent, text)
			if n[6] == 9500001 && n[7] != 0 {
				v.tasks[sorts[n[7]]]++
			}
			kind, _, _ := strings.Cut(place, ":")
			switch {
			case n[6] == 9500004 && n[7] > 0:
				held[n[4]] = &holding{tokens: n[7]}
			case n[6] == 9500005:
				held[n[4]].since = n[5] - n[7]
			case n[6] == 9500004:
				v.tokens[kind] += time.Duration(held[n[4]].tokens * (n[5] - held[n[4]].since))
			case n[6] == 9500006:
				v.end([]string{"", "failed", "skipped"}[n[7]])
			case n[6] == 9500009:
				v.dropped = int(n[7])
			}
		case 3:
			require.Regexp(t, prvComm, text)
			space := func(i int64) string {
				if strings.HasPrefix(lanes[i-1], "host memory") {
					return "host"
				}
				return lanes[i-1]
			}
			v.bytes[space(n[4])+" -> "+space(n[10])] += n[13]
		}
	}
	for lane, sum := range states {
		require.Equal(t, duration, sum, "the states of lane %d fill the run", lane)
	}
	require.Len(t, states, len(lanes)-1)
	list, err := filepath.Glob(base + ".cfgs/*.cfg")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 5)
	names.checkViews(t, list)
	return v
}

func prvNames(t *testing.T, name string) []string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "LEVEL THREAD SIZE ")
	require.True(t, ok)
	lines := strings.Split(strings.TrimSpace(rest), "\n")
	require.Equal(t, lines[0], strconv.Itoa(len(lines)-1))
	return lines[1:]
}

func prvSorts(t *testing.T, name string) map[int64]string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "9500001    Task\nVALUES\n")
	require.True(t, ok)
	out := map[int64]string{}
	for _, l := range strings.Split(rest, "\n") {
		number, word, ok := strings.Cut(l, " ")
		if !ok {
			break
		}
		n, err := strconv.ParseInt(number, 10, 64)
		require.NoError(t, err)
		out[n] = strings.TrimSpace(word)
	}
	return out
}

func TestAllExportsAgree(t *testing.T) {
	r := recorded(t)
	s := r.Summary()
	want := viewOfRun(r)
	require.Greater(t, len(want.busy), 1, "several places worked")
	require.NotEmpty(t, want.bytes)
	require.Equal(t, want, viewOfSummary(s), "summary")
	require.NotEmpty(t, want.tokens)
	require.Positive(t, want.failed)
	require.Positive(t, want.skipped)
	require.Equal(t, want, viewOfChrome(t, r), "chrome")
	require.Equal(t, want, viewOfCSV(t, r), "csv")
	require.Equal(t, want, viewOfParaver(t, r, s), "paraver")
	require.Equal(t, want, viewOfPerfetto(t, r), "perfetto")
	require.Equal(t, want, viewOfMetrics(t, r), "metrics")
	require.Equal(t, want, viewOfReport(t, r), "report")
	require.Equal(t, want, viewOfPage(t, r), "page")
	require.Equal(t, want, viewOfDOT(t, r, want), "graph")
	var file bytes.Buffer
	w := record.NewWriter(&file)
	require.NoError(t, w.Open(&r.Machine))
	require.NoError(t, w.Take(r.Records()))
	require.NoError(t, w.Close())
	again, err := run.Read(&file)
	require.NoError(t, err)
	require.Equal(t, s, again.Summary(), "file")
}

func TestDOT(t *testing.T) {
	r := recorded(t)
	var out bytes.Buffer
	require.NoError(t, export.DOT(&out, r, export.DotOptions{}))
	text := out.String()
	require.Contains(t, text, "dropped 5")
	edges := 0
	for i := range r.Len() {
		edges += len(r.Predecessors(r.Task(i).ID))
	}
	require.NotZero(t, edges)
	require.Equal(t, edges, strings.Count(text, " -> t"), "edges to tasks of the run are all drawn")
	require.Len(t, dotNode.FindAllString(text, -1), r.Len())
	require.Equal(t, len(r.Critical().Tasks)-1, strings.Count(text, "[color=red"))

	out.Reset()
	require.NoError(t, export.DOT(&out, r, export.DotOptions{Most: 3}))
	require.Contains(t, out.String(), "are drawn by sort")
	require.Contains(t, out.String(), "Twice x ")
}

func TestUnknownFormat(t *testing.T) {
	require.ErrorContains(t, export.Write(&bytes.Buffer{}, "otf", run.New(0)), "chrome, csv")
	for _, f := range export.Formats() {
		require.NoError(t, export.Write(&bytes.Buffer{}, f, run.New(0)), "an empty run as %s", f)
	}
}

// million is a regular run with two predecessors a task.
func million(n int) *run.Run {
	r := run.New(0)
	r.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 8, Host: true}}}
	for i := range n {
		at := time.Duration(i/8) * 1000
		id := deps.TaskID(i + 1)
		r.Append(probe.Task{ID: id, Last: deps.TaskID(max(0, i-7)), Submit: at, Ready: at, Choice: at + 10, Start: at + 10, End: at + 900, Release: at + 910, Kernel: "Twice", Worker: int16(i % 8)})
		if i >= 9 {
			r.AppendDetails(record.Detail{Task: id, What: record.Waits, Count: 2, Values: [6]int64{int64(i - 8), int64(i - 7)}})
		}
	}
	r.Finish()
	return r
}

// TestPerfettoSize holds the promise of at most 70 bytes a task.
func TestPerfettoSize(t *testing.T) {
	const n = 100000
	var out countWriter
	require.NoError(t, export.Perfetto(&out, million(n)))
	require.LessOrEqual(t, float64(out)/n, 70.0)
}

type countWriter int

func (c *countWriter) Write(b []byte) (int, error) { *c += countWriter(len(b)); return len(b), nil }
