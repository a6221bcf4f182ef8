package codegen

import "github.com/gompss/gompss/codegen/ir"

// ForCPU is k with what the compiler finds on its own about its loops for the vector code of CPUs: the provably independent outermost loops of a
// kernel without directives on statements become parallel, and loops inside descriptive ones that are provably independent may become lanes.
// Where that takes that slices do not overlap, there is a second version and a test. k stays as it is.
func ForCPU(k *ir.Kernel) *ir.Kernel {
	l := newLowering(k, LowerOptions{})
	m := &mapper{lowering: l, plain: map[*ir.For]bool{}, sequential: true}
	if describes(k.Funcs) {
		l.inlineOrphans()
	}
	l.orderScans()
	m.orderIn(l.kernel.Body, inKernel, nil)
	if k.Target.Present && !anyDirective(k.Body) {
		m.undirected(l.kernel.Body)
	}
	m.laneLoops(l.kernel.Body)
	m.oneAfterAnother(l.kernel.Body)
	inMemory(l.kernel)
	return l.kernel
}

// describes reports whether functions hold scans, or descriptive loops, whose independence is that of the loops around the calls.
func describes(list []*ir.Func) bool {
	found := false
	for _, f := range list {
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
			d := ir.DirectiveOf(s)
			found = found || d != nil && (d.Parts&ir.Loop != 0 || d.Scan != nil)
			return !found
		})
	}
	return found
}

// oneAfterAnother takes the lanes off simd loops whose safelen says that iterations depend on one another, and where nothing proves that
// they don't: how many of them run at once is the printer's choice, which unrolls beyond the lanes.
func (m *mapper) oneAfterAnother(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if ok && f.Directive != nil && f.Directive.Parts == ir.Simd && f.Directive.Safelen > 0 && m.dependent(f) != "" {
			f.Directive.Parts = 0
		}
		return true
	})
}

// laneLoops marks the independent loops inside descriptive ones.
func (m *mapper) laneLoops(list []ir.Stmt) {
	for i, s := range list {
		f, ok := s.(*ir.For)
		switch test, isTest := s.(*ir.If); {
		case ok && f.Directive != nil && f.Directive.Parts&ir.Loop != 0 && !m.plain[f]:
			if v := m.withLanes(f); v != nil {
				list[i] = v
			}
		case isTest:
			before := len(m.known)
			m.known = append(m.known, m.lasting(test.Cond)...)
			m.laneLoops(test.Then)
			m.known = m.known[:before]
			m.laneLoops(test.Else)
		default:
			ir.Lists(s, m.laneLoops)
		}
	}
}

// withLanes marks the loops in f that are independent, and returns two versions of f where more are when slices do not overlap.
func (m *mapper) withLanes(f *ir.For) ir.Stmt {
	mark := func(f *ir.For) (n int) {
		for _, inner := range plainLoops(f.Body) {
			if m.dependent(inner) == "" {
				n++
			}
		}
		return n
	}
	without, with := mark(f), 0
	conds, ok := m.supposing(f, func() bool { with = mark(f); return with > without })
	m.freeLanes(f)
	if !ok || len(f.Directive.Reductions)+len(f.Directive.Lastprivate) > 0 {
		return nil
	}
	return m.where(f, conds, func(f *ir.For) {
		before := len(m.known)
		m.known = append(m.known, conds...)
		m.freeLanes(f)
		m.known = m.known[:before]
	})
}

func (m *mapper) freeLanes(f *ir.For) {
	for _, inner := range plainLoops(f.Body) {
		if m.dependent(inner) == "" {
			inner.Directive = &ir.Directive{Parts: ir.Simd, At: inner.At}
		}
	}
}

// plainLoops are the loops in list without a directive.
func plainLoops(list []ir.Stmt) (out []*ir.For) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok && f.Directive == nil {
			out = append(out, f)
		}
		return true
	})
	return out
}
