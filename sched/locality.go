package sched

import "github.com/gompss/gompss/deps"

// homeFactor is how much dearer a byte moved is than a byte worked on, for data that have a home on an accelerator:
// links are about that much slower than the memories at their ends. Data that were never moved must be moved once to
// be used by any accelerator, so there a byte counts as a byte.
const homeFactor = 32

// locality gives each item to the place where the fewest bytes must be moved, among equals to the one with the least
// to do. A place with nothing of its own takes items meant for others: where that moves nothing more, where the
// wait saved is worth the bytes, or where the other place lacks the tokens.
type locality struct {
	state  *State
	queues []queue // by place
	given  []int   // by place: items ever meant for it
	len    int
}

func newLocality(s *State) Policy {
	return &locality{state: s, queues: make([]queue, len(s.Places)), given: make([]int, len(s.Places))}
}

func (l *locality) Push(it *Item) {
	it.at = l.choose(it)
	l.given[it.at]++
	l.queues[it.at].push(it, it.Priority)
	l.len++
}

// choose returns the place that it is meant for.
func (l *locality) choose(it *Item) PlaceID {
	best := it.Allowed.First()
	for rest := it.Allowed.Without(best); rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if l.better(it, p, best) {
			best = p
		}
	}
	return best
}

// better reports whether p is a better place for it than q.
func (l *locality) better(it *Item, p, q PlaceID) bool {
	if a, b := it.missing(p), it.missing(q); a != b {
		if l.state.Places[p].Host || l.state.Places[q].Host {
			return a < b
		}
		// Between accelerators the wait counts too: a few bytes of a neighbour's edge are no reason to stand in line.
		return a*homeFactor+l.wait(it, p) < b*homeFactor+l.wait(it, q)
	}
	// cross-multiplied loads per unit of width
	a := (l.queues[p].len + l.state.load[p]) * l.state.Places[q].Width
	b := (l.queues[q].len + l.state.load[q]) * l.state.Places[p].Width
	if a != b {
		return a < b
	}
	return l.given[p] < l.given[q]
}

// wait is what p has to run before it, in bytes worked on, as far as one can know: as much each as it is itself.
func (l *locality) wait(it *Item, p PlaceID) deps.Bytes {
	return deps.Bytes((l.queues[p].len+l.state.load[p])/max(1, l.state.Places[p].Width)) * it.Work
}

func (l *locality) Pop(p PlaceID) *Item {
	if l.len == 0 {
		return nil
	}
	it := l.queues[p].first(l.state, p)
	if it == nil && l.len > l.queues[p].len {
		it = l.steal(p)
	}
	if it != nil {
		l.Remove(it)
	}
	return it
}

// steal returns the item of another place that p should run; the fullest places are asked first.
func (l *locality) steal(p PlaceID) *Item {
	var asked PlaceSet
	for {
		victim, most := PlaceID(-1), 0
		for q := range l.queues {
			if n := l.queues[q].len; n > most && PlaceID(q) != p && !asked.Has(PlaceID(q)) {
				victim, most = PlaceID(q), n
			}
		}
		if victim < 0 {
			return nil
		}
		asked = asked.With(victim)
		if it := l.stealFrom(victim, p); it != nil {
			return it
		}
	}
}

func (l *locality) stealFrom(q, p PlaceID) *Item {
	ahead := l.state.load[q]
	for _, ln := range l.queues[q].lanes {
		if !ln.allowed.Has(p) {
			continue
		}
		it := ln.head
		for n := 0; it != nil && n < scanLimit; n++ {
			if l.worth(it, q, p, ahead+n) && l.state.Admit(it, p) {
				return it
			}
			it = it.next
		}
	}
	return nil
}

// worth reports whether p should take it from q, where so many items are ahead of it. What q can start at once stays.
func (l *locality) worth(it *Item, q, p PlaceID, ahead int) bool {
	if l.state.Short(it, q) {
		return true
	}
	rounds := ahead / max(1, l.state.Places[q].Width)
	extra := it.missing(p) - it.missing(q)
	if rounds == 0 || extra <= 0 {
		return rounds > 0
	}
	if !l.state.Places[q].Host {
		extra *= homeFactor
	}
	return deps.Bytes(rounds)*it.Work >= extra
}

// WorthMoving reports whether an idle place should take it from a device that has others to run before it: whether that wait is
// dearer than moving extra bytes away from where they have their home. It is the rule of the locality policy.
func WorthMoving(it *Item, others int, extra deps.Bytes) bool {
	return others > 0 && deps.Bytes(others)*it.Work >= extra*homeFactor
}

func (l *locality) Remove(it *Item) {
	it.remove()
	l.len--
}

func (l *locality) Each(f func(*Item)) {
	for i := range l.queues {
		l.queues[i].each(f)
	}
}

func (l *locality) Len() int { return l.len }
