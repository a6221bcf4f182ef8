package sched

import (
	"fmt"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEverythingRunsAndTokensHold pushes, pops and ends items at random and keeps its own books:
// tokens never go over the limit of their kind, an item runs only where it may, everything that was
// accepted runs, and an idle machine that has ready items always finds one to run.
func TestEverythingRunsAndTokensHold(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(policy, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { newModel(t, policy).run(t) })
		})
	}
}

type model struct {
	s        *Scheduler
	held     map[devices.Kind]int
	limit    map[devices.Kind]int
	running  []*Item
	waiting  int
	made     *Item // one of those that were pushed
	accepted int
	ran      int
}

func newModel(t *rapid.T, policy string) *model {
	places := []Place{{Name: "smp", Kind: "smp", Width: rapid.IntRange(1, 4).Draw(t, "workers"), Host: true}}
	for i := range rapid.IntRange(0, 3).Draw(t, "sims") {
		places = append(places, Place{Name: fmt.Sprint("sim:", i), Kind: "sim", Width: 1})
	}
	places = append(places, Place{Name: "gpu", Kind: "gpu", Width: 1})
	m := &model{held: map[devices.Kind]int{}, limit: map[devices.Kind]int{"smp": 100, "sim": 7, "gpu": 5}}
	var err error
	m.s, err = New(Options{Policy: policy, Places: places, Seed: 7, Tokens: map[devices.Kind]int{"acc": 5, "sim": 7}})
	require.NoError(t, err)
	return m
}

func (m *model) run(t *rapid.T) {
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		switch rapid.IntRange(0, 2).Draw(t, "step") {
		case 0:
			m.push(t)
		case 1:
			m.pop(t, PlaceID(rapid.IntRange(0, len(m.s.Places)-1).Draw(t, "place")))
		case 2:
			m.end(t)
		}
	}
	for m.waiting > 0 || len(m.running) > 0 {
		before := m.ran
		for p := range m.s.Places {
			m.pop(t, PlaceID(p))
		}
		if len(m.running) == 0 {
			require.Greater(t, m.ran, before, "the machine is idle, %d items are ready and none is given", m.waiting)
		}
		m.end(t)
	}
	require.Equal(t, m.accepted, m.ran)
	require.Zero(t, m.s.Len())
}

func (m *model) push(t *rapid.T) {
	it := &Item{Priority: rapid.IntRange(-1, 2).Draw(t, "priority"), Work: deps.Bytes(rapid.IntRange(0, 9).Draw(t, "work"))}
	var needs []Tokens
	if rapid.Bool().Draw(t, "needs") {
		needs = []Tokens{{"acc", rapid.IntRange(0, 8).Draw(t, "acc")}, {"smp", rapid.IntRange(0, 110).Draw(t, "smp")}}
	}
	if rapid.Bool().Draw(t, "data") {
		for range m.s.Places {
			it.Missing = append(it.Missing, deps.Bytes(rapid.IntRange(0, 9).Draw(t, "missing")))
		}
	}
	allowed := PlaceSet(rapid.Uint64Range(0, 1<<len(m.s.Places)-1).Draw(t, "allowed"))
	possible := false
	for p, place := range m.s.Places {
		possible = possible || allowed.Has(PlaceID(p)) && needOf(place.Kind, needs) <= m.limit[place.Kind]
	}
	err := m.s.Prepare(it, allowed, needs)
	if !possible {
		var unsat *UnsatisfiableError
		require.ErrorAs(t, err, &unsat)
		return
	}
	require.NoError(t, err)
	it.Owner = needs
	require.True(t, m.s.Push(it))
	m.accepted++
	m.waiting++
	if rapid.Bool().Draw(t, "made by who comes next") {
		m.made = it
	}
}

func (m *model) pop(t *rapid.T, p PlaceID) {
	offers, reserved := m.s.Offers(p), m.s.pools[m.s.pool[p]].reserved != nil
	it := m.s.PopAfter(p, m.made) // which may run already, or be over
	if it == nil {
		require.False(t, offers && !reserved && m.s.peeker != nil, "it offers what it does not give")
		return
	}
	require.True(t, offers, "it gives what it does not offer")
	place := m.s.Places[p]
	require.True(t, it.Allowed.Has(p))
	m.held[place.Kind] += needOf(place.Kind, it.Owner.([]Tokens))
	require.LessOrEqual(t, m.held[place.Kind], m.limit[place.Kind])
	require.Equal(t, m.limit[place.Kind]-m.held[place.Kind], m.s.Free(p))
	m.waiting--
	m.ran++
	m.running = append(m.running, it)
}

func (m *model) end(t *rapid.T) {
	if len(m.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(t, "end")
	it := m.running[i]
	m.running = append(m.running[:i], m.running[i+1:]...)
	kind := m.s.Places[it.Place()].Kind
	m.held[kind] -= needOf(kind, it.Owner.([]Tokens))
	m.s.Done(it)
}

// TestNobodyStarves feeds a steady stream of small items past one that needs all tokens: it runs
// within a bounded number of pops under every policy that keeps an order.
func TestNobodyStarves(t *testing.T) {
	for _, policy := range []string{"fifo", "locality", "priority"} {
		t.Run(policy, func(t *testing.T) {
			s, err := New(Options{Policy: policy, Places: []Place{{Name: "smp", Kind: "smp", Width: 8, Host: true}}})
			require.NoError(t, err)
			push := func(name string, need int) {
				it := &Item{Name: name}
				require.NoError(t, s.Prepare(it, 1, []Tokens{{"smp", need}}))
				require.True(t, s.Push(it))
			}
			push("small", 30)
			running := []*Item{s.Pop(0)}
			push("big", 100)
			for range 100 {
				push("small", 30)
				it := s.Pop(0)
				if it == nil {
					s.Done(running[0])
					running = running[1:]
					continue
				}
				if it.Name == "big" {
					require.Empty(t, running)
					return
				}
				running = append(running, it)
			}
			t.Fatal("big never ran")
		})
	}
}

func TestPushAndPopAllocateNothing(t *testing.T) {
	for _, policy := range Policies() {
		s, err := New(Options{Policy: policy, Places: []Place{{Name: "smp", Kind: "smp", Width: 2, Host: true}, {Name: "sim", Kind: "sim", Width: 1}}})
		require.NoError(t, err)
		it := &Item{Missing: []deps.Bytes{0, 4}}
		needs := []Tokens{{"acc", 1}, {"smp", 40}}
		cycle := func() {
			if s.Prepare(it, 3, needs) != nil || !s.Push(it) {
				t.Fatal("refused")
			}
			s.Done(s.Pop(0))
		}
		cycle()
		require.Zero(t, testing.AllocsPerRun(100, cycle), policy)
	}
}

func TestBugsPanic(t *testing.T) {
	s, err := New(Options{Places: []Place{{Name: "smp", Kind: "smp", Width: 1}}})
	require.NoError(t, err)
	it := &Item{}
	require.Panics(t, func() { s.Push(it) }, "not prepared")
	require.NoError(t, s.Prepare(it, 1, nil))
	require.Panics(t, func() { s.Done(it) }, "not in flight")
	s.Push(it)
	require.Panics(t, func() { s.Push(it) }, "twice")
	require.Panics(t, func() { it.Reset() }, "queued")
	require.Panics(t, func() { Register("fifo", newRandom) })
}

func TestOptionsAreChecked(t *testing.T) {
	one := []Place{{Name: "smp", Kind: "smp", Width: 1}}
	_, err := New(Options{})
	require.ErrorContains(t, err, "0 places")
	_, err = New(Options{Places: one, Policy: "best"})
	require.ErrorContains(t, err, "the policies are fifo, locality, priority, random")
	_, err = New(Options{Places: one, Tokens: map[devices.Kind]int{"smp": -1}})
	require.ErrorContains(t, err, "-1 is not between")
}

func BenchmarkPushPop(b *testing.B) {
	for _, policy := range Policies() {
		b.Run(policy, func(b *testing.B) {
			s, err := New(Options{Policy: policy, Places: []Place{{Name: "smp", Kind: "smp", Width: 2, Host: true}}})
			require.NoError(b, err)
			it := &Item{}
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Prepare(it, 1, nil)
				s.Push(it)
				s.Done(s.Pop(0))
			}
		})
	}
}
