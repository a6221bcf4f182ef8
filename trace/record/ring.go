package record

import "sync/atomic"

// A ring is a bounded queue that never blocks: what does not fit is dropped and counted.
//
// state is twice the number of slots written, plus one while somebody writes.
type ring[T any] struct {
	_       [64]byte
	state   atomic.Uint64
	freed   uint64 // tail as the writers saw it last; of who writes
	dropped atomic.Uint64
	_       [64]byte
	tail    atomic.Uint64 // slots read; of the reader
	_       [64]byte
	slots   []T
}

// newRing returns a ring of at least n slots.
func newRing[T any](n int) *ring[T] {
	size := 4
	for size < n {
		size *= 2
	}
	return &ring[T]{slots: make([]T, size)}
}

// claim makes room for n slots from at on, which the caller fills and publishes. It returns at < 0 when they do not fit, which is counted,
// and false when somebody else is writing, and then has done nothing.
func (r *ring[T]) claim(n int) (at int64, done bool) {
	s := r.state.Load()
	if s&1 != 0 || !r.state.CompareAndSwap(s, s|1) {
		return 0, false
	}
	from, size := s/2, uint64(len(r.slots))
	if from-r.freed+uint64(n) > size {
		if r.freed = r.tail.Load(); from-r.freed+uint64(n) > size {
			r.dropped.Store(r.dropped.Load() + uint64(n))
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

// take appends what is in the ring to out and frees the slots.
func (r *ring[T]) take(out []T) []T {
	from, to, size := r.tail.Load(), r.state.Load()/2, uint64(len(r.slots))
	for from < to {
		at := from & (size - 1)
		end := min(size, at+to-from)
		out = append(out, r.slots[at:end]...)
		from += end - at
	}
	r.tail.Store(to)
	return out
}

// each calls f for what is in the ring and frees the slots.
func (r *ring[T]) each(f func(*T)) {
	from, to, size := r.tail.Load(), r.state.Load()/2, uint64(len(r.slots))
	for ; from < to; from++ {
		f(&r.slots[from&(size-1)])
	}
	r.tail.Store(to)
}

// rings are the rings of one sort, by writer; those behind the writers' own are for whoever finds his ring taken.
type rings[T any] []*ring[T]

func newRings[T any](writers, slots int) rings[T] {
	out := make(rings[T], writers+spare)
	for i := range out {
		out[i] = newRing[T](slots)
	}
	return out
}

// spare is how many rings belong to nobody.
const spare = 2

// claim makes room in the ring of a writer, or in the next one that nobody writes to. It returns nil when it is full.
func (l rings[T]) claim(writer, n int) (r *ring[T], at int64) {
	for i := writer; ; i++ {
		if i >= len(l) || i < 0 {
			i = 0
		}
		if at, done := l[i].claim(n); done && at >= 0 {
			return l[i], at
		} else if done {
			return nil, 0
		}
	}
}

// put copies v into a ring, or drops it when that is full. It reports whether it is time to empty the rings.
func (l rings[T]) put(writer int, v *T) bool {
	r, at := l.claim(writer, 1)
	if r == nil {
		return true
	}
	*r.slot(at) = *v
	return r.publish(at, 1)
}

func (l rings[T]) take(out []T) []T {
	for _, r := range l {
		out = r.take(out)
	}
	return out
}

func (l rings[T]) dropped() (n uint64) {
	for _, r := range l {
		n += r.dropped.Load()
	}
	return n
}
