package smp

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// A Panic is what Share panics with when a chunk has panicked: the value, and the stack of the worker it happened on.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string {
	return fmt.Sprintf("panic in a chunk of a parallel loop: %v", p.Value)
}

// Unwrap returns the value when it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// A loop is a parallel loop that workers take chunks of.
type loop struct {
	body    func(lo, hi int64)
	hi      int64
	grain   int64
	workers int64
	next    atomic.Int64
	inside  sync.WaitGroup // workers other than the owner that may still be in a chunk
	failed  atomic.Pointer[Panic]
}

// Share runs body over [lo, hi) in chunks of at least grain iterations (the last may be shorter), on the caller and
// on whatever workers are idle or become so. It returns when every iteration has run.
//
// The caller is a worker, in RunNext. Chunks shrink as the loop drains, so that the last ones end together.
// A panic in a chunk lets the other chunks end, drops those not begun and is thrown here as a *Panic.
func (w *Workers) Share(lo, hi, grain int64, body func(lo, hi int64)) {
	if hi <= lo {
		return
	}
	grain = max(grain, 1)
	if hi-lo <= grain || len(w.rooms) == 1 {
		body(lo, hi)
		return
	}
	l := &loop{body: body, hi: hi, grain: grain, workers: int64(len(w.rooms))}
	l.next.Store(lo)
	w.publish(l)
	w.Wake(int(min((hi-lo-1)/grain, int64(len(w.rooms)))))
	l.run()
	w.withdraw(l)
	l.inside.Wait()
	if p := l.failed.Load(); p != nil {
		panic(p)
	}
}

func (w *Workers) publish(l *loop) {
	w.mu.Lock()
	w.open = append(w.open, l)
	w.mu.Unlock()
	w.loops.Add(1)
}

// withdraw makes sure that no other worker enters l from now on.
func (w *Workers) withdraw(l *loop) {
	w.loops.Add(-1)
	w.mu.Lock()
	i := slices.Index(w.open, l)
	w.open = slices.Delete(w.open, i, i+1)
	w.mu.Unlock()
}

// assist takes chunks of an open loop, and reports whether there was one to take.
func (w *Workers) assist() bool {
	if w.loops.Load() == 0 {
		return false
	}
	w.mu.Lock()
	var found *loop
	for _, l := range w.open {
		if l.next.Load() < l.hi {
			found = l
			l.inside.Add(1) // under mu, so that it comes before withdraw and so before the owner's Wait
			break
		}
	}
	w.mu.Unlock()
	if found == nil {
		return false
	}
	defer found.inside.Done()
	found.run()
	return true
}

// run takes chunks until there are none.
func (l *loop) run() {
	for {
		lo := l.next.Load()
		if lo >= l.hi {
			return
		}
		// Guided: half of an even share of what is left, so that late chunks are small and early ones cheap to hand out.
		size := max(l.grain, (l.hi-lo)/(2*l.workers))
		hi := min(lo+size, l.hi)
		if l.next.CompareAndSwap(lo, hi) {
			l.chunk(lo, hi)
		}
	}
}

// chunk runs one chunk. A panic, and a Goexit too, ends the loop and is kept for the owner.
func (l *loop) chunk(lo, hi int64) {
	ended := false
	defer func() {
		if ended {
			return
		}
		value := recover()
		if value == nil {
			value = "the goroutine was ended from inside (runtime.Goexit)"
		}
		l.failed.CompareAndSwap(nil, &Panic{Value: value, Stack: debug.Stack()})
		l.next.Store(l.hi)
	}()
	l.body(lo, hi)
	ended = true
}
