package exec

import (
	"runtime/debug"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// Size returns how much a launch with these arguments does: the iterations of its first parallel
// loop, 0 where counting them takes code, and the bytes of its slices. It costs nanoseconds, and
// compiles nothing.
func (r *Runner) Size(args []Value) (trips, bytes int64) {
	for i := range r.slots {
		if r.slots[i].slice {
			bytes += args[i].Len * r.slots[i].size
		}
	}
	n := &r.program.Code.Stages[0].Count
	if !n.Set {
		return 0, bytes
	}
	return n.Between(r.limits[0].of(args, n.LoConst), r.limits[1].of(args, n.HiConst)), bytes
}

// A limit says which argument a loop begins or ends at.
type limit struct {
	arg    int  // -1: a constant
	length bool // of the argument, which is a slice
}

func (l limit) of(args []Value, constant int64) int64 {
	switch {
	case l.arg < 0:
		return constant
	case l.length:
		return args[l.arg].Len
	}
	return int64(args[l.arg].Bits)
}

// limitAt returns the argument that bind puts into a word of the block.
func limitAt(slots []slot, word int) limit {
	at := image.WordParams
	for i, s := range slots {
		if word == at {
			return limit{arg: i}
		}
		if at++; s.slice {
			if word == at {
				return limit{arg: i, length: true}
			}
			at++
		}
	}
	return limit{arg: -1}
}

// MakeVariants compiles what a Call would compile where a size comes for the first time: no Call
// compiles anything from then on.
func (r *Runner) MakeVariants() {
	if v := r.variants; v != nil {
		if v.streams {
			v.need(cached, r.program)
		}
		v.need(faraway, r.program)
	}
}

// need returns the variant, compiled on its first use.
func (v *variants) need(at place, otherwise *Program) *Program {
	v.once[at].Do(func() {
		if v.program[at].Load() == nil {
			v.make(at, otherwise)
		}
	})
	return v.program[at].Load()
}

// OneLoop reports whether the kernel is one parallel loop without reductions whose iterations Size
// counts, so that RunPart may run some of them.
func (r *Runner) OneLoop() bool {
	c := r.program.Code
	return len(c.Stages) == 2 && c.Stages[0].Count.Set && c.Stages[1].Loop != nil && !c.Stages[1].Alone && len(c.Stages[1].Sums) == 0
}

// RunPart runs iterations [lo, hi) of a kernel that is one loop, on the calling goroutine. Errors
// are those of Call.
func (r *Runner) RunPart(args []Value, lo, hi int64) error {
	l := r.take()
	bytes := bindArgs(l.block, r.slots, args)
	if len(r.program.Code.Caps) > 0 {
		bindCaps(l.block, r.program.Code, args)
	}
	p := r.choose(bytes)
	l.block[image.WordTrips] = uint64(p.Code.Stages[0].Count.Trips(l.block))
	err := r.partOn(p, l, lo, hi)
	r.giveBack(l)
	return err
}

func (r *Runner) partOn(p *Program, l *launch, lo, hi int64) (err error) {
	defer watched(l, p.Code, debug.SetPanicOnFault(true), &err)
	l.room(p)
	return r.calls(p, 1, l, lo, hi)
}
