// Package forms has what the parts of lowering ask of statements and expressions, and the numbers
// that they agree on: the size of a warp, the lanes that share a nested loop, the memory of a team.
package forms

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// ForThreads reports whether all threads of the team run s, each for itself.
func ForThreads(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.For:
		return s.Directive != nil && s.Directive.Parts&(ir.Parallel|ir.Workshare) == ir.Parallel|ir.Workshare
	case *ir.Construct:
		return s.Directive.Parts&ir.Parallel != 0
	}
	return false
}

// Governed reports whether f has a directive that means more on a device than a plain loop.
func Governed(f *ir.For) bool { return f.Directive != nil && f.Directive.Parts&^ir.Simd != 0 }

// IsParallel reports whether s is a construct or holds one, or a barrier.
func IsParallel(s ir.Stmt) bool {
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Construct, *ir.Barrier:
			found = true
		case *ir.For:
			found = found || Governed(s)
		}
		return !found
	})
	return found
}

// AnyParallel reports whether IsParallel holds for a statement of list.
func AnyParallel(list []ir.Stmt) bool {
	for _, s := range list {
		if IsParallel(s) {
			return true
		}
	}
	return false
}

// Returns reports whether list holds a return.
func Returns(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Return); ok {
			found = true
		}
		return !found
	})
	return found
}

// FirstOnly returns the firstprivate variables of d that are not lastprivate, too: one thread may
// use those themselves.
func FirstOnly(d *ir.Directive) []*ir.Var {
	return slices.DeleteFunc(slices.Clone(d.Firstprivate), func(v *ir.Var) bool { return slices.Contains(d.Lastprivate, v) })
}

// BodyOf returns the body of a loop or a construct, nil of any other statement.
func BodyOf(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.For:
		return s.Body
	case *ir.Construct:
		return s.Body
	}
	return nil
}

func IsNestedLoop(f *ir.For) bool {
	d := f.Directive
	return d != nil && d.Parts&ir.Parallel != 0 && d.Nested.Kind != ir.NestedInline
}

// AddsFloats reports whether the order of the operations shows in one of the reductions, all of
// them being of variables.
func AddsFloats(list []ir.Reduction) bool {
	adds := false
	for _, r := range list {
		if !query.IsRef(r.Place) || r.Index != nil {
			return false
		}
		adds = adds || r.Place.Type().IsFloat() && (r.Op == ir.Add || r.Op == ir.Mul)
	}
	return adds
}

// Because names the directive that asked for something, or the compiler's own choice.
func Because(d *ir.Directive) string {
	if d.Text == "" {
		return "the compiler proved its iterations independent"
	}
	return "\"" + d.Text + "\" says so"
}

// Scoped puts declarations in front of list, and both into a body of their own.
func Scoped(decls, list []ir.Stmt, at ir.Pos) []ir.Stmt {
	if len(decls) == 0 {
		return list
	}
	return []ir.Stmt{&ir.Block{Body: append(decls, list...), At: at}}
}

// Unwrapped takes list out of a block that another scope makes needless.
func Unwrapped(list []ir.Stmt) []ir.Stmt {
	if len(list) == 1 {
		if b, ok := list[0].(*ir.Block); ok && b.Label == nil {
			return b.Body
		}
	}
	return list
}

// Flat returns list without blocks that only make a scope.
func Flat(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		if b, ok := s.(*ir.Block); ok && b.Label == nil {
			out = append(out, Flat(b.Body)...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Straight reports whether list runs through, without loops, jumps and barriers.
func Straight(list []ir.Stmt) bool {
	fine := true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.Decl, *ir.Assign, *ir.Atomic, *ir.If, *ir.Block:
		default:
			fine = false
		}
		return fine
	})
	return fine
}

func Mentions(list []ir.Stmt, v *ir.Var) bool { return ir.Used(list).Has(v) }

// LeavesIteration reports whether a thread can skip the rest of an iteration, and with it a
// barrier.
func LeavesIteration(body []ir.Stmt, label *ir.Label) bool {
	leaves := false
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Continue:
			leaves = leaves || s.Label == label
		case *ir.Return:
			leaves = true
		}
		return !leaves
	})
	return leaves
}

// LeavesOnly reports whether s is a branch that ends the iteration after its statements.
func LeavesOnly(s *ir.If, own *ir.VarSet) bool {
	n := len(s.Then) - 1
	if n < 0 || len(s.Else) > 0 {
		return false
	}
	_, leaves := s.Then[n].(*ir.Continue)
	return leaves && !query.JumpsOut(&ir.Block{Body: s.Then[:n], At: s.At})
}

// Computes reports whether s is the declaration or assignment of a variable among own, those of an
// iteration, so that all lanes of a group may run it.
func Computes(s ir.Stmt, own *ir.VarSet) bool {
	switch s := s.(type) {
	case *ir.Decl:
		return true
	case *ir.Assign:
		return query.IsRef(s.Place) && own.Has(s.Place.(*ir.Ref).Var)
	}
	return false
}

// SliceOf returns how slice v of an iteration is made of variables of it again; nil where it is
// not.
func SliceOf(body []ir.Stmt, v *ir.Var) *ir.Reslice {
	var found *ir.Reslice
	if v.Type.Kind != ir.Slice || ir.AddressTaken(body).Has(v) {
		return nil
	}
	n := 0
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl:
			if r, ok := s.Init.(*ir.Reslice); ok && s.Var == v && query.IsRef(r.X) && r.X.(*ir.Ref).Var.Space == ir.Param && query.IsRef(r.Lo) && query.IsRef(r.Hi) {
				found = &ir.Reslice{X: r.X, Lo: r.Lo, Hi: r.Hi, At: r.At}
			}
			if s.Var == v {
				n++
			}
		case *ir.Assign:
			if query.RefVar(s.Place) == v {
				n++
			}
		}
		return true
	})
	if n != 1 {
		return nil
	}
	return found
}

// IndexedBy returns the length of the shortest slice that the variable of g indexes, nil where
// there is none. A slice that body makes of a parameter counts as that.
func IndexedBy(g *ir.For, body []ir.Stmt) ir.Expr {
	var least ir.Expr
	ir.WalkExprs(g.Body, func(e ir.Expr) bool {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !query.IsRef(ix.X) {
			return true
		}
		of := ix.X.(*ir.Ref).Var
		if of.Space != ir.Param {
			r := SliceOf(body, of)
			if r == nil {
				return true
			}
			of = r.X.(*ir.Ref).Var
		}
		if form, ok := affine.Of(ix.I); !ok || !form.Equal(affine.OfVar(g.Var)) {
			return true
		}
		length := &ir.Len{X: build.Ref(of, g.At), At: g.At}
		switch {
		case least == nil:
			least = length
		case !ir.ExprVars(least).Has(of):
			least = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{least, length}, T: ir.IntType, At: g.At}
		}
		return true
	})
	return least
}

// FewEach is the test whether the runs of nested loop g of f, whose iteration is body, have fewer
// than average iterations on average; nil where the launch does not determine that.
func FewEach(f, g *ir.For, body []ir.Stmt, average int64) ir.Expr {
	total := IndexedBy(g, body)
	if total == nil {
		return nil
	}
	rows := build.Binary(ir.Mul, build.Trips(f, f.Lo, f.Hi, f.Step), build.Int(average, f.At), f.At)
	return build.Compare(ir.Lt, total, rows, f.At)
}

// Widened puts k, whose value fits the type of v, in the stead of v in body, which it may change.
func Widened(body []ir.Stmt, v, k *ir.Var) []ir.Stmt {
	if v.Type.Kind == ir.Int64 {
		return build.WithVars(map[*ir.Var]*ir.Var{v: k}).CopyStmts(body)
	}
	ir.WalkExprs(body, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok {
			if form, ok := affine.Of(ix.I); ok && form.Equal(affine.OfVar(v)) {
				ix.I = build.Ref(k, ix.At)
			}
		}
		return true
	})
	if !Mentions(body, v) {
		return body
	}
	return append([]ir.Stmt{build.Decl(v, build.Convert(v.Type, build.Ref(k, v.At), v.At), v.At)}, body...)
}

// Counts reports whether f goes up by one, in ints.
func Counts(f *ir.For) bool {
	step, ok := query.Int64(f.Step)
	return ok && step == 1 && f.Rel == ir.Lt && f.Var.Type.Kind == ir.Int64
}

// Below returns f, or, where it counts up to its bound and with it, a copy that counts up to what
// follows that. A bound that nothing follows makes the loop endless in Go.
func Below(f *ir.For) *ir.For {
	if f.Rel != ir.Le {
		return f
	}
	g := *f
	g.Rel, g.Hi = ir.Lt, build.Binary(ir.Add, f.Hi, &ir.Const{T: f.Hi.Type(), Bits: 1, At: f.At}, f.At)
	return &g
}

// PlainValue reports whether e is arithmetic on variables and elements of slices that needs no
// checks.
func PlainValue(e ir.Expr) bool { return isPlain(e, false) }

// PlainOrArray is PlainValue, where elements of arrays are plain, too.
func PlainOrArray(e ir.Expr) bool { return isPlain(e, true) }

func isPlain(e ir.Expr, arrays bool) bool {
	plain := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Ref, *ir.Unary, *ir.Convert, *ir.Math, *ir.Len, *ir.Select:
		case *ir.Binary:
			plain = plain && !x.Checked
		case *ir.Index:
			array := arrays && x.X.Type().Kind == ir.Array
			plain = plain && !x.Checked && (array || x.X.Type().Kind == ir.Slice && x.Type().IsScalar())
		default:
			plain = false
		}
		return plain
	})
	return plain
}
