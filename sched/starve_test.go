package sched

import (
	"fmt"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// starveSteps bounds the steps that an item waits while others are pushed without end. A longer
// wait in which no item passes it is a fault. The longest wait in thousands of programs was 183, at
// a time when an item could stay in flight by chance; now none stays longer than flightSteps.
const (
	starveSteps = 400
	flightSteps = 32
)

// TestStarvation_RandomTokens gives random requests of tokens to a machine that never stops serving
// its places and always has ready items with small requests. Under every policy, at most as many
// others pass an item of equal priority as the package comment says.
func TestStarvation_RandomTokens(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(policy, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { newStarving(t, policy).run(t) })
		})
	}
}

// passBound is how many others may take tokens of a kind past an item with so many before it.
func passBound(policy string, before, places int) int {
	k := 1
	if policy == "random" {
		k = oldestEach
	}
	return (before + 1) * (Patience + 1) * (k*places + 1)
}

type starving struct {
	s       *Scheduler
	all     PlaceSet
	policy  string
	since   map[*Item]int // step in which it was pushed, of those that wait
	bound   map[*Item]int // of those too: how many may pass it
	passed  map[*Item]*[MaxKinds]int
	modest  map[*Item]bool
	running []*Item
	began   map[*Item]int // step, of those
}

func newStarving(t *rapid.T, policy string) *starving {
	w := &starving{policy: policy, since: map[*Item]int{}, modest: map[*Item]bool{}, bound: map[*Item]int{}, passed: map[*Item]*[MaxKinds]int{}, began: map[*Item]int{}}
	var places []Place
	for k, kind := range []devices.Kind{"smp", "sim", "gpu"}[:rapid.IntRange(1, 3).Draw(t, "kinds")] {
		n := 1
		if k > 0 {
			n = rapid.IntRange(1, 3).Draw(t, "devices")
		}
		for i := range n {
			w.all = w.all.With(PlaceID(len(places)))
			places = append(places, Place{Name: fmt.Sprint(kind, ":", i), Kind: kind, Width: 1 + k, Host: k == 0})
		}
	}
	var err error
	w.s, err = New(Options{Policy: policy, Places: places, Seed: rapid.Uint64().Draw(t, "seed")})
	require.NoError(t, err)
	return w
}

func (w *starving) run(t *rapid.T) {
	ready := rapid.IntRange(2, 8).Draw(t, "ready")
	inFlight := rapid.IntRange(1, 4).Draw(t, "in flight")
	seed := rapid.Uint64().Draw(t, "requests") | 1
	random := func(n int) int { // thousands of draws of rapid would take long
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return int(seed % uint64(n))
	}
	small := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 3).Draw(t, "small")
	sizes := rapid.SliceOfN(rapid.IntRange(41, 100), 1, 3).Draw(t, "sizes")
	turns := rapid.Bool().Draw(t, "the places take turns")
	for step := range 2 * starveSteps {
		for len(w.modest) < ready {
			it := w.push(t, step, small[random(len(small))], small[random(len(small))], random)
			w.modest[it] = true
		}
		for len(w.since)-len(w.modest) < 2 {
			w.push(t, step, sizes[random(len(sizes))], sizes[random(len(sizes))], random)
		}
		for i := len(w.running) - 1; i >= 0; i-- {
			if step-w.began[w.running[i]] > flightSteps {
				w.end(i)
			}
		}
		for len(w.running) > inFlight { // something always runs, so that there is never room for all tokens by chance
			w.end(random(len(w.running)))
		}
		first := 0
		if turns {
			first = random(len(w.s.Places))
		}
		ran := false
		for i := range w.s.Places {
			if it := w.s.Pop(PlaceID((first + i) % len(w.s.Places))); it != nil {
				w.start(t, step, it)
				ran = true
			}
		}
		if !ran {
			require.NotEmpty(t, w.running, "nothing runs, %d items are ready", len(w.since))
			w.end(random(len(w.running)))
		}
		for it, since := range w.since {
			if step-since > starveSteps { // require.LessOrEqual for each of millions took two thirds of the time of the package
				t.Fatalf("an item that may run at %b waits for ever: %d steps", it.Allowed, step-since)
			}
		}
	}
}

// start counts it, which was popped, as one that passes those that wait for tokens of its kind.
func (w *starving) start(t *rapid.T, step int, it *Item) {
	w.began[it] = step
	delete(w.since, it)
	delete(w.modest, it)
	delete(w.passed, it)
	w.running = append(w.running, it)
	k := w.s.pool[it.at]
	for x := range w.since {
		mine := false
		for p := range w.s.Places {
			mine = mine || x.Allowed.Has(PlaceID(p)) && w.s.pool[p] == k
		}
		if !mine {
			continue
		}
		w.passed[x][k]++
		if w.passed[x][k] > w.bound[x] {
			t.Fatalf("an item that may run at %b is passed again and again: %d times, where %d is the most", x.Allowed, w.passed[x][k], w.bound[x])
		}
	}
}

func (w *starving) push(t *rapid.T, step, smp, acc int, random func(int) int) *Item {
	allowed := w.all
	if random(2) == 0 {
		allowed = PlaceSet(0).With(PlaceID(random(len(w.s.Places))))
	}
	it := &Item{Work: deps.Bytes(random(9))}
	for range w.s.Places {
		it.Missing = append(it.Missing, deps.Bytes(random(9)))
	}
	if err := w.s.Prepare(it, allowed, []Tokens{{"smp", smp}, {"acc", acc}}); err != nil || !w.s.Push(it) {
		t.Fatalf("an item that may run at %b is refused: %v", it.Allowed, err)
	}
	w.bound[it] = passBound(w.policy, len(w.since), len(w.s.Places))
	w.passed[it] = &[MaxKinds]int{}
	w.since[it] = step
	return it
}

func (w *starving) end(i int) {
	it := w.running[i]
	last := len(w.running) - 1
	w.running[i] = w.running[last]
	w.running = w.running[:last]
	w.s.Done(it)
	delete(w.began, it)
	delete(w.bound, it)
}
