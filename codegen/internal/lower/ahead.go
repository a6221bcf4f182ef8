package lower

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop in which a thread loads, and then changes memory by an atomic, waits for every load: no
// compiler moves the next load in front of an atomic. Where the atomics cannot touch what is
// loaded, several iterations load first. Source: measured on an H200 with kernels written by hand:
// a histogram of 256 bins in team memory reaches 2550 GB/s with a load at a time, 3630 with two,
// 4400 with four, 4440 with eight.

// aheadLoads is the number of iterations that load at once.
const aheadLoads = 4

// ahead returns the loop f with the loads of several iterations in front of their atomics, nil
// where that is not right or gains nothing.
func (p *threads) ahead(f *ir.For) []ir.Stmt {
	hi, ok := f.Hi.(*ir.Len)
	if !ok || !query.IsRef(hi.X) || f.Rel != ir.Lt || f.Var.Type.Kind != ir.Int64 || !p.first.NonNegative(f.Lo) || !p.first.Positive(f.Step) {
		return nil
	}
	body := forms.Flat(f.Body)
	x := p.Effects.Stmts(body)
	if !x.Atomics || x.Calls || !forms.Straight(body) {
		return nil
	}
	loads := p.movable(f, body, x.Writes)
	if len(loads) == 0 {
		return nil
	}
	at := f.At
	p.Decide(at, "loop "+f.Var.Text(), strconv.Itoa(aheadLoads)+" iterations load at once", "it would wait for each load in front of an atomic", "")
	i := p.Local(f.Var.Name, ir.IntType, at)
	step, out := p.Temp("step", f.Step, nil)
	times := func(u int64) ir.Expr { return build.Binary(ir.Mul, step, build.Int(u, at), at) }
	var values, rest []ir.Stmt
	for u := range int64(aheadLoads) {
		turn := p.Local(f.Var.Name, ir.IntType, at)
		offset := times(u)
		if u == 0 {
			offset = build.Int(0, at)
		}
		values = append(values, build.Decl(turn, build.Binary(ir.Add, build.Ref(i, at), offset, at), at))
		mine := map[*ir.Var]ir.Expr{f.Var: build.Ref(turn, at)}
		held := make([]*ir.Var, len(loads))
		for k, e := range loads {
			held[k] = p.Local("value", e.Type(), e.Pos())
			values = append(values, build.Decl(held[k], ir.Subst(e, mine), e.Pos()))
		}
		r := build.WithVars(map[*ir.Var]*ir.Var{f.Var: turn})
		r.Expr = func(e ir.Expr) ir.Expr {
			for k, load := range loads {
				if query.Same(e, ir.Subst(load, mine)) {
					return build.Ref(held[k], e.Pos())
				}
			}
			return e
		}
		rest = append(rest, p.CopyOf(r.CopyStmts(body), &p.Kernel.NumVars)...)
	}
	// No sum that could leave 64 bits: i is below a length here, and steps are numbers of threads.
	more := build.Compare(ir.Gt, build.Binary(ir.Sub, hi, build.Ref(i, at), at), times(aheadLoads-1), at)
	next := build.Assign(build.Ref(i, at), build.Binary(ir.Add, build.Ref(i, at), times(aheadLoads), at), at)
	last := &ir.For{Label: f.Label, Var: f.Var, Lo: build.Ref(i, at), Hi: hi, Step: f.Step, Rel: ir.Lt, Body: f.Body, At: at}
	out = append(out, build.Decl(i, f.Lo, at),
		&ir.While{Label: &ir.Label{}, Cond: more, Post: []ir.Stmt{next}, Body: append(values, rest...), At: at}, last)
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// movable returns the loads that every iteration of f makes from places that its variable alone
// decides, in memory that the body does not write.
func (p *threads) movable(f *ir.For, body []ir.Stmt, writes analysis.Memory) []ir.Expr {
	var out []ir.Expr
	own := ir.Declared(body)
	for _, v := range ir.Assigned(body).List() {
		own.Add(v)
	}
	var look func(e ir.Expr)
	look = func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Select:
			look(e.Cond)
			return
		case *ir.Binary:
			if e.Op == ir.LAnd || e.Op == ir.LOr {
				look(e.X)
				return
			}
		case *ir.AddrOf, *ir.Reslice:
			return
		case *ir.Index:
			if p.isMovable(e, f, own, writes) {
				for _, have := range out {
					if query.Same(have, e) {
						return
					}
				}
				out = append(out, e)
				return
			}
		}
		ir.Operands(e, look)
	}
	for _, s := range body {
		ir.StmtExprs(s, look)
	}
	return out
}

func (p *threads) isMovable(e *ir.Index, f *ir.For, own *ir.VarSet, writes analysis.Memory) bool {
	r, ok := e.X.(*ir.Ref)
	if !ok || e.X.Type().Kind != ir.Slice || e.Checked || !e.Type().IsScalar() || p.IsShared(r.Var) || own.Has(r.Var) {
		return false
	}
	moves := false
	for _, v := range ir.ExprVars(e.I).List() {
		if own.Has(v) || p.IsShared(v) {
			return false
		}
		moves = moves || v == f.Var
	}
	return moves && query.LoadFree(e.I) && analysis.KindsOf(e.Type())&writes.Kinds == 0
}
