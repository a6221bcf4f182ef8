package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
)

// A play runs rounds of items over the blocks of an array on places with known speeds: item b of a
// round reads its neighbours' edges, or everything, and writes block b. All items of a round are
// ready at once; virtual time.
type play struct {
	t      *testing.T
	s      *Scheduler
	places []Place
	took   func(p PlaceID) time.Duration
	blocks int
	size   deps.Bytes
	edge   deps.Bytes // what is read of each neighbour
	all    bool       // or all of every block
	back   bool       // the way back from the host counts, as package task does it
	need   []Tokens
	home   []PlaceID // by block; the host at first
	ran    map[PlaceID]int
	// version names the kernel, more what the last block has more than others, and depth is how
	// many items an accelerator takes before it is done with the first, one after the other; 1 if
	// 0.
	version string
	more    deps.Bytes
	depth   int
	// stopped counts trials that were over before the item was.
	stopped int
}

func newPlay(t *testing.T, policy string, gpus, workers, blocks int) *play {
	p := &play{t: t, blocks: blocks, version: "k", depth: 1, ran: map[PlaceID]int{}, home: make([]PlaceID, blocks)}
	p.places = append(p.places, Place{Name: "smp", Kind: "smp", Width: max(1, workers), Host: true})
	for i := range gpus {
		p.places = append(p.places, Place{Name: fmt.Sprint("gpu:", i), Kind: "gpu", Width: 1, Link: devices.Link{Rate: 50 << 30}})
	}
	var err error
	p.s, err = New(Options{Policy: policy, Places: p.places})
	require.NoError(t, err)
	return p
}

// missing is what item b would move to place q.
func (p *play) missing(b int, q PlaceID) deps.Bytes {
	n := deps.Bytes(0)
	for other := range p.blocks {
		switch {
		case p.home[other] == q:
		case other == b:
			n += p.size
		case p.all:
			n += p.size / 4
		case other == b-1 || other == b+1:
			n += p.edge
		}
	}
	return n
}

type flight struct {
	it    *Item
	block int
	place PlaceID
	over  time.Duration
	// stopped says that it will have been a trial, and for how long as it may.
	stopped bool
}

// round runs one item for each block and returns how long that took.
func (p *play) round(allowed PlaceSet) time.Duration {
	items := make([]*Item, p.blocks)
	blockOf := map[*Item]int{}
	for b := range items {
		it := &Item{Version: p.version, Work: p.size}
		if b == p.blocks-1 {
			it.Work += p.more
		}
		require.NoError(p.t, p.s.Prepare(it, allowed, p.need))
		least := deps.Bytes(-1)
		for q := range p.places {
			n := p.missing(b, PlaceID(q))
			it.Missing = append(it.Missing, n)
			if q > 0 && allowed.Has(PlaceID(q)) && (least < 0 || n < least) {
				least = n
			}
		}
		if p.back && least >= 0 && slices.ContainsFunc(p.home, func(h PlaceID) bool { return h != 0 }) {
			it.Missing[0] += p.size + least
		}
		blockOf[it] = b
		require.True(p.t, p.s.Push(it))
	}
	now := time.Duration(0)
	var flying []flight
	for left := p.blocks; left > 0; left-- { // some more than once
		for again := true; again; {
			again = false
			for q := range p.places {
				id := PlaceID(q)
				for p.s.Load(id) < p.places[q].Width*p.depth { // one place takes all it can before the next is asked
					it := p.s.Pop(id)
					if it == nil {
						break
					}
					again = true
					move := time.Duration(float64(it.missing(id)) / (50 << 30) * float64(time.Second))
					run := p.took(id)
					stopped := it.Limit > 0 && it.Limit < run
					if stopped {
						run = it.Limit
						p.stopped++
					}
					began := now + move
					for i := range flying {
						if f := &flying[i]; q > 0 && f.place == id {
							began = max(began, f.over)
						}
					}
					flying = append(flying, flight{it, blockOf[it], id, began + run, stopped})
				}
			}
		}
		require.NotEmpty(p.t, flying)
		first := 0
		for i := range flying {
			if flying[i].over < flying[first].over {
				first = i
			}
		}
		f := flying[first]
		flying = append(flying[:first], flying[first+1:]...)
		now = f.over
		f.it.Took = p.took(f.place)
		if f.stopped { // it runs again
			p.s.Done(f.it)
			f.it.Took = 0
			require.True(p.t, p.s.Push(f.it))
			left++
			continue
		}
		p.home[f.block] = f.place
		p.ran[f.place]++
		p.s.Done(f.it)
	}
	return now
}

func gpus(n int) PlaceSet { return PlaceSet(1)<<(n+1) - 2 }

// TestNeighboursSpread: blocks that share edges are not drawn to the device that got the first.
func TestNeighboursSpread(t *testing.T) {
	p := newPlay(t, "locality", 4, 0, 16)
	p.size, p.edge, p.took = 128<<20, 128<<10, func(PlaceID) time.Duration { return time.Millisecond }
	for range 20 {
		p.round(gpus(4))
	}
	for q := 1; q <= 4; q++ {
		require.Equal(t, 80, p.ran[PlaceID(q)], "gpu:%d", q-1)
	}
	homes := append([]PlaceID{}, p.home...)
	took := p.round(gpus(4))
	require.Equal(t, homes, p.home, "data stay where they are")
	require.Less(t, took, 5*time.Millisecond)
}

// TestReadersOfAllSpread: where each item reads what all wrote, work that is dear to run is shared.
func TestReadersOfAllSpread(t *testing.T) {
	for _, blocks := range []int{4, 8, 32} {
		p := newPlay(t, "locality", 4, 0, blocks)
		p.size, p.all, p.took = 1<<20, true, func(PlaceID) time.Duration { return 100 * time.Millisecond }
		for range 10 {
			p.round(gpus(4))
		}
		for q := 1; q <= 4; q++ {
			require.InDelta(t, 10*blocks/4, p.ran[PlaceID(q)], float64(blocks/4), "gpu:%d of %d blocks", q-1, blocks)
		}
	}
}

// TestSlowWorkersGetWhatTheyCan: CPU workers, where the data are, are 25 times slower than an
// accelerator: they are tried, and get no more than that and a share.
func TestSlowWorkersGetWhatTheyCan(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		p := newPlay(t, policy, 4, 56, 32)
		p.size, p.edge, p.need = 1<<20, 1<<10, []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}
		p.took = func(q PlaceID) time.Duration {
			if q == 0 {
				return 250 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		total := time.Duration(0)
		for range 4 {
			p.round(gpus(4) | 1)
		}
		tries := p.ran[0]
		require.LessOrEqual(t, tries, 3+fewTimes, policy)
		for range 20 {
			total += p.round(gpus(4) | 1)
		}
		require.LessOrEqual(t, p.ran[0]-tries, 20, policy)
		if policy == "locality" {
			require.Less(t, total, 20*120*time.Millisecond, "8 items an accelerator and round are 80 ms")
		}
	}
}

// TestWorkersThatAreWorthItWork: with half the speed of an accelerator, two at a time, CPU workers
// get about a fifth.
func TestWorkersThatAreWorthItWork(t *testing.T) {
	p := newPlay(t, "locality", 4, 56, 60)
	p.size, p.edge, p.need = 1<<16, 1<<8, []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}
	p.took = func(q PlaceID) time.Duration {
		if q == 0 {
			return 20 * time.Millisecond
		}
		return 10 * time.Millisecond
	}
	for range 20 {
		p.round(gpus(4) | 1)
	}
	require.InDelta(t, 20*60/5, p.ran[0], 60)
}

// TestWorkersDoNotHoldUpWhatMemoryBounds: blocks that an accelerator works through in the time that
// a link takes for a part of them. CPU workers beside it, faster than the link but slower than the
// memory of the accelerators, must not draw them home: rounds take no longer than without them, but
// for the first three, in which everything is on the host at first and workers are tried.
func TestWorkersDoNotHoldUpWhatMemoryBounds(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		t.Run(policy, func(t *testing.T) { workersBesideMemory(t, policy) })
	}
}

func workersBesideMemory(t *testing.T, policy string) {
	for _, size := range []deps.Bytes{1 << 20, 64 << 20, 768 << 20} {
		total := map[int]time.Duration{}
		for _, workers := range []int{0, 56} {
			p := newPlay(t, policy, 4, workers, 16)
			p.size, p.back, p.need = size, true, []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}
			p.took = func(q PlaceID) time.Duration {
				speed := deps.Bytes(4000 << 30)
				if q == 0 {
					speed = 100 << 30
				}
				return time.Duration(float64(size) / float64(speed) * float64(time.Second))
			}
			allowed := gpus(4)
			if workers > 0 {
				allowed |= 1
			}
			for round := range 35 {
				if took := p.round(allowed); round >= 3 {
					total[workers] += took
				}
			}
		}
		ratio := float64(total[0]) / float64(total[56])
		t.Logf("blocks of %v: %.3f of the speed without workers", size, ratio)
		require.Greater(t, ratio, 0.95, "blocks of %v", size)
	}
}
