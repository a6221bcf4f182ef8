package dist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A socketTransport joins processes of one machine by Unix sockets in a folder: what gompss run
// starts.
type socketTransport struct {
	rank, size int
	handler    Handler
	matcher    matcher
	peers      []*socketPeer // nil for this rank
	listener   net.Listener
	readers    sync.WaitGroup
	writers    sync.WaitGroup
}

// A socketPeer is the connection to another rank. A goroutine writes what is queued, another reads.
type socketPeer struct {
	rank int
	conn net.Conn

	mu     sync.Mutex
	filled sync.Cond // on mu: queue has grown, or closing is set
	queue  sendQueue[frame]
	ending bool // no more frames come: what is queued is written, then the connection ends
}

// A frame is a message on a socket.
type frame struct {
	kind byte
	key  Key
	data []byte
	done func(error)
}

// The kinds of frames.
const (
	dataFrame    = 0
	controlFrame = 1
	endFrame     = 2 // the rank ends as agreed
)

// Frames that are not data go before all others, or after them.
const (
	controlPriority = math.MaxInt
	endPriority     = math.MinInt
)

// headerSize is kind, submission, part and size.
const headerSize = 1 + 8 + 4 + 8

// joinTime is the time that a rank waits for the others to be there.
const joinTime = 30 * time.Second

// joinedFile is a file in the folder of the sockets. A rank that joins the others creates it, so
// that the launcher knows of programs that never call Init.
const joinedFile = "joined"

// dialSockets joins rank of size through sockets in a folder, and returns when all are joined.
//
// Errors: ranks that do not come in time; a folder that sockets cannot be in.
func dialSockets(folder string, rank, size int) (*socketTransport, error) {
	t := &socketTransport{rank: rank, size: size, peers: make([]*socketPeer, size)}
	name := func(r int) string { return filepath.Join(folder, fmt.Sprintf("rank-%d.sock", r)) }
	var err error
	if t.listener, err = net.Listen("unix", name(rank)); err != nil {
		return nil, fmt.Errorf("dist: rank %d: %w", rank, err)
	}
	if err := os.WriteFile(filepath.Join(folder, joinedFile), nil, 0o600); err != nil {
		return nil, fmt.Errorf("dist: rank %d: %w", rank, errors.Join(err, t.listener.Close()))
	}
	deadline := time.Now().Add(joinTime)
	for r := range rank {
		conn, err := dialUntil(name(r), deadline)
		if err == nil {
			err = binary.Write(conn, binary.LittleEndian, uint32(rank))
		}
		if err != nil {
			return nil, fmt.Errorf("dist: rank %d: rank %d does not come: %w", rank, r, err)
		}
		t.peers[r] = newPeer(r, conn)
	}
	t.listener.(*net.UnixListener).SetDeadline(deadline)
	for range size - rank - 1 {
		conn, err := t.listener.Accept()
		if err != nil {
			return nil, fmt.Errorf("dist: rank %d: not all ranks have come: %w", rank, err)
		}
		var r uint32
		if err := binary.Read(conn, binary.LittleEndian, &r); err != nil || int(r) >= size || t.peers[r] != nil {
			return nil, fmt.Errorf("dist: rank %d: a connection of rank %d of %d: %v", rank, r, size, err)
		}
		t.peers[r] = newPeer(int(r), conn)
	}
	return t, nil
}

func newPeer(rank int, conn net.Conn) *socketPeer {
	p := &socketPeer{rank: rank, conn: conn}
	p.filled.L = &p.mu
	return p
}

// dialUntil connects when the other side is ready.
func dialUntil(name string, deadline time.Time) (net.Conn, error) {
	for {
		conn, err := net.Dial("unix", name)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (t *socketTransport) Rank() int { return t.rank }
func (t *socketTransport) Size() int { return t.size }

func (t *socketTransport) Start(h Handler) error {
	t.handler = h
	for _, p := range t.peers {
		if p == nil {
			continue
		}
		t.readers.Go(func() { t.read(p) })
		t.writers.Go(func() { t.write(p) })
	}
	return nil
}

// put queues a frame.
func (p *socketPeer) put(priority int, f frame) {
	p.mu.Lock()
	ending := p.ending
	if !ending {
		p.queue.push(priority, f)
	}
	p.mu.Unlock()
	p.filled.Signal()
	if ending && f.done != nil {
		f.done(errClosed)
	}
}

// take waits for a frame and returns the next one; not ok when the connection ends.
func (p *socketPeer) take() (f frame, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.queue.length() == 0 && !p.ending {
		p.filled.Wait()
	}
	if p.queue.length() == 0 {
		return frame{}, false
	}
	return p.queue.pop(), true
}

// write writes frames until the connection ends. After an error the rank is lost, and frames fail.
func (t *socketTransport) write(p *socketPeer) {
	var failed error
	var header [headerSize]byte
	for {
		f, ok := p.take()
		if !ok {
			return
		}
		if failed == nil {
			header[0] = f.kind
			binary.LittleEndian.PutUint64(header[1:], f.key.Submission)
			binary.LittleEndian.PutUint32(header[9:], f.key.Part)
			binary.LittleEndian.PutUint64(header[13:], uint64(len(f.data)))
			buffers := net.Buffers{header[:], f.data}
			if _, err := buffers.WriteTo(p.conn); err != nil {
				failed = &lostError{p.rank, err}
				t.handler.Lost(p.rank, err)
			}
		}
		if f.done != nil {
			f.done(failed)
		}
	}
}

// read delivers frames until the connection ends.
func (t *socketTransport) read(p *socketPeer) {
	var header [headerSize]byte
	for {
		_, err := io.ReadFull(p.conn, header[:])
		if err == nil {
			key := Key{binary.LittleEndian.Uint64(header[1:]), binary.LittleEndian.Uint32(header[9:])}
			size := int(binary.LittleEndian.Uint64(header[13:]))
			switch header[0] {
			case dataFrame:
				err = t.readData(p, key, size)
			case controlFrame:
				message := make([]byte, size)
				if _, err = io.ReadFull(p.conn, message); err == nil {
					t.handler.Control(p.rank, message)
				}
			case endFrame:
				return
			}
		}
		if err != nil {
			t.handler.Lost(p.rank, err)
			return
		}
	}
}

// readData reads a message into the memory of its receive where that is posted, else into memory of
// its own.
func (t *socketTransport) readData(p *socketPeer, key Key, size int) error {
	a := address{p.rank, key}
	recv, posted := t.matcher.take(a)
	if !posted {
		data := make([]byte, size)
		if _, err := io.ReadFull(p.conn, data); err != nil {
			return err
		}
		if recv, met, err := t.matcher.meet(a, arrival{data: data}); met {
			recv.done(copied(recv.data, data))
		} else if err != nil {
			return err
		}
		return nil
	}
	if len(recv.data) != size {
		err := copied(recv.data, make([]byte, size))
		recv.done(err)
		return err
	}
	_, err := io.ReadFull(p.conn, recv.data)
	recv.done(err)
	return err
}

// copied copies a message into the memory of its receive.
func copied(recv, data []byte) error {
	if n := copy(recv, data); n != len(data) || n != len(recv) {
		return fmt.Errorf("dist: a message of %d bytes for a receive of %d", len(data), len(recv))
	}
	return nil
}

func (t *socketTransport) Send(to int, key Key, priority int, data []byte, done func(error)) {
	t.peers[to].put(min(priority, controlPriority-1), frame{dataFrame, key, data, done})
}

func (t *socketTransport) Recv(from int, key Key, data []byte, done func(error)) {
	other, met, err := t.matcher.meet(address{from, key}, arrival{data: data, done: done, recv: true})
	switch {
	case err != nil:
		done(err)
	case met:
		done(copied(data, other.data))
	}
}

func (t *socketTransport) Control(to int, message []byte, sent func()) {
	var done func(error)
	if sent != nil {
		done = func(error) { sent() }
	}
	if p := t.peers[to]; p != nil {
		p.put(controlPriority, frame{kind: controlFrame, data: message, done: done})
	}
}

// Fail fails what is in flight to this rank.
func (t *socketTransport) Fail(cause error) { t.matcher.close(cause) }

// closeTime bounds what a rank waits for the others when it ends.
const closeTime = 2 * time.Second

func (t *socketTransport) Close(cause error) error {
	if cause == nil {
		t.matcher.close(errClosed)
	} else {
		t.matcher.close(cause)
	}
	for _, p := range t.peers {
		if p == nil {
			continue
		}
		if cause == nil {
			p.put(endPriority, frame{kind: endFrame})
		}
		p.mu.Lock()
		p.ending = true
		p.mu.Unlock()
		p.filled.Signal()
		p.conn.SetDeadline(time.Now().Add(closeTime))
	}
	t.writers.Wait()
	if cause == nil {
		t.readers.Wait()
	}
	errs := []error{t.listener.Close()}
	for _, p := range t.peers {
		if p != nil {
			errs = append(errs, p.conn.Close())
		}
	}
	t.readers.Wait()
	return errors.Join(errs...)
}

// The variables by which gompss run tells a process its rank, how many there are, and the folder of
// their sockets.
const (
	RankVariable  = "GOMPSS_RANK"
	RanksVariable = "GOMPSS_RANKS"
	JoinVariable  = "GOMPSS_JOIN"
)

// exitProcess leaves a process that no library has registered anything in.
var exitProcess = os.Exit
