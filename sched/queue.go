package sched

// scanLimit is how many items of one lane a pop looks at before it gives up: items of a lane may
// run at the same places, so what holds the first ones back (tokens) most often holds the rest back
// too.
const scanLimit = 32

// A queue keeps items by priority, then by the places they may run at, then in order of arrival.
// The split by places means that a thousand items for the CPU do not hide the one for an
// accelerator behind them.
type queue struct {
	lanes []*lane // by priority, highest first; lanes are kept when empty, up to keepLanes
	spare []*lane
	len   int
}

// A lane is a list of items of one priority that may run at the same places.
type lane struct {
	priority int
	allowed  PlaceSet
	head     *Item
	tail     *Item
	owner    *queue
}

// keepLanes is the number of lanes that a queue may have before it drops those that are empty.
const keepLanes = 16

func (q *queue) push(it *Item, priority int) {
	l := q.laneOf(priority, it.Allowed)
	it.lane, it.prev, it.next = l, l.tail, nil
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.next = it
	}
	l.tail = it
	q.len++
}

func (q *queue) laneOf(priority int, allowed PlaceSet) *lane {
	at := len(q.lanes)
	for i, l := range q.lanes {
		if l.priority == priority && l.allowed == allowed {
			return l
		}
		if l.priority < priority {
			at = i
			break
		}
	}
	if len(q.lanes) >= keepLanes {
		q.dropEmpty()
		at = q.insertAt(priority)
	}
	return q.insertLane(at, priority, allowed)
}

func (q *queue) insertAt(priority int) int {
	for i, l := range q.lanes {
		if l.priority < priority {
			return i
		}
	}
	return len(q.lanes)
}

func (q *queue) insertLane(at, priority int, allowed PlaceSet) *lane {
	var l *lane
	if n := len(q.spare); n > 0 {
		l, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		l = new(lane)
	}
	*l = lane{priority: priority, allowed: allowed, owner: q}
	q.lanes = append(q.lanes, nil)
	copy(q.lanes[at+1:], q.lanes[at:])
	q.lanes[at] = l
	return l
}

func (q *queue) dropEmpty() {
	kept := q.lanes[:0]
	for _, l := range q.lanes {
		if l.head != nil {
			kept = append(kept, l)
			continue
		}
		if len(q.spare) < keepLanes {
			q.spare = append(q.spare, l)
		}
	}
	clear(q.lanes[len(kept):])
	q.lanes = kept
}

// above reports whether there are items of a higher priority.
func (q *queue) above(priority int) bool {
	for _, l := range q.lanes {
		if l.priority <= priority {
			return false
		}
		if l.head != nil {
			return true
		}
	}
	return false
}

// remove takes it out of the queue it is in.
func (it *Item) remove() {
	l := it.lane
	if it.prev == nil {
		l.head = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.tail = it.prev
	} else {
		it.next.prev = it.prev
	}
	l.owner.len--
	it.lane, it.prev, it.next = nil, nil, nil
}

// first returns the item of highest priority that may run at p and that s admits there, the
// earliest among equals; nil when there is none. It stays in the queue.
func (q *queue) first(s *State, p PlaceID) *Item {
	var best *Item
	for _, l := range q.lanes {
		if best != nil && l.priority < best.lane.priority {
			break
		}
		if !l.allowed.Has(p) || l.head == nil {
			continue
		}
		if it := l.first(s, p); it != nil && (best == nil || it.order < best.order) {
			best = it
		}
	}
	return best
}

func (l *lane) first(s *State, p PlaceID) *Item {
	it := l.head
	for n := 0; it != nil && n < scanLimit; n++ {
		if s.Admit(it, p) {
			return it
		}
		it = it.next
	}
	return nil
}
