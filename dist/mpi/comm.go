//go:build linux && (amd64 || arm64)

package mpi

import (
	"fmt"
	"math"
)

// AnySource and AnyTag match messages of every rank and with every tag, in Recv, Irecv and Iprobe.
const (
	AnySource = -1
	AnyTag    = -1
)

// MaxMessage is the most bytes of one message: C's int counts them.
const MaxMessage = math.MaxInt32

// A Comm is a communicator: ranks that exchange messages which those of other communicators do not
// match.
type Comm struct {
	m          *Process
	handle     uintptr
	rank, size int
}

// A Status describes a message.
type Status struct {
	Source, Tag int
	Bytes       int
}

// A Request is an operation in flight. The zero value is none.
type Request struct {
	handle uint64
	data   []byte
	active bool
}

// Active reports whether the operation has not completed yet, as far as Test and Wait have seen.
func (r *Request) Active() bool { return r.active }

// measure asks for rank and size.
func (c *Comm) measure() error {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1] = c.handle, f.at(0)
	if err := c.m.check(fCommRank, c.m.call(fCommRank, f)); err != nil {
		return err
	}
	c.rank = int(f.int32(0))
	if err := c.m.check(fCommSize, c.m.call(fCommSize, f)); err != nil {
		return err
	}
	c.size = int(f.int32(0))
	return nil
}

// Rank returns the number of this process, from 0, and Size how many there are.
func (c *Comm) Rank() int { return c.rank }
func (c *Comm) Size() int { return c.size }

// Dup returns a communicator of the same ranks whose messages do not match those of c. All ranks
// call it.
func (c *Comm) Dup() (*Comm, error) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = 0
	f.args[0], f.args[1] = c.handle, f.at(0)
	if err := c.m.check(fCommDup, c.m.call(fCommDup, f)); err != nil {
		return nil, err
	}
	d := &Comm{m: c.m, handle: uintptr(f.out[0]), rank: c.rank, size: c.size}
	return d, d.returnErrors()
}

// returnErrors makes errors of the communicator results. Intel MPI 2021.19 aborts nevertheless
// through its standard ABI, not through its own interface, which its launcher chooses.
func (c *Comm) returnErrors() error {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1] = c.handle, c.m.value[errorsReturn]
	return c.m.check(fSetErrhandler, c.m.call(fSetErrhandler, f))
}

// Free gives a communicator of Dup back. All ranks call it.
func (c *Comm) Free() error {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = uint64(c.handle)
	f.args[0] = f.at(0)
	return c.m.check(fCommFree, c.m.call(fCommFree, f))
}

// source and tag translate what matches all.
func (c *Comm) source(rank int) uintptr {
	if rank == AnySource {
		return uintptr(c.m.anySource)
	}
	return uintptr(rank)
}

func (c *Comm) tag(tag int) uintptr {
	if tag == AnyTag {
		return uintptr(c.m.anyTag)
	}
	return uintptr(tag)
}

// begin takes a frame for a message of data.
func (c *Comm) begin(call function, data []byte, rank, tag uintptr) (*frame, error) {
	return c.beginAt(call, address(data), len(data), rank, tag)
}

// beginAt takes a frame for a message of bytes at an address.
func (c *Comm) beginAt(call function, at uintptr, bytes int, rank, tag uintptr) (*frame, error) {
	if bytes > MaxMessage {
		return nil, fmt.Errorf("mpi: %s: %d bytes: a message has at most %d: send it in parts", names[call], bytes, MaxMessage)
	}
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2] = at, uintptr(bytes), c.m.value[typeByte]
	f.args[3], f.args[4], f.args[5] = rank, tag, c.handle
	return f, nil
}

// Send sends data to a rank and returns when data may be used again.
func (c *Comm) Send(data []byte, to, tag int) error {
	f, err := c.begin(fSend, data, uintptr(to), uintptr(tag))
	if err != nil {
		return err
	}
	defer frames.Put(f)
	return c.m.check(fSend, c.m.call(fSend, f))
}

// Recv receives a message of at most len(data) bytes. The goroutine's thread is busy until it is
// there.
func (c *Comm) Recv(data []byte, from, tag int) (Status, error) {
	f, err := c.begin(fRecv, data, c.source(from), c.tag(tag))
	if err != nil {
		return Status{}, err
	}
	defer frames.Put(f)
	f.args[6] = f.statusAt()
	if err := c.m.check(fRecv, c.m.call(fRecv, f)); err != nil {
		return Status{}, err
	}
	return c.m.status(f)
}

// Isend begins to send data, which must not be changed before r has completed.
func (c *Comm) Isend(data []byte, to, tag int, r *Request) error {
	f, err := c.begin(fIsend, data, uintptr(to), uintptr(tag))
	if err != nil {
		return err
	}
	return c.start(fIsend, f, data, r)
}

// Irecv begins to receive into data, which must not be used before r has completed.
func (c *Comm) Irecv(data []byte, from, tag int, r *Request) error {
	f, err := c.begin(fIrecv, data, c.source(from), c.tag(tag))
	if err != nil {
		return err
	}
	return c.start(fIrecv, f, data, r)
}

// IsendAt is Isend of bytes at an address that is no memory of Go, such as memory of a GPU: see
// Process.TakesGPUMemory. Its device must be the current one of the calling thread.
func (c *Comm) IsendAt(at uintptr, bytes, to, tag int, r *Request) error {
	f, err := c.beginAt(fIsend, at, bytes, uintptr(to), uintptr(tag))
	if err != nil {
		return err
	}
	return c.start(fIsend, f, nil, r)
}

// IrecvAt is Irecv into bytes at such an address.
func (c *Comm) IrecvAt(at uintptr, bytes, from, tag int, r *Request) error {
	f, err := c.beginAt(fIrecv, at, bytes, c.source(from), c.tag(tag))
	if err != nil {
		return err
	}
	return c.start(fIrecv, f, nil, r)
}

func (c *Comm) start(call function, f *frame, data []byte, r *Request) error {
	defer frames.Put(f)
	f.out[0] = 0 // MPICH writes the low half
	f.args[6] = f.at(0)
	if err := c.m.check(call, c.m.call(call, f)); err != nil {
		return err
	}
	*r = Request{handle: f.out[0], data: data, active: true}
	return nil
}

// Test reports whether r has completed. A request that is none has.
func (c *Comm) Test(r *Request) (done bool, s Status, err error) {
	if !r.active {
		return true, s, nil
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0], f.out[1] = r.handle, 0
	f.args[0], f.args[1], f.args[2] = f.at(0), f.at(1), f.statusAt()
	err = c.m.check(fTest, c.m.call(fTest, f))
	if err == nil && f.int32(1) == 0 {
		return false, s, nil
	}
	*r = Request{}
	if err == nil {
		s, err = c.m.status(f)
	}
	return true, s, err
}

// Wait waits until r has completed. The goroutine's thread is busy meanwhile.
func (c *Comm) Wait(r *Request) (s Status, err error) {
	if !r.active {
		return s, nil
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = r.handle
	f.args[0], f.args[1] = f.at(0), f.statusAt()
	err = c.m.check(fWait, c.m.call(fWait, f))
	*r = Request{}
	if err == nil {
		s, err = c.m.status(f)
	}
	return s, err
}

// Iprobe reports whether a message has come that Recv with the same arguments would receive.
func (c *Comm) Iprobe(from, tag int) (s Status, come bool, err error) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.out[0] = 0
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4] = c.source(from), c.tag(tag), c.handle, f.at(0), f.statusAt()
	if err = c.m.check(fIprobe, c.m.call(fIprobe, f)); err != nil || f.int32(0) == 0 {
		return s, false, err
	}
	s, err = c.m.status(f)
	return s, err == nil, err
}

// status reads the status of a frame.
func (m *Process) status(f *frame) (Status, error) {
	s := Status{Source: f.field(m.sourceAt), Tag: f.field(m.tagAt)}
	if m.bytesOf != nil {
		s.Bytes = m.bytesOf(f)
		return s, nil
	}
	f.args[0], f.args[1], f.args[2] = f.statusAt(), m.value[typeByte], f.at(0)
	f.out[0] = 0
	err := m.check(fGetCount, m.call(fGetCount, f))
	s.Bytes = int(f.int32(0))
	return s, err
}
