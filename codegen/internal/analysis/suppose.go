package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// maxSupposed is the maximum number of conditions that a runtime test may have.
const maxSupposed = 16

// A supposition is the set of conditions under which a loop is parallel, for a runtime test.
type supposition struct {
	conds []ir.Expr
	loop  *ir.For // the loop with two versions: the test precedes it
}

// SupposeApart reports whether x and y are known, or may be assumed, not to overlap.
func (m *Dependences) SupposeApart(x, y *ir.Var) bool {
	given := func(v *ir.Var) bool {
		return v != nil && v.Space == ir.Param && (v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer)
	}
	if !given(x) || !given(y) {
		return false
	}
	at := ir.Pos{}
	if m.suppose != nil {
		at = m.suppose.loop.At
	}
	return m.SupposeAll(&ir.Apart{X: build.Ref(x, at), Y: build.Ref(y, at), At: at})
}

// SupposeAll reports whether all conds are known to hold, or may be assumed. It records the
// assumptions.
func (m *Dependences) SupposeAll(conds ...ir.Expr) bool {
	var missing []ir.Expr
	for _, c := range conds {
		if !containsExpr(m.Known, c) && !containsExpr(missing, c) && (m.suppose == nil || !containsExpr(m.suppose.conds, c)) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return true
	}
	if m.suppose == nil || len(m.suppose.conds)+len(missing) > maxSupposed {
		return false
	}
	for _, c := range missing {
		if !query.LoadFree(c) || !m.seesAll(c) {
			return false
		}
	}
	m.suppose.conds = append(m.suppose.conds, missing...)
	return true
}

// supposed returns the conditions that are assumed so far.
func (m *Dependences) supposed() []ir.Expr {
	if m.suppose == nil {
		return nil
	}
	return m.suppose.conds
}

// unsuppose drops the conditions that were assumed after the first n.
func (m *Dependences) unsuppose(n int) {
	if m.suppose != nil {
		m.suppose.conds = m.suppose.conds[:n]
	}
}

// seesAll reports whether the variables in c have the same values at the test as inside the loop.
func (m *Dependences) seesAll(c ir.Expr) bool {
	f := m.suppose.loop
	declared, assigned, taken := ir.Declared([]ir.Stmt{f}), ir.Assigned(f.Body), ir.AddressTaken(m.k.Body)
	for _, v := range ir.ExprVars(c).List() {
		if declared.Has(v) || assigned.Has(v) || taken.Has(v) {
			return false
		}
	}
	return true
}

func containsExpr(list []ir.Expr, e ir.Expr) bool {
	var swapped ir.Expr
	if a, ok := e.(*ir.Apart); ok {
		swapped = &ir.Apart{X: a.Y, Y: a.X, At: a.At}
	}
	return slices.ContainsFunc(list, func(x ir.Expr) bool { return query.Same(x, e) || swapped != nil && query.Same(x, swapped) })
}

// Supposing returns the conditions under which f, or a loop in it, is parallel. ok is false if
// parallel fails, or succeeds without conditions.
func (m *Dependences) Supposing(f *ir.For, parallel func() bool) ([]ir.Expr, bool) {
	outer := m.suppose
	m.suppose = &supposition{loop: f}
	ok := parallel()
	conds := m.suppose.conds
	m.suppose = outer
	return conds, ok && len(conds) > 0
}
