package trace

import (
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// watched returns what a page of a live run holds when it holds the most: tasks with an access and
// an edge on two workers.
func watched(t testing.TB, c *content) {
	require.NoError(t, c.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}}}))
	var b record.Batch
	for i := range 2*liveTasks - 1 {
		id, at := deps.TaskID(i+1), time.Duration(i)*time.Microsecond
		b.Tasks = append(b.Tasks, probe.Task{ID: id, Last: id - min(id-1, 64), Submit: at, Ready: at + 10, Choice: at + 20, Start: at + 20, End: at + 1900, Release: at + 1900, Worker: int16(i % 2)})
		b.Details = append(b.Details, record.Detail{Task: id, What: record.Accesses, Mode: deps.InOut, Count: 1, Values: [6]int64{1, int64(i % 64), 1, int64(i % 64)}})
		if i >= 64 {
			b.Details = append(b.Details, record.Detail{Task: id, What: record.Waits, Count: 1, Values: [6]int64{int64(id) - 64}})
		}
	}
	for i := 0; i+3 < len(b.Tasks); i += 2 { // they do not end in the order of their submission
		b.Tasks[i], b.Tasks[i+3] = b.Tasks[i+3], b.Tasks[i]
	}
	require.NoError(t, c.Take(&b))
}

// BenchmarkSnapshot is what a page of a live run costs each time that there is something new to
// show, however many clients look.
func BenchmarkSnapshot(b *testing.B) {
	c := &content{run: run.New(liveTasks), live: true}
	watched(b, c)
	b.ReportAllocs()
	for b.Loop() {
		c.next, c.fresh = time.Time{}, true
		m, err := c.snapshot()
		require.NoError(b, err)
		b.ReportMetric(float64(len(m.state)), "B/state")
	}
}

// A device that runs several tasks at once has a lane for each of its streams, and no two tasks of
// a lane overlap.
func TestLanesPerStream(t *testing.T) {
	r := run.New(0)
	r.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}, {Name: "sim:0", Kind: "sim", Memory: 1}, {Name: "sim:1", Kind: "sim", Memory: 1}}}
	for i := range 30 {
		at := time.Duration(i+1) * 10
		r.Append(probe.Task{ID: deps.TaskID(i + 1), Submit: 1, Ready: 1, Choice: at, Launch: at, Start: at, End: at + 25, Release: at + 25, Place: 1 + int16(i%10/9)})
	}
	r.Finish()
	var n names
	lanes, of := n.lanesOf(r)
	var got []string
	for _, l := range lanes {
		got = append(got, l.Name)
	}
	require.Equal(t, []string{"smp worker 0", "smp worker 1", "sim:0 stream 0", "sim:0 stream 1", "sim:0 stream 2", "sim:1"}, got)
	over := map[uint16]time.Duration{}
	for i := range r.Len() {
		require.GreaterOrEqual(t, r.Task(i).Start, over[of[i]])
		over[of[i]] = r.Task(i).End
		require.Equal(t, int(r.Task(i).Place), lanes[of[i]].Place)
	}
	one := run.New(0) // what a live page forgets changes no numbers
	one.Machine = r.Machine
	one.Append(*r.Task(0))
	one.Finish()
	lanes, _ = n.lanesOf(one)
	require.Len(t, lanes, len(got))
}
