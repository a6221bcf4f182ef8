package smp

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/internal/spin"
)

// A Source is where workers find what to run. It is called by all workers at once.
type Source interface {
	// Ready reports whether Take may find something. It is cheap, and never misses what was put in
	// before it is called.
	Ready() bool
	// More reports whether a worker that has found something wakes another one for the rest. It is
	// cheap. A source that says no for what Ready sees takes care that a worker comes for it.
	More() bool
	// Take takes out one thing for a worker, unless one was taken already that has not been run,
	// and reports whether there is one.
	Take(worker int) bool
	// Run runs what Take has taken for a worker. It returns which worker the calling goroutine is
	// now, as that may change meanwhile (Lend), or None. When it is ended from inside
	// (runtime.Goexit), it must have lent the worker that it was.
	Run(worker int) int
}

// Turns is what a Source also implements whose workers may look for work at times only: when it is
// the turn of the workers, which begins with Workers.Begin. All work comes from other goroutines
// then; Wake wakes no worker.
type Turns interface {
	// Turn reports whether a worker may look for work now: one of them, the first that asks.
	Turn(worker int) bool
	// End says that a worker, whose turn it may be, has found nothing.
	End(worker int)
}

// None is no worker.
const None = -1

// MaxWorkers bounds the workers of one Workers.
const MaxWorkers = 1024

// Workers are goroutines that run what a Source has.
type Workers struct {
	source Source
	turns  Turns // source, if it is one
	slots  []sleepSlot
	nodeOf []int         // node of each worker
	bound  []*memoryNode // by node: the processors of its workers; nil if workers are not bound
	loops  atomic.Int32  // open offers
	ending atomic.Bool
	done   sync.WaitGroup
	_      [128]byte // what changes often is in another cache line than what all read

	spinning atomic.Bool  // one worker looks for work before it goes to sleep
	asleep   atomic.Int32 // workers that announced that they will sleep
	_        [128]byte
	mu       spin.Mutex
	sleepers []uint64 // a bit for each worker that sleeps, or is about to
	open     []*offer
	spares   []chan int // goroutines without a worker, which wait until Lend gives them one
	closed   bool       // no more spares
	parked   sync.WaitGroup
}

// A sleepSlot is where one worker sleeps. It is padded: other processors use its neighbours.
type sleepSlot struct {
	wake chan struct{} // holds one token at most: sent by the goroutine that removed the worker from sleepers
	_    [56]byte
}

// NewWorkers starts n workers on a source. Close ends them.
func NewWorkers(n int, source Source) (*Workers, error) { return startWorkers(n, source, false) }

// startWorkers is NewWorkers for workers that are perhaps bound to the node that they belong to.
//
// Errors: with bind, those of the system.
func startWorkers(n int, source Source, bind bool) (*Workers, error) {
	if n <= 0 || n > MaxWorkers {
		return nil, fmt.Errorf("smp: %d workers: between 1 and %d are possible", n, MaxWorkers)
	}
	w := &Workers{source: source, slots: make([]sleepSlot, n), sleepers: make([]uint64, (n+63)/64)}
	w.turns, _ = source.(Turns)
	if err := w.bindWorkers(bind); err != nil {
		return nil, err
	}
	w.done.Add(n)
	for i := range w.slots {
		w.slots[i].wake = make(chan struct{}, 1)
		go w.work(i)
	}
	return w, nil
}

// bindWorkers assigns a node to every worker, if the workers are to be bound.
func (w *Workers) bindWorkers(bind bool) error {
	if !bind {
		return nil
	}
	t, err := systemTopology()
	if err != nil {
		return err
	}
	if w.nodeOf = t.workerNodes(len(w.slots)); t.Nodes() == 0 {
		return errNoNodes
	}
	for k := range t.nodes {
		tried := make(chan error)
		go func() { tried <- t.nodes[k].bind() }()
		if err = <-tried; err != nil {
			return fmt.Errorf("smp: bind to the processors of node %d: %w", t.nodes[k].id, err)
		}
		w.bound = append(w.bound, &t.nodes[k])
	}
	return nil
}

var errNoNodes = errors.New("smp: bind=node: this system does not say which processors are near each other")

// moveToNode binds the calling goroutine, which is worker i now and was bound to node before, to
// the node of i, and returns that node.
func (w *Workers) moveToNode(i, node int) int {
	if w.bound == nil || node == w.nodeOf[i] {
		return node
	}
	// It was possible when the workers were started; a cpuset that shrinks since moves the thread, and
	// the work continues there.
	_ = w.bound[w.nodeOf[i]].bind()
	return w.nodeOf[i]
}

// Len returns the number of workers.
func (w *Workers) Len() int { return len(w.slots) }

// Idle returns the number of workers that sleep or are about to.
func (w *Workers) Idle() int { return int(w.asleep.Load()) }

// Close waits until every worker has found its source empty and ends them all. Calls after the
// first wait too.
func (w *Workers) Close() {
	w.ending.Store(true)
	w.wake(len(w.slots)) // all: a worker that looks for work now may fall asleep before the others are counted
	w.done.Wait()
	w.mu.Lock()
	w.closed = true
	for _, s := range w.spares {
		close(s)
	}
	w.spares = nil
	w.mu.Unlock()
	w.parked.Wait()
}

// Lend makes another goroutine worker i in place of the caller. How the caller becomes a worker
// again is between it and its source: another goroutine gives its worker up by returning None from
// Run.
func (w *Workers) Lend(i int) {
	w.mu.Lock()
	if last := len(w.spares) - 1; last >= 0 {
		s := w.spares[last]
		w.spares = w.spares[:last]
		w.mu.Unlock()
		s <- i // never blocks: the channel has a buffer of one
		return
	}
	w.mu.Unlock()
	go w.work(i)
}

// park waits until Lend makes the calling goroutine a worker again, and returns that worker. It
// returns None if there are enough spare goroutines, or after Close.
func (w *Workers) park() int {
	w.mu.Lock()
	if w.closed || len(w.spares) >= len(w.slots) {
		w.mu.Unlock()
		return None
	}
	s := make(chan int, 1)
	w.spares = append(w.spares, s)
	w.parked.Add(1)
	w.mu.Unlock()
	defer w.parked.Done()
	i, ok := <-s
	if !ok {
		return None
	}
	return i
}

// Wake wakes up to n sleeping workers, one less when one is awake and looks for work. It is called
// after work was put into the source; cost: one atomic load when no worker sleeps. A source whose
// Take sees that there is more calls it too.
func (w *Workers) Wake(n int) {
	spin.Perturb()
	if w.asleep.Load() == 0 || w.turns != nil {
		return
	}
	if w.spinning.Load() { // and looks again when it has said that it stops
		n--
	}
	if n > 0 {
		w.wake(n)
	}
}

// Begin wakes a worker for the turn of the workers, which has begun.
func (w *Workers) Begin() { w.wake(1) }

// wake wakes up to n sleeping workers.
func (w *Workers) wake(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for word := range w.sleepers {
		for n > 0 && w.sleepers[word] != 0 {
			i := word*64 + bits.TrailingZeros64(w.sleepers[word])
			w.markAwake(i)
			w.slots[i].wake <- struct{}{} // never blocks: the worker has just left sleepers, and takes the token before it returns to them
			n--
		}
	}
}

// markAwake removes worker i from sleepers. Requires: w.mu held, i in sleepers.
func (w *Workers) markAwake(i int) {
	w.sleepers[i/64] &^= 1 << (i % 64)
	w.asleep.Add(-1)
}

// work runs until the end, first as worker i. A body that ends the goroutine (runtime.Goexit) costs
// it, not the worker.
func (w *Workers) work(i int) {
	ended, inside, node := false, false, None
	defer bodies.Enter()()
	defer func() {
		if !ended && !inside { // ended from inside a chunk of a loop
			go w.work(i)
		}
	}()
	for {
		node = w.moveToNode(i, node)
		if w.turns != nil && !w.turns.Turn(i) && !w.ending.Load() {
			w.sleep(i)
			continue
		}
		if w.source.Take(i) {
			inside = true
			i = w.source.Run(i)
			inside = false
			if i == None {
				if i = w.park(); i == None {
					break
				}
			}
			continue
		}
		if w.assist(i) {
			continue
		}
		if w.ending.Load() {
			w.done.Done()
			break
		}
		if w.turns != nil {
			w.turns.End(i)
		} else if !w.spin(i) {
			w.sleep(i)
		}
	}
	ended = true
}

// spinTime is the time that a worker without work looks for some before it sleeps: about what it
// takes to wake it.
const spinTime = 20 * time.Microsecond

// pauseTime is the time that such a worker does not look at first. Where a goroutine makes short
// tasks and the worker is quicker, it would take each as it comes, and both would wait for the
// cache lines of the other: it had better come for several. Where no tasks are made just now, a
// later submission finds it looking.
const pauseTime = time.Microsecond

// spin looks for work for a while, unless another worker does, and reports whether there was some.
// Other goroutines run in between: the goroutines that make work may need the processor.
func (w *Workers) spin(i int) bool {
	if w.ending.Load() || !w.spinning.CompareAndSwap(false, true) {
		return false
	}
	found := false
	defer func() {
		w.spinning.Store(false)
		spin.Perturb()
		if found && w.source.More() { // put in by goroutines that counted on this worker
			w.Wake(1)
		}
	}()
	began := time.Now()
	for time.Since(began) < pauseTime {
	}
	for {
		for range 32 {
			if w.source.Ready() && w.source.Take(i) {
				found = true
				return true
			}
		}
		if w.wanted() {
			found = true
			return true
		}
		if time.Since(began) > spinTime {
			return false
		}
		runtime.Gosched()
	}
}

// sleep announces that worker i will sleep, looks a last time, and sleeps until it is woken. It
// returns with nothing run: the caller runs the work that was found, since a worker that runs
// something must not be in sleepers.
func (w *Workers) sleep(i int) {
	w.mu.Lock()
	w.sleepers[i/64] |= 1 << (i % 64)
	w.asleep.Add(1)
	w.mu.Unlock()
	spin.Perturb()
	if w.turns != nil && w.turns.Turn(i) || w.ending.Load() || w.turns == nil && (w.source.Take(i) || w.wanted()) {
		w.cancelSleep(i)
		return
	}
	<-w.slots[i].wake
	// One wake-up may stand for several that counted on the worker that looked for work: what is
	// left, in any queue, is for the next.
	if w.turns == nil && w.source.Take(i) && w.source.More() {
		w.Wake(1)
	}
}

// cancelSleep withdraws the announcement of worker i, which has found work, or takes the token of a
// concurrent wake-up.
func (w *Workers) cancelSleep(i int) {
	w.mu.Lock()
	sleeping := w.sleepers[i/64]&(1<<(i%64)) != 0
	if sleeping {
		w.markAwake(i)
	}
	w.mu.Unlock()
	if !sleeping {
		<-w.slots[i].wake // the wake-up was for other work: perhaps its own, when it took one of two
	}
	if w.turns == nil && w.source.More() { // also without a wake-up: several may have counted on this worker
		w.Wake(1)
	}
}
