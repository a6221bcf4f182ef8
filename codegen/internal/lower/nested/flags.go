package nested

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A flagged loop is a plain nested loop that only sets variables of the iteration around it to
// constants, as free = false where a neighbour has the colour: it sets a flag for each in their
// stead, by |, which may be done in any order.
type flagged struct {
	loop          *ir.For
	before, after []ir.Stmt // declare the flags, and set the variables by them
}

// flagsOf returns nested loop g of f with flags; g itself where there is no such variable.
func (c *nestedChooser) flagsOf(f, g *ir.For) flagged {
	out := flagged{loop: g}
	own := ir.Declared(f.Body)
	inside := ir.Declared(g.Body)
	for _, v := range ir.Assigned(g.Body).List() {
		if !own.Has(v) || inside.Has(v) || v.Space != ir.Local || ir.AddressTaken(f.Body).Has(v) {
			continue
		}
		value := setTo(v, g)
		if value == nil {
			continue
		}
		flag := c.Local(v.Name+"Set", ir.Int32Type, g.At)
		ref := func() ir.Expr { return build.Ref(flag, g.At) }
		number := func(n uint64) ir.Expr { return &ir.Const{T: ir.Int32Type, Bits: n, At: g.At} }
		out.loop = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
			if a, is := s.(*ir.Assign); is && query.RefVar(a.Place) == v {
				return []ir.Stmt{build.Assign(ref(), &ir.Binary{Op: ir.Or, X: ref(), Y: number(1), T: ir.Int32Type, At: a.At}, a.At)}
			}
			return []ir.Stmt{s}
		}}).CopyStmts([]ir.Stmt{out.loop})[0].(*ir.For)
		out.before = append(out.before, build.Decl(flag, number(0), g.At))
		out.after = append(out.after, &ir.If{Cond: build.Compare(ir.Ne, ref(), number(0), g.At), Then: []ir.Stmt{build.Assign(build.Ref(v, g.At), value, g.At)}, At: g.At})
	}
	return out
}

// setTo returns the constant that every assignment of g to v gives it, where g has nothing else to
// do with v; else nil.
func setTo(v *ir.Var, g *ir.For) ir.Expr {
	var value *ir.Const
	fine := true
	sets, uses := 0, 0
	ir.Inspect([]ir.Stmt{g}, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Assign:
			if query.RefVar(s.Place) != v {
				return
			}
			k, is := s.Value.(*ir.Const)
			fine = fine && is && (value == nil || *k == ir.Const{T: value.T, Bits: value.Bits, At: k.At})
			value, sets = k, sets+1
		case *ir.Call:
			fine = fine && !slices.Contains(s.Results, v)
		}
	}, func(e ir.Expr) {
		if r, is := e.(*ir.Ref); is && r.Var == v {
			uses++
		}
	})
	if !fine || value == nil || uses != sets {
		return nil
	}
	return value
}
