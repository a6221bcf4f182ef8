package simt

import "github.com/gompss/gompss/codegen/ir"

// where says where thread t is when it executes the instruction at pc.
func (m *machine) where(t *thread, pc int) Where {
	return Where{Kernel: m.program.Name, Launch: m.code.launch.Name, At: m.code.at[pc], Team: m.team, Thread: t.id}
}

// fail records what is wrong with the instruction before pc.
func (m *machine) fail(t *thread, pc int, n int64) status {
	m.count = n
	pc--
	t.pc = int32(pc)
	m.err = m.fault(t, pc)
	return failed
}

func (m *machine) fault(t *thread, pc int) error {
	in, site, w := &m.code.ins[pc], m.code.site[pc], m.where(t, pc)
	switch in.op {
	case opDivS, opDivU, opRemS, opRemU:
		return &DivideError{Where: w, Expr: ir.Source(site)}
	case opNegative:
		return &ShiftError{Where: w, Expr: ir.Source(site), Count: int64(t.regs[in.b])}
	case opNil:
		return &NilError{Where: w, Pointer: ir.Source(site)}
	case opStep:
		return &StepError{Where: w, Step: int64(t.regs[in.b]), Rel: ir.Op(in.imm)}
	case opSlice:
		return m.sliceFault(in, t.regs, site, w)
	case opElemArray:
		return indexFault(w, site, t.regs[in.c], m.code.arrays[in.imm].length)
	case opAtomic:
		return m.atomicFault(in, t.regs, site, w)
	}
	return indexFault(w, elementOf(site), t.regs[in.c], int64(t.regs[in.b+1]))
}

func indexFault(w Where, site ir.Expr, index uint64, length int64) error {
	e := &BoundsError{Where: w, Index: int64(index), Length: length}
	if x, ok := site.(*ir.Index); ok {
		e.Slice = ir.Source(x.X)
		e.At = x.At
	}
	return e
}

func (m *machine) sliceFault(in *instr, regs []uint64, site ir.Expr, w Where) error {
	lo, hi, most, limit := m.code.slices[in.imm].bounds(in, regs)
	e := &BoundsError{Where: w, Slice: ir.Source(site), Bound: true}
	switch {
	case most > limit:
		e.Index, e.Length = int64(most), int64(limit)
	case hi > most:
		e.Index, e.Length = int64(hi), int64(most)
	default:
		e.Index, e.Length = int64(lo), int64(hi)
	}
	return e
}

func (m *machine) atomicFault(in *instr, regs []uint64, site ir.Expr, w Where) error {
	x := &m.code.atomics[in.imm]
	if x.Op == ir.Div {
		return &DivideError{Where: w, Expr: "atomic update of " + ir.Source(site)}
	}
	return &ShiftError{Where: w, Expr: "atomic update of " + ir.Source(site), Count: int64(regs[in.c])}
}
