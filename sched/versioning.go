package sched

// versioning gives each item to the place where it will be over first, by what has been learned of its version there: what that
// place has to do already, the bytes to move, and the time it runs. What has not been tried often enough on a kind of device is
// tried, and from time to time what seemed slow is tried again. A place with nothing of its own takes an item of another if it
// will be done with it before the other begins.
//
// The time of a version is a median without outliers, in place of the mean of other runtimes (a few durations of 70 to 100 ms
// among many of 0.2 ms kept GPUs idle there), and exploration never ends.
type versioning struct {
	ledger
	queues []queue // by place
	len    int
	pushes uint64
}

// exploreEach is how often the kind that was tried least is tried again, in pushes.
const exploreEach = 64

func newVersioning(s *State) Policy {
	return &versioning{ledger: newLedger(s), queues: make([]queue, len(s.Places))}
}

func (v *versioning) Push(it *Item) {
	v.pushes++
	it.again = false
	v.ask(it)
	p := v.choose(it)
	v.ledger.push(it, p)
	v.queues[p].push(it, it.Priority)
	v.len++
}

// choose returns the place that it is meant for.
func (v *versioning) choose(it *Item) PlaceID {
	if it.Allowed.Len() == 1 {
		return it.Allowed.First()
	}
	if it.Version != "" {
		if rare, n := v.rarest(it, v.candidates(it)); (n < fewTimes || v.pushes%exploreEach == 0) && !v.hopeless(it, rare) {
			if !v.noTrial(it, rare) {
				it.again = n >= fewTimes
				return rare
			}
			return v.free(it, it.Allowed.Without(rare))
		}
		if p, ok := v.soonest(it, it.Allowed); ok {
			return p
		}
	}
	return v.free(it, v.candidates(it))
}

func (v *versioning) Pop(p PlaceID) *Item {
	if v.len == 0 {
		return nil
	}
	it := v.queues[p].first(v.state, p)
	if it == nil && v.len > v.queues[p].len {
		it = v.steal(p)
	}
	if it == nil {
		return nil
	}
	v.pop(it, p)
	return it
}

func (v *versioning) pop(it *Item, p PlaceID) {
	v.Remove(it)
	v.ledger.pop(it, p)
}

// take implements chainer, as locality does.
func (v *versioning) take(it *Item, p PlaceID) bool {
	if it.at != p || v.queues[p].above(it.Priority) {
		return false
	}
	v.pop(it, p)
	return true
}

// steal returns the item of another place that p would be done with before that place begins.
func (v *versioning) steal(p PlaceID) *Item {
	for q := range v.queues {
		if PlaceID(q) == p || v.queues[q].len == 0 {
			continue
		}
		wait := v.state.flying(PlaceID(q))
		for _, l := range v.queues[q].lanes {
			it := l.head
			for n := 0; it != nil && n < scanLimit && l.allowed.Has(p); n++ {
				d, _ := v.expect(it, p)
				if (v.state.flying(p)+d < wait || v.state.Short(it, PlaceID(q))) && v.state.Admit(it, p) {
					return it
				}
				wait += it.expect
				it = it.next
			}
		}
	}
	return nil
}

// Done learns how long it ran.
func (v *versioning) Done(it *Item) { v.done(it) }

func (v *versioning) Remove(it *Item) {
	v.ledger.remove(it)
	it.remove()
	v.len--
}

func (v *versioning) Each(f func(*Item)) {
	for i := range v.queues {
		v.queues[i].each(f)
	}
}

func (v *versioning) Len() int { return v.len }
