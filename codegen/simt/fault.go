package simt

import "github.com/gompss/gompss/codegen/ir"

// fail records what is wrong with the instruction before pc.
func (m *machine) fail(t *thread, pc int, n int64) status {
	m.count = n
	pc--
	t.pc = int32(pc)
	m.err = m.fault(t, pc)
	return failed
}

// where says where thread t is when it executes the instruction at pc.
func (r *running) where(t *thread, pc int) Where {
	return Where{Kernel: r.kernel, Launch: r.code.launch.Name, At: r.code.at[pc], Team: r.team, Thread: t.id}
}

// fault is the error of the instruction at pc, which t executes.
func (r *running) fault(t *thread, pc int) error {
	in, site := &r.code.ins[pc], r.code.site[pc]
	e := &ir.CheckError{Kernel: r.kernel, At: r.code.at[pc]}
	switch in.op {
	case opDivS, opDivU, opRemS, opRemU:
		e.Kind, e.What = ir.DivisorCheck, second(site)
	case opNegative:
		e.Kind, e.What, e.Index = ir.CountCheck, second(site), int64(t.regs[in.b])
	case opNil:
		e.Kind, e.What = ir.PointerCheck, ir.Source(site)
	case opStep:
		e.Kind, e.Index = ir.StepCheck, int64(t.regs[in.b])
	case opSlice:
		r.sliceFault(e, in, t.regs, site)
	case opElemArray:
		indexFault(e, site, t.regs[in.c], r.code.arrays[in.imm].length)
	case opAtomic:
		r.atomicFault(e, in, t.regs)
	default:
		indexFault(e, elementOf(site), t.regs[in.c], int64(t.regs[in.b+1]))
	}
	w := r.where(t, pc)
	w.At = e.At
	return &CheckError{Where: w, Check: e}
}

// second is the second operand of an operator, as the source says it.
func second(e ir.Expr) string {
	if x, ok := e.(*ir.Binary); ok {
		return ir.Source(x.Y)
	}
	return ir.Source(e)
}

func indexFault(e *ir.CheckError, site ir.Expr, index uint64, length int64) {
	e.Kind, e.Index, e.Length = ir.IndexCheck, int64(index), length
	if x, ok := site.(*ir.Index); ok {
		e.What, e.At, e.Unsigned = ir.Source(x.X), x.At, x.I.Type().Kind == ir.Uint64
	}
}

// sliceFault looks at the bounds in Go's order: the last one first.
func (r *running) sliceFault(e *ir.CheckError, in *instr, regs []uint64, site ir.Expr) {
	lo, hi, most, limit := r.code.slices[in.imm].bounds(in, regs)
	e.Kind, e.What = ir.SliceCheck, ir.Source(site)
	switch {
	case most > limit:
		e.Index, e.Length = int64(most), int64(limit)
	case hi > most:
		e.Index, e.Length = int64(hi), int64(most)
	default:
		e.Index, e.Length = int64(lo), int64(hi)
	}
}

func (r *running) atomicFault(e *ir.CheckError, in *instr, regs []uint64) {
	x := &r.code.atomics[in.imm]
	e.Kind, e.What = ir.DivisorCheck, ir.Source(x.Value)
	if x.Op != ir.Div {
		e.Kind, e.Index = ir.CountCheck, int64(regs[in.c])
	}
}
