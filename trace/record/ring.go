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
	size := 2
	for size < n {
		size *= 2
	}
	return &ring[T]{slots: make([]T, size)}
}

// put copies v into the ring, or drops it when the ring is full. It returns false when somebody else is writing, and then has done
// nothing. half says that it is time to empty the ring.
func (r *ring[T]) put(v *T) (done, half bool) {
	s := r.state.Load()
	if s&1 != 0 || !r.state.CompareAndSwap(s, s|1) {
		return false, false
	}
	at, size := s/2, uint64(len(r.slots))
	if at-r.freed >= size {
		if r.freed = r.tail.Load(); at-r.freed >= size {
			r.dropped.Store(r.dropped.Load() + 1)
			r.state.Store(s)
			return true, true
		}
	}
	r.slots[at&(size-1)] = *v
	r.state.Store(s + 2)
	return true, at&(size/4-1) == 0
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

// put copies v into the ring of a writer, or the next one that nobody writes to.
func (l rings[T]) put(writer int, v *T) (half bool) {
	for i := writer; ; i++ {
		if i >= len(l) || i < 0 {
			i = 0
		}
		if done, half := l[i].put(v); done {
			return half
		}
	}
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
