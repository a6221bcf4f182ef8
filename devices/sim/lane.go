package sim

import (
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
)

// A lane is a stream in virtual time. An operation is carried out at the moment when it ends:
// nothing looks at what it changes before.
type lane struct {
	line *timeline

	mu    sync.Mutex
	queue []*operation // the first is under way, or waits for its predecessors
	ended time.Duration
}

// enqueue adds an operation and returns its event.
func (l *lane) enqueue(op operation) *event {
	op.event, op.order = &event{}, l.line.next()
	l.mu.Lock()
	l.queue = append(l.queue, &op)
	first := len(l.queue) == 1
	l.mu.Unlock()
	if first {
		l.begin(&op)
	}
	return op.event
}

// begin starts the first operation of the queue when all that it is behind has happened. Where the
// timeline is governed that is now: the latest of when it was enqueued, when the one before ended
// and when those happened. Else it may be earlier: what enqueues it takes no time.
func (l *lane) begin(op *operation) {
	for len(op.after) > 0 {
		if e := op.after[0]; !e.Done() {
			_, own := e.(*event)
			e.Then(func(error) {
				l.begin(op)
				if !own {
					l.line.outside()
				}
			})
			return
		}
		if op.failed == nil {
			op.failed = op.after[0].Err()
		}
		op.start = max(op.start, moment(op.after[0]))
		op.after = op.after[1:]
	}
	start := l.line.startOf(max(op.start, l.now()))
	if op.failed == nil {
		start += op.cost
	}
	l.line.put(happening{start, op.order, func() { l.end(op, start) }})
}

// end carries out the first operation of the queue, which ends now, and continues with the next.
func (l *lane) end(op *operation, now time.Duration) {
	err := op.failed
	if err == nil {
		op.event.began = time.Now()
		err = op.run()
		op.event.lasted = op.cost
	}
	l.mu.Lock()
	if op.failed == nil {
		l.ended = now
	}
	l.queue[0] = nil
	l.queue = l.queue[1:]
	var next *operation
	if len(l.queue) > 0 {
		next = l.queue[0]
	}
	l.mu.Unlock()
	op.event.happen(now, err)
	if next != nil {
		l.begin(next)
	}
}

func (l *lane) now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// idle reports whether nothing is enqueued.
func (l *lane) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0
}

// close waits until nothing is enqueued.
func (l *lane) close() {
	l.line.drain(l.idle)
}

var _ devices.Timeline = (*timeline)(nil)
