package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// maxSupposed bounds the test.
const maxSupposed = 16

// A supposition is what has to hold for a loop to be parallel.
type supposition struct {
	conds []ir.Expr
	loop  *ir.For // that is kept twice: the test stands in front of it
}

// SupposeApart reports whether x and y are known, or may be supposed, to have no byte in common.
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

// SupposeAll reports whether conditions are known to hold, or may be supposed to.
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

// seesAll reports whether the variables in c are what they are in the loop already where the test
// stands.
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

// Supposing returns what has to hold for a loop in f, or f itself, to be parallel, where that makes
// it so.
func (m *Dependences) Supposing(f *ir.For, parallel func() bool) ([]ir.Expr, bool) {
	outer := m.suppose
	m.suppose = &supposition{loop: f}
	ok := parallel()
	conds := m.suppose.conds
	m.suppose = outer
	return conds, ok && len(conds) > 0
}
