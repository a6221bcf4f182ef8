package dist

import (
	"errors"
	"fmt"
	"sync"
)

// A Transport moves bytes between the ranks of a job. A World calls it from many goroutines; its
// callbacks come from its own.
//
// Messages of Send and Recv are matched by their key: both sides know it, and the number of bytes.
// They may come in any order.
type Transport interface {
	Rank() int
	Size() int
	// Start begins to deliver to h.
	Start(h Handler) error
	// Send sends data, which must not change before done is called. Of the messages to one rank that
	// wait to be sent those of higher priority go first.
	Send(to int, key Key, priority int, data []byte, done func(error))
	// Recv receives into data, which must not be used before done is called.
	Recv(from int, key Key, data []byte, done func(error))
	// Control sends a small message that Handler.Control receives. Those of one rank to another
	// stay in order. It keeps message. It calls sent, where that is not nil, when the message has left
	// or cannot leave any more.
	Control(to int, message []byte, sent func())
	// Close ends it: with nil after all ranks have agreed to, with an error at once. What is in
	// flight fails then.
	Close(cause error) error
}

// A Handler receives what a Transport delivers besides messages. Its methods do not block.
type Handler interface {
	Control(from int, message []byte)
	// Lost says that a rank cannot be reached any more.
	Lost(rank int, cause error)
}

// errClosed is the result of operations of a transport that is closed.
var errClosed = errors.New("dist: the transport is closed")

// A lostError is the result of a message to a rank that cannot be reached. Handler.Lost has said so
// before: the message is no cause of its own.
type lostError struct {
	rank  int
	cause error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("rank %d cannot be reached: %v", e.rank, e.cause)
}
func (e *lostError) Unwrap() error { return e.cause }

// An address is where a message comes from, and its key.
type address struct {
	from int
	key  Key
}

// An arrival is a message that has come before its receive, or a receive that was posted before its
// message.
type arrival struct {
	data []byte
	done func(error) // of the receive, or of the sender where that waits
	recv bool
}

// A matcher brings messages and receives together.
type matcher struct {
	mu     sync.Mutex
	parked map[address]arrival
	closed error
}

// meet returns the other side of a message if it is present, else it parks this side.
func (m *matcher) meet(a address, side arrival) (other arrival, met bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed != nil {
		return arrival{}, false, m.closed
	}
	if other, met = m.parked[a]; met {
		delete(m.parked, a)
		return other, true, nil
	}
	if m.parked == nil {
		m.parked = map[address]arrival{}
	}
	m.parked[a] = side
	return arrival{}, false, nil
}

// close fails all that is parked, and what comes later.
func (m *matcher) close(cause error) {
	m.mu.Lock()
	parked := m.parked
	m.parked, m.closed = nil, cause
	m.mu.Unlock()
	for _, p := range parked {
		if p.done != nil {
			p.done(cause)
		}
	}
}

// take takes a receive out that is parked for a message; posted is false where there is none.
func (m *matcher) take(a address) (recv arrival, posted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if recv, posted = m.parked[a]; posted {
		delete(m.parked, a)
	}
	return recv, posted
}
