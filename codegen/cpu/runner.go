package cpu

import (
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
)

// callTime is how long one call of generated code shall take: the goroutine can be stopped between calls only. What is expected to be one
// call is timed only now and then.
const (
	callTime = 50 * time.Microsecond
	seldom   = 16
)

// A Runner runs a program in calls of about 50 microseconds, between which the goroutine can be stopped. Any number of goroutines may use
// it at once; they share what it has learnt about the time of an iteration.
type Runner struct {
	program  *Program
	variants *variants              // nil: there is but one program
	pace     []atomic.Int64         // of every stage: picoseconds that an iteration took lately
	idle     atomic.Pointer[launch] // one that nobody uses; quicker than the pool
	pool     sync.Pool
}

// NewRunner returns a runner of p.
func NewRunner(p *Program) *Runner {
	return &Runner{program: p, pace: make([]atomic.Int64, len(p.Code.stages)), pool: sync.Pool{New: func() any { return new(launch) }}}
}

// Program is what the runner runs.
func (r *Runner) Program() *Program { return r.program }

// ProgramFor is what the runner runs for these arguments.
func (r *Runner) ProgramFor(args []Value) *Program { return r.choose(args) }

// A launch is one run of a kernel: its arguments and the variables that outlive a stage.
type launch struct {
	block   block
	loop    Loop
	untimed int  // short calls since the last that was timed
	ended   bool // nothing uses the launch any more
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

// A Loop is a parallel loop of a launch, whose iterations may be run in any chunks and on any goroutines.
type Loop struct {
	Trips   int64
	runner  *Runner
	program *Program
	number  int // of the stage
	pace    *atomic.Int64
	stage   *stage
	master  *block

	mu sync.Mutex // guards the words of reductions in master
}

// Call runs the kernel. Every parallel loop is handed to share, which must have run all its iterations when it returns; nil runs them here.
// The caller keeps what the arguments point at alive. A failed check is a *BoundsError, a fault a *FaultError. With share nil it does not
// allocate.
func (r *Runner) Call(args []Value, share func(*Loop) error) (err error) {
	l, p := r.take(), r.choose(args)
	defer r.watched(l, p.Code, debug.SetPanicOnFault(true), &err)
	err = r.stages(p, l, args, share)
	l.ended = true
	return err
}

func (r *Runner) stages(p *Program, l *launch, args []Value, share func(*Loop) error) error {
	l.block.bind(p.Code.params, args)
	for i, s := range p.Code.stages {
		if s.count.set {
			l.block[wordTrips] = uint64(s.count.trips(&l.block))
			continue
		}
		if s.loop == nil {
			if err := p.run(i, &l.block, 0, 0); err != nil {
				return err
			}
			if l.block[wordStatus] == statusReturned {
				return nil
			}
			continue
		}
		l.loop.Trips, l.loop.runner, l.loop.program, l.loop.number = int64(l.block[wordTrips]), r, p, i
		l.loop.pace, l.loop.stage, l.loop.master = &r.pace[i], s, &l.block
		if l.loop.Trips <= 0 {
			continue
		}
		if err := l.all(share); err != nil {
			return err
		}
	}
	return nil
}

func (l *launch) all(share func(*Loop) error) error {
	switch {
	case share != nil && !l.loop.stage.alone:
		return share(&l.loop)
	case len(l.loop.stage.sums) > 0:
		return l.loop.Run(0, l.loop.Trips)
	}
	return l.loop.run(l, 0, l.loop.Trips)
}

// Each is how long an iteration took lately, 0 before the first run.
func (l *Loop) Each() (picoseconds int64) { return l.pace.Load() }

// Batch is the least number of iterations that keeps every vector of a round busy.
func (l *Loop) Batch() int64 { return l.stage.round }

// Grain is how many iterations take about the time of a call, in whole rounds; at least one.
func (l *Loop) Grain() int64 {
	each, round := l.pace.Load(), l.stage.round
	if each == 0 {
		return round
	}
	n := int64(callTime) * 1000 / each
	if n < round {
		return round
	}
	return n / round * round
}

// Run runs iterations [lo, hi), on a block of its own.
func (l *Loop) Run(lo, hi int64) (err error) {
	r := l.runner
	own := r.take()
	defer r.watched(own, l.program.Code, debug.SetPanicOnFault(true), &err)
	err = l.onBlock(own, lo, hi)
	own.ended = true
	return err
}

func (l *Loop) onBlock(own *launch, lo, hi int64) error {
	r := l.runner
	l.mu.Lock()
	copy(own.block[wordParams:r.program.Code.words], l.master[wordParams:])
	l.mu.Unlock()
	if len(l.stage.sums) == 0 {
		return l.run(own, lo, hi)
	}
	for lo < hi {
		end := min(hi, lo+l.Grain())
		if err := l.run(own, lo, end); err != nil {
			return err
		}
		l.mu.Lock()
		for _, s := range l.stage.sums {
			l.master[s.word] = s.combine(l.master[s.word], own.block[s.word])
		}
		l.mu.Unlock()
		lo = end
	}
	return nil
}

// run makes calls of about callTime on the block of own, which no other goroutine uses meanwhile. With reductions, [lo, hi) is one call.
func (l *Loop) run(own *launch, lo, hi int64) error {
	p, b := l.program, &own.block
	each := l.pace.Load()
	if each > 0 && (hi-lo)*each < int64(callTime)*1000 {
		if own.untimed++; own.untimed%seldom != 0 {
			return p.run(l.number, b, lo, hi)
		}
	}
	for lo < hi {
		end := min(hi, lo+l.Grain())
		began := time.Now()
		if err := p.run(l.number, b, lo, end); err != nil {
			return err
		}
		l.pace.Store(max(1, int64(time.Since(began))*1000/(end-lo)))
		lo = end
	}
	return nil
}

// combine is x op y on the bits of two values.
func (s leagueSum) combine(x, y uint64) uint64 {
	switch {
	case s.t.Kind == ir.Float32:
		return uint64(math.Float32bits(combineFloats(s.op, math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y)))))
	case s.t.Kind == ir.Float64:
		return math.Float64bits(combineFloats(s.op, math.Float64frombits(x), math.Float64frombits(y)))
	case s.t.IsSigned():
		return uint64(generalIdentity(uint64(combineIntegers(s.op, int64(x), int64(y))), s.t))
	}
	return uint64(generalIdentity(combineIntegers(s.op, x, y), s.t))
}

func combineFloats[T float32 | float64](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Mul:
		return x * y
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	}
	panic("gompss: bug: cpu: reduction of floats with " + op.String())
}

func combineIntegers[T int64 | uint64](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Mul:
		return x * y
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	case ir.And:
		return x & y
	case ir.Or:
		return x | y
	case ir.Xor:
		return x ^ y
	}
	panic("gompss: bug: cpu: reduction of integers with " + op.String())
}
