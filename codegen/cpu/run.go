package cpu

import (
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// A Value is one actual argument of a run: a scalar as bits, or a slice as address and length. Its capacity is its length, unless Cap is more.
type Value struct {
	Bits uint64
	Addr unsafe.Pointer
	Len  int64
	Cap  int64
}

// A Program is compiled code in executable memory, ready to run. It may run on any number of goroutines at once.
type Program struct {
	Code      *Code
	entry     uintptr
	otherwise *Program     // runs what this one cannot; nil: it can run everything
	direct    uintptr      // the code of the one loop of a plain kernel; 0: it is not plain
	from      int64        // where that loop begins,
	until     int          // and the word of where it ends; 0: counting is more than that
	rounds    atomic.Int64 // of inner loops between two pauses
}

// Install puts code into the arena.
func (a *Arena) Install(c *Code) (*Program, error) {
	entry, err := a.Add(c.Bytes)
	if err != nil {
		return nil, err
	}
	p := &Program{Code: c, entry: entry}
	p.rounds.Store(pauseRounds)
	if c.plain && !c.far && c.scratch == 0 && c.spill == 0 && len(c.caps) == 0 {
		p.direct = entry + uintptr(c.stages[1].entry)
		if n := c.stages[0].count; n.lo == 0 && n.step == 1 && !n.inclusive {
			p.from, p.until = n.loConst, n.hi
		}
	}
	return p, nil
}

// InstallPast puts code that stores past the caches into the arena: these stores must be aligned, so where a chunk is not, otherwise runs it.
func (a *Arena) InstallPast(c *Code, otherwise *Program) (*Program, error) {
	p, err := a.Install(c)
	if err == nil {
		p.otherwise = otherwise
	}
	return p, err
}

// A slot is how one argument goes into the block.
type slot struct {
	slice bool
	size  int64 // of an element
}

func slotsOf(params []*ir.Var) []slot {
	out := make([]slot, len(params))
	for i, v := range params {
		if v.Type.Kind == ir.Slice {
			out[i] = slot{true, int64(v.Type.Elem.Size)}
		}
	}
	return out
}

// bindArgs puts the arguments into the block and returns how many bytes their slices have.
//
// Safe: there are as many arguments as slots, and the words of all parameters are in the block: Compile has counted them. A copy of address
// and length at once is twice as fast as one by one, and these copies are a good part of a short call.
func bindArgs(b *block, slots []slot, args []Value) (bytes int64) {
	args = args[:len(slots)]
	to := uintptr(8 * wordParams)
	for i := range slots {
		a, at := &args[i], unsafe.Add(unsafe.Pointer(b), to)
		if !slots[i].slice {
			*(*uint64)(at) = a.Bits
			to += 8
			continue
		}
		*(*[2]uint64)(at) = *(*[2]uint64)(unsafe.Pointer(&a.Addr))
		bytes += a.Len * slots[i].size
		to += 16
	}
	return bytes
}

// boundBytes is how many bytes the slices have that were bound.
func boundBytes(b *block, slots []slot) (bytes int64) {
	word := wordParams
	for _, s := range slots {
		if word++; s.slice {
			bytes += int64(b[word]) * s.size
			word++
		}
	}
	return bytes
}

// bindCaps puts the capacities that the kernel asks for behind the arguments.
func bindCaps(b *block, c *Code, args []Value) {
	at := wordParams
	for _, v := range c.params {
		if at++; v.Type.Kind == ir.Slice {
			at++
		}
	}
	for k, i := range c.caps {
		b[at+k] = uint64(max(args[i].Len, args[i].Cap))
	}
}

// run calls the code of a stage for iterations [lo, hi), and does what it asks for on the way.
func (p *Program) run(i int, l *launch, lo, hi int64) error {
	s, b := p.Code.stages[i], l.block
	if p.Code.far {
		if s.copies.size > 0 && !(halves512 && len(p.Code.past) > 0 && p.Code.aligned(b, lo)) && movePast(s.copies, b, lo, hi) {
			return nil
		}
		if p.otherwise != nil && !p.Code.aligned(b, lo) {
			p = p.otherwise
			s = p.Code.stages[i]
		}
	}
	if enter(b, p.entry+uintptr(s.entry), lo, hi, p.rounds.Load()) {
		return nil
	}
	return p.goOn(s, l)
}

// enter calls the code at an address and reports whether it ran to its end.
func enter(b *block, at uintptr, lo, hi, rounds int64) bool {
	b[wordLo], b[wordHi], b[wordBudget], b[wordStatus] = uint64(lo), uint64(hi), uint64(rounds), statusRunning
	call(at, unsafe.Pointer(b))
	return b[wordStatus] == statusDone
}

// goOn does what a stage asks for, and calls it again until it has run to its end.
func (p *Program) goOn(s *stage, l *launch) error {
	b := l.block
	var last time.Time // of a pause
	for {
		st := b[wordStatus]
		if st == statusDone || st == statusReturned {
			return nil
		}
		switch site := &p.Code.sites[st-1]; site.kind {
		case siteLanes:
			if err := site.compute(b); err != nil {
				return &ir.EvalError{At: site.at, What: p.Code.Kernel.Name, Err: err}
			}
		case sitePause: // calling again is what lets others in
			now := time.Now()
			if !last.IsZero() {
				p.paused(now.Sub(last))
			}
			last = now
			b[wordBudget] = uint64(p.rounds.Load())
		case siteShare:
			if err := p.shareNested(site.stage, l); err != nil {
				return err
			}
		default:
			return p.failure(b)
		}
		b[wordStatus] = statusRunning
		call(p.entry+uintptr(s.resume), unsafe.Pointer(b))
	}
}

// failure makes an error of what the code reported. The access was not made, what the kernel had written before is undefined.
func (p *Program) failure(b *block) error {
	s := &p.Code.sites[b[wordStatus]-1]
	e := p.checkError(s)
	if s.kind == siteArith {
		return e
	}
	e.Index, e.Length, e.Unsigned = int64(b[wordIndex]), int64(b[wordLen]), s.wide
	if s.bytes > 0 {
		lane := bits.TrailingZeros64(b[wordBits])
		e.Index = s.indexIn(b, lane)
		if s.limits {
			e.Length = int64(b[wordLanes+8+lane])
		}
	}
	if s.part {
		e.Kind = ir.SliceCheck
		e.Length-- // the check is that the bound is below it
	}
	return e
}

// checkError is the error of a site without its numbers.
func (p *Program) checkError(s *site) *ir.CheckError {
	return &ir.CheckError{Kernel: p.Code.Kernel.Name, At: s.at, Kind: s.check, What: s.what}
}
