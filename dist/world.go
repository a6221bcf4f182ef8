package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/task"
)

// Options are those of a World. The zero value works.
type Options struct {
	// Silence is the time without messages after which a rank counts as dead: 0 is 3 s, negative is
	// never.
	Silence time.Duration
	// Errors receives the root cause of a failed job; nil is standard error.
	Errors io.Writer
}

// A World is this process, or a goroutine of it, as a rank of a job: the task.World of one Runtime.
type World struct {
	transport  Transport
	options    Options
	rank, size int
	fake       bool        // nothing runs here: see FakeRank
	simulation *simulation // of all ranks, where there is one
	local      *task.LocalTasks
	exit       func(code int) // leaves the process; nil where other ranks are in it

	mu        sync.Mutex // over submission
	directory directory
	data      messageData
	log       submissionLog
	waits     uint64
	counted   Stats

	control   control
	broken    chan struct{} // closed when the job has failed
	ended     chan struct{} // closed by Close
	beating   sync.WaitGroup
	closeOnce sync.Once
}

// messageData is what messages are made of. World.mu guards all but inPlace.
type messageData struct {
	memory   []task.Memory // by buffer
	reducers map[deps.ReductionID]task.Reducer
	// leastInPlace is the bytes from which on messages may be in memory of accelerators; negative for
	// none.
	leastInPlace int
	inPlace      atomic.Uint64 // messages that were
}

// NewWorld returns the world of a transport, and starts that.
func NewWorld(t Transport, o Options) (*World, error) { return newWorld(t, o, nil) }

// newWorld is NewWorld of a rank that leaves the process by exit.
func newWorld(t Transport, o Options, exit func(int)) (*World, error) {
	w := &World{transport: t, options: o, exit: exit, rank: t.Rank(), size: t.Size(), broken: make(chan struct{}), ended: make(chan struct{})}
	w.log.entries = make([]logEntry, ring)
	if w.options.Silence == 0 {
		w.options.Silence = 3 * time.Second
	}
	if w.options.Errors == nil {
		w.options.Errors = os.Stderr
	}
	w.directory.me, w.directory.ranks = int32(w.rank), int32(w.size)
	w.data.reducers = map[deps.ReductionID]task.Reducer{}
	w.control.init(w)
	if err := t.Start(w); err != nil {
		return nil, err
	}
	w.beating.Add(1)
	go w.beat()
	return w, nil
}

// Rank returns the number of this rank, from 0, and Size the number of ranks.
func (w *World) Rank() int { return w.rank }
func (w *World) Size() int { return w.size }

// Stats counts the tasks of all ranks and the messages of this rank.
type Stats struct {
	Tasks    uint64 // submitted, on whichever rank they run
	Messages uint64 // sent and received by this rank
	InPlace  uint64 // of these, the ones from or to memory of an accelerator
}

// Stats returns the counts so far: of a goroutine that does not submit, up to the latest 64 tasks.
func (w *World) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log.recent.submitter == goid.Of() {
		w.flush()
	}
	w.counted.InPlace = w.data.inPlace.Load()
	return w.counted
}

// Attach ties w to its runtime: New of package task calls it.
func (w *World) Attach(local *task.LocalTasks) error {
	w.control.mu.Lock()
	defer w.control.mu.Unlock()
	if w.local != nil {
		return errors.New("dist: the world has a runtime already")
	}
	w.local = local
	w.data.leastInPlace = -1
	if t, ok := w.transport.(DeviceTransport); ok && t.LeastInPlace() >= 0 && local.KeepRoom() {
		w.data.leastInPlace = t.LeastInPlace()
	}
	if w.control.failed != nil {
		return w.control.failed
	}
	return nil
}

// worldOf returns the world of rt, nil where it is nothing but one rank.
func worldOf(rt *task.Runtime) (*World, error) {
	switch w := rt.World().(type) {
	case nil:
		return nil, nil
	case *World:
		return w, nil
	default:
		return nil, fmt.Errorf("dist: the world of the runtime is %T", w)
	}
}

// Distribute assigns the parts of x to ranks: a whole slice of Alloc, or an ordinary one up to its
// capacity. All ranks call it for the same slices in the same order, before the first task that
// uses them. Without a World it does nothing but check its arguments.
func Distribute[T any](rt *task.Runtime, x []T, d Distribution) error {
	w, err := worldOf(rt)
	if err != nil {
		return err
	}
	if d.make == nil {
		return errors.New("dist: distribute: the zero Distribution: want Block, Cyclic, BlockCyclic2D, On or By")
	}
	if w == nil {
		if _, err := d.make(int64(len(x)), 1); err != nil && len(x) > 0 && d.name != "" {
			return nil // made for more ranks than one
		}
		return nil
	}
	if len(x) == 0 {
		return nil
	}
	w.lock()
	defer w.mu.Unlock()
	l, err := d.make(int64(len(x)), w.size)
	if err != nil {
		return fmt.Errorf("dist: distribute %d elements by %s: %w", len(x), d.name, err)
	}
	m, err := w.local.Memory(task.InOut(x))
	if err != nil {
		return fmt.Errorf("dist: distribute %d elements: %w", len(x), err)
	}
	if int(m.Buffer) < len(w.directory.byID) && w.directory.byID[m.Buffer] != 0 {
		return fmt.Errorf("dist: distribute %d elements: the slice has owners already", len(x))
	}
	b := w.directory.buffers[w.directory.add(m.Buffer, l)]
	b.elem = int64(m.Elem)
	w.data.memory = append(w.data.memory, m)
	w.log.noteBuffer(d.name, len(x), m.Elem, l.owners, b)
	return nil
}

// Submit chooses the rank of a task and submits the messages of this rank that come before it.
func (w *World) Submit(t *task.Submission) (here bool, err error) {
	w.lock()
	defer w.mu.Unlock()
	if err := w.failure(); err != nil {
		return false, err
	}
	rank, err := w.directory.place(t.Accesses)
	if err != nil {
		return false, err
	}
	if t.Rank >= 0 {
		if t.Rank >= w.size {
			return false, fmt.Errorf("on rank %d: there are %d", t.Rank, w.size)
		}
		rank = int32(t.Rank)
	}
	for i := range t.Reducers {
		o := &t.Reducers[i]
		if id := t.Accesses[o.Access].Op; w.data.reducers[id] == (task.Reducer{}) {
			w.data.reducers[id] = *o
		}
	}
	w.note(t.Name, rank, t.Accesses)
	if s := w.simulation; s != nil {
		s.task(t.Name, rank, w.directory.sequence, t.Accesses, func(id deps.BufferID) int64 { return w.directory.buffers[w.directory.byID[id]-1].elem })
	}
	w.directory.submit(rank, t.Accesses)
	if err := w.post(t.Priority); err != nil {
		return false, err
	}
	return int(rank) == w.rank && !w.fake, nil
}

// Complete combines all partial results of reductions.
func (w *World) Complete() error {
	w.lock()
	defer w.mu.Unlock()
	if w.failure() != nil || w.simulation != nil {
		return nil // Wait returns the failure; or the reductions of a simulation stay open
	}
	w.note("Wait", 0, nil)
	w.directory.complete()
	return w.post(0)
}

// Share has all ranks receive the current version of what accesses name.
func (w *World) Share(accesses []deps.Access) error {
	w.lock()
	defer w.mu.Unlock()
	for rank := range int32(w.size) {
		if err := w.read("WaitOn", rank, accesses); err != nil {
			return err
		}
	}
	return nil
}

// read has a rank receive what accesses name. Requires: mu held.
func (w *World) read(name string, rank int32, accesses []deps.Access) error {
	if w.simulation != nil {
		return nil // it is no task, and nothing is here
	}
	if err := w.failure(); err != nil {
		return err
	}
	if _, err := w.directory.place(accesses); err != nil {
		return fmt.Errorf("dist: %s: %w", name, err)
	}
	w.note(name, rank, accesses)
	w.directory.submit(rank, accesses)
	return w.post(0)
}

// post submits the steps of this rank as tasks, with the priority of the task that they are for.
// Requires: mu held.
func (w *World) post(priority int) error {
	w.counted.Messages += uint64(len(w.directory.steps))
	if w.fake {
		return nil
	}
	for i := range w.directory.steps {
		if err := w.postStep(w.directory.steps[i], priority); err != nil {
			return err
		}
	}
	return nil
}

// firstOfAll is the priority that steps have on this rank beyond that of the task that they are
// for: they take a worker for microseconds, and other ranks wait for what they send.
const firstOfAll = 1 << 40

// modes are those in which the steps access their region.
var modes = [...]deps.Mode{stepSend: deps.In, stepRecv: deps.Out, stepFold: deps.InOut, stepFill: deps.Out}

func (w *World) postStep(s step, priority int) error {
	m := w.data.memory[s.buffer]
	access := []deps.Access{{Region: s.region, Mode: modes[s.kind]}}
	o := w.data.reducers[s.op]
	if s.kind == stepFill {
		return w.local.Go("fill", access, priority, func(*task.Scope) error {
			o.Fill(m.Data, s.region)
			return nil
		})
	}
	inPlace := w.data.mayBeInPlace(&s, &m)
	submit := w.local.Go
	if inPlace {
		submit = w.local.GoInPlace
	}
	return submit(s.kind.String(), access, priority+firstOfAll, func(scope *task.Scope) error {
		e, err := scope.Event()
		if err != nil {
			return err
		}
		done := w.observed(&s, &m, scope, func(err error) {
			if err != nil {
				err = fmt.Errorf("dist: %s rank %d: %w", map[bool]string{true: "send to", false: "receive from"}[s.kind == stepSend], s.peer, err)
			}
			e.Fulfill(err) // an error would say that done was called twice
		})
		if inPlace {
			moveInPlace(w, s, m, access[0], priority, done)
			return nil
		}
		w.move(s, m, o, priority, done)
		return nil
	})
}

// mayBeInPlace reports whether the message of s may be in memory of an accelerator.
func (d *messageData) mayBeInPlace(s *step, m *task.Memory) bool {
	return d.leastInPlace >= 0 && s.kind <= stepRecv && s.region.Contiguous() && s.region.Len()*int64(m.Elem) >= int64(d.leastInPlace)
}

// moveInPlace is World.move from or to where the data are, on an accelerator or the host.
func moveInPlace(w *World, s step, m task.Memory, a deps.Access, priority int, done func(error)) {
	w.local.Hold(s.kind.String(), a, func(h *task.Held, err error) {
		if err != nil {
			done(err)
			return
		}
		release := func(err error) {
			h.Release(err)
			done(err)
		}
		if h.Address == 0 {
			w.move(s, m, task.Reducer{}, priority, release)
			return
		}
		w.data.inPlace.Add(1)
		t := w.transport.(DeviceTransport)
		data := DeviceMemory{h.Address, int(s.region.Len()) * m.Elem, h.Current}
		if s.kind == stepSend {
			t.SendInPlace(int(s.peer), s.key, priority, data, release)
		} else {
			t.RecvInPlace(int(s.peer), s.key, data, release)
		}
	})
}

// move carries out the message of s and calls done.
func (w *World) move(s step, m task.Memory, o task.Reducer, priority int, done func(error)) {
	lo, hi := s.region.Bounds()
	elem := int64(m.Elem)
	switch {
	case s.kind == stepSend && s.region.Contiguous():
		w.transport.Send(int(s.peer), s.key, priority, m.Data[lo*elem:hi*elem], done)
	case s.kind == stepSend:
		packed := make([]byte, 0, s.region.Len()*elem)
		for lo, hi := range s.region.Runs() {
			packed = append(packed, m.Data[lo*elem:hi*elem]...)
		}
		w.transport.Send(int(s.peer), s.key, priority, packed, done)
	case s.kind == stepRecv && s.region.Contiguous():
		w.transport.Recv(int(s.peer), s.key, m.Data[lo*elem:hi*elem], done)
	default:
		w.receivePacked(s, m, o, done)
	}
}

// receivePacked receives a region that is no interval, or a partial result.
func (w *World) receivePacked(s step, m task.Memory, o task.Reducer, done func(error)) {
	elem := int64(m.Elem)
	packed := make([]byte, s.region.Len()*elem)
	w.transport.Recv(int(s.peer), s.key, packed, func(err error) {
		if err != nil {
			done(err)
			return
		}
		lo, hi := s.region.Bounds()
		into := m.Data[lo*elem : hi*elem]
		if s.kind == stepFold {
			into = make([]byte, (hi-lo)*elem)
		}
		rest := packed
		moved := s.region.Translate(-lo)
		for a, b := range moved.Runs() {
			rest = rest[copy(into[a*elem:b*elem], rest):]
		}
		if s.kind == stepFold {
			o.Fold(m.Data[lo*elem:hi*elem], into, moved)
		}
		done(nil)
	})
}

// Wait waits until all ranks wait, and returns their first failure.
func (w *World) Wait(ctx context.Context, local error) error {
	if local != nil {
		if err := context.Cause(ctx); err != nil && w.failure() == nil {
			return local // the caller's patience has ended, and the tasks continue
		}
		w.fail(w.rank, local)
		select { // the others are not released
		case <-w.broken:
			return w.failure()
		case <-ctx.Done():
			return local
		}
	}
	if err := w.failure(); err != nil {
		return err
	}
	if w.fake {
		return nil
	}
	return w.meet(ctx)
}

// meet waits until all ranks have called it as often.
func (w *World) meet(ctx context.Context) error {
	w.lock()
	w.waits++
	n := w.waits
	sequence, hash := w.log.now()
	w.mu.Unlock()
	w.readClocks() // it is answered before this rank is released
	released := w.control.arrive(n, sequence, hash)
	select {
	case <-released:
		return nil
	case <-w.broken:
		select {
		case <-released: // before it
			return nil
		default:
			return w.failure()
		}
	case <-ctx.Done():
		return fmt.Errorf("dist: wait: %w", context.Cause(ctx))
	}
}

// Close ends the rank when all ranks have called it.
func (w *World) Close(err error) error {
	w.closeOnce.Do(func() {
		if err == nil {
			err = w.end()
		}
		cause := w.failure()
		if cause == nil {
			w.control.bye()
		}
		close(w.ended)
		w.beating.Wait()
		err = errors.Join(err, w.transport.Close(cause))
	})
	return err
}

// end is the last submission: a rank that ends and one that continues do not submit the same.
func (w *World) end() error {
	if err := w.failure(); w.fake || err != nil {
		return err
	}
	w.lock()
	w.note("Close", 0, nil)
	w.mu.Unlock()
	return w.meet(context.Background())
}

// Exit leaves the process, as the transport needs it: an MPI library may have registered what must
// run. Ranks that are goroutines of one process do not leave it.
func (w *World) Exit(code int) {
	if w.exit != nil {
		w.exit(code)
	}
}
