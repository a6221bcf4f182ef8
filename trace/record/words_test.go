package record

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// packed counts the tasks of which all fitted into their briefs.
var packed int

// A source is where a recorder finds the tasks of one goroutine.
type source struct {
	*probe.Briefs
	mu sync.Mutex // held while a task is submitted
}

func briefs(r *Recorder) *source {
	s := &source{}
	s.Briefs = probe.NewBriefs(func() {
		if s.mu.TryLock() {
			s.Publish()
			s.mu.Unlock()
		}
	})
	r.Collect(s.Briefs)
	return s
}

// told is what a recorder gets of a task, and the details that say it.
func told(t *rapid.T, r *Recorder, l *source, id deps.TaskID) (want []Detail) {
	var accesses []deps.Access
	most := rapid.SampledFrom([]int{4, 4, 4, 300}).Draw(t, "most") // a few fit into a brief
	nearby := rapid.Bool().Draw(t, "nearby")
	for range rapid.IntRange(0, most).Draw(t, "accesses") {
		region := deps.Region{Buffer: deps.BufferID(rapid.Uint32().Draw(t, "buffer")), N: rapid.Uint8Range(1, deps.MaxDims).Draw(t, "dimensions"), Offset: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "offset")}
		last, n := region.Offset, int64(1)
		for i := range region.Dims[:region.N] {
			region.Dims[i] = deps.Dim{Count: rapid.Int64Range(1, 9).Draw(t, "count"), Stride: rapid.Int64Range(1, 3).Draw(t, "stride")}
			last, n = last+(region.Dims[i].Count-1)*region.Dims[i].Stride, n*region.Dims[i].Count
		}
		if nearby {
			buffer, most := region.Buffer, uint32(1<<31)
			if rapid.Bool().Draw(t, "small") {
				buffer, most = buffer%5000, 1<<21
			}
			region = deps.Interval(buffer, int64(rapid.Uint32Range(0, (most-1)<<8).Draw(t, "from")), 1<<32)
			region.Dims[0].Count = int64(rapid.Uint32Range(1, most).Draw(t, "count"))
			last, n = region.Offset+region.Dims[0].Count-1, region.Dims[0].Count
		}
		a := deps.Access{Region: region, Mode: deps.Mode(rapid.IntRange(0, 5).Draw(t, "mode"))}
		accesses = append(accesses, a)
		want = append(want, Detail{Task: id, What: Accesses, Count: region.N, Mode: a.Mode, Values: [6]int64{int64(region.Buffer), region.Offset, n, last}})
	}
	far := rapid.Bool().Draw(t, "far")
	var preds []deps.TaskID
	for range rapid.IntRange(0, 2*most).Draw(t, "predecessors") {
		d := rapid.Uint64Range(1, 1<<20).Draw(t, "distance")
		if far {
			d <<= 20
		}
		preds = append(preds, id-deps.TaskID(d))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.New(id)
	b.Start, b.Worker = 1, int16(rapid.IntRange(0, 3).Draw(t, "worker"))
	if len(accesses)+len(preds) > 0 {
		if b.Pack(accesses, preds) {
			packed++
		} else {
			r.Submitted(id, accesses, preds)
		}
	}
	b.Over()
	for i := 0; i < len(preds); i += mostCounted {
		for some := preds[i:min(len(preds), i+mostCounted)]; len(some) > 0; {
			d := Detail{Task: id, What: Waits, Count: uint8(min(6, len(some)))}
			for k := range d.Count {
				d.Values[k] = int64(some[k])
			}
			want, some = append(want, d), some[d.Count:]
		}
	}
	return want
}

// Records come out as they went in, in whatever numbers.
func TestWordsSayWhatWasTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &keeper{}
		r := New(Options{Sinks: []Sink{k}, Every: time.Hour})
		r.Open(machine())
		l := briefs(r)
		var want []Detail
		for i := range rapid.IntRange(1, 12).Draw(t, "tasks") {
			want = append(want, told(t, r, l, deps.TaskID(1<<44+i))...)
		}
		list := make([]probe.Candidate, rapid.IntRange(0, 300).Draw(t, "candidates"))
		for i := range list {
			n := rapid.Int32()
			list[i] = probe.Candidate{Place: int16(rapid.IntRange(-1, 300).Draw(t, "place")), Meant: i%2 == 0, Known: i%3 == 0, Missing: deps.Bytes(rapid.Int64().Draw(t, "missing")), Run: time.Duration(i), Ahead: -1,
				Queued: n.Draw(t, "queued"), Load: n.Draw(t, "load"), Need: n.Draw(t, "need"), Free: n.Draw(t, "free")}
		}
		r.Considered(7, 0, list)
		require.NoError(t, r.Close())
		require.Zero(t, r.Dropped())
		var got []Detail
		var candidates []probe.Candidate
		for _, d := range k.all.Details {
			if d.What == Candidate {
				candidates = append(candidates, d.Candidate())
			} else {
				got = append(got, d)
			}
		}
		order := func(a, b Detail) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.What, b.What)) }
		slices.SortStableFunc(want, order)
		slices.SortStableFunc(got, order) // those of a task with more than can be counted at once take turns
		require.Equal(t, want, got)
		require.Equal(t, list, append([]probe.Candidate{}, candidates...))
	})
	require.Positive(t, packed)
}
