package smp

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/internal/spin"
)

// A Panic is what Share panics with when a chunk has panicked: the value, and the stack of the
// worker it happened on.
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
	failed  atomic.Pointer[Panic]
}

// A Job is work that one worker shares with those that are idle.
type Job interface {
	// Wanted reports whether another worker would find something to do.
	Wanted() bool
	// Help works on the job, as a worker, until there is nothing for the caller to do. It is called by
	// any number of idle workers at once.
	Help(worker int)
}

// An offer is a job that idle workers may join.
type offer struct {
	job     Job
	helpers atomic.Int32   // workers other than the owner that may still be in it
	inside  sync.WaitGroup // the same, to wait for
}

// RunBlocking calls f, which waits for other workers until done reports true. Meanwhile another
// goroutine is the worker that the caller was: see Lend.
type RunBlocking func(done func() bool, f func())

// Offer calls run, which works on the job as its owner, and lets idle workers help meanwhile. It
// returns when run has returned and no helper is in the job any more. It waits for the last helpers
// with runBlocking, if that takes longer than a wake-up.
//
// Idle workers come when Offer is called; when more of them could help later, the job calls Wake.
// run and Help may end the goroutine (runtime.Goexit), and must not panic.
func (w *Workers) Offer(job Job, run func(), runBlocking RunBlocking) {
	o := &offer{job: job}
	w.publish(o)
	w.Wake(len(w.slots) - 1)
	defer func() { // also when run ends the goroutine
		w.withdraw(o)
		o.waitHelpers(runBlocking)
	}()
	run()
}

// waitHelpers waits until the last helper has left.
func (o *offer) waitHelpers(runBlocking RunBlocking) {
	for began := time.Now(); o.helpers.Load() > 0; runtime.Gosched() {
		if time.Since(began) > spinTime {
			runBlocking(func() bool { return o.helpers.Load() == 0 }, o.inside.Wait)
			return
		}
	}
}

// Share runs body over [lo, hi) in chunks of at least grain iterations (the last may be shorter),
// on the caller and on whatever workers are idle or become so. It returns when every iteration has
// run.
//
// The caller is a worker, and stays one while it waits for the last chunks: body must not wait for
// other workers. Chunks shrink as the loop drains, so that the last ones end together. A
// panic in a chunk lets the other chunks end, drops those not begun and is thrown here as a *Panic.
func (w *Workers) Share(lo, hi, grain int64, body func(lo, hi int64)) {
	w.ShareBlocking(lo, hi, grain, body, func(_ func() bool, f func()) { f() })
}

// ShareBlocking is Share for a body that may wait for other workers: the caller waits for the last
// chunks with runBlocking.
func (w *Workers) ShareBlocking(lo, hi, grain int64, body func(lo, hi int64), runBlocking RunBlocking) {
	if hi <= lo {
		return
	}
	grain = max(grain, 1)
	if hi-lo <= grain || len(w.slots) == 1 {
		body(lo, hi)
		return
	}
	l := &loop{body: body, hi: hi, grain: grain, workers: int64(len(w.slots))}
	l.next.Store(lo)
	o := &offer{job: l}
	w.publish(o)
	w.Wake(int(min((hi-lo-1)/grain, int64(len(w.slots)))))
	l.Help(None)
	w.withdraw(o)
	o.waitHelpers(runBlocking)
	if p := l.failed.Load(); p != nil {
		panic(p)
	}
}

func (w *Workers) publish(o *offer) {
	w.mu.Lock()
	w.open = append(w.open, o)
	w.mu.Unlock()
	w.loops.Add(1)
}

// withdraw makes sure that no other worker joins o from now on.
func (w *Workers) withdraw(o *offer) {
	w.loops.Add(-1)
	w.mu.Lock()
	i := slices.Index(w.open, o)
	w.open = slices.Delete(w.open, i, i+1)
	w.mu.Unlock()
}

// wanted reports whether an open job wants help.
func (w *Workers) wanted() bool {
	if w.loops.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.open, func(o *offer) bool { return o.job.Wanted() })
}

// assist helps with an open job as a worker, and reports whether one wanted help.
func (w *Workers) assist(worker int) bool {
	if w.loops.Load() == 0 {
		return false
	}
	w.mu.Lock()
	var found *offer
	for _, o := range w.open {
		if o.job.Wanted() {
			found = o
			o.helpers.Add(1) // under mu, so that it comes before withdraw and so before the owner looks
			o.inside.Add(1)
			break
		}
	}
	w.mu.Unlock()
	if found == nil {
		return false
	}
	defer func() { // also when it ends the goroutine
		found.helpers.Add(-1)
		found.inside.Done()
	}()
	found.job.Help(worker)
	return true
}

// Wanted reports whether there are chunks left.
func (l *loop) Wanted() bool { return l.next.Load() < l.hi }

// Help takes chunks until there are none.
func (l *loop) Help(int) {
	for {
		lo := l.next.Load()
		if lo >= l.hi {
			return
		}
		// Guided: half of an even share of the rest, so that late chunks are small and early ones cheap
		// to hand out. Whole grains: a kernel that takes several rows at once would run the remaining
		// iterations one by one.
		size := max(l.grain, (l.hi-lo)/(2*l.workers))
		size -= size % l.grain
		hi := min(lo+size, l.hi)
		spin.Perturb()
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
