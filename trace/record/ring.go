package record

import "sync/atomic"

// A ring is a bounded queue that never blocks.
//
// state is twice the number of slots written, plus one while a write is under way.
type ring[T any] struct {
	_     [64]byte
	state atomic.Uint64
	freed uint64 // tail as the writers saw it last; written by them
	_     [64]byte
	tail  atomic.Uint64 // slots read; of the reader
	_     [64]byte
	slots []T
}

// newRing returns a ring of at least n slots.
func newRing[T any](n int) *ring[T] {
	size := 4
	for size < n {
		size *= 2
	}
	return &ring[T]{slots: make([]T, size)}
}

// claim makes room for n slots from at on, which the caller fills and publishes. It returns at < 0
// when they do not fit, and false when another writer is active; then it has done nothing.
func (r *ring[T]) claim(n int) (at int64, done bool) {
	s := r.state.Load()
	if s&1 != 0 || !r.state.CompareAndSwap(s, s|1) {
		return 0, false
	}
	from, size := s/2, uint64(len(r.slots))
	if from-r.freed+uint64(n) > size {
		if r.freed = r.tail.Load(); from-r.freed+uint64(n) > size {
			r.state.Store(s)
			return -1, true
		}
	}
	return int64(from), true
}

// slot returns one of the slots that were claimed.
func (r *ring[T]) slot(at int64) *T { return &r.slots[uint64(at)&uint64(len(r.slots)-1)] }

// publish hands n slots from at on to the reader. It reports whether it is time to empty the ring.
func (r *ring[T]) publish(at int64, n int) bool {
	r.state.Store(2 * uint64(at+int64(n)))
	quarter := int64(len(r.slots) / 4)
	return at&(quarter-1)+int64(n) >= quarter
}

// written returns up to where the ring is written.
func (r *ring[T]) written() uint64 { return r.state.Load() / 2 }

// take calls f for what is in the ring up to a slot, at most most of it, and frees that. It returns
// how many there were.
func (r *ring[T]) take(until uint64, most int, f func(*T)) int {
	from, size := r.tail.Load(), uint64(len(r.slots))
	to := min(until, from+uint64(most))
	if to <= from {
		return 0
	}
	for at := from; at < to; at++ {
		f(&r.slots[at&(size-1)])
	}
	r.tail.Store(to)
	return int(to - from)
}

// rings are the rings of one sort, by writer. Those of the writers are small, so that what is
// written and read all the time stays in the caches; the reserves behind them are large, and belong
// to no writer: they serve writers whose ring is taken or full.
type rings[T any] []*ring[T]

func newRings[T any](writers, slots, reserve int) rings[T] {
	out := make(rings[T], writers+spare)
	for i := range out {
		if i < writers {
			out[i] = newRing[T](min(slots, reserve))
		} else {
			out[i] = newRing[T](reserve)
		}
	}
	return out
}

// spare is the number of rings that are reserves.
const spare = 2

// claim makes room for n slots in the ring of a writer, else in any idle one, reserves first. It
// returns nil when all of them are full.
func (l rings[T]) claim(writer, n int) (r *ring[T], at int64) {
	if writer < 0 || writer >= len(l) {
		writer = 0
	}
	if at, done := l[writer].claim(n); done && at >= 0 {
		return l[writer], at
	}
	return l.elsewhere(n)
}

func (l rings[T]) elsewhere(n int) (r *ring[T], at int64) {
	for full := false; !full; {
		for i := len(l) - 1; i >= 0; i-- {
			switch at, done := l[i].claim(n); {
			case !done:
			case at >= 0:
				return l[i], at
			default:
				full = true
			}
		}
	}
	return nil, 0
}

// put copies v into a ring. It reports whether there was room, and whether it is time to empty the
// rings.
func (l rings[T]) put(writer int, v *T) (kept, due bool) {
	r, at := l.claim(writer, 1)
	if r == nil {
		return false, true
	}
	*r.slot(at) = *v
	return true, r.publish(at, 1)
}

// written is how far all rings are written.
func (l rings[T]) written(out []uint64) []uint64 {
	out = out[:0]
	for _, r := range l {
		out = append(out, r.written())
	}
	return out
}
