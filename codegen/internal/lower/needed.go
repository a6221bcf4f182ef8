package lower

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// findNeeded collects the variables of the team that code reads which all threads run: what thread
// 0 computes alone is sent to the others where it is one of these, and nowhere else.
// Source: 003_299c3d2fb599beff, section 6.2.
func (t *team) findNeeded(list []ir.Stmt) {
	for _, s := range list {
		switch {
		case forThreads(s):
			t.needAll(ir.Free([]ir.Stmt{s}))
		case t.byOne(s):
		case !isParallel(s) && !query.JumpsOut(s):
			t.needAll(ir.Used([]ir.Stmt{s}))
		default:
			if _, ok := s.(*ir.If); !ok || t.mode != ir.ModeBroadcast {
				ir.StmtExprs(s, func(e ir.Expr) { t.needAll(ir.ExprVars(e)) })
			}
			ir.Lists(s, t.findNeeded)
		}
	}
}

func (t *team) needAll(vars *ir.VarSet) {
	for _, v := range vars.List() {
		t.needed[v] = true
	}
}

// byOne reports whether thread 0 alone computes all that s assigns.
func (t *team) byOne(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	if !ok {
		return t.forOne(s)
	}
	return t.shared[d.Var] || d.Init == nil || t.mode == ir.ModeBroadcast && !query.HasAddress(d.Var.Type)
}

// needEnds marks the parts of reductions that all threads apply, each to its copy of a variable.
func (t *team) needEnds(ends ...*reductions) {
	for _, r := range ends {
		for _, it := range r.items {
			if v := ir.RootVar(it.Place); v == nil || t.isShared(v) {
				continue
			}
			t.needed[it.acc] = true
			if it.idx != nil {
				t.needed[it.idx] = true
			}
		}
	}
}
