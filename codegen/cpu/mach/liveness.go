package mach

import (
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/x86"
)

// bitset is a set of virtual registers.
type bitset []uint64

func (b bitset) set(i int)   { b[i/64] |= 1 << (i % 64) }
func (b bitset) clear(i int) { b[i/64] &^= 1 << (i % 64) }
func (b bitset) or(c bitset) (grown bool) {
	for i := range b {
		if n := b[i] | c[i]; n != b[i] {
			b[i], grown = n, true
		}
	}
	return grown
}

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
		case stepLabel:
			cut(i)
			at[c.steps[i].label] = len(out)
		case stepJump, stepReturn, stepResume:
			cut(i + 1)
		}
	}
	cut(len(c.steps))
	for b := range out {
		last := &c.steps[out[b].hi-1]
		falls := last.kind != stepReturn && last.kind != stepResume && !(last.kind == stepJump && last.cond == Always)
		if falls && b+1 < len(out) {
			out[b].next = append(out[b].next, b+1)
		}
		if last.kind == stepJump {
			out[b].next = append(out[b].next, at[last.label])
		}
	}
	return out
}

// An interval is the stretch of code over which a virtual register holds a value, with what it
// costs to spill it.
type interval struct {
	reg    x86.Reg
	lo, hi int // steps, inclusive
	weight float64
	slot   int // spill slot, or -1
	phys   x86.Reg
}

// intervals computes one covering interval for every virtual register that is used.
func (c *flow) intervals() []interval {
	blocks := c.blocks()
	c.solve(blocks)
	all := make([]interval, len(c.classes))
	for i := range all {
		all[i] = interval{reg: x86.FirstVirtual + x86.Reg(i), lo: -1, slot: -1, phys: x86.NoReg}
	}
	depth := c.loopDepth(blocks)
	c.deepest = min(max(1, slices.Max(append(depth, 0))), 2)
	begins := c.lay(blocks)
	for b := range blocks {
		s := &blocks[b]
		shift := begins[b] - s.lo
		s.in.each(func(r int) { all[r].cover(begins[b]) })
		s.out.each(func(r int) { all[r].cover(s.hi - 1 + shift) })
		w := 1.0
		for range min(depth[b], 4) {
			w *= 8
		}
		if c.cold > 0 && s.lo >= c.cold {
			w = 1.0 / 64
		}
		for i := s.lo; i < s.hi; i++ {
			c.steps[i].visit(func(r *x86.Reg, _, _ bool) {
				if r.IsVirtual() {
					v := &all[*r-x86.FirstVirtual]
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
// begins: as they stand, or each that is seldom run behind the first jump to it, so that what only
// a report needs does not occupy a register from there to the end of the code.
func (c *flow) lay(blocks []span) (begins []int) {
	begins = make([]int, len(blocks))
	if !c.near {
		for b := range blocks {
			begins[b] = blocks[b].lo
		}
		return begins
	}
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
			if blocks[next].lo >= c.cold {
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

// solve fills in and out of every block: backward dataflow to a fixed point.
func (c *flow) solve(blocks []span) {
	use := make([]bitset, len(blocks))
	def := make([]bitset, len(blocks))
	words := (len(c.classes) + 63) / 64
	room := make(bitset, 4*words*len(blocks))
	set := func() (s bitset) {
		s, room = room[:words:words], room[words:]
		return s
	}
	for b := range blocks {
		use[b], def[b], blocks[b].in, blocks[b].out = set(), set(), set(), set()
		for i := blocks[b].hi - 1; i >= blocks[b].lo; i-- {
			c.steps[i].visit(func(r *x86.Reg, u, d bool) {
				if r.IsVirtual() && d && !u {
					use[b].clear(int(*r - x86.FirstVirtual))
					def[b].set(int(*r - x86.FirstVirtual))
				}
			})
			c.steps[i].visit(func(r *x86.Reg, u, d bool) {
				if r.IsVirtual() && u {
					use[b].set(int(*r - x86.FirstVirtual))
				}
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for b := len(blocks) - 1; b >= 0; b-- {
			s := &blocks[b]
			for _, n := range s.next {
				s.out.or(blocks[n].in)
			}
			for i := range s.in {
				if v := use[b][i] | s.out[i]&^def[b][i]; v != s.in[i] {
					s.in[i], changed = v, true
				}
			}
		}
	}
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
