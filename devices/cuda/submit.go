//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// An operation is a kernel launch or a copy that will be enqueued on a stream.
type operation struct {
	event  *event
	stream *stream // for a kernel, nil until it is enqueued
	// host is true if the operation accesses host memory when it is enqueued, so that all its
	// predecessors must have happened.
	host bool
	work starter
	part *launchOp // the launchOp that contains it, for a launch
}

// A starter makes the driver calls of an operation on its stream.
type starter interface {
	start(op *operation) error
}

// A submitter enqueues operations on the streams of one device. It alone decides their order: the
// batches, the streams, and the waits for predecessors.
type submitter struct {
	gpu      *gpu
	platform *platform
	streams  *streamSet
	health   *health
	clock    *clock
	engine   *engine         // enqueues parked operations and reports failures
	pageable *pageableThread // enqueues copies of host memory that is not pinned

	mu        sync.Mutex // held while one operation or batch is enqueued, also during driver calls
	turn      uint32     // of the streams of kernels, round robin
	launchOps launchOps
}

// owns reports whether e is an event of an operation of this device.
func (u *submitter) owns(e *event) bool { return &e.device.submitter == u }

// begin enqueues op, or parks it at a predecessor for which it has to wait. With batching, op may
// stay pending until flushAll.
// Requires: the context is current.
//
// It returns the stream on which it has enqueued an operation, or nil. After begin, op may have
// been recycled.
func (u *submitter) begin(op *operation, batching bool) *stream {
	u.mu.Lock()
	defer u.mu.Unlock()
	if batching {
		_, batching = op.lone()
	}
	batching = batching && !u.clock.on && u.platform.nvtx == nil
	home := u.pendingBehind(op, batching)
	for _, a := range op.event.after {
		if parked := u.park(op, a); parked {
			return nil
		}
	}
	switch {
	case op.host:
		u.pageable.push(op)
	case batching:
		u.enlist(op, home)
	default:
		return u.place(op)
	}
	return nil
}

// park appends op to the waiters of event a, if op cannot be enqueued before a has happened or has
// been enqueued, and reports whether it did so.
func (u *submitter) park(op *operation, a devices.Event) bool {
	ours, ok := a.(*event)
	if !ok || ours.device.platform != u.platform || op.host || ours.alone {
		if a.Done() {
			return false
		}
		a.Then(func(error) { u.engine.push(op) })
		return true
	}
	ours.mu.Lock()
	defer ours.mu.Unlock()
	if ours.done || ours.failure() == nil && (ours.enqueued || u.owns(ours) && ours.pending != nil) {
		return false
	}
	ours.behind = append(ours.behind, op)
	return true
}

// place enqueues op, and returns its stream. If that fails, the event of op fails.
// Requires: the context is current.
func (u *submitter) place(op *operation) *stream {
	e := op.event
	if op.stream == nil {
		op.stream = u.chooseStream(e.after)
	}
	s := op.stream
	if s.kernels {
		u.flush(s) // a failure of the flush may be that of a predecessor
		s.tail = e
	}
	if err := u.waitForPredecessors(op); err != nil {
		e.failWith(err)
		u.engine.completions.push(e)
		op.recycle()
		return s
	}
	u.launchOn(op)
	op.recycle()
	if e.alone || u.clock.on || s.unmarked() >= s.maxUnmarked() {
		_ = s.record() // an error is also the error of e
	}
	for _, next := range e.enter(s) { // from here on other operations may wait for e
		next.event.device.engine.push(next)
	}
	return s
}

// waitForPredecessors makes the stream of op wait for the predecessors of op. It returns an error
// if one of them has failed.
func (u *submitter) waitForPredecessors(op *operation) error {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = u.gpu.alive()
	}
	for i := 0; err == nil && i < len(e.after); i++ {
		err = u.waitOn(op.stream, e.after[i])
	}
	if err == nil && u.clock.on {
		if err = u.clock.recordFirst(e, op.stream); err != nil {
			err = u.health.failAt(e, err)
		}
	}
	return err
}

// launchOn makes the driver calls of op. After an error, earlier calls may have enqueued work on
// the stream, so the event of op fails when that work has finished.
func (u *submitter) launchOn(op *operation) {
	e := op.event
	if err := u.start(op); err != nil {
		e.failWith(u.health.failAt(e, err))
	}
	e.began = monotonic()
	op.stream.push(e)
}

// start makes the driver calls of op. If an NVTX tool is attached, a kernel gets a range with its
// name.
func (u *submitter) start(op *operation) error {
	if n := u.platform.nvtx; n != nil && op.event.kernel != nil {
		name := op.event.label
		if name == "" {
			name = op.event.kernel.Name
		}
		n.Push(name)
		defer n.Pop()
	}
	return op.work.start(op)
}

// chooseStream returns the stream for a kernel: the stream of a predecessor if no event is needed
// there (see shouldContinue), otherwise the next one, round robin.
func (u *submitter) chooseStream(after []devices.Event) *stream {
	for _, a := range after {
		if ours, ok := a.(*event); ok && u.owns(ours) {
			if s := ours.on(); s != nil && s.kernels && s.shouldContinue(ours) {
				return s
			}
		}
	}
	u.turn++
	return u.streams.kernels[int(u.turn)%len(u.streams.kernels)]
}

// waitOn makes a stream wait for an event, unless stream order already ensures it.
func (u *submitter) waitOn(s *stream, a devices.Event) error {
	ours, ok := a.(*event)
	if !ok {
		return nil
	}
	if err := ours.failure(); err != nil || ours.on() == s {
		return err
	}
	m, err := ours.mark()
	if m == nil && err == nil {
		return ours.failure() // it has finished, or could not be enqueued
	}
	if err == nil {
		err = ours.device.gpu.alive()
	}
	if err == nil {
		err = u.gpu.driver.Do(driver.CuStreamWaitEvent, s.cu, m.cu, 0)
	}
	if m != nil {
		m.unref()
	}
	if err != nil { // the device of the event may have failed, but not this one
		return ours.device.health.failAt(ours, err)
	}
	return nil
}

// Batches enqueue several kernels with one driver call. The kernels are the nodes of a CUDA
// graph whose edges form a chain. The graph is launched again and again; before each launch its
// kernels are replaced, which costs less time than launching them one by one.
//
// Kernels that can fail without ending the device, need much scratch memory or consist of several
// launches are launched one by one. So are all kernels when times are measured. A pending kernel
// counts as enqueued only for the engine; other waiters are notified when it has been enqueued.

// A graph has batchLeast to batchMost kernels. The number is a power of two.
const (
	batchLeast = 4
	batchMost  = 32
)

// A batchGraph is a chain of kernels that is launched again and again on one stream.
type batchGraph struct {
	graph, exec uintptr
	nodes       []uint64
}

// lone returns the run of op, and whether it can be a node of a batch.
func (op *operation) lone() (*run, bool) {
	r, ok := op.work.(*run)
	return r, ok && r.lone
}

// pendingBehind flushes the streams on which predecessors of op are pending. If op can be batched
// (batches), it does not flush one stream on which op can be pending too, and returns that stream.
// Requires: u.mu held, on the engine's goroutine, the context is current.
func (u *submitter) pendingBehind(op *operation, batches bool) (home *stream) {
	for _, a := range op.event.after {
		ours, ok := a.(*event)
		if !ok || !u.owns(ours) || ours.pending == nil {
			continue
		}
		if s := ours.pending; home == nil && batches && s.shouldContinue(ours) {
			home = s
		}
	}
	for _, a := range op.event.after {
		if ours, ok := a.(*event); ok && u.owns(ours) && ours.pending != nil && ours.pending != home {
			u.flush(ours.pending)
		}
	}
	return home
}

// enlist makes op pending on stream home, or on a stream that it chooses if home is nil. Requires:
// as for pendingBehind.
func (u *submitter) enlist(op *operation, home *stream) {
	e := op.event
	err := firstError(e.after)
	if err == nil {
		err = u.gpu.alive()
	}
	if home == nil {
		home = u.chooseStream(e.after)
	}
	op.stream = home
	for _, a := range e.after {
		ours, ok := a.(*event)
		if err != nil || ok && (ours.pending == home || ours.on() == home) {
			continue
		}
		u.flush(home) // the pending operations need not wait for a
		err = u.waitOn(home, a)
	}
	if err == nil {
		err = firstError(e.after) // a flush may have failed pending predecessors
	}
	if err != nil {
		e.failWith(err)
		u.engine.completions.push(e)
		return
	}
	if err := u.complete(op); err != nil {
		e.failWith(u.health.failAt(e, err))
		u.engine.completions.push(e)
		return
	}
	e.pending, home.tail = home, e
	if home.pending = append(home.pending, op); len(home.pending) == batchMost {
		u.flush(home)
	}
}

// complete packs the parameters of op after its stream has been chosen, if they were not packed
// before: the scratch memory of op belongs to the stream. Requires: as for pendingBehind.
func (u *submitter) complete(op *operation) error {
	r, _ := op.lone()
	if r.packed != nil {
		return nil
	}
	if op.stream.ring.full(r.scratch.Total()) { // pending operations use the memory that is about to be zeroed
		u.flush(op.stream)
	}
	p, err := op.stream.takeScratch(r.scratch)
	if err != nil {
		return err
	}
	r.binding.Place(uint64(p.zeroed), uint64(p.unset))
	return r.packAhead(op.part.params[:])
}

// flush enqueues the pending operations of a stream. Requires: u.mu held, the context is current.
func (u *submitter) flush(s *stream) {
	list := s.pending
	for len(list) > 0 {
		n := 1
		if len(list) >= batchLeast {
			n = 1 << (bits.Len(uint(len(list))) - 1)
		}
		u.send(s, list[:n])
		list = list[n:]
	}
	s.pending = s.pending[:0]
}

// flushAll flushes all streams for kernels.
func (u *submitter) flushAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.streams.kernels {
		if len(s.pending) > 0 {
			u.flush(s)
		}
	}
}

// send launches operations with one driver call: as a kernel, or as a graph of several kernels. If
// the graph cannot be launched, send launches the operations one by one, to find out which of them
// fails.
func (u *submitter) send(s *stream, list []*operation) {
	if len(list) > 1 && u.sendGraph(s, list) == nil {
		now := monotonic()
		for _, op := range list {
			op.event.began = now
			s.push(op.event)
		}
	} else {
		for _, op := range list {
			u.sendOne(op)
		}
	}
	for _, op := range list {
		op.event.pending = nil
	}
	if s.unmarked() >= s.maxUnmarked() {
		_ = s.record() // after an error the operations fail too
	}
	for i, op := range list {
		for _, next := range op.event.enter(s) {
			next.event.device.engine.push(next)
		}
		op.recycle()
		list[i] = nil
	}
}

// sendOne launches one operation. If a predecessor has failed, the operation fails with the same
// error, at its position on the stream.
func (u *submitter) sendOne(op *operation) {
	err := firstError(op.event.after)
	if err == nil {
		u.launchOn(op)
		return
	}
	op.event.failWith(err)
	op.event.began = monotonic()
	op.stream.push(op.event)
}

// sendGraph launches operations as a graph. An error means that none was launched.
func (u *submitter) sendGraph(s *stream, list []*operation) error {
	for _, op := range list {
		if err := firstError(op.event.after); err != nil {
			return err
		}
	}
	g := &s.graphs[bits.Len(uint(len(list)))-1]
	if g.exec == 0 {
		if err := u.buildBatch(g, list); err != nil {
			return errors.Join(err, g.free(s.device))
		}
	} else {
		for i, op := range list {
			r, _ := op.lone()
			n := r.node()
			if err := u.gpu.setNode(g.exec, g.nodes[i], &n); err != nil {
				return err
			}
		}
	}
	return u.gpu.driver.Do(driver.CuGraphLaunch, g.exec, s.cu)
}

// node returns the description of the only kernel of r. The parameters of r are packed.
func (r *run) node() kernelNode {
	e, g := &r.version.source.Entries[0], r.grids[0]
	return kernelNode{function: r.version.entries[0].function, teams: [3]int64{g.Teams, 1, 1}, team: [3]int64{g.Threads, 1, 1},
		params: bytesOfWords(r.packed)[:e.ArgsSize]}
}

func (u *submitter) buildBatch(g *batchGraph, list []*operation) error {
	b := driver.NewBlock()
	defer b.Free()
	if err := u.gpu.driver.Do(driver.CuGraphCreate, b.At(0), 0); err != nil {
		return err
	}
	g.graph, g.nodes = uintptr(b.Words[0]), g.nodes[:0]
	var after []uint64
	for _, op := range list {
		r, _ := op.lone()
		n := r.node()
		id, err := u.gpu.addNode(g.graph, &n, after)
		if err != nil {
			return err
		}
		g.nodes, after = append(g.nodes, id), []uint64{id}
	}
	if err := u.gpu.driver.Do(driver.CuGraphInstantiate, b.At(0), g.graph, 0); err != nil {
		return err
	}
	g.exec = uintptr(b.Words[0])
	return nil
}

// free destroys the graph. Requires: the context is current.
func (g *batchGraph) free(d *Device) error {
	both := graph{graph: g.graph, exec: g.exec}
	g.graph, g.exec = 0, 0
	return both.free(d)
}
