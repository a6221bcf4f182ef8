package mapping

import "github.com/gompss/gompss/codegen/ir"

// OneAfterAnother takes the lanes off simd loops whose safelen says that iterations depend on one
// another, and where nothing proves that they don't: how many of them run at once is the printer's
// choice, which unrolls beyond the lanes.
func (m *mapper) OneAfterAnother(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if ok && f.Directive != nil && f.Directive.Parts == ir.Simd && f.Directive.Safelen > 0 && m.Dependent(f) != "" {
			f.Directive.Parts = 0
		}
		return true
	})
}

// LaneLoops marks the independent loops inside descriptive ones.
func (m *mapper) LaneLoops(list []ir.Stmt) {
	for i, s := range list {
		f, ok := s.(*ir.For)
		switch test, isTest := s.(*ir.If); {
		case ok && f.Directive != nil && f.Directive.Parts&ir.Loop != 0 && !m.plain[f]:
			if v := m.withLanes(f); v != nil {
				list[i] = v
			}
		case isTest:
			before := len(m.Known)
			m.Known = append(m.Known, m.holding(test)...)
			m.LaneLoops(test.Then)
			m.Known = m.Known[:before]
			m.LaneLoops(test.Else)
		default:
			ir.Lists(s, m.LaneLoops)
		}
	}
}

// withLanes marks the loops in f that are independent, and returns two versions of f where more are
// when slices do not overlap.
func (m *mapper) withLanes(f *ir.For) ir.Stmt {
	mark := func(f *ir.For) (n int) {
		for _, inner := range plainLoops(f.Body) {
			if m.Dependent(inner) == "" {
				n++
			}
		}
		return n
	}
	without, with := mark(f), 0
	conds, ok := m.Supposing(f, func() bool { with = mark(f); return with > without })
	m.freeLanes(f)
	if !ok || len(f.Directive.Reductions)+len(f.Directive.Lastprivate) > 0 {
		return nil
	}
	return m.Where(f, conds, func(f *ir.For) {
		before := len(m.Known)
		m.Known = append(m.Known, conds...)
		m.freeLanes(f)
		m.Known = m.Known[:before]
	})
}

func (m *mapper) freeLanes(f *ir.For) {
	for _, inner := range plainLoops(f.Body) {
		if m.Dependent(inner) == "" {
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
