package simt

import (
	"github.com/gompss/gompss/codegen/ir"
)

func (m *machine) copy(dst, src uint64, size int64, pc int) {
	if m.race != nil {
		m.race.read(src, size, pc)
		m.race.write(dst, size, pc)
	}
	copy(m.bytes(dst, size), m.bytes(src, size))
}

func (m *machine) zero(p uint64, size int64, pc int) {
	if m.race != nil {
		m.race.write(p, size, pc)
	}
	clear(m.bytes(p, size))
}

// slice computes a part of a slice or array; it reports false where a bound is out of range.
func (m *machine) slice(in *instr, regs []uint64) bool {
	s := &m.code.slices[in.imm]
	lo, hi, most, limit := s.bounds(in, regs)
	if most > limit || hi > most || lo > hi { // unsigned: a bound below zero is too large
		return false
	}
	base := regs[in.b]
	regs[in.a], regs[in.a+1], regs[in.a+2] = base+lo*uint64(s.size), hi-lo, most-lo
	return true
}

// bounds returns the bounds of a slice expression and the capacity of what is sliced.
func (s *slicing) bounds(in *instr, regs []uint64) (lo, hi, most, limit uint64) {
	if s.length >= 0 {
		hi, limit = uint64(s.length), uint64(s.length)
	} else {
		hi, limit = regs[in.b+1], regs[in.b+2]
	}
	most = limit
	if s.lo >= 0 {
		lo = regs[s.lo]
	}
	if s.hi >= 0 {
		hi = regs[s.hi]
	}
	if s.max >= 0 {
		most = regs[s.max]
	}
	return lo, hi, most, limit
}

// atomic does one indivisible operation; a is the register for the old or new value, b the address,
// c the value.
func (m *machine) atomic(in *instr, regs []uint64, pc int) bool {
	x := &m.code.atomics[in.imm]
	t := x.Place.Type()
	p := regs[in.b]
	b := m.bytes(p, int64(t.Size))
	old := ir.LoadBits(t, b)
	value, writes, err := x.apply(t, old, regs[in.c], regs[x.compare])
	if err != nil {
		return false
	}
	if m.race != nil {
		m.race.atomic(p, int64(t.Size), pc, writes, x.Ordered)
	}
	if writes {
		ir.StoreBits(t, b, value)
	}
	regs[in.a] = old
	if x.After {
		regs[in.a] = value
	}
	m.atomics++
	return true
}

// apply returns what the operation leaves in memory and whether it writes at all.
func (x *atomicOp) apply(t *ir.Type, old, value, compare uint64) (ir.Bits, bool, error) {
	switch {
	case x.Kind == ir.AtomicRead:
		return old, false, nil
	case x.Kind == ir.AtomicWrite || x.Op == ir.NoOp && x.Kind == ir.AtomicCapture:
		return value, true, nil
	case x.Kind == ir.AtomicCompare:
		same, err := ir.FoldBinary(ir.Eq, t, t, old, compare)
		if same == 0 {
			return old, false, err
		}
		return value, true, err
	case x.Swapped:
		r, err := ir.FoldBinary(x.Op, t, t, value, old)
		return r, true, err
	}
	r, err := ir.FoldBinary(x.Op, t, x.Value.Type(), old, value)
	return r, true, err
}
