package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// ofRank is the run of one rank: task 1 sends or receives, then task 2 runs.
func ofRank(rank int, first string, shift time.Duration, points ...probe.Point) *run.Run {
	r := run.New(0)
	r.Machine = probe.Machine{Rank: rank, Ranks: 2, Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}
	at := func(ms int) time.Duration { return time.Duration(ms)*time.Millisecond + shift }
	r.Append([]probe.Task{
		{ID: 1, Label: first, Submit: at(1), Ready: at(1), Choice: at(2), Start: at(2), End: at(3), Release: at(3)},
		{ID: 2, Label: "Work", Last: 1, Submit: at(1), Ready: at(9), Choice: at(9), Start: at(9), End: at(10), Release: at(10)},
	}...)
	r.Points = points
	r.Finish()
	return r
}

// Times of a rank are put on the clock of rank 0: by its best readings, which differ by the drift.
func TestMerge_ClocksAreAligned(t *testing.T) {
	const shift = 5 * time.Second // the clock of rank 1 is as much ahead
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	clock := func(at, took, ahead time.Duration) probe.Point {
		return probe.Point{Kind: probe.Clock, Begin: at - took, Time: at, Bytes: deps.Bytes(ahead)}
	}
	zero := ofRank(0, "send", 0, probe.Point{Kind: probe.Message, Task: 1, Other: 9, Kernel: "0", From: "rank 0", To: "rank 1", Begin: ms(3), Time: ms(3), Bytes: 64})
	one := ofRank(1, "recv", shift,
		clock(shift+ms(1), ms(1), -shift+ms(40)), // a slow reading, which is wrong
		clock(shift+ms(2), 1000, -shift),
		clock(shift+ms(11), 1000, -shift),
		probe.Point{Kind: probe.Arrive, Task: 1, Other: 9, Kernel: "0", From: "rank 0", To: "rank 1", Begin: shift + ms(2), Time: shift + ms(8), Bytes: 64})
	merged, err := run.Merge([]*run.Run{one, zero})
	require.NoError(t, err)
	require.Equal(t, 4, merged.Len())
	for i := range merged.Len() {
		require.LessOrEqual(t, merged.Task(i).Release, ms(10)+2000)
	}
	messages := run.MessagesOf(merged)
	require.Len(t, messages, 1)
	for id, m := range messages {
		require.Equal(t, ms(3), m.Begin, "the sender posted it then")
		require.InDelta(t, ms(8), m.Time, 2000)
		from := run.SenderOf(merged, merged.Find(id))
		require.NotZero(t, from)
		require.Less(t, from, id)
	}
}

func TestMerge_Refusals(t *testing.T) {
	_, err := run.Merge(nil)
	require.ErrorContains(t, err, "no runs")
	_, err = run.Merge([]*run.Run{run.New(0)})
	require.ErrorContains(t, err, "not of one rank")
	_, err = run.Merge([]*run.Run{ofRank(1, "x", 0), ofRank(1, "x", 0)})
	require.ErrorContains(t, err, "two runs of rank 1")
	other := ofRank(0, "x", 0)
	other.Machine.Ranks = 3
	_, err = run.Merge([]*run.Run{ofRank(1, "x", 0), other})
	require.ErrorContains(t, err, "of 2 ranks")
	alone, err := run.Merge([]*run.Run{ofRank(1, "recv", 0)})
	require.NoError(t, err)
	require.Equal(t, 2, alone.Len())
}
