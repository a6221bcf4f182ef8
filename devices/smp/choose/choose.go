// Package choose keeps which variant of a kernel is the faster one for launches of a size: vector
// code, or another one that gives the same bits: the Go function, or, where that may give others,
// scalar code.
//
// The first launches of a size run the variants in turn and are timed. Of each variant the shortest
// time per unit of work counts: what else the machine does makes a launch longer and never shorter.
// The other variant is chosen only where vector code takes more than Margin times as long.
//
// Invariants: a choice changes only where a later launch of the other variant was faster than all
// launches before had shown. Trials of the other variant are expected to cost at most trialCost
// each, or trialPart of what vector code has taken at the size so far: a kernel that vector code
// runs sixteen times as fast is not held up. Looking again at the variant that lost costs lookPart
// of the time.
//
// Lock order: Table.mu guards what is being measured; nothing is called under it. Next reads what
// is decided without it.
package choose

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Variant is a way to run a kernel on CPU workers.
type Variant uint8

// The variants.
const (
	Vector Variant = iota
	Go
	Scalar // machine code of the same lowering, one iteration after the other
)

func (v Variant) String() string { return [...]string{"vector code", "Go function", "scalar code"}[v] }

// Margin is how many times as long as the other variant vector code may take and still run.
const Margin = 1.05

// A side is one of the two variants of a table: vector code, or the other one.
type side uint8

const (
	vector side = iota
	other
	sides
)

func sideOf(v Variant) side { return side(min(v, 1)) }

const (
	// samples of each variant are compared.
	samples = 4
	// trialCost is what a trial of the other variant may be expected to cost at any time, and
	// trialPart the part of the time that vector code has taken so far.
	trialCost = 2 * time.Millisecond
	trialPart = 0.05
	// guess is how many times as long as vector code the other variant is expected to take where
	// neither Table.Guess nor a size of the kernel has told.
	guess = 16
	// fewSamples of each variant decide where both take longLaunch at least and one of them clear
	// times as long: preemption seldom makes that much of two launches so long.
	fewSamples = 2
	clear      = 2
	longLaunch = 5 * time.Millisecond
	// One of lookEvery launches, on average, is measured after the choice was made, and one of
	// lookOften where launches take lookLong, beside which reading the time is nothing. The other
	// variant runs once where that is expected to cost lookPart of the time since it ran: its
	// samples may all have been held up, and what launches of a size do may change.
	lookEvery = 256
	lookOften = 16
	lookLong  = 20 * time.Microsecond
	lookPart  = 0.01
)

// A Size is the size class of a launch: the powers of two of its iterations and of the bytes of its
// slices.
type Size uint16

// SizeOf returns the size class of a launch. Iterations are 0 where they are not known.
func SizeOf(trips, bytes int64) Size {
	return Size(1 + bits.Len64(uint64(max(trips, 0)))<<7 + bits.Len64(uint64(max(bytes, 0))))
}

// String says which launches have the size.
func (s Size) String() string {
	trips, bytes := uint(s-1)>>7, uint(s-1)&127
	if trips == 0 {
		return upToBytes(bytes)
	}
	return upTo(trips, "iteration") + " on " + upToBytes(bytes)
}

// upToBytes says how many bytes are below 2^n and not below half of that.
func upToBytes(n uint) string {
	if n <= 10 {
		return upTo(n, "byte")
	}
	least := uint64(1) << ((n - 1) % 10)
	return fmt.Sprintf("%d to %d %ciB", least, 2*least, "KMGTPE"[(n-1)/10-1])
}

// upTo says how many things are below 2^n and not below half of that.
func upTo(n uint, of string) string {
	switch n {
	case 0:
		return fmt.Sprintf("0 %ss", of)
	case 1:
		return "1 " + of
	}
	return fmt.Sprintf("%d to %d %ss", uint64(1)<<(n-1), uint64(1)<<n-1, of)
}

// A Choice is which variant runs launches of a size, and the least time that a unit of work took
// with each.
type Choice struct {
	Size    Size
	Variant Variant
	Loser   Variant
	Times   [2]float64 // nanoseconds, of vector code and of the other variant
}

// String returns the choice and its reason.
func (c Choice) String() string {
	return fmt.Sprintf("%v for %v: %.3g ns for each against %.3g ns of the %v", c.Variant, c.Size, c.Times[sideOf(c.Variant)], c.Times[sideOf(c.Loser)], c.Loser)
}

// A Table has the choices of one kernel. The zero Table has none. Its methods may be called from
// any goroutine.
type Table struct {
	// Other is what vector code is compared with: Go or Scalar; Vector stands for Go. Guess is how
	// many times as long as vector code it is expected to take; 0 for a guess. Both are set before
	// the first call.
	Other Variant
	Guess float64

	// quick has some of the choices: bit 17 says that launches take lookLong, bits 1 to 16 are the
	// size, bit 0 the side; 0 is none.
	quick [16]atomic.Uint32
	made  atomic.Pointer[[]Choice] // all of them; replaced, never changed in place

	mu      sync.Mutex
	classes map[Size]*class
	looks   map[Size]*look // at what is decided
	random  func() uint32  // nil: that of math/rand
}

// A look holds the measurements of one size since the slower variant ran.
type look struct {
	spent   time.Duration // by the variant that won, as far as can be told
	looking bool          // a launch runs the other one
}

// A class is what was measured of launches of one size.
type class struct {
	least    [sides]float64 // nanoseconds of a unit of work
	count    [sides]int
	shortest [sides]time.Duration // launch
	spent    time.Duration        // by vector code
	trying   bool                 // a launch runs the other variant
}

// Next returns the variant for the next launch of a size, and whether Measured wants to know how
// long it takes. work is the launch's amount in the unit of Measured. Cost: nanoseconds where the
// choice is made.
func (t *Table) Next(s Size, work int64) (v Variant, measure bool) {
	v, every, decided := Vector, uint32(lookEvery), false
	if x := t.quick[s.slot()].Load(); Size(x>>1) == s {
		v, decided = t.variant(side(x&1)), true
		if x&quickLong != 0 {
			every = lookOften
		}
	} else {
		v, decided = t.Chosen(s)
	}
	if decided && !t.looksAgain(every) {
		return v, false
	}
	return t.next(s, work)
}

// variant returns what a side of t is.
func (t *Table) variant(s side) Variant {
	if s == vector {
		return Vector
	}
	return max(Go, t.Other)
}

// looksAgain reports whether a launch is one of those that are measured although the choice is
// made.
func (t *Table) looksAgain(every uint32) bool {
	if t.random != nil {
		return t.random()%every == 0
	}
	return rand.Uint32()%every == 0
}

const quickLong = 1 << 17

// quickWord is the word of quick for a choice, of which launches do so much work.
func (c *Choice) quickWord(work int64) uint32 {
	x := uint32(c.Size)<<1 | uint32(sideOf(c.Variant))
	if c.every(work) == lookOften {
		x |= quickLong
	}
	return x
}

// every returns how many launches there are for one that is measured although the choice is made.
func (c *Choice) every(work int64) float64 {
	if c.Times[sideOf(c.Variant)]*float64(work) >= float64(lookLong) {
		return lookOften
	}
	return lookEvery
}

func (s Size) slot() int { return int(s^s>>7) & 15 }

func (t *Table) next(s Size, work int64) (Variant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.choice(s); ok {
		return t.remeasured(c, work), true
	}
	c := t.class(s)
	if c.trying || c.count[other] >= c.count[vector] || !t.affordable(c, work) {
		return Vector, true
	}
	c.trying = true
	return t.variant(other), true
}

// remeasured returns the variant for a launch that is measured although the choice is made.
// Requires: mu held.
func (t *Table) remeasured(c Choice, work int64) Variant {
	if t.looks == nil {
		t.looks = map[Size]*look{}
	}
	l := t.looks[c.Size]
	if l == nil {
		l = &look{}
		t.looks[c.Size] = l
	}
	l.spent += time.Duration(c.Times[sideOf(c.Variant)] * float64(work) * c.every(work))
	if l.looking || c.Times[sideOf(c.Loser)]*float64(work) > lookPart*float64(l.spent) {
		return c.Variant
	}
	l.spent, l.looking = 0, true
	return c.Loser
}

// affordable reports whether the other variant may be tried on a launch.
func (t *Table) affordable(c *class, work int64) bool {
	expected := c.least[vector] * guess
	if t.Guess > 0 {
		expected = c.least[vector] * t.Guess
	}
	if ratio := t.ratio(); ratio > 0 {
		expected = c.least[vector] * ratio
	}
	if c.count[other] > 0 {
		expected = min(expected, c.least[other]) // which may have been held up
	}
	cost := time.Duration(expected * float64(work))
	return cost <= trialCost || float64(cost) <= trialPart*float64(c.spent)
}

// ratio returns the most times that the other variant takes as long as vector code at sizes that
// are decided, 0 where none is.
func (t *Table) ratio() (most float64) {
	for _, c := range t.Choices() {
		most = max(most, c.Times[other]/c.Times[vector])
	}
	return most
}

// Measured takes in how long a launch of a size took for so much work, with the variant that Next
// returned; took is 0 where it failed. It reports a choice that this has made.
func (t *Table) Measured(s Size, v Variant, work int64, took time.Duration) (made Choice, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if made, decided := t.choice(s); decided {
		return t.looked(made, v, work, took)
	}
	c := t.class(s)
	if v != Vector {
		c.trying = false
	}
	if took <= 0 {
		return Choice{}, false
	}
	c.take(sideOf(v), work, took)
	if !c.decided() {
		return Choice{}, false
	}
	best := faster(c.least)
	made = Choice{Size: s, Variant: t.variant(best), Loser: t.variant(1 - best), Times: c.least}
	t.keep(made, work)
	return made, true
}

// looked takes in a launch of a size that is decided, and reports the choice where it is another
// one now. Requires: mu held.
func (t *Table) looked(c Choice, v Variant, work int64, took time.Duration) (Choice, bool) {
	if l := t.looks[c.Size]; l != nil && v != c.Variant {
		l.looking = false
	}
	each := float64(took) / float64(max(1, work))
	if took <= 0 || each >= c.Times[sideOf(v)] {
		return Choice{}, false
	}
	old := sideOf(c.Variant)
	c.Times[sideOf(v)] = each
	best := faster(c.Times)
	c.Variant, c.Loser = t.variant(best), t.variant(1-best)
	all := slices.Clone(t.Choices())
	all[slices.IndexFunc(all, func(x Choice) bool { return x.Size == c.Size })] = c
	t.made.Store(&all)
	if at := &t.quick[c.Size.slot()]; Size(at.Load()>>1) == c.Size { // mu is held
		at.Store(c.quickWord(work))
	}
	return c, best != old
}

// take adds a sample.
func (c *class) take(v side, work int64, took time.Duration) {
	each := float64(took) / float64(max(1, work))
	if c.count[v] == 0 || each < c.least[v] {
		c.least[v] = each
	}
	if c.count[v] == 0 || took < c.shortest[v] {
		c.shortest[v] = took
	}
	c.count[v]++
	if v == vector {
		c.spent += took
	}
}

// decided reports whether there are samples enough.
func (c *class) decided() bool {
	if c.count[vector] >= samples && c.count[other] >= samples {
		return true
	}
	slow := 1 - faster(c.least)
	return min(c.count[vector], c.count[other]) >= fewSamples && min(c.shortest[vector], c.shortest[other]) >= longLaunch && c.least[slow] >= clear*c.least[1-slow]
}

// faster returns the variant for these times.
func faster(least [sides]float64) side {
	if least[vector] > Margin*least[other] {
		return other
	}
	return vector
}

// keep makes a choice. Requires: mu held.
func (t *Table) keep(made Choice, work int64) {
	all := append(slices.Clone(t.Choices()), made)
	t.made.Store(&all)
	delete(t.classes, made.Size)
	t.quick[made.Size.slot()].CompareAndSwap(0, made.quickWord(work))
}

// Chosen returns the variant for launches of a size, and whether it is decided.
func (t *Table) Chosen(s Size) (Variant, bool) {
	c, ok := t.choice(s)
	return c.Variant, ok
}

// Expected returns how long a launch of a size takes that is decided, for so much work.
func (t *Table) Expected(s Size, work int64) time.Duration {
	c, _ := t.choice(s)
	return time.Duration(c.Times[sideOf(c.Variant)] * float64(work))
}

// Choices returns what was chosen so far, in the order in which it was.
func (t *Table) Choices() []Choice {
	if all := t.made.Load(); all != nil {
		return *all
	}
	return nil
}

func (t *Table) choice(s Size) (Choice, bool) {
	all := t.Choices()
	i := slices.IndexFunc(all, func(c Choice) bool { return c.Size == s })
	if i < 0 {
		return Choice{}, false
	}
	return all[i], true
}

// class returns what was measured of a size. Requires: mu held.
func (t *Table) class(s Size) *class {
	if t.classes == nil {
		t.classes = map[Size]*class{}
	}
	c := t.classes[s]
	if c == nil {
		c = &class{}
		t.classes[s] = c
	}
	return c
}
