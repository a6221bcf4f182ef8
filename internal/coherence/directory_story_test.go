package coherence_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// directoryOf returns a directory with the host and n accelerators that reach each other, and one
// buffer of 100.
func directoryOf(n int) *coherence.Directory {
	d := coherence.NewDirectory(func(devices.SpaceID, devices.SpaceID) bool { return true })
	for range n {
		d.AddSpace()
	}
	d.Add(0, 100, 8)
	return d
}

func part(lo, hi int64) deps.Region { return deps.Interval(0, lo, hi) }

// routes prints copies as "from>to region".
func routes(flights []*coherence.Operation) (out []string) {
	for _, f := range flights {
		out = append(out, f.From.String()+">"+f.To.String()+" "+f.Region.String())
	}
	return out
}

func land(d *coherence.Directory, made bool, flights ...*coherence.Operation) {
	for _, f := range flights {
		d.Complete(f, made)
	}
}

func TestDirectory_WriteBackSparesHostWrites(t *testing.T) {
	d := directoryOf(1)
	d.Commit(part(0, 50), acc(0))
	var p coherence.Plan
	host := out(part(10, 20))
	require.NoError(t, d.Plan(host, devices.Host, &p))
	d.Evict(part(0, 30), acc(0), &p)
	require.Equal(t, []string{"space 0.1>host b0[0:10]", "space 0.1>host b0[20:30]"}, routes(p.Copies))
	land(d, true, p.Copies...)
	d.EndAccess(host, devices.Host)
	d.Invalidate(part(10, 20), devices.Host)
	require.True(t, d.Valid(part(0, 30), devices.Host), "a task that failed leaves what it has written")
	d.Evict(part(30, 50), acc(0), &p)
	require.Equal(t, "space 0.1>host b0[30:50]", routes(p.Copies)[2], "the task is over: nothing is held back any more")
}

func TestDirectory_FailedWriteBackRestoresNoOldValues(t *testing.T) {
	d := directoryOf(2)
	d.Commit(part(0, 50), acc(0))
	var p coherence.Plan
	d.Evict(part(0, 50), acc(0), &p)
	d.Commit(part(20, 30), acc(1)) // written again elsewhere, while the old value is on its way to the host
	land(d, false, p.Copies...)
	require.True(t, d.Valid(part(0, 20), acc(0)) && d.Valid(part(30, 50), acc(0)), "what was given up is there again")
	require.False(t, d.Valid(part(25, 26), acc(0)) || d.Valid(part(25, 26), devices.Host))
	require.True(t, d.Valid(part(20, 30), acc(1)))
}

// What is on its way elsewhere may not arrive, so a device that gives it up keeps its memory until
// it has.
func TestDirectory_EvictionWaitsForPendingCopies(t *testing.T) {
	d := directoryOf(2)
	d.Commit(part(0, 50), acc(0))
	var fetch, evict coherence.Plan
	require.NoError(t, d.Plan(in(part(0, 50)), devices.Host, &fetch))
	d.Evict(part(0, 50), acc(0), &evict)
	require.Empty(t, evict.Copies, "it is on its way to the host already")
	require.Equal(t, fetch.Copies, evict.Wait, "but the memory stays until it is there")
	land(d, false, fetch.Copies...)
	require.True(t, d.Valid(part(0, 50), acc(0)))
}

func TestDirectory_CopiesFromTheNearestSource(t *testing.T) {
	d := directoryOf(4)
	var p coherence.Plan
	for _, to := range []devices.SpaceID{acc(0), acc(1), acc(3)} {
		require.NoError(t, d.Plan(in(part(0, 100)), to, &p))
	}
	require.Equal(t, []string{"host>space 0.1 b0[0:100]", "host>space 0.2 b0[0:100]", "host>space 0.4 b0[0:100]"}, routes(p.Copies),
		"what is still on its way is not waited for while the host has it")
	land(d, true, p.Copies...)
	p.Reset()
	require.NoError(t, d.Plan(in(part(0, 100)), acc(2), &p))
	require.Equal(t, []string{"space 0.2>space 0.3 b0[0:100]"}, routes(p.Copies), "the accelerator before this one")
}

func TestDirectory_PiecesComeFromEverySpace(t *testing.T) {
	d := directoryOf(3)
	d.Commit(part(10, 40), acc(0))
	d.Commit(part(30, 60), acc(1))
	var p coherence.Plan
	require.NoError(t, d.Plan(inout(part(0, 100)), acc(2), &p))
	require.ElementsMatch(t, []string{"space 0.1>space 0.3 b0[10:30]", "space 0.2>space 0.3 b0[30:60]",
		"host>space 0.3 b0[0:10]", "host>space 0.3 b0[60:100]"}, routes(p.Copies))
	var again coherence.Plan
	require.NoError(t, d.Plan(in(part(5, 15)), acc(2), &again))
	require.Empty(t, again.Copies, "copies under way are shared")
	require.Len(t, again.Wait, 2)
}

func TestDirectory_EachLossHasItsDevice(t *testing.T) {
	d := directoryOf(2)
	d.Commit(part(0, 10), acc(0))
	d.Commit(part(20, 30), acc(1))
	gone := &devices.DeviceError{Device: "sim:0", What: "lost", Err: errors.New("x"), Fatal: true}
	require.Equal(t, []deps.Region{part(0, 10)}, d.MarkLost(acc(0), gone))
	var p coherence.Plan
	require.ErrorIs(t, d.Plan(in(part(0, 100)), acc(1), &p), devices.ErrLost)
	require.Equal(t, []string{"host>space 0.2 b0[10:20]", "host>space 0.2 b0[30:100]"}, routes(p.Copies), "the rest comes all the same")
	d.Commit(part(0, 5), devices.Host)
	require.ErrorIs(t, d.Plan(in(part(0, 10)), devices.Host, &p), devices.ErrLost)
	require.NoError(t, d.Plan(in(part(0, 5)), devices.Host, &p))
	d.Commit(part(40, 50), acc(0)) // a task that ended well, on a device that was lost before that was heard of
	require.ErrorIs(t, d.Plan(in(part(45, 46)), devices.Host, &p), devices.ErrLost)
}

// What a task took from the host, though it was only on its way there, is not there again when both
// fail: the host has what was before. In whatever order that is heard of, it is on the device from
// where it did not get away, or lost with that.
func TestDirectory_FailedTaskRestoresOnlyWhatArrived(t *testing.T) {
	all := part(0, 50)
	for _, order := range [][]string{{"back", "again", "task"}, {"back", "task", "again"}, {"again", "back", "task"}, {"again", "task", "back"},
		{"task", "back", "again"}, {"task", "again", "back"}} {
		for _, lose := range []int{-1, 0, 1, 2, 3} { // before which of them; -1 for never
			for _, arrives := range []bool{false, true} {
				d := directoryOf(1)
				d.Commit(all, acc(0))
				var back, again coherence.Plan
				d.Evict(all, acc(0), &back)
				require.NoError(t, d.Plan(inout(all), acc(0), &again))
				require.Equal(t, back.Copies, again.Copies[0].After)
				written, f := inout(all), new(coherence.Operation)
				d.Begin(&written, acc(0), nil, f)
				for i, what := range append(slices.Clone(order), "") {
					if lose == i {
						d.MarkLost(acc(0), &devices.DeviceError{Device: "sim:0", Fatal: true})
					}
					switch what {
					case "back":
						land(d, arrives, back.Copies...)
					case "again":
						land(d, false, again.Copies...)
					case "task":
						d.End(inout(all), f, false)
					}
				}
				name := fmt.Sprintf("%v, arrives %v, lost before %d", order, arrives, lose)
				require.Equal(t, arrives, d.Valid(all, devices.Host), name)
				require.Equal(t, !arrives && lose < 0, d.Valid(all, acc(0)), name)
				var lost *devices.LostError
				require.Equal(t, !arrives && lose >= 0, errors.As(d.Plan(in(all), devices.Host, &coherence.Plan{}), &lost), name)
			}
		}
	}
}

// A copy behind one that has failed fails: no task counts as having written behind it.
func TestOperation_FailsWithTheCopyBeforeIt(t *testing.T) {
	d := coherence.NewDirectory(func(from, to devices.SpaceID) bool { return from == devices.Host || to == devices.Host })
	d.AddSpace()
	d.AddSpace()
	d.Add(0, 100, 8)
	d.Commit(part(0, 50), acc(1))
	var p coherence.Plan
	require.NoError(t, d.Plan(inout(part(0, 50)), acc(0), &p))
	require.Equal(t, []string{"space 0.2>host b0[0:50]", "host>space 0.1 b0[0:50]"}, routes(p.Copies))
	require.False(t, p.Copies[1].FailsOnlyWith(acc(0)), "it depends on the other device")
	d.Complete(p.Copies[0], false)
	require.False(t, p.Copies[1].FailsOnlyWith(acc(0)), "it will fail")

	require.NoError(t, d.Plan(in(part(60, 70)), acc(0), &p))
	require.True(t, p.Copies[2].FailsOnlyWith(acc(0)))
}
