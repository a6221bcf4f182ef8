package probe

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// openBriefs returns briefs and the lock of the submitting goroutines.
func openBriefs() (*Briefs, *sync.Mutex) {
	var l *Briefs
	mu := &sync.Mutex{}
	l = NewBriefs(func() {
		if mu.TryLock() {
			l.Publish()
			mu.Unlock()
		}
	})
	return l, mu
}

// Tasks that have finished are taken once, whatever the order in which they end and the numbers
// that they have; others are not.
func TestBriefsAreTakenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, _ := openBriefs()
		id := deps.TaskID(rapid.Uint64Range(0, 1<<40).Draw(t, "first"))
		taken := map[deps.TaskID]bool{}
		over := map[deps.TaskID]bool{}
		var running []*Brief
		take := func(b *Brief) {
			require.True(t, over[b.ID], "task %d is not over", b.ID)
			require.False(t, taken[b.ID], "task %d is taken twice", b.ID)
			taken[b.ID] = true
		}
		skip := rapid.IntRange(1, 40).Draw(t, "skip")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				for range rapid.IntRange(1, 400).Draw(t, "tasks") {
					id += deps.TaskID(1 + int(id)%skip)
					if b := l.New(id); b != nil {
						require.Same(t, b, l.Find(id))
						running = append(running, b)
					}
				}
			case 2, 3:
				for range rapid.IntRange(0, len(running)).Draw(t, "ends") {
					k := 0
					if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
						k = rapid.IntRange(0, len(running)-1).Draw(t, "which")
					}
					over[running[k].ID] = true
					running[k].Over()
					running = append(running[:k], running[k+1:]...)
				}
			default:
				n := len(taken)
				most := rapid.IntRange(1, 2000).Draw(t, "most")
				require.Equal(t, l.Sweep(most, rapid.Bool().Draw(t, "thorough"), take), len(taken)-n)
			}
		}
		for l.Sweep(1000, true, take) > 0 {
		}
		require.Equal(t, len(over), len(taken))
		for _, b := range running {
			over[b.ID] = true
			b.Over()
		}
		for l.Sweep(1000, true, take) > 0 {
		}
		require.Equal(t, over, taken)
	})
}

// Without a collector there is no more room, and none is lost; a task that takes long
// keeps one sheet.
func TestBriefsAreFull(t *testing.T) {
	l, _ := openBriefs()
	const all = mostSheets * sheetTasks
	var list []*Brief
	for id := deps.TaskID(sheetTasks); id < sheetTasks+all; id++ {
		b := l.New(id)
		require.NotNil(t, b)
		list = append(list, b)
	}
	next := deps.TaskID(sheetTasks + all)
	require.Nil(t, l.New(next))
	long := list[77]
	for _, b := range list {
		if b != long {
			b.Over()
		}
	}
	n := 0
	for k := 1; k > 0; n += k {
		k = l.Sweep(all, true, func(*Brief) {})
	}
	require.Equal(t, all-1, n)
	require.Nil(t, l.New(next+1), "its sheet is kept")
	for id := next + sheetTasks; id < next+3*sheetTasks; id++ {
		b := l.New(id)
		require.NotNil(t, b)
		b.Over()
	}
	require.Same(t, long, l.Find(long.ID))
	long.Over()
	n = 0
	for k := 1; k > 0; n += k {
		k = l.Sweep(all, true, func(*Brief) {})
	}
	require.Equal(t, 2*sheetTasks+1, n)
}

// A task that got the memory of one with the same mark is not over before it is.
func TestMarksOfOtherEpochs(t *testing.T) {
	l, _ := openBriefs()
	for _, first := range []deps.TaskID{0, 1 << 31, 1 << 32, 1<<32 + 1<<30} {
		n := sheetTasks - 1 // without the first one: no task has the number 0
		for id := first + 1; id < first+sheetTasks; id++ {
			require.NotNil(t, l.New(id))
		}
		require.Zero(t, l.Sweep(sheetTasks, true, func(*Brief) {}))
		for id := first + 1; id < first+sheetTasks; id++ {
			l.Find(id).Over()
		}
		l.current.told.Store(sheetTasks)
		l.current = nil
		require.Equal(t, n-1, l.Sweep(n-1, true, func(*Brief) {}))
		require.Equal(t, 1, l.Sweep(n, true, func(*Brief) {}))
		require.Equal(t, 1, l.made)
	}
}

// One submits, four run, one collects: all is taken once, as it was written.
func TestBriefsOfManyGoroutines(t *testing.T) {
	l, mu := openBriefs()
	const tasks = 200_000
	ready := make(chan *Brief, 4000)
	var running, all sync.WaitGroup
	var missed int
	done := make(chan struct{})
	for w := range 4 {
		running.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			var late []*Brief
			end := func(b *Brief) {
				b.Start, b.End, b.Worker = b.Submit+1, b.Submit+2, int16(w)
				b.Over()
			}
			for b := range ready {
				if late = append(late, b); r.IntN(100) > 0 {
					late = late[:len(late)-1]
					end(b)
				}
				if len(late) > 50 {
					end(late[0])
					late = late[1:]
				}
			}
			for _, b := range late {
				end(b)
			}
		})
	}
	all.Go(func() {
		for id := deps.TaskID(1); id <= tasks; id++ {
			mu.Lock()
			b := l.New(id)
			if b == nil {
				missed++
			} else {
				b.Submit, b.Last = time.Duration(id)*3, id/2
				require.True(t, b.Pack([]deps.Access{{Region: deps.Interval(1, int64(id), int64(id)+1), Mode: deps.In}}, []deps.TaskID{id - 1}))
			}
			mu.Unlock()
			if b != nil {
				ready <- b
			}
		}
		close(ready)
		running.Wait()
		close(done)
	})
	seen := make([]bool, tasks+1)
	n := 0
	take := func(b *Brief) {
		if seen[b.ID] || b.Submit != time.Duration(b.ID)*3 || b.Last != b.ID/2 || b.End != b.Submit+2 || b.Waited != 1 {
			t.Errorf("task %d: %+v", b.ID, b.Words)
		}
		seen[b.ID] = true
		n++
	}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for k := 1; k > 0; {
			k = l.Sweep(1000, over || n%7 == 0, take)
		}
	}
	all.Wait()
	require.Equal(t, tasks-missed, n)
}
