package analysis

import "github.com/gompss/gompss/codegen/ir"

// IndexUses counts the places where a variable alone is an index.
func IndexUses(body []ir.Stmt) map[*ir.Var]int {
	uses := map[*ir.Var]int{}
	ir.Inspect(body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			if r, ok := ix.I.(*ir.Ref); ok {
				uses[r.Var]++
			}
		}
	})
	return uses
}

// OtherOperand is the operand that a sum with 0 or a product with 1 is.
func OtherOperand(e *ir.Binary) (ir.Expr, bool) {
	neutral, ok := map[ir.Op]int64{ir.Add: 0, ir.Sub: 0, ir.Mul: 1}[e.Op]
	if !ok {
		return nil, false
	}
	if c, ok := ir.ConstInt(e.Y); ok && c == neutral {
		return e.X, true
	}
	if c, ok := ir.ConstInt(e.X); ok && c == neutral && e.Op != ir.Sub {
		return e.Y, true
	}
	return nil, false
}

// PlaceIndex is an expression that differs between lanes as the place does.
func PlaceIndex(place ir.Expr) ir.Expr {
	switch p := place.(type) {
	case *ir.Index:
		if p.X.Type().Kind == ir.Slice {
			return p.I
		}
		if _, ok := ir.ConstInt(p.I); !ok {
			return &ir.Binary{Op: ir.Add, X: ir.ToInt(PlaceIndex(p.X)), Y: ir.ToInt(p.I), T: ir.IntType, At: p.At}
		}
		return PlaceIndex(p.X)
	case *ir.Member:
		return PlaceIndex(p.X)
	}
	return nil
}

// GatherIndex is the index of at as the lanes of a gather hold it: an int32 that is made wide is
// itself, in 4 bytes. A uint32, which a gather would take for a signed number, is made an int. So
// is an index that the addressing mode does not multiply by the size of an element: 4 bytes do not
// hold offsets past 2 GiB.
func GatherIndex(at *ir.Index) ir.Expr {
	e := at.I
	if t := at.X.Type(); t.Kind == ir.Slice && !scales(t.Elem.Size) {
		return ir.ToInt(e)
	}
	if c, ok := e.(*ir.Convert); ok && ir.IsWide(c.T) && c.X.Type().IsInteger() && c.X.Type().IsSigned() && c.X.Type().Size <= 4 {
		e = c.X
	}
	if e.Type().Kind == ir.Uint32 {
		return ir.ToInt(e)
	}
	return e
}

// scales reports whether an addressing mode multiplies an index by size bytes.
func scales(size ir.Bytes) bool { return size == 1 || size == 2 || size == 4 || size == 8 }

// Below32 tells the 64-bit numbers that are known to lie in the lower half of their lanes, without
// a sign.
func Below32(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return e.Bits < 1<<32
	case *ir.Convert:
		from := e.X.Type()
		return from.IsInteger() && (from.Size <= 4 && !from.IsSigned() || from.Size == 8 && Below32(e.X))
	case *ir.Math:
		switch e.Fn {
		case ir.OnesCount, ir.BitLen, ir.LeadingZeros, ir.TrailingZeros:
			return true
		}
	case *ir.Binary:
		switch e.Op {
		case ir.And:
			return Below32(e.X) || Below32(e.Y)
		case ir.Shr:
			c, ok := ir.ConstInt(e.Y)
			return ok && (c >= 32 && !e.T.IsSigned() || Below32(e.X))
		}
	}
	return false
}
