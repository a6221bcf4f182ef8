package specialise

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// Sizes returns the parameters of k whose values shape its code, by number: integers that the
// kernel does not change, which bound a loop inside another one, or by which something is
// multiplied or divided. With their values known, loops have a known number of iterations and rows
// a known length. A kernel that prints has none.
func Sizes(k *ir.Kernel) (out []int) {
	if k.Printing != nil {
		return nil
	}
	fixed := fixedParams(k)
	found := &ir.VarSet{}
	add := func(e ir.Expr) {
		for _, v := range ir.ExprVars(e).List() {
			if fixed.Has(v) {
				found.Add(v)
			}
		}
	}
	var statements func(list []ir.Stmt, inside bool)
	statements = func(list []ir.Stmt, inside bool) {
		for _, s := range list {
			within := inside
			switch s := s.(type) {
			case *ir.For:
				if inside {
					add(s.Lo)
					add(s.Hi)
					add(s.Step)
				}
				within = true
			case *ir.While:
				within = true
			case *ir.Call:
				for _, a := range s.Args {
					add(a)
				}
			}
			ir.Lists(s, func(inner []ir.Stmt) { statements(inner, within) })
		}
	}
	statements(k.Body, false)
	ir.WalkExprs(k.Body, func(e ir.Expr) bool {
		if b, ok := e.(*ir.Binary); ok && b.T.IsInteger() {
			switch b.Op {
			case ir.Mul:
				add(b.X)
				add(b.Y)
			case ir.Div, ir.Rem:
				add(b.Y)
			}
		}
		return true
	})
	for i, p := range k.Params {
		if found.Has(p) {
			out = append(out, i)
		}
	}
	return out
}

// fixedParams returns the integer parameters of k that nothing changes and no clause makes private.
func fixedParams(k *ir.Kernel) *ir.VarSet {
	assigned, taken, named := ir.Assigned(k.Body), ir.AddressTaken(k.Body), &ir.VarSet{}
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		for _, v := range ir.UsedByDirective(s) {
			named.Add(v)
		}
		return true
	})
	out := &ir.VarSet{}
	for _, p := range k.Params {
		if p.Type.IsInteger() && !assigned.Has(p) && !taken.Has(p) && !named.Has(p) {
			out.Add(p)
		}
	}
	return out
}

// WithSizes returns k specialised for the given values of parameters of [Sizes]. The two kernels
// share variables and functions.
func WithSizes(k *ir.Kernel, values map[int]ir.Bits) *ir.Kernel {
	own := *k
	s := sizing{known: map[*ir.Var]ir.Bits{}}
	for i, bits := range values {
		s.known[k.Params[i]] = bits
	}
	own.Body = s.folded(k.Body)
	for s.learn(own.Body) {
		own.Body = s.folded(own.Body)
	}
	return &own
}

// A sizing knows variables that have one value.
type sizing struct {
	known map[*ir.Var]ir.Bits
}

// learn finds the variables that list declares once, with a constant, and never changes. It reports
// whether there are new ones.
func (z *sizing) learn(list []ir.Stmt) bool {
	assigned, taken, times := ir.Assigned(list), ir.AddressTaken(list), map[*ir.Var]int{}
	var decls []*ir.Decl
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		for _, v := range ir.UsedByDirective(s) {
			times[v]++
		}
		if d, ok := s.(*ir.Decl); ok {
			decls = append(decls, d)
			times[d.Var]++
		}
		return true
	})
	more := false
	for _, d := range decls {
		c, ok := d.Init.(*ir.Const)
		if _, have := z.known[d.Var]; ok && !have && c.T.IsInteger() && times[d.Var] == 1 && !assigned.Has(d.Var) && !taken.Has(d.Var) {
			z.known[d.Var], more = c.Bits, true
		}
	}
	return more
}

// folded replaces the known variables in list by their values, and folds constants.
func (z *sizing) folded(list []ir.Stmt) []ir.Stmt {
	return (&ir.Rewrite{Expr: z.expr, Stmt: z.stmt}).CopyStmts(list)
}

// stmt returns the replacement of s: a branch with a constant condition is replaced by one side.
func (z *sizing) stmt(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		if c, ok := s.Cond.(*ir.Const); ok {
			if c.Bits != 0 {
				return []ir.Stmt{&ir.Block{Body: s.Then, At: s.At}}
			}
			return []ir.Stmt{&ir.Block{Body: s.Else, At: s.At}}
		}
	case *ir.Decl:
		if _, ok := z.known[s.Var]; ok {
			return nil
		}
	}
	return []ir.Stmt{s}
}

// expr returns e, whose operands are folded already, or its value.
func (z *sizing) expr(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Ref:
		if bits, ok := z.known[e.Var]; ok {
			return &ir.Const{T: e.Var.Type, Bits: bits, At: e.At}
		}
	case *ir.Unary:
		if x := constOf(e.X); x != nil {
			return &ir.Const{T: e.Type(), Bits: ir.FoldUnary(e.Op, x.T, x.Bits), At: e.At}
		}
	case *ir.Convert:
		if x := constOf(e.X); x != nil && e.T.IsInteger() {
			return &ir.Const{T: e.T, Bits: ir.FoldConvert(e.T, x.T, x.Bits), At: e.At}
		}
	case *ir.Select:
		if c := constOf(e.Cond); c != nil {
			if c.Bits != 0 {
				return e.X
			}
			return e.Y
		}
	case *ir.Math:
		return foldedMath(e)
	case *ir.Binary:
		return foldedBinary(e)
	}
	return e
}

// constOf returns e where it is a constant integer or bool, else nil.
func constOf(e ir.Expr) *ir.Const {
	if c, ok := e.(*ir.Const); ok && (c.T.IsInteger() || c.T.Kind == ir.Bool) {
		return c
	}
	return nil
}

func foldedMath(e *ir.Math) ir.Expr {
	if !e.T.IsInteger() || slices.ContainsFunc(e.Args, func(a ir.Expr) bool { return constOf(a) == nil }) || e.Fn != ir.IMin && e.Fn != ir.IMax {
		return e
	}
	x, y := e.Args[0].(*ir.Const).Bits, e.Args[1].(*ir.Const).Bits
	return &ir.Const{T: e.T, Bits: ir.FoldMath(e.Fn, e.T, x, y), At: e.At}
}

func foldedBinary(e *ir.Binary) ir.Expr {
	x, y := constOf(e.X), constOf(e.Y)
	switch {
	case x != nil && y != nil:
		if bits, err := ir.FoldBinary(e.Op, x.T, y.T, x.Bits, y.Bits); err == nil {
			return &ir.Const{T: e.T, Bits: bits, At: e.At}
		}
	case x != nil && e.Op == ir.LAnd, x != nil && e.Op == ir.LOr:
		if (x.Bits != 0) == (e.Op == ir.LAnd) {
			return e.Y
		}
		return x
	case y != nil && (e.Op == ir.Div || e.Op == ir.Rem) && y.Bits != 0, y != nil && (e.Op == ir.Shl || e.Op == ir.Shr) && int64(y.Bits) >= 0:
		c := *e
		c.Checked = false
		e = &c
	}
	if e.T.IsInteger() && !e.Checked {
		return build.Binary(e.Op, e.X, e.Y, e.At)
	}
	return e
}
