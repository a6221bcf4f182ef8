package frontend

import (
	"go/ast"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// The builtins copy and clear are loops. A copy between parts of one memory that overlap begins at
// the end where nothing is lost: of two slices of one memory whose capacities reach to its end, the
// one that begins later has the smaller capacity. A kernel that copies slices no part to less than
// that (Kernel.Copies), and none of its arguments may be one where it overlaps with another.

// copySlices returns the number of elements that copy(dst, src) copies.
func (b *builder) copySlices(e *ast.CallExpr) ir.Expr {
	at := b.pos(e.Pos())
	dst, src := b.expr(e.Args[0]), b.expr(e.Args[1])
	if isBad(dst, src) || dst.Type().Kind != ir.Slice || src.Type().Kind != ir.Slice {
		return b.bad(e, dst, src)
	}
	apart := separate(dst, src)
	to, from := b.temp("to", dst, at), b.temp("from", src, at)
	count := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{&ir.Len{X: to, At: at}, &ir.Len{X: from, At: at}}, T: ir.IntType, At: at}
	n := b.temp("copied", count, at)
	forward := b.elementLoop(n, false, at, func(i ir.Expr) ir.Stmt { return copyElement(to, from, i, at) })
	if apart {
		b.emit(forward)
		return n
	}
	b.u.k.Copies = true
	backward := b.elementLoop(n, true, at, func(i ir.Expr) ir.Stmt { return copyElement(to, from, i, at) })
	later := &ir.Binary{Op: ir.Lt, X: &ir.Cap{X: to, At: at}, Y: &ir.Cap{X: from, At: at}, T: ir.BoolType, At: at}
	b.emit(&ir.If{Cond: later, Then: []ir.Stmt{backward}, Else: []ir.Stmt{forward}, At: at})
	return n
}

func copyElement(to, from, i ir.Expr, at ir.Pos) ir.Stmt {
	return &ir.Assign{Place: &ir.Index{X: build.Copy(to), I: i, At: at}, Value: &ir.Index{X: build.Copy(from), I: build.Copy(i), At: at}, At: at}
}

// clearSlice emits clear(x).
func (b *builder) clearSlice(e *ast.CallExpr) {
	at := b.pos(e.Pos())
	x := b.expr(e.Args[0])
	if isBad(x) || x.Type().Kind != ir.Slice {
		b.bad(e, x)
		b.hole(e.Pos())
		return
	}
	zero := zeroOf(x.Type().Elem, at)
	if zero == nil {
		zero = b.zeroVar("zero", x.Type().Elem, at)
	}
	all := b.temp("all", x, at)
	b.emit(b.elementLoop(&ir.Len{X: all, At: at}, false, at, func(i ir.Expr) ir.Stmt {
		return &ir.Assign{Place: &ir.Index{X: build.Copy(all), I: i, At: at}, Value: build.Copy(zero), At: at}
	}))
}

// elementLoop returns a loop over the indices below n.
func (b *builder) elementLoop(n ir.Expr, down bool, at ir.Pos, body func(i ir.Expr) ir.Stmt) ir.Stmt {
	k := b.newVar("k", ir.IntType, ir.Local, at)
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

// checkCapacities refuses parts with a capacity of their own in a kernel that copies.
func (u *unit) checkCapacities() {
	if !u.k.Copies {
		return
	}
	for _, body := range u.bodies() {
		ir.Inspect(body, nil, func(e ir.Expr) {
			if rs, ok := e.(*ir.Reslice); ok && rs.Max != nil {
				u.report(diag.Diagnostic{Pos: rs.At, What: "slice with a capacity", Why: "the kernel copies between slices, and their capacities say which way",
					Instead: "write x[lo:hi], or a loop for copy"})
			}
		})
	}
}
