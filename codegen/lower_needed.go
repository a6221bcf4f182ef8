package codegen

import "github.com/gompss/gompss/codegen/ir"

// findNeeded collects the variables of the team that code reads which all threads run: what thread 0 computes alone is
// sent to the others where it is one of these, and nowhere else.
// Source: 003_299c3d2fb599beff, section 6.2.
func (t *team) findNeeded(list []ir.Stmt) {
	for _, s := range list {
		switch {
		case forThreads(s):
			t.needAll(ir.Free([]ir.Stmt{s}))
		case t.byOne(s):
		case !isParallel(s) && !jumpsOut(s):
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
	return t.shared[d.Var] || d.Init == nil || t.mode == ir.ModeBroadcast && !hasAddress(d.Var.Type)
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

// explainMode says how the code of the team runs, and why not in another way.
func (t *team) explainMode(list []ir.Stmt, d *ir.Directive) {
	if d == nil || d.Parts&ir.Teams == 0 || t.leads() || onlyRegions(list) {
		return
	}
	why, where := "nothing in it changes what threads share, so no thread waits for another", "all threads alike (spmd)"
	switch {
	case len(t.sent) > 0:
		where = "thread 0, with its results broadcast (broadcast)"
		why = "thread 0 alone may run what " + t.sent[0].Name + " comes from, and all threads need it"
	case t.guards > 0:
		where, why = "all threads alike, thread 0 where it writes (spmd)", "no thread needs what thread 0 computes alone"
	}
	if t.mode != ir.ModeAuto {
		t.decide(d.At, "code of the team", where, "mode("+modeName(t.mode)+") says so", "mode(auto)")
		return
	}
	why += "; a control loop or a warp of its own would let the team meet twice for each parallel region"
	t.decide(d.At, "code of the team", where, why, "mode(control_loop)")
}
