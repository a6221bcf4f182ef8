package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

// TestWorkersBesideAcceleratorsCostLittle: whole programs of blocks, trials included, with CPU
// workers that are far slower than accelerators, are not slower by more than a twentieth than on
// accelerators alone.
func TestWorkersBesideAcceleratorsCostLittle(t *testing.T) {
	for _, c := range []struct {
		name   string
		ratio  int // the host's time by an accelerator's
		size   deps.Bytes
		edge   deps.Bytes
		all    bool
		gpu    time.Duration
		rounds int
	}{
		{"nbody", 200, 1 << 20, 0, true, 4 * time.Millisecond, 20},
		{"nbody, long blocks", 200, 8 << 20, 0, true, 60 * time.Millisecond, 20},
		{"nbody, workers not that slow", 20, 1 << 20, 0, true, 4 * time.Millisecond, 20},
		{"jacobi", 40, 512 << 20, 128 << 10, false, 300 * time.Microsecond, 400},
		{"jacobi, small blocks", 20, 1 << 20, 8 << 10, false, 20 * time.Microsecond, 2000},
		{"as quick as an accelerator", 1, 1 << 16, 1 << 8, false, 4 * time.Millisecond, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			total := map[int]time.Duration{}
			for _, workers := range []int{0, 56} {
				p := newPlay(t, "locality", 4, workers, 16)
				p.size, p.edge, p.all, p.back = c.size, c.edge, c.all, true
				p.need = []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}
				p.took = func(q PlaceID) time.Duration {
					if q == 0 {
						return time.Duration(c.ratio) * c.gpu
					}
					return c.gpu
				}
				allowed := gpus(4)
				if workers > 0 {
					allowed |= 1
				}
				for range c.rounds {
					total[workers] += p.round(allowed)
				}
				if workers > 0 {
					t.Logf("%d on workers, %d stopped", p.ran[0], p.stopped)
					require.LessOrEqual(t, p.stopped, 2)
				}
			}
			ratio := float64(total[0]) / float64(total[56])
			t.Logf("%.3f of the speed without workers", ratio)
			require.Greater(t, ratio, 0.95)
		})
	}
}

// TestFewBlocksBesideWorkers: a program of one block more than there are accelerators, the last a
// little larger, so that it is of another size class, loses one round to a trial. The blocks that
// it has for each accelerator never wait for one while another has nothing to do, also before times
// are known.
func TestFewBlocksBesideWorkers(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		const one = 180 * time.Millisecond // all blocks on one accelerator
		block := one / time.Duration(n+1)
		p := newPlay(t, "locality", n, 28, n+1)
		p.size, p.more, p.all, p.back, p.depth = 1<<21-16, 24, true, true, 16
		p.need = []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}
		stopped := 0
		for round := range 8 {
			p.version, p.took = "move", func(PlaceID) time.Duration { return 30 * time.Microsecond }
			took := p.round(gpus(n) | 1)
			if round == 1 { // wherever they are
				for b := range p.home {
					p.home[b] = 1
				}
			}
			p.version, p.took = "forces", func(q PlaceID) time.Duration {
				if q == 0 {
					return 16 * block
				}
				return block
			}
			took += p.round(gpus(n) | 1)
			most := 2*block + time.Millisecond
			if p.stopped > stopped {
				most += trialFactor * block
			}
			require.LessOrEqual(t, took, most, "%d accelerators, round %d", n, round)
			stopped = p.stopped
		}
		require.LessOrEqual(t, stopped, 1)
	}
}

// TestWhoIsAskedFirstTakesNoMore: of many long items on accelerators that take several at a time
// each gets its part, once times are known.
func TestWhoIsAskedFirstTakesNoMore(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		p := newPlay(t, policy, 2, 28, 12)
		p.size, p.all, p.back, p.depth = 1<<19, true, true, 16
		p.took = func(q PlaceID) time.Duration {
			if q == 0 {
				return 200 * time.Millisecond
			}
			return 11 * time.Millisecond
		}
		for round := range 8 {
			for b := range p.home { // nearer to one, at times
				p.home[b] = PlaceID(1 + b*round%2)
			}
			most, stopped := 6*11*time.Millisecond+2*time.Millisecond, p.stopped
			took := p.round(gpus(2) | 1)
			if p.stopped > stopped { // and ran again, behind all others
				most += (trialFactor + 1) * 11 * time.Millisecond
			}
			if round > 1 {
				require.LessOrEqual(t, took, most, "%s, round %d", policy, round)
			}
		}
	}
}

// TestWhatHasNoHomeYetSpreads: blocks that are moved to accelerators once and stay are dealt out
// evenly, whatever runs at the moment when each comes, and wherever its neighbour is.
func TestWhatHasNoHomeYetSpreads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for try := range 200 {
		p := newPlay(t, "locality", 2, 4, 1)
		last, got := PlaceID(0), map[PlaceID]int{}
		var flying []*Item
		for range 6 {
			it := &Item{Version: "k", Work: 1 << 30, Missing: []deps.Bytes{3 << 29, 1 << 30, 1 << 30}}
			if last > 0 {
				it.Missing[last] -= 128 << 10
			}
			require.NoError(t, p.s.Prepare(it, gpus(2), nil))
			require.True(t, p.s.Push(it))
			for q := PlaceID(1); q <= 2; q++ {
				for next := p.s.Pop(q); next != nil; next = p.s.Pop(q) {
					got[q]++
					last, flying = q, append(flying, next)
				}
			}
			for len(flying) > 0 && r.IntN(2) == 0 {
				flying[0].Took = 300 * time.Microsecond
				p.s.Done(flying[0])
				flying = flying[1:]
			}
		}
		require.Equal(t, map[PlaceID]int{1: 3, 2: 3}, got, "try %d", try)
	}
}

// A tiled is a Cholesky factorisation of n by n tiles as the scheduler sees it, in virtual time.
type tiled struct {
	s      *Scheduler
	places []Place
	n      int
	took   func(version string, p PlaceID) time.Duration
	tile   deps.Bytes
	home   map[[2]int]PlaceID
}

// A tiledStep is one task of it: what it does to tile at, reading the tiles of.
type tiledStep struct {
	version string
	at      [2]int
	of      [][2]int
	after   int
	next    []*tiledStep
	it      Item
}

// steps returns the tasks in program order with their edges.
func (c *tiled) steps() []*tiledStep {
	var list []*tiledStep
	last := map[[2]int]*tiledStep{}
	add := func(version string, at [2]int, of ...[2]int) {
		s := &tiledStep{version: version, at: at, of: of}
		for _, x := range append(of, at) {
			if w := last[x]; w != nil {
				w.next = append(w.next, s)
				s.after++
			}
		}
		last[at] = s
		list = append(list, s)
	}
	for k := range c.n {
		add("potrf", [2]int{k, k})
		for i := k + 1; i < c.n; i++ {
			add("trsm", [2]int{i, k}, [2]int{k, k})
		}
		for i := k + 1; i < c.n; i++ {
			for j := k + 1; j <= i; j++ {
				add("gemm", [2]int{i, j}, [2]int{i, k}, [2]int{j, k})
			}
		}
	}
	return list
}

// missing is what s would move to p.
func (c *tiled) missing(s *tiledStep, p PlaceID) (n deps.Bytes) {
	for _, x := range append(s.of, s.at) {
		if c.home[x] != p {
			n += c.tile
		}
	}
	return n
}

func (c *tiled) push(t *testing.T, s *tiledStep) {
	it := &s.it
	it.Missing, it.Took = it.Missing[:0], 0
	least := deps.Bytes(-1)
	for p := range c.places {
		n := c.missing(s, PlaceID(p))
		it.Missing = append(it.Missing, n)
		if p > 0 && (least < 0 || n < least) {
			least = n
		}
	}
	if c.home[s.at] != 0 && len(it.Missing) > 1 {
		it.Missing[0] += c.tile + least
	}
	require.True(t, c.s.Push(it))
}

// run returns how long it takes.
func (c *tiled) run(t *testing.T) time.Duration {
	type running struct {
		s       *tiledStep
		place   PlaceID
		over    time.Duration
		stopped bool
	}
	var flying []running
	now, left := time.Duration(0), 0
	for _, s := range c.steps() {
		left++
		s.it = Item{Owner: s, Version: s.version, Work: c.tile * deps.Bytes(1+len(s.of))}
		require.NoError(t, c.s.Prepare(&s.it, PlaceSet(1)<<len(c.places)-1, []Tokens{{Kind: "smp", Count: 40}, {Kind: "gpu", Count: 1}}))
		if s.after == 0 {
			c.push(t, s)
		}
	}
	for left > 0 {
		for again := true; again; {
			again = false
			for p := range c.places {
				if c.s.Load(PlaceID(p)) >= c.places[p].Width {
					continue
				}
				if it := c.s.Pop(PlaceID(p)); it != nil {
					again = true
					s := it.Owner.(*tiledStep)
					run := c.took(s.version, PlaceID(p))
					stopped := it.Limit > 0 && it.Limit < run
					if stopped {
						run = it.Limit
					}
					move := time.Duration(float64(it.missing(PlaceID(p))) / (50 << 30) * float64(time.Second))
					flying = append(flying, running{s, PlaceID(p), now + move + run, stopped})
				}
			}
		}
		require.NotEmpty(t, flying)
		first := 0
		for i := range flying {
			if flying[i].over < flying[first].over {
				first = i
			}
		}
		f := flying[first]
		flying = append(flying[:first], flying[first+1:]...)
		now = f.over
		f.s.it.Took = c.took(f.s.version, f.place)
		c.s.Done(&f.s.it)
		if f.stopped {
			c.push(t, f.s)
			continue
		}
		left--
		c.home[f.s.at] = f.place
		for _, x := range f.s.next {
			if x.after--; x.after == 0 {
				c.push(t, x)
			}
		}
	}
	return now
}

// TestWorkersBesideAcceleratorsInCholesky: a factorisation whose updates run 30 times longer on
// workers, its diagonal 5 times longer or in half the time.
func TestWorkersBesideAcceleratorsInCholesky(t *testing.T) {
	for _, diagonal := range []time.Duration{4 * time.Millisecond, 40 * time.Millisecond} {
		total := map[int]time.Duration{}
		for _, workers := range []int{0, 56} {
			c := &tiled{n: 16, tile: 2 << 20, home: map[[2]int]PlaceID{}}
			if workers > 0 {
				c.places = append(c.places, Place{Name: "smp", Kind: "smp", Width: workers, Host: true})
			}
			for i := range 4 {
				c.places = append(c.places, Place{Name: fmt.Sprint("gpu:", i), Kind: "gpu", Width: 1})
			}
			if workers == 0 { // nothing is on the host at first: that is the same for both
				c.places = append([]Place{{Name: "none", Kind: "none", Width: 1}}, c.places...)
			}
			c.took = func(version string, p PlaceID) time.Duration {
				gpu := map[string]time.Duration{"potrf": 8 * time.Millisecond, "trsm": 2 * time.Millisecond, "gemm": time.Millisecond}[version]
				switch {
				case workers > 0 && p == 0 && version == "potrf":
					return diagonal
				case workers > 0 && p == 0:
					return 30 * gpu
				}
				return gpu
			}
			var err error
			c.s, err = New(Options{Policy: "locality", Places: c.places})
			require.NoError(t, err)
			if workers == 0 {
				c.s.Retire(0)
			}
			for range 2 {
				total[workers] += c.run(t)
			}
		}
		ratio := float64(total[0]) / float64(total[56])
		t.Logf("diagonal of %v on workers: %.3f of the speed without", diagonal, ratio)
		require.Greater(t, ratio, 0.95)
	}
}
