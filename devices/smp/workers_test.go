package smp

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue is a Source: a list under a lock.
type queue struct {
	mu    sync.Mutex
	jobs  []func(worker int) int
	taken [MaxWorkers]func(worker int) int
}

func (q *queue) push(f func(worker int)) {
	q.pushJob(func(worker int) int { f(worker); return worker })
}

// pushJob pushes a job that says which worker its goroutine is afterwards.
func (q *queue) pushJob(f func(worker int) int) {
	q.mu.Lock()
	q.jobs = append(q.jobs, f)
	q.mu.Unlock()
}

func (q *queue) Ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs) > 0
}

func (q *queue) More() bool { return q.Ready() }

func (q *queue) Take(worker int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken[worker] == nil && len(q.jobs) > 0 {
		q.taken[worker], q.jobs = q.jobs[0], q.jobs[1:]
	}
	return q.taken[worker] != nil
}

func (q *queue) Run(worker int) int {
	q.mu.Lock()
	f := q.taken[worker]
	q.taken[worker] = nil
	q.mu.Unlock()
	return f(worker)
}

func start(t *testing.T, n int) (*Workers, *queue) {
	t.Helper()
	q := &queue{}
	w, err := NewWorkers(n, q)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w, q
}

// run puts one job into the queue and waits for it.
func run(w *Workers, q *queue, job func(worker int)) {
	done := make(chan struct{})
	q.push(func(worker int) {
		defer close(done)
		job(worker)
	})
	w.Wake(1)
	<-done
}

func TestWorkersRefuseNonsense(t *testing.T) {
	for _, n := range []int{-1, 0, MaxWorkers + 1} {
		_, err := NewWorkers(n, &queue{})
		require.Error(t, err)
		_, err = New(n)
		require.Error(t, err)
	}
}

// A lost wake-up hangs this test: every push comes when the workers are about to sleep, or do.
func TestNoWakeUpIsLost(t *testing.T) {
	w, q := start(t, 4)
	for range 20000 {
		run(w, q, func(int) {})
	}
}

func TestHammerFromManySides(t *testing.T) {
	w, q := start(t, 4)
	var ran atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				all.Add(1)
				q.push(func(int) { ran.Add(1); all.Done() })
				w.Wake(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 16000, ran.Load())
}

func TestWorkerNumbersAreExclusive(t *testing.T) {
	w, q := start(t, 4)
	var busy [4]atomic.Int32
	var all sync.WaitGroup
	for range 1000 {
		all.Add(1)
		q.push(func(i int) {
			defer all.Done()
			if busy[i].Add(1) != 1 {
				t.Errorf("worker %d runs two things at once", i)
			}
			runtime.Gosched()
			busy[i].Add(-1)
		})
		w.Wake(1)
	}
	all.Wait()
}

func TestShareRunsEveryIterationOnce(t *testing.T) {
	w, q := start(t, 4)
	for _, c := range []struct{ lo, hi, grain int64 }{{0, 1, 1}, {0, 1000, 1}, {-5, 100, 7}, {3, 100003, 64}, {0, 10, 100}, {5, 5, 1}, {7, 2, 1}} {
		seen := make([]atomic.Int32, max(0, c.hi-c.lo))
		run(w, q, func(int) {
			w.Share(c.lo, c.hi, c.grain, func(lo, hi int64) {
				if hi-lo < c.grain && hi != c.hi {
					t.Errorf("chunk [%d,%d) is below the grain %d", lo, hi, c.grain)
				}
				for i := lo; i < hi; i++ {
					seen[i-c.lo].Add(1)
				}
			})
		})
		for i := range seen {
			require.EqualValues(t, 1, seen[i].Load(), "iteration %d of %v", i, c)
		}
	}
}

func TestShareUsesIdleWorkers(t *testing.T) {
	w, q := start(t, 4)
	var inside, most atomic.Int32
	gate := make(chan struct{})
	run(w, q, func(int) {
		w.Share(0, 4, 1, func(lo, hi int64) {
			if n := inside.Add(1); n == 4 {
				most.Store(n)
				close(gate)
			}
			<-gate // opens only when four workers are in a chunk at once
		})
	})
	require.EqualValues(t, 4, most.Load())
}

func TestLoopsInsideLoopsEnd(t *testing.T) {
	w, q := start(t, 3)
	var sum atomic.Int64
	run(w, q, func(int) {
		w.Share(0, 20, 1, func(lo, hi int64) {
			w.Share(0, 50, 1, func(lo2, hi2 int64) { sum.Add((hi - lo) * (hi2 - lo2)) })
		})
	})
	require.EqualValues(t, 1000, sum.Load())
}

func TestPanicInAChunkReachesTheOwner(t *testing.T) {
	w, q := start(t, 4)
	cause := errors.New("boom")
	var got any
	run(w, q, func(int) {
		defer func() { got = recover() }()
		w.Share(0, 1000, 1, func(lo, hi int64) {
			if lo <= 500 && 500 < hi {
				panic(cause)
			}
		})
	})
	p, ok := got.(*Panic)
	require.True(t, ok, "%v", got)
	require.ErrorIs(t, p, cause)
	require.Contains(t, string(p.Stack), "TestPanicInAChunkReachesTheOwner")
	run(w, q, func(int) {}) // the workers still work
}

func TestGoexitCostsNoWorker(t *testing.T) {
	w, q := start(t, 2)
	for range 100 {
		run(w, q, func(i int) { w.Lend(i); runtime.Goexit() })
	}
	var both sync.WaitGroup
	both.Add(2)
	for range 2 { // both workers must be there to meet
		q.push(func(int) { both.Done(); both.Wait() })
		w.Wake(1)
	}
	both.Wait()
}

// A goroutine that waits is no worker meanwhile: others run on one worker, to any depth.
func TestALentWorkerGoesOn(t *testing.T) {
	w, q := start(t, 1)
	const depth = 500
	var level func(i int) func(int) int
	level = func(left int) func(int) int {
		return func(worker int) int {
			if left == 0 {
				return worker
			}
			back := make(chan int, 1)
			q.pushJob(level(left - 1))
			q.pushJob(func(worker int) int { back <- worker; return None })
			w.Lend(worker)
			return <-back
		}
	}
	done := make(chan struct{})
	q.pushJob(func(worker int) int { worker = level(depth)(worker); close(done); return worker })
	w.Wake(1)
	<-done
	run(w, q, func(int) {})
}

func TestCloseRunsWhatIsLeft(t *testing.T) {
	q := &queue{}
	w, err := NewWorkers(2, q)
	require.NoError(t, err)
	var ran atomic.Int32
	for range 100 {
		q.push(func(int) { ran.Add(1) })
	}
	w.Close()
	w.Close()
	require.EqualValues(t, 100, ran.Load())
}

func TestWakeIsFreeWhenNobodySleeps(t *testing.T) {
	w, q := start(t, 1)
	run(w, q, func(int) {
		require.Zero(t, testing.AllocsPerRun(1000, func() { w.Wake(1) }))
	})
}

// countdown is a Job of so many steps that ends the goroutine of a helper now and then.
type countdown struct {
	left  atomic.Int32
	owner atomic.Int32
}

func (c *countdown) Wanted() bool { return c.left.Load() > 0 }
func (c *countdown) Help(int) {
	for c.left.Load() > 0 {
		if c.left.Add(-1)%16 == 0 {
			runtime.Goexit()
		}
	}
}

func TestIdleWorkersHelpWithAnOffer(t *testing.T) {
	w, q := start(t, 4)
	for range 50 {
		job := &countdown{}
		job.left.Store(200)
		run(w, q, func(int) {
			w.Offer(job, func() {
				for job.Wanted() { // helpers alone do it
					runtime.Gosched()
				}
				job.owner.Add(1)
			}, func(_ func() bool, f func()) { f() })
			require.EqualValues(t, 1, job.owner.Load())
		})
	}
}

// A helper that waits for something else keeps its own worker only: the owner lends the one it was.
func TestTheOwnerOfAnOfferWaitsWithoutAWorker(t *testing.T) {
	w, q := start(t, 2)
	for range 50 {
		var helping, other sync.WaitGroup
		helping.Add(1)
		other.Add(1)
		back := make(chan int)
		job := &errand{}
		job.run = func() { helping.Done(); other.Wait() } // until something else has run
		done := make(chan struct{})
		q.pushJob(func(worker int) int {
			job.wanted.Store(true)
			w.Offer(job, helping.Wait, func(_ func() bool, f func()) {
				w.Lend(worker)
				q.push(func(int) { other.Done() })
				w.Wake(1)
				f()
				q.pushJob(func(worker int) int { back <- worker; return None })
				w.Wake(1)
				worker = <-back
			})
			close(done)
			return worker
		})
		w.Wake(1)
		<-done
	}
	run(w, q, func(int) {})
}

// An errand is a Job for one helper.
type errand struct {
	wanted atomic.Bool
	run    func()
}

func (e *errand) Wanted() bool { return e.wanted.Load() }
func (e *errand) Help(int) {
	if e.wanted.CompareAndSwap(true, false) {
		e.run()
	}
}

// A worker that was looking for work when Close came, and has fallen asleep since, takes none of the
// others' calls: Close calls all.
func TestCloseCallsEveryWorker(t *testing.T) {
	w := &Workers{slots: make([]sleepSlot, 3), sleepers: []uint64{0b111}}
	w.asleep.Store(3)
	w.spinning.Store(true) // as Close sees it: worker 0 falls asleep after that
	for i := range w.slots {
		w.slots[i].wake = make(chan struct{}, 1)
	}
	w.Close()
	for i := range w.slots {
		require.Len(t, w.slots[i].wake, 1, "worker %d sleeps for ever", i)
	}
}

// A pair is a Source that has two things for the worker that looks a last time before it sleeps,
// when all others sleep already: it takes one of them, which does not end before the other does,
// and wakes a worker for that.
type pair struct {
	workers     *Workers
	armed, rest atomic.Bool
	taken       [2]atomic.Bool
	both        sync.WaitGroup
}

func (p *pair) Ready() bool { return p.rest.Load() }
func (p *pair) More() bool  { return p.Ready() }

func (p *pair) Take(worker int) bool {
	if p.taken[worker].Load() {
		return true
	}
	if p.rest.CompareAndSwap(true, false) {
		p.taken[worker].Store(true)
		return true
	}
	if worker == 0 && p.armed.Load() && p.workers.Idle() == 2 && p.armed.CompareAndSwap(true, false) {
		p.taken[worker].Store(true)
		p.rest.Store(true)
		p.workers.Wake(1)
		return true
	}
	return false
}

func (p *pair) Run(worker int) int {
	p.taken[worker].Store(false)
	p.both.Done()
	p.both.Wait()
	return worker
}

// A worker that takes one of two things when it is about to sleep counts as asleep: it
// could be woken itself for the other one, which no worker came for then.
func TestWhoGoesToSleepIsNotWokenForAnother(t *testing.T) {
	p := &pair{}
	var err error
	p.workers, err = NewWorkers(2, p)
	require.NoError(t, err)
	p.both.Add(2)
	require.Eventually(t, func() bool { return p.workers.Idle() == 2 }, 30*time.Second, time.Millisecond)
	p.armed.Store(true)
	p.workers.Wake(1) // the first: it looks for work, and falls asleep again after the other
	p.both.Wait()
	p.workers.Close()
}

// A late is an offer that two things are put in beside just before the worker that looks for work
// stops: each counts on that one.
type late struct {
	workers *Workers
	queue   queue
	armed   atomic.Bool
	both    sync.WaitGroup
}

func (l *late) Help(int) {}

func (l *late) Wanted() bool {
	if !l.workers.spinning.Load() || l.workers.Idle() != 1 || !l.armed.CompareAndSwap(true, false) {
		return false
	}
	time.Sleep(2 * spinTime) // it does not look again
	for range 2 {
		l.queue.push(func(int) { l.both.Done(); l.both.Wait() })
		l.workers.Wake(1)
	}
	return false
}

// Two that make work at once count on the same worker, which stops looking just then and takes one
// of the two: another worker comes for the other.
func TestWhoIsCountedOnTwiceWakesAnother(t *testing.T) {
	l := &late{}
	var err error
	l.workers, err = NewWorkers(3, &l.queue)
	require.NoError(t, err)
	l.both.Add(2)
	done := make(chan struct{})
	l.queue.push(func(int) {
		l.workers.Offer(l, func() { l.both.Wait(); close(done) }, func(_ func() bool, f func()) { f() })
	})
	l.workers.Wake(1)
	require.Eventually(t, func() bool { return l.workers.Idle() == 2 }, 30*time.Second, time.Millisecond)
	l.armed.Store(true)
	l.workers.Wake(1)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "one of the two was not taken")
	}
	l.workers.Close()
}
