package mapping

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// FindScans makes scans of the running sums in descriptive loops, and in a kernel without
// directives, where all else in the loop is independent: what one iteration adds by an operator
// whose order does not show, another one reads.
//
// Source: Redon and Feautrier, Detection of scans, 2000; differs: one body with one cut, no
// recurrences through memory.
func FindScans(l *Work) {
	m := NewMapper(l)
	if !AnyDirective(l.Kernel.Body) {
		if l.Kernel.Target.Present && m.findIn(l.Kernel.Body) {
			m.Undirected(l.Kernel.Body) // the scan is a directive from here on
		}
		return
	}
	ir.WalkStmts(l.Kernel.Body, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil {
			return true
		}
		d := f.Directive
		if d.Parts&ir.Loop == 0 || d.Bind == ir.BindThread || d.Collapse > 1 || len(d.Reductions)+len(d.Private)+len(d.Lastprivate) > 0 {
			return true
		}
		if m.OrderedBy(f) != "" {
			m.find(f, d)
		}
		return true
	})
}

// findIn looks at the outermost loops of list that are not independent; found says that one is a
// scan now.
func (m *mapper) findIn(list []ir.Stmt) (found bool) {
	for _, s := range list {
		f, ok := s.(*ir.For)
		if !ok {
			ir.Lists(s, func(inner []ir.Stmt) { found = m.findIn(inner) || found })
			continue
		}
		parallel := func() bool { return m.Dependent(f) == "" }
		if parallel() {
			continue
		}
		if _, supposed := m.Supposing(f, parallel); supposed {
			continue
		}
		if m.find(f, &ir.Directive{Parts: ir.Loop, At: f.At}) || m.findIn(f.Body) {
			found = true
		}
	}
	return found
}

// find makes f a scan under d, where it is one.
func (m *mapper) find(f *ir.For, d *ir.Directive) bool {
	c, cut, ok := m.runningSums(f)
	if !ok {
		return false
	}
	own := *d
	own.Reductions, own.Scan = c.reductions, &ir.Scan{Exclusive: c.exclusive, At: f.At}
	g := *f
	g.Directive = &own
	g.Body = append(slices.Clone(f.Body[:cut]), &ir.Block{Body: f.Body[cut:], At: f.Body[cut].Pos()})
	if x := (&analysis.Effects{}).Stmts(f.Body); len(analysis.ScanFaults(&g)) > 0 || x.Atomics || x.Calls || query.AsksForPlace(f.Body) {
		return false
	}
	free := func() bool { return m.ScanFree(&g) }
	if !free() {
		if _, supposed := m.Supposing(&g, free); !supposed {
			return false
		}
	}
	f.Directive, f.Body = g.Directive, g.Body
	m.Decide(f.At, "loop "+f.Var.Text(), "a scan", "its iterations add to "+c.names()+", and nothing else in it depends on the order", "")
	return true
}

// A cutting is what the variables that a loop changes say about where its body can be cut.
type cutting struct {
	reductions []ir.Reduction
	exclusive  bool

	firstUpdate, lastUpdate int // statements of the body
	firstRead, lastRead     int
}

func (c *cutting) names() string {
	out := ""
	for i, r := range c.reductions {
		if i > 0 {
			out += ", "
		}
		out += query.Source(r.Place) + " by " + r.Op.String()
	}
	return out
}

// runningSums returns the running sums of f, and the statement in front of which its body is cut.
func (m *mapper) runningSums(f *ir.For) (c *cutting, cut int, ok bool) {
	n := len(f.Body)
	c = &cutting{firstUpdate: n, lastUpdate: -1, firstRead: n, lastRead: -1}
	declared, taken := ir.Declared(f.Body), ir.AddressTaken(m.Kernel.Body)
	for _, v := range ir.Assigned(f.Body).List() {
		if declared.Has(v) {
			continue
		}
		if taken.Has(v) || !v.Type.IsScalar() || !m.runningSum(f, v, c) {
			return nil, 0, false
		}
	}
	switch {
	case len(c.reductions) == 0 || c.lastRead < 0 || query.JumpsOut(f) || f.Label != nil && query.BreaksTo(f.Body, f.Label):
		return nil, 0, false
	case c.lastUpdate < c.firstRead:
		cut = c.lastUpdate + 1
	case c.lastRead < c.firstUpdate:
		cut, c.exclusive = c.firstUpdate, true
	default:
		return nil, 0, false
	}
	return c, cut, !query.GoesOn(f.Body[:cut], f.Label)
}

// runningSum notes where f updates and reads v; false where it does anything else with it.
func (m *mapper) runningSum(f *ir.For, v *ir.Var, c *cutting) bool {
	for _, op := range []ir.Op{ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor} {
		if query.Reducible(op, v.Type) != "" {
			continue
		}
		r := ir.Reduction{Op: op, Place: build.Ref(v, f.At), At: f.At}
		use := &sumUse{of: &analysis.ReductionUse{Reduction: r, Var: v}}
		next, updates := *c, 0
		for i, s := range f.Body {
			use.updated, use.read = false, false
			if !use.stmts([]ir.Stmt{s}) || use.updated && use.read {
				updates = -1
				break
			}
			if use.updated {
				updates++
				next.firstUpdate, next.lastUpdate = min(next.firstUpdate, i), max(next.lastUpdate, i)
			}
			if use.read {
				next.firstRead, next.lastRead = min(next.firstRead, i), max(next.lastRead, i)
			}
		}
		if updates <= 0 {
			continue
		}
		if v.Type.IsFloat() && (op == ir.Add || op == ir.Mul) && !m.Kernel.Target.FastMath {
			m.Decide(f.At, "loop "+f.Var.Text(), "in order", "the running sum "+v.Name+" is of floats, whose order shows",
				"reduction(inscan, "+op.String()+": "+v.Name+") with //omp:scan, or fastmath")
			return false
		}
		next.reductions = append(slices.Clone(c.reductions), r)
		*c = next
		return true
	}
	return false
}

// A sumUse tells updates of a variable by an operator from reads.
type sumUse struct {
	of            *analysis.ReductionUse
	updated, read bool
}

// stmts reports whether list only updates and reads the variable.
func (u *sumUse) stmts(list []ir.Stmt) bool {
	for _, s := range list {
		if u.of.Updates(s) {
			if _, selects := s.(*ir.If); selects && u.of.Var.Type.IsFloat() {
				return false // of two zeros the first one stays, which min and max do not say
			}
			u.updated = true
			continue
		}
		if a, ok := s.(*ir.Assign); ok && query.RefVar(a.Place) == u.of.Var {
			return false
		}
		if slices.ContainsFunc(query.DirectExprs(s), u.of.Mentions) {
			u.read = true
		}
		if call, ok := s.(*ir.Call); ok && slices.Contains(call.Results, u.of.Var) {
			return false
		}
		fine := true
		ir.Lists(s, func(inner []ir.Stmt) { fine = u.stmts(inner) && fine })
		if !fine {
			return false
		}
	}
	return true
}

// ScanFree reports whether the phases of all iterations of f may run at once, as far as is known or
// supposed.
func (m *mapper) ScanFree(f *ir.For) bool {
	if d := f.Directive; d.Parts&ir.Loop != 0 && d.Bind != ir.BindThread && m.OrderedBy(f) != "" {
		return false
	}
	first, second, _ := analysis.ScanPhases(f)
	if !f.Directive.Scan.Exclusive {
		return true
	}
	part, _, _ := analysis.SliceOf(first, second.Body, analysis.ScannedVars(f.Directive))
	var written []*ir.Var
	free := true
	reads := func(list []ir.Stmt) {
		for _, v := range readBases(list).List() {
			for _, w := range written {
				if v != w && analysis.KindsOf(v.Type.Elem)&analysis.KindsOf(w.Type.Elem) != 0 && free {
					free = m.SupposeApart(v, w)
				}
			}
		}
	}
	for _, s := range first {
		if slices.Contains(part, s) {
			reads([]ir.Stmt{s})
		}
		for _, v := range ir.Used([]ir.Stmt{s}).List() {
			if _, ok := analysis.WrittenBases([]ir.Stmt{s})[v]; ok && v.Type.Elem != nil && v.Type.Kind != ir.Array {
				written = append(written, v)
			}
		}
	}
	reads(second.Body)
	return free
}

// readBases returns the slices and pointers that list uses.
func readBases(list []ir.Stmt) *ir.VarSet {
	out := &ir.VarSet{}
	for _, v := range ir.Used(list).List() {
		if v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer {
			out.Add(v)
		}
	}
	return out
}
