package dist

import (
	"errors"
	"fmt"
	"sync"
)

// A Transport moves bytes between the ranks of a job. A World calls its methods from many
// goroutines. The Transport calls callbacks from its own goroutines.
//
// A Send and a Recv match if they have the same key. Both sides know the key and the number of
// bytes. Messages may arrive in any order.
type Transport interface {
	Rank() int
	Size() int
	// Start starts the delivery of messages to h.
	Start(h Handler) error
	// Send sends data, which must not change before done is called. Among the messages that wait to
	// be sent to the same rank, those of higher priority are sent first.
	Send(to int, key Key, priority int, data []byte, done func(error))
	// Recv receives into data, which must not be used before done is called.
	Recv(from int, key Key, data []byte, done func(error))
	// Control sends a small message to Handler.Control of another rank. The control messages from
	// one rank to another stay in order. The Transport keeps message. It calls sent, if that is not
	// nil, when the message has been sent or can no longer be sent.
	Control(to int, message []byte, sent func())
	// Close closes the transport: with a nil cause after all ranks have agreed to end, with an
	// error at any time. All messages in flight fail.
	Close(cause error) error
}

// A DeviceTransport is a Transport that also moves memory of accelerators.
type DeviceTransport interface {
	Transport
	// LeastInPlace is the number of bytes from which on a message may be in memory of an
	// accelerator on either side; negative if none may.
	LeastInPlace() int
	// SendInPlace and RecvInPlace are Send and Recv for such memory. What was written there has been
	// written.
	SendInPlace(to int, key Key, priority int, data DeviceMemory, done func(error))
	RecvInPlace(from int, key Key, data DeviceMemory, done func(error))
}

// DeviceMemory is memory of an accelerator, which this process cannot access itself. Current makes
// that the current one of the calling thread, as libraries that access it require.
type DeviceMemory struct {
	Address uintptr
	Bytes   int
	Current func() error
}

// A Handler receives control messages and failures from a Transport. Its methods do not block.
type Handler interface {
	Control(from int, message []byte)
	// Lost reports that a rank can no longer be reached.
	Lost(rank int, cause error)
}

// errClosed is the result of operations on a closed transport.
var errClosed = errors.New("dist: the transport is closed")

// A lostError is the result of a message to a rank that cannot be reached. Handler.Lost has already
// reported the rank, so this error is a consequence and not a cause.
type lostError struct {
	rank  int
	cause error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("rank %d cannot be reached: %v", e.rank, e.cause)
}
func (e *lostError) Unwrap() error { return e.cause }

// An address identifies a message: the sending rank and the key.
type address struct {
	from int
	key  Key
}

// An arrival is a message that arrived before its receive, or a receive that was posted before its
// message arrived.
type arrival struct {
	data []byte
	done func(error) // callback of the receive, or of the sender if the sender waits
	recv bool
}

// A matcher matches messages with receives.
type matcher struct {
	mu     sync.Mutex
	parked map[address]arrival
	closed error
}

// meet returns the other side of message a if it is present. Otherwise it parks this side.
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

// close fails all parked messages and receives, and all later ones.
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

// take removes and returns the receive that is parked for message a; posted is false if there is
// none.
func (m *matcher) take(a address) (recv arrival, posted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if recv, posted = m.parked[a]; posted {
		delete(m.parked, a)
	}
	return recv, posted
}
