package values

import (
	"bytes"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
	"github.com/gompss/gompss/devices"
)

// MayBeNil reports whether pointer v of k may be nil: a use of it then fails the task. In a kernel
// with check(none) that holds where k, or a function that it calls, compares a pointer with nil.
func MayBeNil(k *ir.Kernel, v *ir.Var) bool {
	found := !k.Target.NoBounds
	look := func(s ir.Stmt) bool {
		ir.StmtExprs(s, func(e ir.Expr) {
			ir.WalkExpr(e, func(x ir.Expr) bool {
				b, ok := x.(*ir.Binary)
				found = found || ok && b.X.Type().Kind == ir.Pointer && (b.Op == ir.Eq || b.Op == ir.Ne)
				return !found
			})
		})
		return !found
	}
	if v.Type.Kind == ir.Pointer && !found {
		ir.WalkStmts(k.Body, look)
		for _, f := range k.Funcs {
			ir.WalkStmts(f.Body, look)
		}
	}
	return found
}

// A Variable says where a package variable is that a kernel reads.
type Variable struct {
	Name    string
	Pointer any // to the variable
}

// A Global is a package variable of a kernel.
type Global struct {
	Name string
	Of   ir.Global
	At   Pointer // nil until the program has said where it is
	Nils bool    // a pointer that may be nil
	last atomic.Pointer[[]byte]
}

// Printed reports whether v is an argument for what the kernel prints, and no variable.
func (v *Global) Printed() bool { return v.Name == printing.Buffer || v.Name == printing.Task }

// Argument returns the value of v now; where is the memory of what is a buffer.
func (v *Global) Argument() (a devices.Arg, where Range) {
	t := v.Of.Var.Type
	a.Type = t
	switch {
	case v.Of.Shared:
		where = Range{Base: v.At, Len: 1, Cap: 1, Elem: t.Elem.Size}
		if t.Kind == ir.Slice {
			where.Len, where.Cap = v.Of.Type.Len, v.Of.Type.Len
		}
	case IsMemory(t):
		where = MemoryAt(v.At, t)
	case t.IsScalar():
		a.Bits = scalarAt(v.At, t)
	default:
		a.Blob = v.value()
	}
	return a, where
}

// value returns an immutable copy of v, an array or struct.
func (v *Global) value() []byte {
	now := variableBytes(v.At, v.Of.Type.Size)
	if last := v.last.Load(); last != nil && bytes.Equal(*last, now) {
		return *last
	}
	copied := bytes.Clone(now)
	v.last.Store(&copied)
	return copied
}
