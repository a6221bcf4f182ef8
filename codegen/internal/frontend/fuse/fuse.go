// Package fuse makes fused multiply-adds of products in sums where the clause contract asks for
// them.
package fuse

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Clause contract lets a sum or difference of floats take a product in, in one operation that
// rounds once, as Go's specification permits. Which ones do is decided here, on the loop IR and
// once for all targets, which find ir.FMA and fuse nothing themselves:
//
//   - x*y + z, z + x*y, x*y - z and z - x*y, also of -(x*y), are fused. Of two products the left
//     one is: x*y + u*v is fma(x, y, u*v).
//   - A local variable that is assigned once and read once counts as its value, wherever it is
//     read.
//   - A helper whose only return is its last statement counts as if its body stood in place of
//     the call. Of all others, arguments and results are rounded.
//   - Conversions, elements, fields, targets of pointers and the operands of atomic updates are
//     rounded.
//
// Source: GCC, LLVM (and NVRTC, which is based on it) and Go's compiler for amd64 fuse the left one
// of two products; The Go Programming Language Specification, "Floating-point operators".

// Sums rewrites the body of k and those of its functions. It is done where their forms have been
// checked.
func Sums(k *ir.Kernel) {
	in := &mapping.Inliner{Local: func(name string, t *ir.Type, at ir.Pos) *ir.Var {
		k.NumVars++
		return &ir.Var{Name: name, Type: t, Space: ir.Local, ID: k.NumVars - 1, At: at}
	}}
	for _, f := range k.Funcs { // callees come first
		f.Body = plainCalls(in, f.Body)
	}
	k.Body = plainCalls(in, k.Body)
	k.Funcs = called(k.Funcs, k.Body)
	for _, f := range k.Funcs {
		f.Body = fused(k, in, f.Body)
	}
	k.Body = fused(k, in, k.Body)
}

// plainCalls returns list with the bodies of functions that return at their end alone in place of
// their calls, and without blocks that are no target of a jump.
//
// The second phase of a scan stays a block: it has a label until its loop is copied.
func plainCalls(in *mapping.Inliner, list []ir.Stmt) []ir.Stmt {
	phase := func(s ir.Stmt) *ir.Block {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Scan != nil {
			return f.Body[len(f.Body)-1].(*ir.Block)
		}
		return nil
	}
	mark := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if b := phase(s); b != nil {
			b.Label = &ir.Label{}
		}
		return []ir.Stmt{s}
	}}
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if b := phase(s); b != nil {
			b.Label = nil
		}
		switch s := s.(type) {
		case *ir.Call:
			if returnsAtEnd(s.Fn) {
				return in.Inline(s).Body
			}
		case *ir.Block:
			if s.Label == nil {
				return s.Body
			}
		}
		return []ir.Stmt{s}
	}}
	return r.CopyStmts(mark.CopyStmts(list))
}

func returnsAtEnd(f *ir.Func) bool {
	returns, last := 0, 0
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Return); ok {
			returns++
		}
		return true
	})
	if n := len(f.Body); n > 0 {
		if _, ok := f.Body[n-1].(*ir.Return); ok {
			last = 1
		}
	}
	return returns == last
}

// called returns the functions of funcs that body calls, directly or indirectly.
func called(funcs []*ir.Func, body []ir.Stmt) []*ir.Func {
	reached := map[*ir.Func]bool{}
	var look func(list []ir.Stmt)
	look = func(list []ir.Stmt) {
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			if c, ok := s.(*ir.Call); ok && !reached[c.Fn] {
				reached[c.Fn] = true
				look(c.Fn.Body)
			}
			return true
		})
	}
	look(body)
	return slices.DeleteFunc(slices.Clone(funcs), func(f *ir.Func) bool { return !reached[f] })
}

// A contraction fuses the products and sums of one body.
type contraction struct {
	*mapping.Inliner
	kernel   *ir.Kernel
	vars     map[*ir.Var]*usage
	split    map[*ir.Var]bool    // variables that a sum takes in as the products that they are
	products map[*ir.Var]ir.Expr // products that replace these variables after their assignment
	time     int                 // statements so far, in program order
}

// A usage counts the uses of a variable in a body.
type usage struct {
	writes, reads  int
	assigned, read int     // when
	value          ir.Expr // of an assignment in the list of statements of the declaration
	list           int     // that one
	other          bool    // it is in a clause, or memory
}

// fused returns body with its sums fused.
func fused(k *ir.Kernel, in *mapping.Inliner, body []ir.Stmt) []ir.Stmt {
	c := &contraction{Inliner: in, kernel: k, vars: map[*ir.Var]*usage{}, split: map[*ir.Var]bool{}, products: map[*ir.Var]ir.Expr{}}
	for _, v := range ir.AddressTaken(body).List() {
		c.of(v).other = true
	}
	c.collect(body)
	ir.WalkExprs(body, func(e ir.Expr) bool {
		c.choose(e)
		return true
	})
	return (&ir.Rewrite{Expr: c.expr, Stmt: c.stmt}).CopyStmts(body)
}

func (c *contraction) of(v *ir.Var) *usage {
	if c.vars[v] == nil {
		c.vars[v] = &usage{}
	}
	return c.vars[v]
}

// Collect fills vars from a list of statements.
func (c *contraction) collect(list []ir.Stmt) {
	c.time++
	this := c.time
	for _, s := range list {
		c.time++
		if w, ok := s.(*ir.While); ok {
			c.collect(w.Pre)
			c.time++
			c.reads(w.Cond)
			c.collect(w.Body)
			c.collect(w.Post)
			continue
		}
		c.direct(s, this)
		ir.Lists(s, c.collect)
	}
}

// direct records the uses directly in s, a statement of a list.
func (c *contraction) direct(s ir.Stmt, list int) {
	switch s := s.(type) {
	case *ir.Decl:
		c.of(s.Var).list = list
		if s.Init != nil {
			c.assigns(s.Var, s.Init, list)
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			c.assigns(r.Var, s.Value, list)
			return
		}
		c.reads(s.Place)
		c.reads(s.Value)
	case *ir.For:
		c.clauses(s.Directive)
		for _, e := range []ir.Expr{s.Lo, s.Hi, s.Step} {
			c.reads(e)
		}
	case *ir.Construct:
		c.clauses(s.Directive)
	case *ir.Call, *ir.Atomic:
		for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
			c.of(v).other = true
		}
		ir.StmtExprs(s, c.reads)
	default:
		ir.StmtExprs(s, c.reads)
	}
}

func (c *contraction) assigns(v *ir.Var, value ir.Expr, list int) {
	c.reads(value)
	u := c.of(v)
	u.writes++
	u.value, u.assigned = value, c.time
	u.other = u.other || u.list != list
}

func (c *contraction) reads(e ir.Expr) {
	ir.WalkExpr(e, func(e ir.Expr) bool {
		if r, ok := e.(*ir.Ref); ok {
			u := c.of(r.Var)
			u.reads++
			u.read = c.time
		}
		return true
	})
}

func (c *contraction) clauses(d *ir.Directive) {
	if d == nil {
		return
	}
	for _, v := range ir.Used([]ir.Stmt{&ir.Construct{Directive: d}}).List() {
		c.of(v).other = true
	}
}

// stands reports whether v, which is assigned once and read once, stands for its value.
func (c *contraction) stands(v *ir.Var) bool {
	u := c.of(v)
	return v.Type.IsFloat() && u.writes == 1 && u.reads == 1 && !u.other && u.read > u.assigned
}

// isProduct reports whether e is a product of floats, or the negative of one, by itself or as the
// value of a variable.
func (c *contraction) isProduct(e ir.Expr) bool {
	e, _ = signed(e)
	if r, ok := e.(*ir.Ref); ok {
		return c.stands(r.Var) && c.isProduct(c.of(r.Var).value)
	}
	return isFloatProduct(e)
}

func isFloatProduct(e ir.Expr) bool { return query.IsProduct(e) && e.Type().IsFloat() }

func isFloatSum(e ir.Expr) (*ir.Binary, bool) {
	b, ok := e.(*ir.Binary)
	return b, ok && (b.Op == ir.Add || b.Op == ir.Sub) && b.T.IsFloat()
}

// signed strips the signs from e.
func signed(e ir.Expr) (of ir.Expr, minus bool) {
	for {
		u, ok := e.(*ir.Unary)
		if !ok || u.Op != ir.Neg {
			return e, minus
		}
		e, minus = u.X, !minus
	}
}

// choose records the variables that the sum e, if it is one, absorbs as products.
func (c *contraction) choose(e ir.Expr) {
	b, ok := isFloatSum(e)
	if !ok {
		return
	}
	for _, x := range []ir.Expr{b.X, b.Y} {
		if c.isProduct(x) {
			c.splitAll(x)
			return
		}
	}
}

func (c *contraction) splitAll(e ir.Expr) {
	e, _ = signed(e)
	if r, ok := e.(*ir.Ref); ok {
		c.split[r.Var] = true
		c.splitAll(c.of(r.Var).value)
	}
}

// stmt evaluates the factors of a fused product at the assignment of the product: their operands
// may change before the sum.
func (c *contraction) stmt(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.Decl:
		if c.split[s.Var] {
			return c.factors(s.Var, s.Init, s.At)
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok && c.split[r.Var] {
			return c.factors(r.Var, s.Value, s.At)
		}
	}
	return []ir.Stmt{s}
}

// factors declares the variables of the factors of product, the value of v; nil, as there is a
// declaration without a value, gives none.
func (c *contraction) factors(v *ir.Var, product ir.Expr, at ir.Pos) []ir.Stmt {
	if product == nil {
		return nil
	}
	of, minus := signed(product)
	b := *of.(*ir.Binary)
	var out []ir.Stmt
	for _, x := range []*ir.Expr{&b.X, &b.Y} {
		if c.lasts(*x, c.of(v).assigned) {
			continue
		}
		held := c.Local(v.Name, v.Type, at)
		*c.of(held) = usage{writes: 1, list: 1}
		out = append(out, build.Decl(held, *x, at))
		*x = build.Ref(held, at)
	}
	c.products[v] = &b
	if minus {
		c.products[v] = opposite(&b)
	}
	return out
}

// lasts reports whether e is a constant, or a variable that is assigned once, and before the given
// time.
func (c *contraction) lasts(e ir.Expr, when int) bool {
	r, ok := e.(*ir.Ref)
	if !ok {
		_, ok = e.(*ir.Const)
		return ok
	}
	u := c.of(r.Var)
	return !u.other && (r.Var.Space == ir.Param && u.writes == 0 || u.writes == 1 && u.list > 0 && u.assigned < when)
}

// Expr puts products in place of the variables that stand for them, and fuses sums.
func (c *contraction) expr(e ir.Expr) ir.Expr {
	if r, ok := e.(*ir.Ref); ok && c.products[r.Var] != nil {
		return (&ir.Rewrite{}).CopyExpr(c.products[r.Var])
	}
	b, ok := isFloatSum(e)
	if !ok {
		return e
	}
	left, minusLeft := signed(b.X)
	right, minusRight := signed(b.Y)
	switch {
	case isFloatProduct(left):
		z := b.Y
		if b.Op == ir.Sub {
			z = opposite(z)
		}
		return c.fused(b, left.(*ir.Binary), minusLeft, z)
	case isFloatProduct(right):
		return c.fused(b, right.(*ir.Binary), minusRight != (b.Op == ir.Sub), b.X)
	}
	return e
}

// fused returns m + z, or -m + z, in place of sum.
func (c *contraction) fused(sum, m *ir.Binary, minus bool, z ir.Expr) ir.Expr {
	c.kernel.Fused = append(c.kernel.Fused, sum.At)
	x, y := m.X, m.Y
	switch {
	case minus && isPlain(x) && !isPlain(y):
		y = opposite(y)
	case minus:
		x = opposite(x)
	}
	return &ir.Math{Fn: ir.FMA, Args: []ir.Expr{x, y, z}, T: sum.T, At: sum.At}
}

// isPlain reports whether the negative of e is an operation more.
func isPlain(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return false
	case *ir.Unary:
		return e.Op != ir.Neg
	}
	return true
}

// opposite returns -e of a float.
func opposite(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Const:
		return &ir.Const{T: e.T, Bits: e.Bits ^ 1<<(8*e.T.Size-1), At: e.At}
	case *ir.Unary:
		if e.Op == ir.Neg {
			return e.X
		}
	}
	return &ir.Unary{Op: ir.Neg, X: e, At: e.Pos()}
}
