package codegen

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/ir"
)

// A loop whose checked indices are affine in the loop variables is lowered twice: one test before the loop says whether
// all of them are in range, and then the version without these checks runs; else the other one runs, and fails at the
// access that is wrong, as the Go code does.

// maxTests bounds the comparisons in front of a loop.
const maxTests = 24

// version returns the test and the space whose body needs no checks when it holds; a nil test where nothing is gained.
func (t *team) version(sp *space) (test ir.Expr, fast *space) {
	if t.opt.KeepChecks {
		return nil, nil
	}
	fast = t.freshSpace(sp)
	v := &versioner{team: t, at: sp.at, prover: prover{changed: ir.Assigned(fast.body), taken: ir.AddressTaken(fast.body),
		defs: definitions{}, lengths: map[*ir.Var]Affine{}}}
	v.inside = ir.Declared(fast.body)
	for _, f := range fast.loops {
		v.ranges = append(v.ranges, v.boundsOf(f))
		v.inside.Add(f.Var)
	}
	v.list(fast.body)
	if v.cleared == 0 || len(v.tests) > maxTests {
		return nil, nil
	}
	test = boolConst(true, sp.at)
	for i, x := range v.tests {
		if i == 0 {
			test = x
			continue
		}
		test = compare(ir.LAnd, test, x, sp.at)
	}
	t.decide(sp.at, "loop "+sp.loops[0].Var.Name, "a version without index checks",
		"one test before the loop shows that its indices are in range", "")
	return test, fast
}

// freshSpace copies sp with variables and labels of its own.
func (l *lowering) freshSpace(sp *space) *space {
	inner := sp.loops[len(sp.loops)-1]
	whole := []ir.Stmt{&ir.For{Label: sp.label, Var: inner.Var, Lo: inner.Lo, Hi: inner.Hi, Step: inner.Step, Rel: inner.Rel,
		Body: sp.body, At: inner.At}}
	c := l.copyOf(whole, &l.kernel.NumVars)[0].(*ir.For)
	out := &space{order: sp.order, body: c.Body, label: c.Label, at: sp.at}
	outer := map[*ir.Var]*ir.Var{}
	for _, f := range sp.loops[:len(sp.loops)-1] {
		g := *f
		g.Var = l.local(f.Var.Name, f.Var.Type, f.Var.At)
		outer[f.Var] = g.Var
		out.loops = append(out.loops, &g)
	}
	out.body = paramsOf(outer).CopyStmts(out.body)
	out.loops = append(out.loops, &ir.For{Label: c.Label, Var: c.Var, Lo: inner.Lo, Hi: inner.Hi, Step: inner.Step,
		Rel: inner.Rel, At: inner.At})
	return out
}

// versioner collects the tests that clear the checks of a loop body.
type versioner struct {
	prover
	team    *team
	at      ir.Pos
	inside  *ir.VarSet // variables that the test cannot see
	tests   []ir.Expr
	cleared int
}

func (v *versioner) list(list []ir.Stmt) {
	for _, s := range list {
		v.stmt(s)
	}
}

func (v *versioner) stmt(s ir.Stmt) {
	ir.StmtExprs(s, func(e ir.Expr) {
		ir.WalkExpr(e, func(x ir.Expr) bool {
			if ix, ok := x.(*ir.Index); ok && ix.Checked {
				v.index(ix)
			}
			return true
		})
	})
	switch s := s.(type) {
	case *ir.Decl:
		v.define(s)
	case *ir.For:
		v.ranges = append(v.ranges, v.boundsOf(s))
		v.list(s.Body)
		v.ranges = v.ranges[:len(v.ranges)-1]
		return
	}
	ir.Lists(s, v.list)
}

// index clears the check of ix if tests over what the loop does not change can show it to be in range.
func (v *versioner) index(ix *ir.Index) {
	i := v.replaceLengths(v.defs.form(ix.I))
	n := constAffine(ix.X.Type().Len)
	if ix.X.Type().Kind == ir.Slice {
		n = v.replaceLengths(v.length(ix.X))
	}
	if !i.Known() || !n.Known() || !v.fixed(i) {
		return
	}
	tests := []ir.Expr{}
	lo, hi := v.extreme(i, false, &tests), v.extreme(i, true, &tests)
	if !v.visible(lo) || !v.visible(hi) || !v.visible(n) {
		return
	}
	if !v.small(lo, &tests) || !v.small(hi, &tests) || !v.small(n, &tests) {
		return
	}
	v.atLeast(lo, &tests)
	v.atLeast(n.AddConst(-1).Sub(hi), &tests)
	for _, x := range tests {
		v.add(x)
	}
	ix.Checked = false
	v.cleared++
}

// extreme returns the least or greatest value of a over the loops, given the tests that it adds.
func (v *versioner) extreme(a Affine, greatest bool, tests *[]ir.Expr) Affine {
	for k := len(v.ranges) - 1; k >= 0; k-- {
		b := v.ranges[k]
		if !a.Has(b.v) {
			continue
		}
		coef, ok := a.Coef(b.v)
		if !ok {
			return Affine{unknown: true}
		}
		c, isConst := coef.Const()
		if !isConst {
			if !v.visible(coef) || !v.small(coef, tests) {
				return Affine{unknown: true}
			}
			v.atLeast(coef, tests)
		}
		end := b.lo
		if greatest == (!isConst || c > 0) {
			end = b.hi
		}
		a = a.Subst(b.v, end)
	}
	return a
}

// visible reports whether the test before the loop can compute a and no thread changes it meanwhile.
func (v *versioner) visible(a Affine) bool {
	if !a.Known() {
		return false
	}
	for _, x := range a.Atoms() {
		if x.Var.ID < 0 || v.inside.Has(x.Var) || v.team.isShared(x.Var) || v.changed.Has(x.Var) || v.taken.Has(x.Var) {
			return false
		}
	}
	return true
}

// atLeast adds the test a >= 0 where it is not plain.
func (v *versioner) atLeast(a Affine, tests *[]ir.Expr) {
	if positiveTerms(a) {
		return
	}
	// Terms change sides rather than be negated, so that the text stays what a reader would write.
	var left, right []Term
	for _, t := range a.Terms {
		if t.Coef < 0 {
			right = append(right, Term{Coef: -t.Coef, Atoms: t.Atoms})
		} else {
			left = append(left, t)
		}
	}
	x, y := Affine{Terms: right}.Expr(v.at), Affine{Terms: left}.Expr(v.at)
	*tests = append(*tests, compare(ir.Le, x, y, v.at))
}

// small adds the tests that keep the arithmetic on a from leaving 64 bits: each term stays below 2^56, and there are
// few. It reports whether such tests exist.
func (v *versioner) small(a Affine, tests *[]ir.Expr) bool {
	if len(a.Terms) > 16 {
		return false
	}
	for _, t := range a.Terms {
		left := 56 - bits.Len64(magnitude(t.Coef))
		switch {
		case len(t.Atoms) == 0 && left >= 0:
			continue
		case len(t.Atoms) == 0 || len(t.Atoms) > 2 || left < 20:
			return false
		case len(t.Atoms) == 1 && (t.Atoms[0].Of != ValueOf || t.Atoms[0].Var.Type.Size < 8) && left >= 48:
			continue // no memory is that long
		}
		limit := int64(1) << (left / len(t.Atoms))
		for _, x := range t.Atoms {
			*tests = append(*tests, compare(ir.Lt, x.expr(v.at), intConst(limit, v.at), v.at))
			if x.Of == ValueOf {
				*tests = append(*tests, compare(ir.Lt, intConst(-limit, v.at), x.expr(v.at), v.at))
			}
		}
	}
	return true
}

func (v *versioner) add(x ir.Expr) {
	for _, have := range v.tests {
		if sameExpr(have, x) {
			return
		}
	}
	v.tests = append(v.tests, x)
}
