package calls

import (
	"fmt"
	"go/ast"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The builtins copy and clear are loops. A copy between parts of one memory that overlap begins at
// the end where nothing is lost: of two slices of one memory whose capacities reach to its end, the
// one that begins later has the smaller capacity. A kernel that copies slices no part to less than
// that (Kernel.Copies), and none of its arguments may be one where it overlaps with another.

// copySlices returns the number of elements that copy(dst, src) copies.
func (b builtins) copySlices(e *ast.CallExpr) ir.Expr {
	at := b.Pos(e.Pos())
	dst, src := b.Expr(e.Args[0]), b.Expr(e.Args[1])
	if scope.IsBad(dst, src) || dst.Type().Kind != ir.Slice || src.Type().Kind != ir.Slice {
		return b.Bad(e, dst, src)
	}
	apart := separate(dst, src)
	to, from := b.Temp("to", dst, at), b.Temp("from", src, at)
	count := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{&ir.Len{X: to, At: at}, &ir.Len{X: from, At: at}}, T: ir.IntType, At: at}
	n := b.Temp("copied", count, at)
	text := callText("copy", []ir.Expr{dst, src})
	forward := b.elementLoop(text, n, false, at, func(i ir.Expr) ir.Stmt { return copyElement(to, from, i, at) })
	if apart {
		b.Emit(forward)
		return n
	}
	b.Kernel.Copies = true
	backward := b.elementLoop(text, n, true, at, func(i ir.Expr) ir.Stmt { return copyElement(to, from, i, at) })
	later := &ir.Binary{Op: ir.Lt, X: &ir.Cap{X: to, At: at}, Y: &ir.Cap{X: from, At: at}, T: ir.BoolType, At: at}
	b.Emit(&ir.If{Cond: later, Then: []ir.Stmt{backward}, Else: []ir.Stmt{forward}, At: at})
	return n
}

func copyElement(to, from, i ir.Expr, at ir.Pos) ir.Stmt {
	return &ir.Assign{Place: &ir.Index{X: build.Copy(to), I: i, At: at}, Value: &ir.Index{X: build.Copy(from), I: build.Copy(i), At: at}, At: at}
}

// maxListed bounds the length of arrays whose elements an expression lists one by one.
const maxListed = 64

// arrayOf returns the array of type t that has the first elements of a slice. The last one is read
// first: its index is the one that an error names where the slice is too short.
func (b builtins) arrayOf(slice ir.Expr, t *ir.Type, at ir.Pos) ir.Expr {
	from := b.Temp("slice", slice, at)
	if ref, ok := slice.(*ir.Ref); ok && b.Fixed(slice) {
		from = ref
	}
	element := func(i ir.Expr) ir.Expr {
		return &ir.Index{X: build.Copy(from), I: i, Checked: b.Checked(), At: at}
	}
	last := b.Temp("last", element(build.Int(t.Len-1, at)), at)
	if t.Len <= maxListed {
		out := &ir.Composite{T: t, At: at}
		for i := range t.Len - 1 {
			out.Elems = append(out.Elems, element(build.Int(i, at)))
		}
		out.Elems = append(out.Elems, last)
		return out
	}
	out := b.ZeroVar("array", t, at)
	text := fmt.Sprintf("%v(%s)", t, query.Source(slice))
	b.Emit(b.elementLoop(text, build.Int(t.Len, at), false, at, func(i ir.Expr) ir.Stmt {
		return &ir.Assign{Place: &ir.Index{X: build.Copy(out), I: i, At: at}, Value: element(build.Copy(i)), At: at}
	}))
	return out
}

// clearSlice emits clear(x).
func (b builtins) clearSlice(e *ast.CallExpr) {
	at := b.Pos(e.Pos())
	x := b.Expr(e.Args[0])
	if scope.IsBad(x) || x.Type().Kind != ir.Slice {
		b.Bad(e, x)
		b.BadStmt(e.Pos())
		return
	}
	zero := exprs.ZeroOf(x.Type().Elem, at)
	if zero == nil {
		zero = b.ZeroVar("zero", x.Type().Elem, at)
	}
	all := b.Temp("all", x, at)
	text := callText("clear", []ir.Expr{x})
	b.Emit(b.elementLoop(text, &ir.Len{X: all, At: at}, false, at, func(i ir.Expr) ir.Stmt {
		return &ir.Assign{Place: &ir.Index{X: build.Copy(all), I: i, At: at}, Value: build.Copy(zero), At: at}
	}))
}

// elementLoop returns a loop over the indices below n of the call that text shows in messages.
func (b builtins) elementLoop(text string, n ir.Expr, down bool, at ir.Pos, body func(i ir.Expr) ir.Stmt) ir.Stmt {
	k := b.NewVar("k", ir.IntType, ir.Local, at)
	k.Source, k.Visits = text, true
	f := &ir.For{Var: k, Lo: build.Int(0, at), Hi: build.Copy(n), Step: build.Int(1, at), Rel: ir.Lt, At: at}
	if down {
		last := &ir.Binary{Op: ir.Sub, X: build.Copy(n), Y: build.Int(1, at), T: ir.IntType, At: at}
		f.Lo, f.Hi, f.Step, f.Rel = last, build.Int(0, at), build.Int(-1, at), ir.Ge
	}
	f.Body = []ir.Stmt{body(&ir.Ref{Var: k, At: at})}
	return f
}

// separate reports whether two slices surely have nothing in common: they are parts of different
// memories, one of them a local array.
func separate(a, b ir.Expr) bool {
	x, y := localArrayOf(a), localArrayOf(b)
	return x != y && (x != nil || y != nil)
}

// localArrayOf returns the local array that a slice is a part of, nil where that is not seen.
func localArrayOf(slice ir.Expr) *ir.Var {
	if rs, ok := slice.(*ir.Reslice); ok {
		if rs.X.Type().Kind == ir.Slice {
			return localArrayOf(rs.X)
		}
		if v := ir.RootVar(rs.X); v != nil && v.Space == ir.Local {
			return v
		}
	}
	return nil
}
