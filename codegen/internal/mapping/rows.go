package mapping

import (
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// CollapseRows makes one loop of the two of a traversal by rows, as of a sparse matrix: for i { for
// j from start[i] to start[i+1] }, where both say loop, or collapse(2) does. Where start never
// falls, j runs through all of start[lo] to start[hi], and i is found by bisection; whether it
// never falls is tested on the device, and where it does the rows are run as they are written.
// Source: Lee, Min and Eigenmann, OpenMP to GPGPU, 2009, section 4.1.3; differs: no array holds
// what the iterations make, they know their row.
func (l *Work) CollapseRows() { l.rowsIn(l.Kernel.Body) }

func (l *Work) rowsIn(list []ir.Stmt) {
	for k, s := range list {
		switch s := s.(type) {
		case *ir.If:
			l.rowsIn(s.Then)
			l.rowsIn(s.Else)
		case *ir.Block:
			l.rowsIn(s.Body)
		case *ir.For:
			if rows := rowsOf(s); rows != nil {
				list[k] = &ir.Block{Body: l.bisected(rows), At: s.At}
			}
		}
	}
}

// A traversal is the two loops.
type traversal struct {
	outer, inner *ir.For
	start        *ir.Var
}

// rowsOf returns the traversal that f begins, nil where it is none or is not to be collapsed.
func rowsOf(f *ir.For) *traversal {
	d := f.Directive
	if d == nil || len(f.Body) != 1 || d.Bind != ir.BindNone || len(d.Lastprivate)+len(d.Private) > 0 || d.NumThreads != nil || d.If != nil {
		return nil
	}
	inner, ok := f.Body[0].(*ir.For)
	if !ok || query.AsksForPlace(f.Body) {
		return nil
	}
	e := inner.Directive
	const league = ir.Parallel | ir.Workshare // of the kernel's own code, so that it is spread over the league
	switch {
	case d.Collapse == 2 && e == nil && (d.Parts&ir.Loop != 0 || d.Parts&league == league):
	case d.Collapse > 1 || d.Parts&ir.Loop == 0 || e == nil || e.Parts != ir.Loop || e.Bind != ir.BindNone:
		return nil
	case len(e.Reductions)+len(e.Lastprivate)+len(e.Private) > 0:
		return nil
	}
	return rowOf(f, inner)
}

// isRow reports whether inner runs through the rows start[i] to start[i+1] of f's i.
func isRow(f, inner *ir.For) bool { return rowOf(f, inner) != nil }

func rowOf(f, inner *ir.For) *traversal {
	step, okStep := query.Int64(f.Step)
	if !okStep || step != 1 || f.Rel != ir.Lt || inner.Rel != ir.Lt || f.Var.Type.Kind != ir.Int64 {
		return nil
	}
	if c, ok := query.Int64(inner.Step); !ok || c != 1 || query.LeavesLoop(inner) {
		return nil
	}
	x, i := startOf(inner.Lo)
	y, next := startOf(inner.Hi)
	if x == nil || x != y || !i.Equal(affine.OfVar(f.Var)) || !next.Equal(affine.OfVar(f.Var).AddConst(1)) {
		return nil
	}
	if !query.LoadFree(f.Lo) || !query.LoadFree(f.Hi) || ir.Assigned(f.Body).Has(x) {
		return nil
	}
	return &traversal{outer: f, inner: inner, start: x}
}

// startOf returns the slice and the place of an element that is a bound of rows.
func startOf(e ir.Expr) (*ir.Var, affine.Form) {
	for {
		c, ok := e.(*ir.Convert)
		if !ok {
			break
		}
		e = c.X
	}
	ix, ok := e.(*ir.Index)
	if !ok || ix.X.Type().Kind != ir.Slice {
		return nil, affine.Form{}
	}
	r, ok := ix.X.(*ir.Ref)
	if !ok {
		return nil, affine.Form{}
	}
	form, ok := affine.Of(ix.I)
	if !ok {
		return nil, affine.Form{}
	}
	return r.Var, form
}

// bisected returns the test, the loop over all j, and the rows for when start falls somewhere.
func (l *Work) bisected(t *traversal) []ir.Stmt {
	f, at := t.outer, t.outer.At
	instead := "bind(thread) on the inner loop"
	if f.Directive.Collapse > 1 {
		instead = "collapse(1)"
	}
	l.Decide(at, "loop "+f.Var.Text(), "one iteration space with loop "+t.inner.Var.Text()+", whose rows are found by bisection",
		"the rows follow each other where "+t.start.Name+" never falls, which is tested first", instead)
	falls, test := l.fallsTest(t)
	test.Directive = &ir.Directive{Parts: ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare, At: at,
		Sharing: ir.Sharing{Reductions: []ir.Reduction{{Op: ir.Max, Place: build.Ref(falls, at), At: at}}}}
	all := l.CopyOf([]ir.Stmt{l.overAll(t)}, &l.Kernel.NumVars)
	if t.inner.Directive = nil; f.Directive.Parts&ir.Loop != 0 {
		f.Directive = nil // in order: rows that do not follow each other may meet
	} else {
		f.Directive = rowsAlone(f.Directive)
	}
	some := &ir.If{Cond: build.Compare(ir.Lt, build.Copy(f.Lo), build.Copy(f.Hi), at), Then: all, At: at}
	return []ir.Stmt{build.Decl(falls, nil, at), test,
		&ir.If{Cond: build.Compare(ir.Eq, build.Ref(falls, at), &ir.Const{T: ir.Int32Type, At: at}, at), Then: []ir.Stmt{some}, Else: []ir.Stmt{f}, At: at}}
}

// fallsTest returns a variable and the loop that sets it to 1 where the start of a row is behind
// that of the next.
func (l *Work) fallsTest(t *traversal) (*ir.Var, *ir.For) {
	f, at := t.outer, t.outer.At
	falls := l.Local("falls", ir.Int32Type, at)
	i := l.Local(f.Var.Name, ir.IntType, at)
	return falls, &ir.For{Label: &ir.Label{}, Var: i, Lo: build.Copy(f.Lo), Hi: build.Copy(f.Hi), Step: build.Int(1, at), Rel: ir.Lt, At: at,
		Body: []ir.Stmt{&ir.If{Cond: build.Compare(ir.Gt, t.at(build.Ref(i, at)), t.at(build.Binary(ir.Add, build.Ref(i, at), build.Int(1, at), at)), at),
			Then: []ir.Stmt{build.Assign(build.Ref(falls, at), &ir.Const{T: ir.Int32Type, Bits: 1, At: at}, at)}, At: at}}}
}

// rowsAlone is d for one loop.
func rowsAlone(d *ir.Directive) *ir.Directive {
	c := *d
	c.Collapse = 0
	return &c
}

// at is start[i], which the code reads where Go does: the check stays.
func (t *traversal) at(i ir.Expr) ir.Expr {
	return &ir.Index{X: build.Ref(t.start, t.inner.At), I: i, Checked: true, At: t.inner.Lo.Pos()}
}

// overAll returns the loop over all j, each of which finds its row: the last that begins at or
// before it.
func (l *Work) overAll(t *traversal) ir.Stmt {
	f, g, at := t.outer, t.inner, t.inner.At
	low, high, mid := l.Local("low", ir.IntType, at), l.Local("high", ir.IntType, at), l.Local("mid", ir.IntType, at)
	kind := g.Var.Type
	half := &ir.Binary{Op: ir.Div, X: build.Binary(ir.Sub, build.Ref(high, at), build.Ref(low, at), at), Y: build.Int(2, at), T: ir.IntType, At: at}
	search := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Binary(ir.Add, build.Ref(low, at), build.Int(1, at), at), build.Ref(high, at), at),
		At: at, Body: []ir.Stmt{build.Decl(mid, build.Binary(ir.Add, build.Ref(low, at), half, at), at),
			&ir.If{Cond: build.Compare(ir.Le, build.Convert(kind, t.at(build.Ref(mid, at)), at), build.Ref(g.Var, at), at),
				Then: []ir.Stmt{build.Assign(build.Ref(low, at), build.Ref(mid, at), at)}, Else: []ir.Stmt{build.Assign(build.Ref(high, at), build.Ref(mid, at), at)}, At: at}}}
	body := []ir.Stmt{build.Decl(low, build.Copy(f.Lo), at), build.Decl(high, build.Copy(f.Hi), at), search, build.Decl(f.Var, build.Ref(low, at), at)}
	return &ir.For{Label: g.Label, Var: g.Var, Lo: build.Convert(kind, t.at(build.Copy(f.Lo)), at), Hi: build.Convert(kind, t.at(build.Copy(f.Hi)), at),
		Step: g.Step, Rel: ir.Lt, Directive: rowsAlone(f.Directive), Body: append(body, g.Body...), At: f.At}
}
