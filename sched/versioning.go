package sched

import "time"

// versioning gives each item to the place where it will be over first, by what has been learned of its version there: what that
// place has to do already, the bytes to move, and the time it runs. What has not been tried often enough on a kind of device is
// tried, and from time to time what seemed slow is tried again. A place with nothing of its own takes an item of another if it
// will be done with it before the other begins.
//
// The time of a version is a median without outliers, in place of the mean of other runtimes (a few durations of 70 to 100 ms
// among many of 0.2 ms kept GPUs idle there), and exploration never ends.
type versioning struct {
	state  *State
	queues []queue         // by place
	queued []time.Duration // by place: what its queue is expected to take
	flying []time.Duration // by place: what was popped and is not done
	len    int
	pushes uint64
}

// exploreEach is how often the kind that was tried least is tried again, in pushes.
const exploreEach = 64

// bytesPerSecond is what a link is taken to carry, to weigh moving against running.
const bytesPerSecond = 8 << 30

func newVersioning(s *State) Policy {
	n := len(s.Places)
	return &versioning{state: s, queues: make([]queue, n), queued: make([]time.Duration, n), flying: make([]time.Duration, n)}
}

func (v *versioning) Push(it *Item) {
	v.pushes++
	v.put(it, v.choose(it))
}

func (v *versioning) put(it *Item, p PlaceID) {
	it.at, it.expect = p, v.expect(it, p)
	v.queues[p].push(it, it.Priority)
	v.queued[p] += it.expect
	v.len++
}

// choose returns the place that it is meant for.
func (v *versioning) choose(it *Item) PlaceID {
	if it.Allowed.Len() == 1 {
		return it.Allowed.First()
	}
	best, first := PlaceID(-1), time.Duration(0)
	rare, fewest := PlaceID(-1), int64(0)
	for rest := it.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		n := v.tried(it, p)
		if rare < 0 || n < fewest || n == fewest && v.busy(p) < v.busy(rare) {
			rare, fewest = p, n
		}
		if at := v.busy(p) + v.expect(it, p); best < 0 || at < first {
			best, first = p, at
		}
	}
	if it.Version == "" { // nothing is learned of it
		return best
	}
	if fewest < fewTimes || v.pushes%exploreEach == 0 {
		return rare
	}
	return best
}

// tried is how often the version of it ran on the kind of p.
func (v *versioning) tried(it *Item, p PlaceID) int64 {
	if h := v.state.Times.of(it, v.state.Places[p].Kind); h != nil {
		return h.samples
	}
	return 0
}

// busy is how long p has to do with what it has.
func (v *versioning) busy(p PlaceID) time.Duration {
	return (v.queued[p] + v.flying[p]) / time.Duration(max(1, v.state.Places[p].Width))
}

// unknownTime is what an item is taken to run that has not been tried.
const unknownTime = 100 * time.Microsecond

// expect is how long it keeps p: moving what is missing, and running.
func (v *versioning) expect(it *Item, p PlaceID) time.Duration {
	run, ok := v.state.Times.Expect(it, v.state.Places[p].Kind)
	if !ok {
		run = unknownTime
	}
	return run + time.Duration(float64(it.missing(p))/bytesPerSecond*float64(time.Second))
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
	v.Remove(it)
	it.expect = v.expect(it, p)
	it.flying = true
	v.flying[p] += it.expect
	return it
}

// steal returns the item of another place that p would be done with before that place begins.
func (v *versioning) steal(p PlaceID) *Item {
	for q := range v.queues {
		if PlaceID(q) == p || v.queues[q].len == 0 {
			continue
		}
		wait := v.flying[q] / time.Duration(max(1, v.state.Places[q].Width))
		for _, l := range v.queues[q].lanes {
			it := l.head
			for n := 0; it != nil && n < scanLimit && l.allowed.Has(p); n++ {
				if (v.expect(it, p) < wait || v.state.Short(it, PlaceID(q))) && v.state.Admit(it, p) {
					return it
				}
				wait += it.expect / time.Duration(max(1, v.state.Places[q].Width))
				it = it.next
			}
		}
	}
	return nil
}

// Done learns how long it ran.
func (v *versioning) Done(it *Item) {
	if it.flying {
		it.flying = false
		v.flying[it.at] -= it.expect
	}
	if it.Took > 0 {
		v.state.Times.Learn(it, v.state.Places[it.at].Kind, it.Took)
	}
}

func (v *versioning) Remove(it *Item) {
	v.queued[it.at] -= it.expect
	it.remove()
	v.len--
}

func (v *versioning) Each(f func(*Item)) {
	for i := range v.queues {
		v.queues[i].each(f)
	}
}

func (v *versioning) Len() int { return v.len }
