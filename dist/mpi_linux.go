//go:build amd64 || arm64

package dist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/dist/mpi"
)

// An mpiTransport moves messages by MPI. One goroutine, on a thread of its own, makes all calls: it
// works with the thread level Serialized, and nothing of the library is waited for.
//
// Small messages travel with their key on the control communicator. For a larger one the receiver
// chooses a tag, posts the receive of the data, and sends the tag to the sender, so that no data
// arrive unexpected and tags stay few, however many keys there are. The sender announces the data
// when it gives them to the library: receives may be posted long before, and only those that are
// announced are tested for completion.
//
// Tags may run out while the data of all posted receives wait for that of another one. So a sender
// offers a message whose tag it has not got, and an offered message takes one of some other tags,
// which are held only by messages that both sides are ready for.
type mpiTransport struct {
	process       *mpi.Process
	control, data *mpi.Comm
	handler       Handler
	matcher       matcher // of small messages
	stopped       chan struct{}
	// takesGPUMemory reports whether messages may be in memory of accelerators.
	takesGPUMemory bool

	mu       sync.Mutex
	commands []func()
	wake     chan struct{}
	closing  bool
	cause    error

	// Of the goroutine that makes the calls:
	sends   []*flight // on the control communicator
	flights []*flight // of data
	agreements
	ready  []readySends // by rank
	failed error
	gone   error // what Fail was called with
}

// agreements is how far the two sides of large messages have come.
type agreements struct {
	waiting map[address]pendingSend // without a tag
	granted map[address]int         // tags that came before their send
	offers  map[address]bool        // messages whose receives are not posted
	late    map[address]lateReceive // receives without a tag
	posted  map[address]*flight     // receives of data that are not announced
	tags    []tagPool               // by rank
}

// A pendingSend is a large message whose receiver is not ready.
type pendingSend struct {
	key      Key
	data     message
	priority int
	done     func(error)
}

// A message is the memory of a large message: of the host, or of an accelerator.
type message struct {
	data  []byte
	place DeviceMemory
}

func (m *message) length() int {
	if m.place.Current != nil {
		return m.place.Bytes
	}
	return len(m.data)
}

// start has the library send or receive bytes [lo, hi) of m.
func (m *message) start(c *mpi.Comm, send bool, lo, hi, peer, tag int, r *mpi.Request) error {
	switch {
	case m.place.Current == nil && send:
		return c.Isend(m.data[lo:hi], peer, tag, r)
	case m.place.Current == nil:
		return c.Irecv(m.data[lo:hi], peer, tag, r)
	}
	if err := m.place.Current(); err != nil {
		return err
	}
	if send {
		return c.IsendAt(m.place.Address+uintptr(lo), hi-lo, peer, tag, r)
	}
	return c.IrecvAt(m.place.Address+uintptr(lo), hi-lo, peer, tag, r)
}

// startParts has the library send or receive m, and adds the parts to f.
func (t *mpiTransport) startParts(f *flight, m message, send bool, peer, tag int) {
	for lo, n := 0, m.length(); lo < n && f.err == nil; lo += part {
		f.requests = append(f.requests, mpi.Request{})
		f.err = m.start(t.data, send, lo, min(n, lo+part), peer, tag, &f.requests[len(f.requests)-1])
	}
}

// readySends is the large messages to one rank whose receives are posted.
type readySends struct {
	queue   sendQueue[grantedSend]
	sending int // are the library's
}

// A grantedSend is a message and the tag of its receive.
type grantedSend struct {
	pendingSend
	tag int
}

// A flight is an operation of the library, or several that are parts of one message.
type flight struct {
	requests []mpi.Request
	done     func(error)
	err      error
	// Bytes that a receive expects, and that have come; 0 of a send.
	want, got int
}

// A lateReceive is the receive of a large message that has no tag yet.
type lateReceive struct {
	data message
	done func(error)
}

// A tag is a number of MPI, and the list that it goes back to.
type tag struct {
	number int
	list   *tagList
}

// A tagPool has the tags of messages from one rank: those of receives in the order of posting, and
// those of offered messages.
type tagPool struct {
	posted, offered tagList
	waiting         []address // receives without a tag, of which some may have got one
	waitingOffered  []address
}

// A tagList has the tags from first on.
type tagList struct {
	free               []int
	first, count, used int
}

// take returns a tag; ok is false where all are in use.
func (l *tagList) take() (t tag, ok bool) {
	switch n := len(l.free); {
	case n > 0:
		t.number = l.free[n-1]
		l.free = l.free[:n-1]
	case l.used < l.count:
		t.number = l.first + l.used
		l.used++
	default:
		return t, false
	}
	t.list = l
	return t, true
}

const (
	// sendsAtOnce is how many large messages to one rank the library has at once: it sends them in an
	// order of its own, and one more than it sends keeps it busy.
	sendsAtOnce = 2
)

// Tests replace these: the bytes that travel with their key, those of one MPI message, which C's
// int counts, the thread level that is asked for, and the number of tags, which is below what MPI
// guarantees.
var (
	eager   = 8 << 10
	part    = 1 << 30
	level   = mpi.Multiple
	maxTags = 1 << 14
)

// offeredTags is the number of tags of offered messages from one rank.
const offeredTags = 16

// The kinds of messages on the control communicator, before those of World.
const (
	mpiEager = iota
	mpiGrant // a tag
	mpiSent  // the library has the data
	mpiOffer // the sender waits for a tag
	mpiControl
)

func mpiLaunched() bool { return mpi.Launched() }

func openMPI() (Transport, func(int), error) {
	t := &mpiTransport{wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	t.agreements = agreements{waiting: map[address]pendingSend{}, granted: map[address]int{}, posted: map[address]*flight{}, offers: map[address]bool{}, late: map[address]lateReceive{}}
	ready := make(chan error)
	go t.run(ready)
	if err := <-ready; err != nil {
		return nil, nil, err
	}
	return t, t.process.Exit, nil
}

// open initialises the library on the thread that makes all calls.
func (t *mpiTransport) open() (err error) {
	if t.process, err = mpi.Init(level); err != nil {
		if t.process != nil { // a world of the wrong size: the launcher may wait for it
			err = errors.Join(err, t.process.Finalize())
		}
		return err
	}
	if t.control, err = t.process.World().Dup(); err != nil {
		return err
	}
	t.data, err = t.process.World().Dup()
	t.takesGPUMemory = t.process.TakesGPUMemory()
	t.tags = make([]tagPool, t.process.World().Size())
	for i := range t.tags {
		t.tags[i].posted.first, t.tags[i].posted.count = 1, maxTags
		t.tags[i].offered.first, t.tags[i].offered.count = 1+maxTags, offeredTags
	}
	t.ready = make([]readySends, t.process.World().Size())
	return err
}

func (t *mpiTransport) Rank() int { return t.process.World().Rank() }
func (t *mpiTransport) Size() int { return t.process.World().Size() }

func (t *mpiTransport) Start(h Handler) error {
	t.post(func() { t.handler = h })
	return nil
}

// post has the calling goroutine of the library run f.
func (t *mpiTransport) post(f func()) {
	t.mu.Lock()
	t.commands = append(t.commands, f)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run makes all calls. Where nothing happens it yields, then sleeps for longer and longer: ranks
// may share processors.
func (t *mpiTransport) run(ready chan<- error) {
	runtime.LockOSThread()
	defer close(t.stopped)
	err := t.open()
	ready <- err
	if err != nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	idle := 0
	for {
		if t.progress() {
			idle = 0
			continue
		}
		if t.finished() {
			return
		}
		idle++
		if idle < 50 {
			runtime.Gosched()
			continue
		}
		timer.Reset(min(time.Duration(idle-49)*5*time.Microsecond, 200*time.Microsecond))
		select {
		case <-t.wake:
		case <-timer.C:
		}
	}
}

// progress does what can be done now and reports whether that was anything.
func (t *mpiTransport) progress() (some bool) {
	t.mu.Lock()
	commands := t.commands
	t.commands = nil
	t.mu.Unlock()
	for _, f := range commands {
		f()
	}
	if t.handler == nil {
		return len(commands) > 0
	}
	some = len(commands) > 0
	for range 64 {
		if !t.receive() {
			break
		}
		some = true
	}
	t.test(t.control, &t.sends, &some)
	t.test(t.data, &t.flights, &some)
	return some
}

// finished reports whether the transport is closed and nothing is left to do.
func (t *mpiTransport) finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing && len(t.commands) == 0 && (len(t.sends) == 0 && (t.cause != nil || len(t.flights)+len(t.posted) == 0))
}

// test takes flights that have ended out of a list and calls what waits for them, which may begin
// others.
func (t *mpiTransport) test(c *mpi.Comm, list *[]*flight, some *bool) {
	var ended []*flight
	kept := (*list)[:0]
	for _, f := range *list {
		active := false
		for i := range f.requests {
			if done, s, err := c.Test(&f.requests[i]); !done {
				active = true
			} else if f.got += s.Bytes; err != nil {
				f.err = err
			}
		}
		if active {
			kept = append(kept, f)
			continue
		}
		if f.err == nil && f.want > 0 && f.got != f.want {
			f.err = fmt.Errorf("a message of %d bytes for a receive of %d", f.got, f.want)
		}
		ended = append(ended, f)
	}
	clear((*list)[len(kept):])
	*list = kept
	*some = *some || len(ended) > 0
	for _, f := range ended {
		if f.done != nil {
			f.done(f.err)
		}
	}
}

// lose reports an error of the library that leaves no rank to talk to.
func (t *mpiTransport) lose(err error) {
	if t.failed == nil {
		t.failed = err
		t.handler.Lost(t.Rank(), err)
	}
}

// receive receives a message of the control communicator, if there is one.
func (t *mpiTransport) receive() bool {
	s, come, err := t.control.Iprobe(mpi.AnySource, 0)
	if err != nil {
		t.lose(err)
		return false
	}
	if !come {
		return false
	}
	message := make([]byte, s.Bytes)
	if _, err := t.control.Recv(message, s.Source, 0); err != nil {
		t.lose(err)
		return false
	}
	if message[0] == mpiControl {
		t.handler.Control(s.Source, message[1:])
		return true
	}
	key := Key{binary.LittleEndian.Uint64(message[1:]), binary.LittleEndian.Uint32(message[9:])}
	a := address{s.Source, key}
	if message[0] == mpiOffer {
		t.offer(a)
		return true
	}
	if message[0] == mpiSent {
		t.announced(a)
		return true
	}
	if message[0] == mpiGrant {
		tag := int(binary.LittleEndian.Uint32(message[13:]))
		if p, ok := t.waiting[a]; ok {
			delete(t.waiting, a)
			t.enqueue(s.Source, tag, p)
		} else {
			t.granted[a] = tag
		}
		return true
	}
	data := message[13:]
	if recv, met, _ := t.matcher.meet(a, arrival{data: data}); met {
		recv.done(copied(recv.data, data))
	}
	return true
}

// announced has the receive of a message tested for completion.
func (t *mpiTransport) announced(a address) {
	if f := t.posted[a]; f != nil {
		delete(t.posted, a)
		t.flights = append(t.flights, f)
	}
}

// send sends a message of the control communicator.
func (t *mpiTransport) send(to int, message []byte) {
	f := &flight{requests: make([]mpi.Request, 1)}
	if err := t.control.Isend(message, to, 0, &f.requests[0]); err != nil {
		t.lose(err)
		return
	}
	t.sends = append(t.sends, f)
}

func keyed(kind byte, key Key, data []byte) []byte {
	m := make([]byte, 0, 13+len(data))
	m = append(m, kind)
	m = binary.LittleEndian.AppendUint64(m, key.Submission)
	m = binary.LittleEndian.AppendUint32(m, key.Part)
	return append(m, data...)
}

func (t *mpiTransport) Send(to int, key Key, priority int, data []byte, done func(error)) {
	if len(data) <= eager {
		message := keyed(mpiEager, key, data)
		t.post(func() { t.send(to, message) })
		done(nil)
		return
	}
	t.sendLarge(to, key, priority, message{data: data}, done)
}

// LeastInPlace implements DeviceTransport: smaller messages travel with their key.
func (t *mpiTransport) LeastInPlace() int {
	if !t.takesGPUMemory {
		return -1
	}
	return eager + 1
}

func (t *mpiTransport) SendInPlace(to int, key Key, priority int, data DeviceMemory, done func(error)) {
	t.sendLarge(to, key, priority, message{place: data}, done)
}

func (t *mpiTransport) RecvInPlace(from int, key Key, data DeviceMemory, done func(error)) {
	t.recvLarge(from, key, message{place: data}, done)
}

func (t *mpiTransport) sendLarge(to int, key Key, priority int, data message, done func(error)) {
	t.post(func() {
		a, p := address{to, key}, pendingSend{key, data, priority, done}
		if tag, ok := t.granted[a]; ok {
			delete(t.granted, a)
			t.enqueue(to, tag, p)
		} else if t.gone != nil {
			done(t.gone)
		} else {
			t.waiting[a] = p
			t.send(to, keyed(mpiOffer, key, nil))
		}
	})
}

// enqueue sends a message whose receive is posted, when those of higher priority have been sent.
func (t *mpiTransport) enqueue(to, tag int, p pendingSend) {
	if t.gone != nil {
		p.done(t.gone)
		return
	}
	t.ready[to].queue.push(p.priority, grantedSend{p, tag})
	t.sendReady(to)
}

// sendReady gives the library as many messages to a rank as it is to have at once.
func (t *mpiTransport) sendReady(to int) {
	r := &t.ready[to]
	for r.sending < sendsAtOnce && r.queue.length() > 0 {
		r.sending++
		t.sendData(to, r.queue.pop())
	}
}

// sendData gives the library a message, in parts.
func (t *mpiTransport) sendData(to int, p grantedSend) {
	tag := p.tag
	f := &flight{done: func(err error) {
		t.ready[to].sending--
		t.sendReady(to)
		p.done(err)
	}}
	t.startParts(f, p.data, true, to, tag)
	t.flights = append(t.flights, f)
	t.send(to, keyed(mpiSent, p.key, nil))
}

func (t *mpiTransport) Recv(from int, key Key, data []byte, done func(error)) {
	if len(data) <= eager {
		other, met, err := t.matcher.meet(address{from, key}, arrival{data: data, done: done, recv: true})
		switch {
		case err != nil:
			done(err)
		case met:
			done(copied(data, other.data))
		}
		return
	}
	t.recvLarge(from, key, message{data: data}, done)
}

func (t *mpiTransport) recvLarge(from int, key Key, data message, done func(error)) {
	t.post(func() {
		if t.gone != nil {
			done(t.gone)
			return
		}
		a := address{from, key}
		t.late[a] = lateReceive{data, done}
		p := &t.tags[from]
		if tag, ok := p.posted.take(); ok {
			delete(t.offers, a)
			t.grant(a, tag)
			return
		}
		p.waiting = append(p.waiting, a)
		if t.offers[a] {
			delete(t.offers, a)
			t.offer(a)
		}
	})
}

// recvData posts the receive of a large message and tells the sender its tag.
func (t *mpiTransport) recvData(a address, tag tag, data message, done func(error)) {
	f := &flight{want: data.length(), done: func(err error) {
		t.giveBack(a.from, tag)
		done(err)
	}}
	t.startParts(f, data, false, a.from, tag.number)
	t.posted[a] = f
	if f.err != nil {
		t.announced(a)
	}
	t.send(a.from, binary.LittleEndian.AppendUint32(keyed(mpiGrant, a.key, nil), uint32(tag.number)))
}

// grant posts a receive that has waited for a tag.
func (t *mpiTransport) grant(a address, tag tag) {
	recv := t.late[a]
	delete(t.late, a)
	t.recvData(a, tag, recv.data, recv.done)
}

// offer notes that the sender of a message waits for its tag.
func (t *mpiTransport) offer(a address) {
	p := &t.tags[a.from]
	_, late := t.late[a]
	switch {
	case t.posted[a] != nil: // the tag is on its way
	case !late:
		t.offers[a] = true
	default:
		if tag, ok := p.offered.take(); ok {
			t.grant(a, tag)
		} else {
			p.waitingOffered = append(p.waitingOffered, a)
		}
	}
}

// giveBack gives a tag to the next receive that waits for one of its list.
func (t *mpiTransport) giveBack(from int, tag tag) {
	p := &t.tags[from]
	waiting := &p.waiting
	if tag.list == &p.offered {
		waiting = &p.waitingOffered
	}
	for len(*waiting) > 0 {
		a := (*waiting)[0]
		*waiting = (*waiting)[1:]
		if _, late := t.late[a]; late {
			t.grant(a, tag)
			return
		}
	}
	tag.list.free = append(tag.list.free, tag.number)
}

func (t *mpiTransport) Control(to int, message []byte, sent func()) {
	message = append([]byte{mpiControl}, message...)
	t.post(func() {
		t.send(to, message)
		if sent != nil {
			sent()
		}
	})
}

// Fail fails what is in flight.
func (t *mpiTransport) Fail(cause error) {
	t.matcher.close(cause)
	t.post(func() {
		t.gone = cause
		for a, p := range t.waiting {
			delete(t.waiting, a)
			p.done(cause)
		}
		for i := range t.ready {
			for t.ready[i].queue.length() > 0 {
				t.ready[i].queue.pop().done(cause)
			}
		}
		for a, recv := range t.late {
			delete(t.late, a)
			recv.done(cause)
		}
		for a := range t.posted {
			t.announced(a)
		}
		for _, f := range slices.Clone(t.flights) {
			if f.done != nil {
				f.done(cause)
			}
			f.done = nil
		}
	})
}

// Close finalizes the library where all ranks have agreed to end. With a cause the launcher ends
// the job when this process leaves.
func (t *mpiTransport) Close(cause error) error {
	t.mu.Lock()
	again := t.closing
	t.closing = true
	if cause != nil {
		t.cause = cause
	}
	t.mu.Unlock()
	select {
	case <-t.stopped:
	case <-time.After(closeTime):
		if cause == nil {
			return fmt.Errorf("dist: mpi: messages are still in flight after %v", closeTime)
		}
	}
	if again || cause != nil {
		return nil
	}
	return t.process.Finalize()
}
