package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/devices"
)

// DefaultTokens is what a kind has unless Options.Tokens says otherwise.
const DefaultTokens = 100

// Patience is the number of times that other items may take tokens of a kind past a refused item
// and leave too few for it. After that the kind is reserved for the refused item.
const Patience = 8

// A pool is the tokens of one kind.
type pool struct {
	kind     devices.Kind
	limit    int
	free     int
	reserved *Item // the only item that may take tokens; usually nil
	refused  *Item // the first of the refused items by priority and order: the one that ages
}

// admit reports whether it may take need tokens now, and records the refused item.
func (t *pool) admit(it *Item, need int) bool {
	if need == 0 {
		return true
	}
	if t.free >= need && (t.reserved == nil || t.reserved == it) {
		return true
	}
	it.marks.set(lacksTokens, true)
	if t.refused == nil || it.before(t.refused) {
		t.refused = it
	}
	return false
}

// before reports whether it precedes x by priority and by order of submission, independent of the
// policy.
func (it *Item) before(x *Item) bool {
	return it.Priority > x.Priority || it.Priority == x.Priority && it.order < x.order
}

// take gives it the tokens of kind k and ages the refused item if too few are left for that, also
// if the refused item may not run at that place.
func (t *pool) take(it *Item, k int) {
	if it.need[k] == 0 {
		return
	}
	t.free -= int(it.need[k])
	if r := t.refused; r != nil && r != it && t.free < int(r.need[k]) {
		if r.passed++; r.passed >= Patience && t.reserved == nil {
			t.reserved = r
		}
	}
}

// spare reports whether it, which is not in a queue, may have tokens of kind k: enough are free for
// it and for the refused item.
func (t *pool) spare(it *Item, k int) bool {
	if it.need[k] == 0 {
		return true
	}
	left := t.free - int(it.need[k])
	if r := t.refused; r != nil {
		left -= int(r.need[k])
	}
	return t.reserved == nil && left >= 0
}

// UnsatisfiableError is the reason why an item can run nowhere.
type UnsatisfiableError struct {
	Task   string
	Places []string // the places that were allowed
	Needs  []Tokens
	Limits []Tokens // what the kinds of Places have
}

func (e *UnsatisfiableError) Error() string {
	if len(e.Places) == 0 {
		return fmt.Sprintf("sched: %s: no device that may run it", e.Task)
	}
	return fmt.Sprintf("sched: %s: no device that may run it has enough tokens: needs %s, limits are %s",
		e.Task, tokensText(e.Needs), tokensText(e.Limits))
}

func tokensText(list []Tokens) string {
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = fmt.Sprintf("%s:%d", t.Kind, t.Count)
	}
	return strings.Join(words, ", ")
}

// newPools returns the pools of the kinds of places, and the index of the pool of each place.
func newPools(places []Place, limits map[devices.Kind]int) ([]pool, []int, error) {
	var pools []pool
	byPlace := make([]int, len(places))
	for i, p := range places {
		k := slices.IndexFunc(pools, func(t pool) bool { return t.kind == p.Kind })
		if k < 0 {
			k = len(pools)
			limit := limitOf(p.Kind, limits)
			pools = append(pools, pool{kind: p.Kind, limit: limit, free: limit})
		}
		byPlace[i] = k
	}
	if len(pools) > MaxKinds {
		return nil, nil, fmt.Errorf("sched: %d kinds of devices: at most %d", len(pools), MaxKinds)
	}
	return pools, byPlace, checkLimits(pools, limits)
}

func limitOf(kind devices.Kind, limits map[devices.Kind]int) int {
	if n, ok := limits[kind]; ok {
		return n
	}
	if n, ok := limits[devices.Acc]; ok && kind != devices.SMP {
		return n
	}
	return DefaultTokens
}

func checkLimits(pools []pool, limits map[devices.Kind]int) error {
	for kind, n := range limits {
		if n < 0 || n > 1<<30 {
			return fmt.Errorf("sched: tokens of kind %s: %d is not between 0 and %d", kind, n, 1<<30)
		}
	}
	return nil
}

// needOf returns what needs asks of a kind. An entry that names the kind goes before one for all
// accelerators.
func needOf(kind devices.Kind, needs []Tokens) int {
	all := 0
	for _, t := range needs {
		if t.Kind == kind {
			return t.Count
		}
		if t.Kind == devices.Acc && kind != devices.SMP {
			all = t.Count
		}
	}
	return all
}
