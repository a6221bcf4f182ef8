package exec

import (
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// callTime is the time that one call of generated code shall take: the goroutine can be stopped
// between calls only. What is expected to be one call is timed only now and then, as asking for the
// time takes some 50 ns.
const (
	callTime = 50 * time.Microsecond
	brief    = 2 * time.Microsecond
	seldom   = 16  // calls
	seldomer = 128 // brief calls
)

// A Runner runs a program in calls of about 50 microseconds, between which the goroutine can be
// stopped. Any number of goroutines may use it at once; they share what it has learnt about the
// time of an iteration.
type Runner struct {
	program  *Program
	slots    []slot                 // of the parameters, which are the same for all variants
	variants *variants              // nil: there is but one program
	limits   [2]limit               // of the loop that stages[0] counts
	workers  int64                  // that share loops
	pace     []atomic.Int64         // of every stage: picoseconds that an iteration took lately
	locks    []lockTrials           // of every stage
	first    *atomic.Int64          // of them, of the loop of a plain kernel
	reach    int64                  // bytes up to which program is the variant to run
	idle     atomic.Pointer[launch] // an unused one; quicker than the pool
	pool     sync.Pool
}

// NewRunner returns a runner of p.
func NewRunner(p *Program) *Runner {
	r := &Runner{program: p, slots: slotsOf(p.Code.Params), pace: make([]atomic.Int64, len(p.Code.Stages)), locks: make([]lockTrials, len(p.Code.Stages)), workers: p.Code.Options.WorkerCount(), reach: math.MaxInt64,
		pool: sync.Pool{New: func() any { return newLaunch() }}}
	r.first = &r.pace[min(1, len(r.pace)-1)]
	n := &p.Code.Stages[0].Count
	r.limits = [2]limit{limitAt(r.slots, n.Lo), limitAt(r.slots, n.Hi)}
	return r
}

// Program is what the runner runs.
func (r *Runner) Program() *Program { return r.program }

// ProgramFor is what the runner runs for these arguments.
func (r *Runner) ProgramFor(args []Value) *Program {
	var b image.Block
	return r.choose(bindArgs(&b, r.slots, args))
}

// A launch is one run of a kernel: its arguments and the variables that outlive a stage.
type launch struct {
	block   *image.Block
	loop    Loop
	untimed int  // calls since the last that was timed
	busy    bool // it runs what is long, or has not come back from that
	watched bool // faults of the goroutine were panics before the call
	stopped bool // the goroutine was stopped in the call: its time tells nothing
	before  [image.MaxSums]uint64
	group   [image.MaxSums]uint64 // the values of a loop that is one group
	spill   int                   // bytes of the block for spilled values
	scratch []byte                // memory for local arrays: kept from launch to launch
	runner  *Runner               // of what runs, and of the shares of loops in its sequential code
	share   func(*Loop) error
}

// room gives the block memory for the local arrays of a program, and for its spilled values.
func (l *launch) room(p *Program) {
	need, spill := p.Code.Scratch, p.Code.Spill
	if p.otherwise != nil {
		need, spill = max(need, p.otherwise.Code.Scratch), max(spill, p.otherwise.Code.Spill)
	}
	if spill > l.spill {
		l.grow(spill)
	}
	if need == 0 {
		return
	}
	if int64(len(l.scratch)) < need+image.ScratchAlign {
		l.scratch = make([]byte, need+image.ScratchAlign)
	}
	// Safe: memory without pointers, which the launch keeps and the allocator never moves; code
	// stays in the part that was asked for.
	l.block[image.WordScratch] = uint64(image.RoundUp(int64(uintptr(unsafe.Pointer(&l.scratch[0]))), image.ScratchAlign))
}

// newLaunch puts the block at a multiple of a whole vector: the processor hands vectors that were
// stored there on to loads of lanes only where no line is split.
func newLaunch() *launch { return &launch{block: newBlock(image.SpillBytes), spill: image.SpillBytes} }

// newBlock has room for so many bytes of spilled values, and for as many as every block has.
func newBlock(spill int) *image.Block {
	room := make([]byte, image.SpillArea+max(spill, image.SpillBytes)+64)
	// Safe: the block lies in room wherever the allocator has put that, at a multiple of 64 and so
	// of 8; it has no pointers in it.
	at := -uintptr(unsafe.Pointer(&room[0])) & 63
	return (*image.Block)(unsafe.Pointer(&room[at]))
}

// grow gives the launch a larger block with the same words.
func (l *launch) grow(spill int) {
	larger := newBlock(spill)
	copy(larger[:image.MaxWords], l.block[:image.MaxWords])
	l.block, l.spill = larger, spill
}

func (r *Runner) take() *launch {
	if l := r.idle.Swap(nil); l != nil {
		return l
	}
	return r.pool.Get().(*launch)
}

func (r *Runner) giveBack(l *launch) {
	if !r.idle.CompareAndSwap(nil, l) {
		r.pool.Put(l)
	}
}

// A Loop is a parallel loop of a launch, whose iterations may be run in any chunks and on any
// goroutines.
type Loop struct {
	Trips   int64
	runner  *Runner
	program *Program
	from    int64 // the iteration of the stage that is 0 here
	end     int64 // the one behind the last
	part    int64 // iterations of the stage that are one here: more where they are reduced together
	number  int   // of the stage
	stage   *image.Stage
	master  *image.Block
	begin   [image.MaxSums][2]uint64 // the pairs that are reduced, before the loop
	parts   []byte                   // of reductions whose order shows, one after the other
	each    int64                    // bytes of one

	mu         sync.Mutex // guards the words of reductions in master, and what follows
	copies     []*copySet // of what a loop with atomics updates
	idleCopies []*copySet // of these, what no worker has
}

// Call runs the kernel. Every parallel loop that takes longer than waking a worker is handed
// to share, which must have run all its iterations when it returns; nil runs them here. The caller
// keeps what the arguments point at alive. A failed check is a *ir.CheckError, a fault a
// *FaultError. With share nil it does not allocate.
func (r *Runner) Call(args []Value, share func(*Loop) error) error {
	x := Launcher{r.take()}
	err := x.Call(r, args, share)
	r.giveBack(x.launch) // a launch that panicked is left to the collector: it may be in use
	return err
}

// A Launcher is what one goroutine calls kernels with, again and again: nothing is shared with
// others, so that no atomic instruction waits for what the kernel before has stored. The zero value
// is ready.
type Launcher struct{ launch *launch }

// Call is Runner.Call.
//
// What it does for a plain kernel is a good part of the time of a short call, and most of that is
// what it stores: while the processor writes what the kernel before has stored, one store a cycle,
// all that come after wait. So it keeps everything in registers up to the call.
func (x *Launcher) Call(r *Runner, args []Value, share func(*Loop) error) error {
	l, p := x.launch, r.program
	if l == nil || l.busy || p.direct == 0 {
		return x.long(r, args, share)
	}
	if bindArgs(l.block, r.slots, args) > r.reach || !l.short(r, p, share == nil) {
		return r.longOn(l, share)
	}
	l.enter(p.direct)
	if l.block[image.WordStatus] != image.StatusDone {
		return p.ended(l)
	}
	return nil
}

// short reports whether the plain kernel whose arguments are in the block takes one call, which
// need not be timed, and readies that. What is not alone and takes more than a brief call might be
// worth sharing.
func (l *launch) short(r *Runner, p *Program, alone bool) bool {
	b, trips := l.block, int64(0)
	if p.until > 0 {
		trips = int64(b[p.until&image.WordMask]) - p.from
	} else {
		trips = p.Code.Stages[0].Count.Trips(b)
	}
	expected := trips * r.first.Load() // picoseconds
	if expected <= 0 || l.untimed >= seldomer {
		return false
	}
	if expected >= int64(brief)*1000 && (!alone || expected >= int64(callTime)*900 || l.untimed >= seldom) {
		return false
	}
	l.untimed++
	b[image.WordLo], b[image.WordHi], b[image.WordStatus] = 0, uint64(trips), image.StatusRunning
	return true
}

// enter calls the code of a plain kernel, watched as runOn does it at half the price. A fault in it
// is what the status says then.
func (l *launch) enter(code uintptr) {
	if old := debug.SetPanicOnFault(true); old != l.watched {
		l.watched = old
	}
	defer func() {
		debug.SetPanicOnFault(l.watched)
		if l.block[image.WordStatus] == image.StatusRunning {
			caught(l.block, recover())
		}
	}()
	call(code, unsafe.Pointer(l.block))
}

// ended is the error of a plain kernel that did not run to its end.
func (p *Program) ended(l *launch) error {
	if b := l.block; b[image.WordStatus] == image.StatusFault {
		b[image.WordStatus] = image.StatusDone
		return faultAt(p.Code, b, uintptr(b[image.WordIndex]))
	}
	return p.goOnWatched(l)
}

// goOnWatched continues with a plain kernel that has stopped on its way.
func (p *Program) goOnWatched(l *launch) (err error) {
	defer watched(l, p.Code, debug.SetPanicOnFault(true), &err)
	return p.resume(p.Code.Stages[1], l)
}

// long is Call of what may take several calls of code, and of what shares loops: other kernels may
// run on this goroutine meanwhile, and get another launch.
func (x *Launcher) long(r *Runner, args []Value, share func(*Loop) error) error {
	if x.launch == nil || x.launch.busy {
		x.launch = newLaunch()
	}
	l := x.launch
	bindArgs(l.block, r.slots, args)
	if len(r.program.Code.Caps) > 0 {
		bindCaps(l.block, r.program.Code, args)
	}
	return r.longOn(l, share)
}

// longOn is long once the arguments are in the block. A launch that panicked stays busy and is left
// to the collector.
func (r *Runner) longOn(l *launch, share func(*Loop) error) error {
	p := r.choose(boundBytes(l.block, r.slots))
	if p != r.program && p.direct != 0 && l.short(r, p, share == nil) {
		l.enter(p.direct)
		if l.block[image.WordStatus] != image.StatusDone {
			return p.ended(l)
		}
		return nil
	}
	l.busy = true
	err := r.runOn(l, p, share)
	l.busy = false
	return err
}

func (r *Runner) runOn(l *launch, p *Program, share func(*Loop) error) (err error) {
	defer watched(l, p.Code, debug.SetPanicOnFault(true), &err)
	l.room(p)
	if len(p.Code.Nested) > 0 {
		l.runner, l.share = r, share
		r.setThresholds(p, l.block, share == nil)
	}
	return r.stages(p, l, share)
}

func (r *Runner) stages(p *Program, l *launch, share func(*Loop) error) error {
	for i, s := range p.Code.Stages {
		if s.Called() {
			break // they come last
		}
		if s.Count.Set {
			l.block[image.WordTrips] = uint64(s.Count.Trips(l.block))
			continue
		}
		if s.Loop == nil {
			if err := p.run(i, l, 0, 0); err != nil {
				return err
			}
			if l.block[image.WordStatus] == image.StatusReturned {
				return nil
			}
			continue
		}
		trips := int64(l.block[image.WordTrips])
		if trips <= 0 {
			continue
		}
		if err := r.loopStage(p, i, l, trips, share); err != nil {
			return err
		}
	}
	return nil
}

// loopStage runs all iterations of the parallel loop that stage i is.
func (r *Runner) loopStage(p *Program, i int, l *launch, trips int64, share func(*Loop) error) error {
	switch s := p.Code.Stages[i]; {
	case share == nil:
		return r.onOneWorker(p, i, l, 0, trips)
	case s.Alone:
		return r.atomicLoop(p, i, l, trips, share)
	}
	return r.shareLoop(p, i, l, 0, trips, share)
}

// shareLoop lets workers run iterations [from, trips) of stage i.
func (r *Runner) shareLoop(p *Program, i int, l *launch, from, trips int64, share func(*Loop) error) error {
	s, o := p.Code.Stages[i], &l.loop
	if o.part = 1; s.Order.Shows() {
		o.part = s.Order.Group(trips)
	}
	o.end = trips
	o.Trips, o.from, o.runner, o.program, o.number, o.stage, o.master = (trips-from+o.part-1)/o.part, from, r, p, i, s, l.block
	for k, x := range s.Sums {
		o.begin[k] = x.Pair(l.block)
	}
	o.openParts()
	err := share(o)
	if err == nil {
		o.foldParts()
	}
	if s.Alone {
		o.combineCopies(l.block, err == nil)
	}
	return err
}

// calls runs iterations [lo, hi) of stage i on a launch that no other goroutine uses meanwhile, in
// calls of about callTime. Reductions add to what is in their words.
func (r *Runner) calls(p *Program, i int, l *launch, lo, hi int64) error {
	s := p.Code.Stages[i]
	for lo < hi {
		end := min(hi, lo+grain(r.pace[i].Load(), s.Round))
		switch {
		case s.Order.Shows(): // the one group that there is
			end = hi
			l.aimGroups(s, hi)
		case p.Code.Options.Grain > 0:
			end = min(hi, lo+p.Code.Options.Grain)
		}
		for k, x := range s.Sums {
			l.before[k] = l.block[x.Word]
		}
		if err := r.one(p, i, l, lo, end); err != nil {
			return err
		}
		if s.Order.Groups {
			l.takeGroup(s)
		}
		for k, x := range s.Sums {
			x.Keep(l.block, l.before[k])
		}
		lo = end
	}
	return nil
}

// one makes one call, and learns from it how long an iteration takes: always where that is not
// known yet or the call is long, else now and then.
func (r *Runner) one(p *Program, i int, l *launch, lo, hi int64) error {
	if each := r.pace[i].Load(); each > 0 {
		wait := 1
		switch expected := (hi - lo) * each; {
		case expected < int64(brief)*1000:
			wait = seldomer
		case expected < int64(callTime)*900:
			wait = seldom
		}
		if l.untimed++; l.untimed < wait {
			return p.run(i, l, lo, hi)
		}
		l.untimed = 0
	}
	l.stopped = false
	began := time.Now()
	err := p.run(i, l, lo, hi)
	if each := max(1, int64(time.Since(began))*1000/(hi-lo)); !l.stopped {
		r.pace[i].Store(each)
	} else {
		r.pace[i].CompareAndSwap(0, each)
	}
	return err
}

// grain is how many iterations of so many picoseconds take about the time of a call, in whole
// rounds; at least one.
func grain(each, round int64) int64 {
	n := int64(callTime) * 1000 / max(each, 1)
	if each == 0 || n < round {
		return round
	}
	return n / round * round
}

// Each is the time that an iteration took lately, 0 before the first run.
func (l *Loop) Each() (picoseconds int64) { return l.runner.pace[l.number].Load() * l.part }

// Batch is the least number of iterations that keeps every vector of a round busy.
func (l *Loop) Batch() int64 { return max(1, l.stage.Round/l.part) }

// Grain is the number of iterations that take about the time of a call, in whole rounds; at least
// one.
func (l *Loop) Grain() int64 { return grain(l.Each(), l.Batch()) }

// Run runs iterations [lo, hi), on a block of its own.
func (l *Loop) Run(lo, hi int64) error {
	own := l.runner.take()
	err := l.onBlock(own, l.from+lo*l.part, min(l.from+hi*l.part, l.end))
	l.runner.giveBack(own)
	return err
}

func (l *Loop) onBlock(own *launch, lo, hi int64) (err error) {
	defer watched(own, l.program.Code, debug.SetPanicOnFault(true), &err)
	r := l.runner
	own.room(l.program)
	l.mu.Lock()
	copy(own.block[image.WordParams:r.program.Code.Words], l.master[image.WordParams:])
	l.mu.Unlock()
	if l.stage.Updates != nil {
		set := l.takeCopies(own.block)
		defer l.giveBackCopies(set)
		set.bind(own.block, l.stage.Updates)
	}
	for k, x := range l.stage.Sums {
		x.SetPair(own.block, l.begin[k])
	}
	if len(l.stage.Sums) == 0 {
		return r.calls(l.program, l.number, own, lo, hi)
	}
	for lo < hi {
		end := min(hi, lo+l.Grain())
		if l.stage.Order.Shows() {
			end = min(hi, lo+l.aim(own.block, lo, end-lo))
		}
		if err := r.one(l.program, l.number, own, lo, end); err != nil {
			return err
		}
		l.fold(own.block, (lo-l.from)/l.part)
		lo = end
	}
	return nil
}
