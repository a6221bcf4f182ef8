package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/operator"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// This file is the interface of the engine to programs on several ranks. Package dist makes the
// decisions, and submits additional tasks through LocalTasks.

// A World connects this runtime with those of other ranks, which submit the same tasks in the same
// order. Package dist implements it. Only one goroutine at a time calls its methods, except Failed,
// and it holds no lock of the runtime.
type World interface {
	// Attach is called once, by New.
	Attach(local *LocalTasks) error
	// Submit is called for each task of the program, in the order of submission. It reports whether
	// the task runs on this rank. Before it returns, it submits the tasks that must precede it
	// through LocalTasks.
	Submit(t *Submission) (here bool, err error)
	// Complete is called before Runtime.Wait waits. It submits the remaining work of the tasks so
	// far.
	Complete() error
	// Share is called by WaitOn: afterwards all ranks may read the data. Only this rank waits.
	Share(accesses []deps.Access) error
	// Wait is called with the failures of this rank when all its tasks have finished. Its result is
	// the result of Runtime.Wait.
	Wait(ctx context.Context, local error) error
	// Failed is called by any goroutine when a task of this rank has failed. It does not block.
	Failed(err error)
	// Close is called by Runtime.Close with the result of its wait, when all ranks have waited. It
	// returns that error joined with its own.
	Close(err error) error
}

// A Submission is a task of the program while its rank is chosen. It is valid during the call only.
type Submission struct {
	Name     string
	Origin   uintptr // the code address of the Go function of the task; 0 for a kernel
	Rank     int     // the rank of OnRank, -1 if the accesses determine the rank
	Priority int
	Accesses []deps.Access
	Reducers []Reducer // the operators of the accesses that are reductions
}

// A Skipper is a World with a fast check whether a task whose accesses are whole blocks does not
// concern this rank.
type Skipper interface {
	// Block returns the number of the block with elements [lo, hi) of a buffer, valid for the life
	// of the buffer. ok is false if this range is not a block.
	Block(b deps.BufferID, lo, hi int64) (number uint64, ok bool)
	// Skip counts a task with n accesses to blocks, and reports whether it concerns only another
	// rank. If it returns false, it has changed nothing, and Submit is called.
	Skip(name string, n int, a, b, c BlockAccess) bool
}

// SkipBlocks is the maximum number of accesses of a task for which Skip is called.
const SkipBlocks = 3

// A BlockAccess is the number of a block and the mode of an access to it: In, Out or InOut.
type BlockAccess uint64

func (a BlockAccess) Block() uint64   { return uint64(a) >> 8 }
func (a BlockAccess) Mode() deps.Mode { return deps.Mode(a) }

// knownBlocks is a cache of block numbers by address. It belongs to the submitting goroutine.
type knownBlocks [1 << knownBits]knownBlock

const knownBits = 10

// A knownBlock is the memory of a block, and its number.
type knownBlock struct {
	at     values.Pointer
	n      int64
	elem   deps.Bytes
	number uint64
	buffer *memory.Buffer
}

// A skipper asks a World which tasks concern only other ranks.
type skipper struct {
	of     Skipper
	known  knownBlocks
	shapes [1 << shapeBits]callShape
}

// spread is the multiplier of a hash whose high bits are the place in a cache.
const spread = 0x9e3779b97f4a7c15

// find returns the number of the block that is n elements at an address.
func (k *skipper) find(rt *engine.Runtime, at values.Pointer, n int64, elem deps.Bytes) (number uint64, ok bool) {
	e := &k.known[uint64(uintptr(at)>>6)*spread>>(64-knownBits)]
	if e.at == at && e.n == n && e.elem == elem && e.buffer.InUse() {
		return e.number, n > 0
	}
	if n == 0 {
		return 0, false
	}
	b, first, err := rt.Buffers.Find(values.Range{Base: at, Len: n, Cap: n, Elem: elem})
	if b == nil || err != nil {
		return 0, false
	}
	if number, ok = k.of.Block(b.ID, first, first+n); ok {
		*e = knownBlock{at, n, elem, number, b}
	}
	return number, ok
}

// skips reports whether a task with these options concerns only another rank.
func (k *skipper) skips(rt *engine.Runtime, options []Option) bool {
	var blocks [SkipBlocks]BlockAccess
	n, name := 0, engine.Unlabelled
	if rt.Closed.Load() {
		return false
	}
	for i := range options {
		o := &options[i]
		switch o.what() {
		case labelOption:
			name = o.text()
			continue
		case priorityOption, costOption: // without effect on a task that runs elsewhere
			continue
		}
		if o.what() != accessOption || o.mode() > deps.InOut || n == SkipBlocks {
			return false
		}
		number, ok := k.find(rt, o.at, o.n, deps.Bytes(o.kind&^pointerBit>>16))
		if !ok {
			return false
		}
		blocks[n] = BlockAccess(number<<8 | uint64(o.mode()))
		n++
	}
	return k.of.Skip(name, n, blocks[0], blocks[1], blocks[2])
}

// shapeBits and shapeWords bound the cache of calls: their number, and the arguments of one.
const (
	shapeBits  = 8
	shapeWords = 8
)

// A callShape is a call of a kernel that was described without an error, apart from the addresses
// of its arguments: the bits of its scalars and the lengths of its slices. Each of these is
// accessed as a whole. A call of the same shape has the same accesses, and no error if its slices
// are different blocks.
type callShape struct {
	kernel   *kernels.Kernel
	name     string
	n        int // of accesses
	words    [shapeWords]uint64
	accesses [SkipBlocks]struct {
		argument uint8
		mode     deps.Mode
	}
}

// A call is the arguments of a kernel without their types.
type call struct {
	words [shapeWords]uint64
	at    [shapeWords]values.Pointer // nil for a scalar
}

// read sets c, and returns the shape with the same hash; nil for arguments that no shape has.
func (k *skipper) read(c *call, of *kernels.Kernel, args []any) *callShape {
	if len(args) > shapeWords || len(of.Variables) > 0 || of.Deferral != nil {
		return nil
	}
	h := of.Hash
	for i, x := range args {
		bits, where, ok := values.Word(x, of.Given[i].Type)
		if !ok {
			return nil
		}
		c.words[i], c.at[i] = bits|uint64(where.Len), where.Base
		h = (h ^ c.words[i]) * spread
	}
	return &k.shapes[h>>(64-shapeBits)]
}

// skipsKernel reports whether a task of a kernel concerns only another rank. The types of args are
// those of the kernel.
func (k *skipper) skipsKernel(rt *engine.Runtime, of *kernels.Kernel, args []any, options []Option) bool {
	var c call
	s := k.read(&c, of, args)
	if s == nil || s.kernel != of || s.words != c.words || rt.Closed.Load() {
		return false
	}
	name := s.name
	for i := range options {
		switch o := &options[i]; o.what() {
		case labelOption:
			name = o.text()
		case priorityOption, costOption:
		default:
			return false
		}
	}
	var blocks [SkipBlocks]BlockAccess
	for i := range s.n {
		a := &s.accesses[i]
		number, ok := k.find(rt, c.at[a.argument], int64(c.words[a.argument]), of.Given[a.argument].Type.Elem.Size)
		if !ok {
			return false
		}
		for j := range i {
			if blocks[j].Block() == number {
				return false
			}
		}
		blocks[i] = BlockAccess(number<<8 | uint64(a.mode))
	}
	return k.of.Skip(name, s.n, blocks[0], blocks[1], blocks[2])
}

// learn notes the shape of a call that was described, if it can be recognised.
func (k *skipper) learn(r *engine.Record, args []any, options []Option) {
	var c call
	s := k.read(&c, r.Kernel, args)
	if s == nil || r.Kernel.Reduces || r.Kernel.IR.Copies || r.Traits.Is(life.OrderOnly) || len(r.Accesses) > SkipBlocks || len(r.Args.List) != len(args) {
		return
	}
	for i := range options {
		if w := options[i].what(); w != priorityOption && w != costOption {
			return
		}
	}
	made := callShape{kernel: r.Kernel, name: r.Name(), words: c.words, n: len(r.Accesses)}
	found := uint64(0)
	for i := range r.Accesses {
		argument, ok := wholeArgument(r, &r.Accesses[i], found)
		if !ok {
			return
		}
		found |= 1 << argument
		made.accesses[i].argument, made.accesses[i].mode = uint8(argument), r.Accesses[i].Mode
	}
	for i := range args {
		if values.IsMemory(r.Kernel.Given[i].Type) && found>>i&1 == 0 {
			return
		}
	}
	*s = made
}

// wholeArgument returns the argument whose elements are those of an access, of those not in found.
func wholeArgument(r *engine.Record, a *deps.Access, found uint64) (argument int, ok bool) {
	lo, hi := a.Region.Bounds()
	if a.Mode > deps.InOut || !a.Region.Contiguous() {
		return 0, false
	}
	for i := range r.Args.List {
		x := &r.Args.List[i]
		if !values.IsMemory(x.Type) || found>>i&1 != 0 {
			continue
		}
		if first := int64(x.Offset / x.Type.Elem.Size); x.Buffer == a.Region.Buffer && first == lo && first+x.Len == hi {
			return i, true
		}
	}
	return 0, false
}

// A Reducer is the operator of a reduction of a Submission.
type Reducer struct {
	Access int
	op     *operator.Reducer
}

// Fill writes the neutral element to region r of the buffer whose memory is data.
func (o *Reducer) Fill(data []byte, r deps.Region) { o.op.Fill(values.BlobAddress(data), r) }

// Fold combines region r of src into that of dst. Both slices are the memory of a whole buffer.
func (o *Reducer) Fold(dst, src []byte, r deps.Region) {
	o.op.Fold(values.BlobAddress(dst), values.BlobAddress(src), r)
}

// LocalTasks submits tasks of this rank only, for example to send and receive. They are ordered
// with the tasks of the program.
type LocalTasks struct{ rt *engine.Runtime }

// Go submits a task with accesses whose body has a Scope.
func (l *LocalTasks) Go(label string, accesses []deps.Access, priority int, body func(*Scope) error) error {
	return l.submit(label, accesses, priority, body, false)
}

// GoInPlace is Go for a task whose data stay where they are: its body accesses them by Hold.
func (l *LocalTasks) GoInPlace(label string, accesses []deps.Access, priority int, body func(*Scope) error) error {
	return l.submit(label, accesses, priority, body, true)
}

// A Held is data that a task holds where they are.
type Held struct {
	// Address is that of the first element in the memory of an accelerator, 0 if the host has the
	// data.
	Address uintptr
	on      devices.Exposed
	set     machine.WorkingSet
	of      *engine.Runtime
}

// Current makes the accelerator of the data the current one of the calling thread.
func (h *Held) Current() error { return h.on.Current() }

// Release ends the use of the data. With a nil err, data that were written are valid there and
// nowhere else.
func (h *Held) Release(err error) { h.of.Topology.Machine.ReleaseSet(&h.set, err) }

// Hold makes the data of an access valid where most of the program uses them, and calls then with
// them, which must not block: on the accelerator that alone has what is read, or had what is
// overwritten, if its memory has addresses; else on the host. After an error there is nothing to
// release.
func (l *LocalTasks) Hold(label string, a deps.Access, then func(*Held, error)) {
	l.hold(label, a, true, then)
}

func (l *LocalTasks) hold(label string, a deps.Access, inPlace bool, then func(*Held, error)) {
	m := l.rt.Topology.Machine
	h := &Held{of: l.rt, set: machine.WorkingSet{Accesses: []deps.Access{a}, Label: label}}
	if inPlace {
		h.set.PlaceMessage(m)
	}
	at := h.set.Space
	h.set.Ready = func(ws *machine.WorkingSet, err error) {
		if err == nil && at != devices.Host {
			h.on, h.Address, err = ws.Expose(a.Region)
		}
		if err == nil {
			then(h, nil)
			return
		}
		m.ReleaseSet(ws, err)
		if at != devices.Host { // for example without memory for it
			l.hold(label, a, false, then)
			return
		}
		then(nil, err)
	}
	if m.Acquire(&h.set) {
		then(h, nil)
	}
}

// KeepRoom keeps memory of accelerators for Hold, and reports whether the memory of one has
// addresses. It is called by World.Attach.
func (l *LocalTasks) KeepRoom() bool { return l.rt.Topology.Machine.KeepRoom() }

func (l *LocalTasks) submit(label string, accesses []deps.Access, priority int, body func(*Scope) error, inPlace bool) error {
	s := &l.rt.Root
	r, err := s.Begin(nil, engine.GoBody)
	if err != nil {
		return err
	}
	r.Need().Nested, r.Label, r.Item.Priority = body, label, priority
	for i := range accesses {
		r.Accesses = append(r.Accesses, accesses[i])
		if accesses[i].Mode >= deps.Concurrent {
			r.Traits.Set(life.Relaxed, true)
		}
		r.Work += deps.Bytes(accesses[i].Region.Len()) * l.rt.Buffers.ByID(accesses[i].Region.Buffer).Elem
	}
	r.Traits.Set(life.OrderOnly, inPlace)
	if err := describeGo(l.rt, r, nil); err != nil {
		_, err = s.Abort(r, fmt.Errorf("task: %s: %w", r.Title(), err))
		return err
	}
	s.Commit(r)
	return nil
}

// Memory describes a buffer: its local number, its bytes, and the size of an element.
type Memory struct {
	Buffer deps.BufferID
	Data   []byte
	Elem   int
}

// Memory makes the slice of an access a buffer of its own, as Register does. The slice must be
// whole: not part of a larger buffer.
func (l *LocalTasks) Memory(access Option) (Memory, error) {
	m := access.memory()
	if !access.isAccess() || access.box() != nil || access.weak() || m.Len == 0 {
		return Memory{}, errors.New("no slice with elements")
	}
	b, first, err := l.rt.Buffers.Locate(m, &l.rt.Root.Memory)
	if err != nil {
		return Memory{}, err
	}
	if first != 0 || b.Len != m.Len {
		return Memory{}, fmt.Errorf("elements %d to %d of a buffer of %d: the slice must be all of its memory", first, first+m.Len, b.Len)
	}
	b.Kept.Store(true)
	return Memory{b.ID, engine.BytesAt(b, 0, b.Len), int(b.Elem)}, nil
}

// Region returns the region of an access.
func (l *LocalTasks) Region(access Option) (deps.Region, error) {
	r := &engine.Record{Detail: &engine.Detail{RT: l.rt}, Scope: &l.rt.Root, Kind: engine.KernelBody}
	if err := addAccess(&l.rt.Buffers, r, &access); err != nil || len(r.Accesses) == 0 {
		return deps.Region{}, err
	}
	return r.Accesses[0].Region, nil
}

// Observed reports whether observers of the runtime want what Observe gives them: messages, and the
// clocks of ranks. Now is the time of their points, and TaskOf the task whose body has a Scope.
func (l *LocalTasks) Observed() bool { return l.rt.Observers.Recorder != nil }

func (l *LocalTasks) Observe(p probe.Point) { l.rt.Observers.Recorder.Observe(p) }

func (l *LocalTasks) Now() time.Duration { return l.rt.Observers.Now() }

func (l *LocalTasks) TaskOf(s *Scope) deps.TaskID { return s.core.ID() }

// rankOf returns the rank of a world, and how many there are: 0 where it does not say.
func rankOf(w World) (rank, ranks int) {
	if of, ok := w.(interface {
		Rank() int
		Size() int
	}); ok {
		return of.Rank(), of.Size()
	}
	return 0, 0
}

// Cancel ends the runtime: tasks that have not started fail with cause.
func (l *LocalTasks) Cancel(cause error) { l.rt.Cancel(cause) }

// WaitOn waits for accesses on this rank alone.
func (l *LocalTasks) WaitOn(ctx context.Context, accesses ...Option) error {
	return waitOn(&l.rt.Root, "Runtime.WaitOn", ctx, accesses)
}

// OnRank has the task run on a rank of the runtime's World, in place of the one that owns what it
// writes. A runtime without a World is rank 0, and ignores it.
func OnRank(rank int) Option { return Option{kind: rankOption, n: int64(rank)} }

// placeInWorld asks the world of the runtime where r runs. It reports false where that is another
// rank, or err is not nil: then r is to be given back. Requires: submitting held, which is given up
// meanwhile: the world may submit tasks that come before r.
func placeInWorld(s *engine.Scope, r *engine.Record) (here bool, err error) {
	if r.Kind.Waits() {
		return true, nil
	}
	t := Submission{Name: r.Name(), Origin: r.Origin, Rank: int(r.Rank) - 1, Priority: r.Item.Priority, Accesses: r.Accesses}
	for i := range r.Uses {
		t.Reducers = append(t.Reducers, Reducer{r.Uses[i].Access, r.Uses[i].Group.Op})
	}
	s.Submitting.Unlock()
	here, err = s.RT.World.(World).Submit(&t)
	if again := s.LockSubmission(s.RT.ContextOf(r.Group)); again != nil {
		spin.Lock(&s.Submitting) // for a caller that gives up
		if err == nil {
			err = again
		}
	}
	if err != nil {
		return false, fmt.Errorf("task: %s: %w", r.Title(), err)
	}
	return here, nil
}

// shareInWorld brings what accesses name to all ranks.
func shareInWorld(rt *engine.Runtime, accesses []Option) error {
	var list []deps.Access
	for i := range accesses {
		if !accesses[i].isAccess() {
			continue
		}
		region, err := (&LocalTasks{rt}).Region(accesses[i])
		if err != nil {
			return fmt.Errorf("task: wait on: %w", err)
		}
		if !region.Empty() {
			list = append(list, deps.Access{Region: region, Mode: deps.In})
		}
	}
	return rt.World.(World).Share(list)
}

// errOtherRank means that a value was computed on another rank.
var errOtherRank = errors.New("task: value: its task ran on another rank: the value is there alone; a buffer has it on all ranks after WaitOn")

// errNoReplay means that iterations are not recorded in a world.
var errNoReplay = errors.New("task: a recorded iteration in a runtime of several ranks: there is none yet; submit its tasks each time")
