package run

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A plan draws a run of tasks on two CPU workers and one accelerator, with copies, that a runtime
// might have made.
func plan(t *rapid.T, n int) *Run {
	r := New(0)
	r.Machine = probe.Machine{Policy: "fifo", Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}, {Name: "sim:0", Kind: "sim", Workers: 1, Memory: 1 << 20}}}
	free := map[int]time.Duration{}
	step := func(most int) time.Duration { return time.Duration(rapid.IntRange(1, most).Draw(t, "step")) }
	at := time.Duration(0)
	for i := range n {
		at += step(20)
		r.Finish()
		x := probe.Task{ID: deps.TaskID(i + 1), Submit: at, Ready: at, Kernel: fmt.Sprintf("k%d", i%3)}
		d := record.Detail{Task: x.ID, What: record.Waits}
		for p := 1; p <= i && d.Count < 6; p++ {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 && r.Task(p-1).Release > at {
				d.Values[d.Count] = int64(p)
				d.Count++
				if r.Task(p-1).Release >= x.Ready {
					x.Last, x.Ready = deps.TaskID(p), r.Task(p-1).Release
				}
			}
		}
		if d.Count > 0 {
			r.AppendDetails(d)
		}
		lane := rapid.IntRange(0, 2).Draw(t, "lane")
		x.Worker, x.Place = int16(lane%2), int16(lane/2)
		x.Choice = max(x.Ready, free[lane]) + step(5)
		x.Start = x.Choice + step(5)
		x.End = x.Start + step(50)
		x.Release = x.End + step(3)
		free[lane] = x.End
		if lane == 2 {
			r.Points = append(r.Points, probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 100, Begin: x.Choice, Time: x.Start})
		}
		r.Append(x)
	}
	r.Finish()
	return r
}

// The critical path is the longest of all paths, which are tried one by one.
func TestCriticalPathAgainstAllPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := plan(t, rapid.IntRange(0, 12).Draw(t, "tasks"))
		var best time.Duration
		var walk func(id deps.TaskID, sum time.Duration)
		walk = func(id deps.TaskID, sum time.Duration) {
			x := r.Find(id)
			sum += x.End - x.Start
			best = max(best, sum)
			for i := range r.Len() {
				for _, p := range r.Predecessors(r.Task(i).ID) {
					if p == id {
						walk(r.Task(i).ID, sum)
					}
				}
			}
		}
		for i := range r.Len() {
			walk(r.Task(i).ID, 0)
		}
		got := r.Critical()
		require.Equal(t, best, got.Length)
		var sum time.Duration
		for i, id := range got.Tasks {
			if i > 0 {
				require.Contains(t, r.Predecessors(id), got.Tasks[i-1])
			}
			sum += r.Find(id).End - r.Find(id).Start
		}
		require.Equal(t, best, sum)
	})
}

func TestWhatMustHoldOfEverySummary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := plan(t, rapid.IntRange(1, 40).Draw(t, "tasks"))
		s := r.Summary()
		var tasks int64
		var work time.Duration
		for _, p := range s.Places {
			require.Equal(t, s.Elapsed*time.Duration(p.Lanes), p.Busy+p.Transfer+p.Overhead+p.Idle, "the parts of %s add up", p.Name)
			require.GreaterOrEqual(t, min(p.Busy, p.Transfer, p.Overhead, p.Idle), time.Duration(0))
			tasks += p.Tasks
			work += p.Busy
		}
		require.Equal(t, s.Tasks, tasks)
		var kernels time.Duration
		for _, k := range s.Kernels {
			kernels += k.Total
		}
		require.Equal(t, work, kernels, "lanes run one task at a time here")
		require.LessOrEqual(t, s.Critical, s.Elapsed)
		require.LessOrEqual(t, work/3, s.Elapsed)
		c := s.Chain
		last := r.Find(c.Tasks[0])
		require.Equal(t, last.End-r.Task(0).Submit, c.Run+c.Fetch+c.Queue+c.Submit+c.Tell, "the chain adds up to the run")
		require.NotEmpty(t, s.Verdict.Sentence)
		require.NotEmpty(t, s.Verdict.Evidence)
	})
}

// Written and read again, a run has the same summary.
func TestAFileHasTheSameSummary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := plan(t, rapid.IntRange(1, 40).Draw(t, "tasks"))
		var file bytes.Buffer
		w := record.NewWriter(&file)
		require.NoError(t, w.Open(&r.Machine))
		records := r.Records()
		require.NoError(t, w.Take(&record.Batch{Tasks: records.Tasks, Details: records.Details, Points: records.Points, Dropped: 3}))
		require.NoError(t, w.Close())
		got, err := Read(&file)
		require.NoError(t, err)
		r.Dropped = 3
		require.Equal(t, r.Summary(), got.Summary())
	})
}

func TestALimitKeepsTheNewestAndCountsAll(t *testing.T) {
	r := New(100)
	for i := range 1000 {
		at := time.Duration(i) * 10
		require.NoError(t, r.Take(&record.Batch{Tasks: []probe.Task{{ID: deps.TaskID(i + 1), Submit: at, Ready: at, Choice: at, Start: at + 1, End: at + 5, Release: at + 6}},
			Details: []record.Detail{{Task: deps.TaskID(i + 1), What: record.Accesses}}}))
		require.LessOrEqual(t, r.tasks.len(), 200)
		require.LessOrEqual(t, r.details.count, 200)
	}
	r.Finish()
	require.EqualValues(t, 1000, r.Summary().Tasks)
	require.EqualValues(t, 1000, r.Task(r.Len()-1).ID)
}

// TestWhatIsLeftOfAForgottenBeginning: of the last tasks of a run it is not said that they waited
// for kernels that were made before the first of them, and memory that was backed before them is
// there.
func TestWhatIsLeftOfAForgottenBeginning(t *testing.T) {
	r := New(100)
	require.NoError(t, r.Open(&probe.Machine{Places: []probe.Place{{Name: "sim:0", Kind: "sim", Memory: 1 << 20}}}))
	require.NoError(t, r.Take(&record.Batch{Points: []probe.Point{
		{Kind: probe.Compile, Device: "sim:0", Kernel: "K", Begin: 0, Time: 100000},
		{Kind: probe.Alloc, Device: "sim:0", Bytes: 4096, Begin: 1, Time: 2}, {Kind: probe.Alloc, Device: "sim:0", Bytes: 8192, Begin: 2, Time: 3},
		{Kind: probe.Evict, Device: "sim:0", Bytes: 4096, Begin: 4, Time: 5},
	}}))
	for i := range 1000 {
		at := 100000 + time.Duration(i)*10
		b := &record.Batch{Tasks: []probe.Task{{ID: deps.TaskID(i + 1), Submit: at, Ready: at, Choice: at, Start: at + 1, End: at + 9, Release: at + 9}}}
		if i == 990 {
			b.Points = []probe.Point{{Kind: probe.Alloc, Device: "sim:0", Bytes: 1, Begin: at, Time: at + 1}}
		}
		require.NoError(t, r.Take(b))
	}
	r.Finish()
	require.NotZero(t, r.Gone)
	s := r.Summary()
	require.Zero(t, s.CompileFirst)
	require.NotEqual(t, "compile", s.Verdict.Bound)
	require.EqualValues(t, 8193, s.Places[0].Peak)
}

// What comes packed is kept as what comes otherwise, also by a copy of a run that continues, and a
// limit keeps the newest tasks and counts all.
func TestPackedTasksAreKeptAsOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{0, 50, 3000}).Draw(t, "limit")
		r, plain, view := New(limit), New(0), New(0)
		id := deps.TaskID(1)
		var ids []deps.TaskID
		for range rapid.IntRange(1, 30).Draw(t, "batches") {
			b := record.Batch{Packed: record.NewPacked(0, 1)}
			for range rapid.IntRange(0, 400).Draw(t, "tasks") {
				id += deps.TaskID(1 + id%3/2)
				x := &probe.Brief{ID: id + id%2*7, Submit: time.Duration(id), Start: time.Duration(id + 2), End: time.Duration(id + 3), Last: id - 1}
				if len(ids) > 0 && ids[len(ids)-1] >= x.ID {
					continue
				}
				x.Pack([]deps.Access{{Region: deps.Interval(2, int64(id), int64(id)+5), Mode: deps.In}}, []deps.TaskID{id - 1})
				b.Packed.Add(x)
				ids = append(ids, x.ID)
			}
			require.NoError(t, r.Take(&b))
			other := b.Clone()
			other.Unpack()
			require.NoError(t, plain.Take(other))
			if rapid.Bool().Draw(t, "look") {
				view.Copy(r)
				view.Finish()
				require.EqualValues(t, len(ids), int64(view.Len())+view.Gone)
			}
		}
		r.Finish()
		plain.Finish()
		require.EqualValues(t, plain.Len(), int64(r.Len())+r.Gone)
		if limit == 0 {
			require.Empty(t, r.Gone)
		}
		from := plain.Len() - r.Len()
		all, kept := plain.Records(), r.Records()
		require.Equal(t, all.Tasks[from:], kept.Tasks)
		require.GreaterOrEqual(t, r.Len(), min(len(ids), limit/2))
		for _, x := range kept.Tasks {
			require.Equal(t, plain.DetailsOf(x.ID), r.DetailsOf(x.ID))
		}
		require.Len(t, kept.Details, 2*r.Len())
	})
}

func bench() *Run {
	r := New(0)
	r.Machine = probe.Machine{Policy: "locality", Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}, {Name: "sim:0", Kind: "sim", Workers: 1, Memory: 1 << 20}}}
	return r
}

func (r *Run) add(x probe.Task, preds ...int64) {
	x.ID = deps.TaskID(r.tasks.len() + 1)
	r.Append(x)
	if len(preds) > 0 {
		d := record.Detail{Task: x.ID, What: record.Waits, Count: uint8(len(preds))}
		copy(d.Values[:], preds)
		r.AppendDetails(d)
	}
}

const ms = time.Millisecond

func TestVerdicts(t *testing.T) {
	cases := []struct {
		bound string
		make  func(r *Run)
		text  string
	}{
		{"nothing", func(*Run) {}, "nothing ran"},
		{"path", func(r *Run) {
			for i := range 10 {
				at := time.Duration(i) * 10 * ms
				r.add(probe.Task{Submit: 0, Ready: at, Choice: at, Start: at + 1, End: at + 10*ms, Release: at + 10*ms, Last: deps.TaskID(i), Kernel: "Chain"}, int64(i))
			}
		}, "Chain x 10"},
		{"transfers", func(r *Run) {
			r.add(probe.Task{Place: 1, Start: 90 * ms, Launch: 1, End: 100 * ms, Release: 100 * ms})
			r.Points = append(r.Points, probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 1 << 20, Begin: ms, Time: 80 * ms})
		}, "host -> sim:0"},
		{"tasks", func(r *Run) {
			for i := range 1000 {
				at := time.Duration(i) * time.Microsecond
				r.add(probe.Task{Submit: at, Ready: at, Choice: at + 300, Start: at + 300, End: at + 400, Release: at + 400})
			}
		}, "100ns on average"},
		{"tokens", func(r *Run) {
			for i := range 20 {
				at := time.Duration(i) * 5 * ms
				r.add(probe.Task{Ready: 1, Choice: at + 1, Start: at + 2, End: at + 5*ms, Release: at + 5*ms, Tokens: 60, Short: true})
			}
		}, "short of tokens"},
		{"devices", func(r *Run) {
			for i := range 20 {
				at := time.Duration(i/2) * 5 * ms
				r.add(probe.Task{Ready: 1, Choice: at + 1, Start: at + 2, End: at + 5*ms, Release: at + 5*ms, Worker: int16(i % 2)})
			}
		}, "smp"},
		{"devices", func(r *Run) { // the accelerator has all but one task, and is slower
			r.add(probe.Task{Ready: 1, Choice: 2, Start: 3, End: 5 * ms, Release: 5 * ms, Kernel: "Place"})
			for i := range 10 {
				at := time.Duration(i) * 60 * ms
				r.add(probe.Task{Place: 1, Ready: 1, Choice: at + 1, Start: at + 2, Launch: at + 2, End: at + 60*ms, Release: at + 60*ms, Kernel: "Place"})
			}
		}, "sim:0: Place runs 12 times as fast on smp, which is idle"},
		{"devices", func(r *Run) { // the faster kind has the work
			r.add(probe.Task{Ready: 1, Choice: 2, Start: 3, End: 60 * ms, Release: 60 * ms, Kernel: "Place"})
			for i := range 100 {
				at := time.Duration(i) * 5 * ms
				r.add(probe.Task{Place: 1, Ready: 1, Choice: at + 1, Start: at + 2, Launch: at + 2, End: at + 5*ms, Release: at + 5*ms, Kernel: "Place"})
			}
		}, "sim:0 (it was busy"},
		{"load", func(r *Run) { // nine in ten are on one worker, though nothing orders them
			for i := range 20 {
				at := time.Duration(i) * 5 * ms
				r.add(probe.Task{Ready: 1, Choice: at + 1, Start: at + 2, End: at + 5*ms, Release: at + 5*ms, Worker: int16(i % 10 / 9)})
			}
		}, "smp worker 0"},
		{"submission", func(r *Run) {
			for i := range 20 {
				at := time.Duration(i) * 5 * ms
				r.add(probe.Task{Submit: at, Ready: at, Choice: at, Start: at + 2, End: at + ms, Release: at + ms})
			}
		}, "submission of the next"},
	}
	for _, c := range cases {
		r := bench()
		c.make(r)
		r.Finish()
		v := r.Summary().Verdict
		require.Equal(t, c.bound, v.Bound, "%v", v)
		require.Contains(t, v.String(), c.text)
	}
}

func TestTheSummaryInWords(t *testing.T) {
	r := bench()
	r.add(probe.Task{Place: 1, Start: 10 * ms, Launch: 1, End: 100 * ms, Release: 100 * ms, Kernel: "Forces", Variant: "sim"})
	r.add(probe.Task{Place: -1, Skipped: true, Err: "skipped", Release: 100 * ms})
	r.Points = append(r.Points,
		probe.Point{Kind: probe.Alloc, Device: "sim:0", Bytes: 4096},
		probe.Point{Kind: probe.Evict, Device: "sim:0", Bytes: 4096},
		probe.Point{Kind: probe.Compile, Device: "sim:0", Hit: true, Time: ms},
		probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 1 << 20, Begin: ms, Time: 9 * ms})
	r.Dropped = 7
	r.Finish()
	var out bytes.Buffer
	require.NoError(t, r.Summary().Write(&out))
	for _, want := range []string{"dropped 7", "skipped 1", "Forces", "host -> sim:0", "1.0 MiB", "4.0 KiB of 1.0 MiB", "1 from a cache", "90.0 %"} {
		require.Contains(t, out.String(), want)
	}
	var diff bytes.Buffer
	require.NoError(t, Compare(&diff, r.Summary(), r.Summary()))
	require.Contains(t, diff.String(), "+0.0 %")
}

// Counts and sums have the tasks and copies that were dropped; medians and spans are those of the
// records (issue 16, point 5).
func TestSummary_CountsWhatWasDropped(t *testing.T) {
	r := bench()
	r.add(probe.Task{Place: 1, Start: 10 * ms, Launch: 1, End: 100 * ms, Release: 100 * ms, Kernel: "Forces", Variant: "sim"})
	r.Points = append(r.Points, probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 1 << 20, Begin: ms, Time: 9 * ms})
	lost := &record.Losses{Details: 3, Points: 1,
		Copies: []record.LostCopies{{From: "host", To: "sim:0", Copies: 2, Bytes: 1 << 20}, {From: "sim:0", To: "host", Copies: 1, Failed: 1, Bytes: 5}},
		Tasks: []record.LostTasks{
			{Kernel: "Forces", Variant: "sim", Place: 1, Count: 7, Ran: 6, Failed: 1, Running: 60 * ms, Least: ms, Most: 20 * ms},
			{Label: "sum", Variant: "go", Place: 0, Count: 2, Ran: 2, Running: 4 * ms, Least: ms, Most: 3 * ms},
			{Kernel: "Forces", Place: -1, Count: 4, Skipped: 4},
		}}
	require.NoError(t, r.Take(&record.Batch{Dropped: lost.Records(), Lost: lost}))
	r.Finish()
	s := r.Summary()
	require.EqualValues(t, 13+4+3+1, s.Dropped)
	require.EqualValues(t, 14, s.Tasks)
	require.EqualValues(t, 1, s.Failed)
	require.EqualValues(t, 4, s.Skipped)
	require.EqualValues(t, []int64{2, 7}, []int64{s.Places[0].Tasks, s.Places[1].Tasks})
	require.Equal(t, KernelUse{Sort: "Forces", Variant: "sim", Kind: "sim", Count: 7, Total: 150 * ms, Least: ms, Middle: 90 * ms, Most: 90 * ms}, s.Kernels[0])
	require.Equal(t, KernelUse{Sort: "sum", Variant: "go", Kind: "smp", Count: 2, Total: 4 * ms, Least: ms, Middle: 2 * ms, Most: 3 * ms}, s.Kernels[1])
	require.Equal(t, LinkUse{From: "host", To: "sim:0", Copies: 3, Bytes: 2 << 20, Recorded: 1 << 20, Time: 8 * ms}, s.Links[0])
	require.Equal(t, LinkUse{From: "sim:0", To: "host", Copies: 1, Failed: 1, Bytes: 5}, s.Links[1])
	require.Zero(t, s.Links[1].Rate())
	var out bytes.Buffer
	require.NoError(t, s.Write(&out))
	require.Contains(t, out.String(), "(13 tasks, 4 copies, 3 details, 1 others)")
}

// A damaged file may hold any worker.
func TestAWorkerThatIsNone(t *testing.T) {
	r := New(0)
	r.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}}}
	for i, w := range []int16{-1, -32768, 2, 32767} {
		r.Append(probe.Task{ID: deps.TaskID(i + 1), Start: 1, End: 2, Release: 3, Worker: w})
	}
	r.Finish()
	require.Len(t, r.TaskLanes()[0].Tasks, 4)
}

// byKey keeps the order of equals, for keys that lie in a word with their numbers and for others.
func TestByKey_EqualsStay(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, limit := range []uint64{1, 7, 1 << 40, math.MaxUint64} {
		for _, n := range []int{0, 1, 2, 1000} {
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = r.Uint64() % limit
			}
			want := make([]int, n)
			for i := range want {
				want[i] = i
			}
			slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
			got := make([]int, n)
			for i, at := range byKey(n, func(i int) uint64 { return keys[i] }) {
				got[i] = at
			}
			require.Equal(t, want, got, "%d keys below %d", n, limit)
		}
	}
}
