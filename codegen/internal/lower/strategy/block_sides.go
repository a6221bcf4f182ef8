package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// What a slab holds need not be elements as they lie in memory: all that an inner loop computes of
// elements of its row alone, as the distance from a mean or a product with a weight, is the same
// for all columns, and is computed once where the slab is filled.

// A side is what a value depends on of the row and the column of an iteration.
type side uint8

const (
	ofRow side = 1 << iota
	ofColumn
	inLoop // it changes with the inner loop
	ofElem // there are elements of slices in it
	apart  // it is more than plain arithmetic
)

// A sider finds what an inner loop of a block computes of one side alone.
type sider struct {
	*Sharer
	b    *block
	f    *ir.For
	own  *ir.VarSet // variables of an iteration
	list []*slabbed
	fine bool
}

// slabOf returns what f reads, nil where that is not what a slab can hold.
func slabOf(t *Sharer, b *block, f *ir.For, own *ir.VarSet) []*slabbed {
	if !forms.Counts(f) || branches(f.Body) {
		return nil // what a condition keeps from being read must not be read early
	}
	x := &sider{Sharer: t, b: b, f: f, own: own, fine: true}
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		b, ok := e.(*ir.Binary)
		x.fine = x.fine && !(ok && divides(b)) // of rows that there are not, too
		return true
	})
	for _, s := range query.Flatten(f.Body) {
		for _, e := range query.DirectExprs(s) {
			x.collect(e)
		}
	}
	if !x.fine {
		return nil
	}
	return x.list
}

// collect adds the largest parts of e that are of one side and hold elements.
func (x *sider) collect(e ir.Expr) {
	s := x.sideOf(e)
	switch both := s&ofRow != 0 && s&ofColumn != 0; {
	case s&ofElem == 0, s&(apart|ofRow|ofColumn) == 0 && s&inLoop != 0: // all threads read the same
		return
	case s&apart == 0 && !both && e.Type().Kind != ir.Bool:
		x.add(e, s)
		return
	}
	if _, ok := e.(*ir.Index); ok {
		x.fine = false
	}
	ir.Operands(e, x.collect)
}

// divides reports whether e is a quotient or a remainder of integers.
func divides(e *ir.Binary) bool { return !e.T.IsFloat() && (e.Op == ir.Div || e.Op == ir.Rem) }

// sideOf returns what e depends on.
func (x *sider) sideOf(e ir.Expr) side {
	switch e := e.(type) {
	case *ir.Ref:
		switch v := e.Var; {
		case v == x.b.row.Var:
			return ofRow
		case v == x.b.column.Var:
			return ofColumn
		case v == x.f.Var:
			return inLoop
		case x.own.Has(v) || x.IsShared(v):
			return apart
		}
		return 0
	case *ir.Index:
		if !query.IsRef(e.X) || !query.LoadFree(e.I) || !isAffine(e.I) {
			return apart | ofElem
		}
		return x.sideOf(e.I) | x.sideOf(e.X) | ofElem
	case *ir.Select:
		return x.sides(e) | apart // what it leaves out need not be there
	}
	return x.sides(e)
}

func (x *sider) sides(e ir.Expr) side {
	var all side
	ir.Operands(e, func(y ir.Expr) { all |= x.sideOf(y) })
	return all
}

// add notes e, which is of one side.
func (x *sider) add(e ir.Expr, s side) {
	for _, y := range x.list {
		if query.Same(y.elem, e) {
			return
		}
	}
	one := &slabbed{loop: x.f, elem: e, ofRow: s&ofColumn == 0, steady: s&inLoop == 0, value: x.Local("value", e.Type(), e.Pos())}
	ir.WalkExpr(e, func(y ir.Expr) bool {
		ix, ok := y.(*ir.Index)
		if !ok {
			return true
		}
		form, _ := analysis.AffineOf(ix.I)
		if form.Has(x.f.Var) && (form.Has(x.b.row.Var) || form.Has(x.b.column.Var)) {
			coef, ok := form.Coef(x.f.Var)
			step, isConst := coef.Const()
			one.across = one.across || ok && isConst && integers.Magnitude(step) == 1
		}
		one.parts = append(one.parts, ix)
		return false
	})
	x.list = append(x.list, one)
}

// namesOut puts the values of variables in front of inner loops in their stead in the loops, where
// they never change and are plain: names are then nothing else than the same without. Nothing is
// stored in front of an inner loop in slabs.
func namesOut(body []ir.Stmt) []ir.Stmt {
	changed := ir.Assigned(body)
	values := map[*ir.Var]ir.Expr{}
	var out []ir.Stmt
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil && !changed.Has(s.Var) && forms.PlainValue(s.Init) {
				values[s.Var] = ir.Subst(s.Init, values)
			}
		case *ir.For:
			c := *s
			c.Body = ir.SubstStmts(s.Body, values)
			out = append(out, &c)
			continue
		}
		out = append(out, s)
	}
	used := ir.Used(out)
	return slices.DeleteFunc(out, func(s ir.Stmt) bool {
		d, ok := s.(*ir.Decl)
		return ok && values[d.Var] != nil && !used.Has(d.Var)
	})
}
