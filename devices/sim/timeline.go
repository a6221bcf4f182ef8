package sim

import (
	"container/heap"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
)

// A timeline is the virtual time of the devices of a platform: a simulation of discrete events.
//
// Lock order: event.mu is not held when mu is taken, and no lock is held over what happens.
type timeline struct {
	costs devices.HostCosts

	stepping sync.Mutex // held over a step

	mu       sync.Mutex
	now      time.Duration
	order    uint64
	list     happenings
	woken    func() // not nil where it is governed
	governed bool
	closed   bool
	wake     sync.Cond
	done     sync.WaitGroup
}

// A happening is one thing that happens.
type happening struct {
	at    time.Duration
	order uint64
	do    func()
}

// happenings is a heap.
type happenings []happening

func (h happenings) Len() int      { return len(h) }
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h *happenings) Push(x any) { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = happening{}
	*h = (*h)[:last]
	return x
}

func newTimeline(costs devices.HostCosts) *timeline {
	l := &timeline{costs: costs}
	l.wake.L = &l.mu
	l.done.Go(l.run)
	return l
}

// run carries out what happens until the timeline is governed or closed.
func (l *timeline) run() {
	for l.await() {
		l.Step()
	}
}

// await waits until there is something to carry out, and reports false where that is no more up to
// run.
func (l *timeline) await() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) == 0 && !l.closed && !l.governed {
		l.wake.Wait()
	}
	return !l.governed && len(l.list) > 0
}

// Govern implements devices.Timeline.
func (l *timeline) Govern(woken func()) {
	l.mu.Lock()
	l.governed, l.woken = true, woken
	l.wake.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}

// Step implements devices.Timeline.
func (l *timeline) Step() bool {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	l.mu.Lock()
	if len(l.list) == 0 {
		l.mu.Unlock()
		return false
	}
	h := heap.Pop(&l.list).(happening)
	l.now = max(l.now, h.at)
	l.mu.Unlock()
	h.do()
	return true
}

// Now implements devices.Timeline.
func (l *timeline) Now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// At implements devices.Timeline.
func (l *timeline) At(moment time.Duration, f func()) {
	l.put(happening{max(moment, l.Now()), l.next(), f})
}

// Costs implements devices.Timeline.
func (l *timeline) Costs() devices.HostCosts { return l.costs }

// next returns a place in the order of what happens at the same moment.
func (l *timeline) next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order++
	return l.order
}

// put adds h.
func (l *timeline) put(h happening) {
	l.mu.Lock()
	heap.Push(&l.list, h)
	l.mu.Unlock()
	l.wake.Signal()
}

// startOf returns when what could start at a moment starts.
func (l *timeline) startOf(moment time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.governed {
		return max(l.now, moment)
	}
	return moment
}

// outside says that what was put there came of work outside of the timeline.
func (l *timeline) outside() {
	l.mu.Lock()
	woken := l.woken
	l.mu.Unlock()
	if woken != nil {
		woken()
	}
}

// drainPause is the time that drain waits for work outside of the timeline before it looks again.
const drainPause = 50 * time.Microsecond

// drain carries out the rest until idle reports true.
func (l *timeline) drain(idle func() bool) {
	for !idle() {
		if !l.Step() {
			time.Sleep(drainPause)
		}
	}
}

// close ends the goroutine, when everything has happened.
func (l *timeline) close() {
	l.mu.Lock()
	l.closed = true
	l.wake.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}
