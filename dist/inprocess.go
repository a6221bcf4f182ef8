package dist

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// InProcess returns the transports of ranks that are goroutines of this process, for tests and for
// trying a program: each makes a World and a Runtime of its own. seed chooses the order in which
// messages arrive; 0 keeps that in which they are sent.
func InProcess(ranks int, seed uint64) []Transport {
	all := make([]*inProcess, ranks)
	out := make([]Transport, ranks)
	for r := range all {
		all[r] = &inProcess{rank: r, all: all, wake: make(chan struct{}, 1), ended: make(chan struct{})}
		if seed != 0 {
			all[r].order = rand.New(rand.NewPCG(seed, uint64(r)))
		}
		out[r] = all[r]
	}
	return out
}

// inProcess is one rank of InProcess. A goroutine of the receiving rank delivers.
type inProcess struct {
	rank    int
	all     []*inProcess
	matcher matcher
	handler Handler
	order   *rand.Rand // of the delivering goroutine
	wake    chan struct{}
	ended   chan struct{}

	mu      sync.Mutex
	queue   []delivery
	control []delivery
	closed  bool
	started bool
}

// A delivery is a message on its way.
type delivery struct {
	from int
	key  Key
	arrival
}

func (t *inProcess) Rank() int { return t.rank }
func (t *inProcess) Size() int { return len(t.all) }

func (t *inProcess) Start(h Handler) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started {
		return fmt.Errorf("dist: rank %d of the process has a world already", t.rank)
	}
	t.handler, t.started = h, true
	go t.deliver()
	t.ring()
	return nil
}

func (t *inProcess) ring() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// put adds a delivery to one of the queues of t.
func (t *inProcess) put(d delivery, control bool) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		if d.done != nil {
			d.done(errClosed)
		}
		return
	}
	if control {
		t.control = append(t.control, d)
	} else {
		t.queue = append(t.queue, d)
	}
	t.mu.Unlock()
	t.ring()
}

// take returns the next delivery, of control before the others.
func (t *inProcess) take() (d delivery, control, more, closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.control) > 0:
		d = t.control[0]
		t.control = t.control[1:]
		return d, true, true, t.closed
	case len(t.queue) > 0:
		i := 0
		if t.order != nil {
			i = t.order.IntN(len(t.queue))
		}
		d = t.queue[i]
		t.queue = append(t.queue[:i], t.queue[i+1:]...)
		return d, false, true, t.closed
	}
	return d, false, false, t.closed
}

func (t *inProcess) deliver() {
	defer close(t.ended)
	for range t.wake {
		for {
			d, control, more, closed := t.take()
			if !more {
				if closed {
					return
				}
				break
			}
			if control {
				t.handler.Control(d.from, d.data)
				continue
			}
			t.arrive(d)
		}
	}
}

// arrive gives a message to its receive.
func (t *inProcess) arrive(d delivery) {
	other, met, err := t.matcher.meet(address{d.from, d.key}, d.arrival)
	switch {
	case err != nil:
		d.done(err)
	case met:
		finish(other, d.arrival)
	}
}

// finish copies a message from the sender's memory.
func finish(recv, send arrival) {
	err := error(nil)
	if n := copy(recv.data, send.data); n != len(send.data) || n != len(recv.data) {
		err = fmt.Errorf("dist: a message of %d bytes for a receive of %d", len(send.data), len(recv.data))
	}
	send.done(err)
	recv.done(err)
}

// Send has nothing that waits to be sent: the receiving rank takes messages in the order of its
// seed.
func (t *inProcess) Send(to int, key Key, _ int, data []byte, done func(error)) {
	t.all[to].put(delivery{t.rank, key, arrival{data: data, done: done}}, false)
}

func (t *inProcess) Recv(from int, key Key, data []byte, done func(error)) {
	other, met, err := t.matcher.meet(address{from, key}, arrival{data: data, done: done, recv: true})
	switch {
	case err != nil:
		done(err)
	case met:
		finish(arrival{data: data, done: done}, other)
	}
}

// Fail fails what is in flight to this rank.
func (t *inProcess) Fail(cause error) { t.matcher.close(cause) }

func (t *inProcess) Control(to int, message []byte, sent func()) {
	t.all[to].put(delivery{from: t.rank, arrival: arrival{data: message}}, true)
	if sent != nil {
		sent()
	}
}

func (t *inProcess) Close(cause error) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	if cause == nil {
		cause = errClosed
	}
	t.matcher.close(cause)
	t.ring()
	if t.started {
		<-t.ended
	}
	return nil
}
