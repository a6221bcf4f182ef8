package mach

import (
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// bitset is a set of numbers.
type bitset []uint64

func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) clear(i int)    { b[i/64] &^= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// each calls f with every number in the set.
func (b bitset) each(f func(i int)) {
	for k, w := range b {
		for ; w != 0; w &= w - 1 {
			f(64*k + bits.TrailingZeros64(w))
		}
	}
}

// A span is a basic block: steps [lo, hi).
type span struct {
	lo, hi int
	next   []int // successor blocks
	in     bitset
	out    bitset
}

// A flow knows which values are needed where in the code.
type flow struct{ *Code }

// blocks cuts the code at labels and jumps.
func (c *flow) blocks() []span {
	at := make([]int, c.labels) // label -> block
	var out []span
	lo := 0
	cut := func(hi int) {
		if hi > lo {
			out = append(out, span{lo: lo, hi: hi})
		}
		lo = hi
	}
	for i := range c.steps {
		switch c.steps[i].kind {
		case StepLabel:
			cut(i)
			at[c.steps[i].label] = len(out)
		case StepJump, StepReturn, StepResume:
			cut(i + 1)
		}
	}
	cut(len(c.steps))
	for b := range out {
		last := &c.steps[out[b].hi-1]
		falls := last.kind != StepReturn && last.kind != StepResume && !(last.kind == StepJump && last.cond == Always)
		if falls && b+1 < len(out) {
			out[b].next = append(out[b].next, b+1)
		}
		if last.kind == StepJump {
			out[b].next = append(out[b].next, at[last.label])
		}
	}
	return out
}

// An interval is the stretch of code over which a virtual register holds a value, with what it
// costs to spill it.
type interval struct {
	reg    vcode.Reg
	lo, hi int // steps, inclusive
	weight float64
	slot   int // spill slot, or -1
	phys   vcode.Reg
}

// intervals computes one covering interval for every virtual register that is used.
func (c *flow) intervals() []interval {
	blocks := c.blocks()
	live := c.solve(blocks)
	all := make([]interval, len(c.classes))
	for i := range all {
		all[i] = interval{reg: vcode.FirstVirtual + vcode.Reg(i), lo: -1, slot: -1, phys: vcode.NoReg}
	}
	depth := c.loopDepth(blocks)
	c.deepest = min(max(1, slices.Max(append(depth, 0))), 2)
	begins := c.lay(blocks)
	for b := range blocks {
		s := &blocks[b]
		shift := begins[b] - s.lo
		live.each(s.in, func(r int) { all[r].cover(begins[b]) })
		live.each(s.out, func(r int) { all[r].cover(s.hi - 1 + shift) })
		w := 1.0
		for range min(depth[b], 4) {
			w *= 8
		}
		if c.cold > 0 && s.lo >= c.cold {
			w = 1.0 / 64
		}
		for i := s.lo; i < s.hi; i++ {
			c.steps[i].visit(func(r *vcode.Reg, _, _ bool) {
				if r.IsVirtual() {
					v := &all[*r-vcode.FirstVirtual]
					v.cover(i + shift)
					v.weight += w
				}
			})
		}
	}
	used := all[:0]
	for _, v := range all {
		if v.lo >= 0 {
			if c.yields[v.reg] {
				v.weight = 0
			}
			used = append(used, v)
		}
	}
	return used
}

// lay puts the blocks into the order in which registers are given out, and returns where each
// begins: those that are seldom run stand behind the first jump to them, so that what only a report
// needs does not occupy a register from there to the end of the code.
func (c *flow) lay(blocks []span) (begins []int) {
	begins = make([]int, len(blocks))
	c.order = make([]int, 0, len(c.steps))
	laid := make([]bool, len(blocks))
	var put func(b int)
	put = func(b int) {
		if laid[b] {
			return
		}
		laid[b] = true
		begins[b] = len(c.order)
		for i := blocks[b].lo; i < blocks[b].hi; i++ {
			c.order = append(c.order, i)
		}
		for _, next := range slices.Backward(blocks[b].next) { // where it jumps to, and what follows
			if c.cold > 0 && blocks[next].lo >= c.cold {
				put(next)
			}
		}
	}
	for b := range blocks {
		put(b)
	}
	return begins
}

func (v *interval) cover(i int) {
	if v.lo < 0 || i < v.lo {
		v.lo = i
	}
	v.hi = max(v.hi, i)
}

// A liveness is which values are needed where blocks begin and end. Of the virtual registers it
// numbers those that some block reads before it writes them: no other has a value there. Their
// numbers are what span.in and span.out hold.
type liveness struct {
	numbers []int // of each virtual register, -1 for none
	regs    []int // the virtual register of each number
	blocks  []span
	writes  []bitset // what each block writes
	needs   []need
}

// A need is a block and the number of a register whose value it begins with.
type need struct{ block, number int }

// each calls f with every virtual register whose number is in the set.
func (l *liveness) each(set bitset, f func(r int)) {
	set.each(func(n int) { f(l.regs[n]) })
}

// begins reports whether a block begins with a value in virtual register r.
func (l *liveness) begins(b *span, r int) bool {
	n := l.numbers[r]
	return n >= 0 && b.in.has(n)
}

// solve fills in and out of every block.
//
// Cost: linear in the steps, and a set of the numbered registers a block.
func (c *flow) solve(blocks []span) *liveness {
	l := &liveness{numbers: make([]int, len(c.classes)), blocks: blocks, writes: make([]bitset, len(blocks))}
	for r := range l.numbers {
		l.numbers[r] = -1
	}
	defs := c.exposed(l)
	words := (len(l.regs) + 63) / 64
	room := make(bitset, 3*words*len(blocks))
	set := func() (s bitset) {
		s, room = room[:words:words], room[words:]
		return s
	}
	for b := range blocks {
		blocks[b].in, blocks[b].out, l.writes[b] = set(), set(), set()
		for _, r := range defs[b] {
			if n := l.numbers[r]; n >= 0 {
				l.writes[b].set(n)
			}
		}
	}
	l.spread()
	return l
}

// exposed numbers the registers that blocks read before they write them, notes the needs of these
// blocks, and returns what each block writes.
func (c *flow) exposed(l *liveness) (defs [][]int) {
	defs = make([][]int, len(l.blocks))
	writtenIn, readIn := make([]int, len(c.classes)), make([]int, len(c.classes)) // block + 1
	for b := range l.blocks {
		for i := l.blocks[b].lo; i < l.blocks[b].hi; i++ {
			before := len(defs[b])
			c.steps[i].visit(func(r *vcode.Reg, u, d bool) {
				if !r.IsVirtual() {
					return
				}
				n := int(*r - vcode.FirstVirtual)
				switch {
				case u && writtenIn[n] != b+1 && readIn[n] != b+1:
					readIn[n] = b + 1
					l.need(b, n)
				case d && !u:
					defs[b] = append(defs[b], n)
				}
			})
			for _, n := range defs[b][before:] { // a step reads before it writes
				writtenIn[n] = b + 1
			}
		}
	}
	return defs
}

// need numbers register r and notes the need of block b.
func (l *liveness) need(b, r int) {
	if l.numbers[r] < 0 {
		l.numbers[r] = len(l.regs)
		l.regs = append(l.regs, r)
	}
	l.needs = append(l.needs, need{b, l.numbers[r]})
}

// spread carries the needs to the blocks before, to the fixed point of backward dataflow.
func (l *liveness) spread() {
	for _, n := range l.needs {
		l.blocks[n.block].in.set(n.number)
	}
	before := make([][]int, len(l.blocks))
	grown := make([]bool, len(l.blocks)) // what a block behind begins with, since the last look
	for b := range l.blocks {
		grown[b] = true
		for _, n := range l.blocks[b].next {
			before[n] = append(before[n], b)
		}
	}
	for again := true; again; {
		again = false
		for b := len(l.blocks) - 1; b >= 0; b-- {
			if !grown[b] {
				continue
			}
			grown[b] = false
			if l.carry(b) {
				for _, p := range before[b] {
					grown[p], again = true, true
				}
			}
		}
	}
}

// carry makes block b end with what the blocks behind begin with, and reports whether it now begins
// with more.
func (l *liveness) carry(b int) (more bool) {
	s := &l.blocks[b]
	for _, n := range s.next {
		for i, w := range l.blocks[n].in {
			s.out[i] |= w
		}
	}
	for i, w := range s.out {
		if v := s.in[i] | w&^l.writes[b][i]; v != s.in[i] {
			s.in[i], more = v, true
		}
	}
	return more
}

// loopDepth counts, for every block, the loops around it.
func (c *flow) loopDepth(blocks []span) []int {
	depth := make([]int, len(blocks))
	for b := range blocks {
		if !c.steps[blocks[b].hi-1].back {
			continue
		}
		for _, n := range blocks[b].next {
			for i := n; n <= b && i <= b; i++ {
				depth[i]++
			}
		}
	}
	return depth
}
