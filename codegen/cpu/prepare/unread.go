package prepare

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A copy of a struct brings all its fields, of which an iteration may read a few: gathers of the
// others cost as much as those of these.

// mostCopied is the number of scalars that a value has at most that is copied scalar by scalar.
const mostCopied = 16

// findRead notes the scalars of cut variables that something reads, or that are assigned otherwise
// than by a copy of the whole variable.
func (a *aggregates) findRead(body []ir.Stmt) {
	a.read = map[*ir.Var]bool{}
	visit := func(e ir.Expr) {
		ir.WalkExpr(e, func(e ir.Expr) bool {
			v, first := a.part(e)
			if v == nil {
				return true
			}
			for _, l := range a.leaves[v][first : first+leafCount(e.Type())] {
				a.read[l] = true
			}
			return false
		})
	}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		if x, ok := s.(*ir.Assign); ok && !isComposite(x.Value) {
			if r, whole := x.Place.(*ir.Ref); whole && a.leaves[r.Var] != nil {
				visit(x.Value)
				return true
			}
		}
		ir.StmtExprs(s, visit)
		if d := ir.DirectiveOf(s); d != nil {
			for _, v := range slices.Concat(d.Private, d.Firstprivate, d.Lastprivate) {
				for _, l := range a.leaves[v] {
					a.read[l] = true
				}
			}
		}
		return true
	})
}

// dropped reports which of leaves need not get their parts of a value, since nothing reads them.
// One stays: what the value's address may fail of is looked at there.
func (a *aggregates) dropped(leaves []*ir.Var, value ir.Expr) []bool {
	if len(leaves) == 0 {
		return nil
	}
	out := make([]bool, len(leaves))
	if value == nil || isComposite(value) || len(leaves) > mostCopied {
		return out
	}
	rest := len(leaves)
	for i, l := range leaves {
		if rest > 1 && !a.read[l] {
			out[i] = true
			rest--
		}
	}
	return out
}
