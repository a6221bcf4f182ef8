package run

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// waits returns details of the predecessors of a task, as a recorder tells of them.
func waits(id deps.TaskID, preds []deps.TaskID) (out []record.Detail) {
	for i, p := range preds {
		if i%6 == 0 {
			out = append(out, record.Detail{Task: id, What: record.Waits})
		}
		d := &out[len(out)-1]
		d.Values[d.Count] = int64(p)
		d.Count++
	}
	return out
}

// phases tells runs of phases, each task of which waits for all of the one before, and returns how
// many edges there are.
func phases(t require.TestingT, phases, width int, tell func(b *record.Batch)) (edges int64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var before, now []deps.TaskID
	at, last := time.Duration(1), deps.TaskID(0)
	for p := range phases {
		before, now = now, nil
		var b record.Batch
		end, slowest := at, deps.TaskID(0)
		for i := range width {
			id := deps.TaskID(p*width + i + 1)
			took := time.Duration(1000 + rnd.IntN(1000))
			b.Tasks = append(b.Tasks, probe.Task{ID: id, Last: last, Submit: 1, Ready: at, Choice: at, Start: at + 1, End: at + 1 + took, Release: at + 2 + took, Label: "phase"})
			b.Details = append(b.Details, waits(id, before)...)
			if at+1+took > end {
				end, slowest = at+1+took, id
			}
			edges += int64(len(before))
			now = append(now, id)
		}
		at, last = end+2, slowest
		tell(&b)
	}
	return edges
}

// A run with a limit keeps the edges of phases in the memory of as many tasks, says how many are
// gone, and has the critical path of all.
func TestEdgesAreBounded(t *testing.T) {
	whole, bounded := New(0), New(1<<18)
	most := 0
	edges := phases(t, 16, 400, func(b *record.Batch) {
		require.NoError(t, whole.Take(b))
		require.NoError(t, bounded.Take(b))
		most = max(most, bounded.details.size())
	})
	require.NoError(t, whole.Close())
	require.NoError(t, bounded.Close())
	require.EqualValues(t, 15*400*400, edges)
	require.Len(t, whole.Edges(), int(edges))
	all := whole.details.size()
	t.Logf("%d edges: %d KiB in all, %d KiB at most with a limit", edges, all>>10, most>>10)
	require.Less(t, most, 1<<20)
	require.Greater(t, all, 4<<20)
	require.Equal(t, whole.Critical(), bounded.Critical())
	a, b := whole.Summary(), bounded.Summary()
	require.Equal(t, edges, b.EdgesGone+int64(len(bounded.Edges())))
	require.Zero(t, a.EdgesGone)
	var text bytes.Buffer
	require.NoError(t, b.Write(&text))
	require.Contains(t, text.String(), fmt.Sprintf("dropped 0, %d edges are not kept", b.EdgesGone))
	last := bounded.Task(bounded.Len() - 1).ID
	require.EqualValues(t, 400, int64(len(bounded.Predecessors(last)))+bounded.EdgesGoneOf(last))
	require.Contains(t, bounded.Predecessors(last), bounded.Find(last).Last)
	a.EdgesGone = b.EdgesGone
	require.Equal(t, a, b, "nothing else is different")
}

// Whatever the graph is, and in whatever order its records come, thinning leaves the length of the
// critical path, keeps an edge from the last predecessor, and counts what it takes.
func TestThinningLeavesTheCriticalPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "tasks")
		whole, thinned := New(0), New(1000)
		edges, tasks, details := 0, []probe.Task(nil), []record.Detail(nil)
		for i := range n {
			x := probe.Task{ID: deps.TaskID(2*i + 1), Start: time.Duration(i + 1), Place: int16(-rapid.IntRange(0, 1).Draw(t, "skipped"))}
			x.End = x.Start + time.Duration(rapid.IntRange(0, 100).Draw(t, "took"))
			var preds []deps.TaskID
			for p := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
					preds = append(preds, deps.TaskID(2*p+1))
				}
			}
			if len(preds) > 0 {
				x.Last = rapid.SampledFrom(preds).Draw(t, "last")
			}
			edges += len(preds)
			tasks, details = append(tasks, x), append(details, waits(x.ID, preds)...)
		}
		require.NoError(t, whole.Take(&record.Batch{Tasks: tasks, Details: details}))
		whole.Finish()
		require.NoError(t, thinned.Take(&record.Batch{Details: details}))
		for _, i := range rapid.Permutation(tasks).Draw(t, "order") {
			require.NoError(t, thinned.Take(&record.Batch{Tasks: []probe.Task{i}}))
			if rapid.IntRange(0, 3).Draw(t, "thin") == 0 {
				thinner{thinned}.thin()
			}
		}
		thinner{thinned}.thin()
		thinned.Finish()
		require.Equal(t, whole.Critical().Length, thinned.Critical().Length)
		require.EqualValues(t, edges, len(thinned.Edges())+int(thinned.EdgesGone))
		for i := range thinned.Len() {
			x := thinned.Task(i)
			preds := thinned.Predecessors(x.ID)
			require.LessOrEqual(t, len(preds), 6)
			require.EqualValues(t, len(whole.Predecessors(x.ID)), int64(len(preds))+thinned.EdgesGoneOf(x.ID))
			if x.Last > 0 {
				require.Contains(t, preds, x.Last)
			}
		}
	})
}

// What thinning costs, for a task of 400 edges.
func BenchmarkTakePhases(b *testing.B) {
	var list []*record.Batch
	phases(b, 700, 400, func(x *record.Batch) { list = append(list, x) })
	for b.Loop() {
		r := New(1 << 18)
		for _, x := range list {
			_ = r.Take(x) // a run takes everything
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(700*400), "ns/task")
}
