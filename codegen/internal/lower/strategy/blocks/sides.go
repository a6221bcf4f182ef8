package blocks

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A slab holds elements or values computed from them: an expression of an inner loop that depends
// only on elements of its row, such as the distance from a mean or a product with a weight, is the
// same for all columns. It is computed once, when the slab is filled.

// A side is a set of properties of a value: its dependence on row, column and inner loop, and the
// kinds of its operands.
type side uint8

const (
	ofRow side = 1 << iota
	ofColumn
	inLoop // the value depends on the induction variable of the inner loop
	ofElem // the value has elements of slices as operands
	apart  // the value cannot be staged: it is not plain arithmetic, or depends on other variables
)

// A sideFinder finds the expressions of an inner loop that depend either on the row or on the
// column.
type sideFinder struct {
	*crews.Crew
	b    *block
	f    *ir.For
	own  *ir.VarSet // variables that differ between iterations
	list []*panelValue
	fine bool
}

// slabOf returns the values of f that a slab holds, or nil if a slab cannot hold all reads of f.
func slabOf(t *crews.Crew, b *block, f *ir.For, own *ir.VarSet) []*panelValue {
	if !forms.Counts(f) || bodies.HasBranch(f.Body) {
		return nil // a load under a condition must not be hoisted
	}
	x := &sideFinder{Crew: t, b: b, f: f, own: own, fine: true}
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		b, ok := e.(*ir.Binary)
		x.fine = x.fine && !(ok && divides(b)) // threads beyond the boundary would also divide
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

// collect adds the largest subexpressions of e that have elements and depend on at most one side.
func (x *sideFinder) collect(e ir.Expr) {
	s := x.sideOf(e)
	switch both := s&ofRow != 0 && s&ofColumn != 0; {
	case s&ofElem == 0, s&(apart|ofRow|ofColumn) == 0 && s&inLoop != 0: // no elements, or the same elements for all threads
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

// sideOf returns the properties of e.
func (x *sideFinder) sideOf(e ir.Expr) side {
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
		if !query.IsRef(e.X) || !query.LoadFree(e.I) || !affine.Is(e.I) {
			return apart | ofElem
		}
		return x.sideOf(e.I) | x.sideOf(e.X) | ofElem
	case *ir.Select:
		return x.sides(e) | apart // an operand that is not selected may be out of range
	}
	return x.sides(e)
}

func (x *sideFinder) sides(e ir.Expr) side {
	var all side
	ir.Operands(e, func(y ir.Expr) { all |= x.sideOf(y) })
	return all
}

// add notes e, which is of one side.
func (x *sideFinder) add(e ir.Expr, s side) {
	for _, y := range x.list {
		if query.Same(y.elem, e) {
			return
		}
	}
	one := &panelValue{loop: x.f, elem: e, ofRow: s&ofColumn == 0, steady: s&inLoop == 0, value: x.Local("value", e.Type(), e.Pos())}
	ir.WalkExpr(e, func(y ir.Expr) bool {
		ix, ok := y.(*ir.Index)
		if !ok {
			return true
		}
		form, _ := affine.Of(ix.I)
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
