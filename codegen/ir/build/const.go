package build

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// Bool returns a constant bool.
func Bool(b bool, at ir.Pos) ir.Expr {
	c := &ir.Const{T: ir.BoolType, At: at}
	if b {
		c.Bits = 1
	}
	return c
}

// Zero returns the zero value of a type that is not a slice or a pointer.
func Zero(t *ir.Type, at ir.Pos) ir.Expr {
	switch t.Kind {
	case ir.Array:
		c := &ir.Composite{T: t, At: at}
		for range t.Len {
			c.Elems = append(c.Elems, Zero(t.Elem, at))
		}
		return c
	case ir.Struct:
		c := &ir.Composite{T: t, At: at}
		for _, f := range t.Fields {
			c.Elems = append(c.Elems, Zero(f.Type, at))
		}
		return c
	}
	return &ir.Const{T: t, At: at}
}

// Identity returns the value of type t that leaves the other operand of op as it is.
func Identity(op ir.Op, t *ir.Type, at ir.Pos) ir.Expr {
	c := &ir.Const{T: t, At: at}
	switch op {
	case ir.Mul:
		c.Bits = oneBits(t)
	case ir.And:
		c.Bits = allOnes(t)
	case ir.LAnd:
		c.Bits = 1
	case ir.Min, ir.MinLoc:
		c.Bits = largest(t)
	case ir.Max, ir.MaxLoc:
		c.Bits = smallest(t)
	}
	return c
}

func oneBits(t *ir.Type) uint64 {
	switch t.Kind {
	case ir.Float32:
		return uint64(math.Float32bits(1))
	case ir.Float64:
		return math.Float64bits(1)
	}
	return 1
}

// allOnes is -1, in the unsigned types the greatest value.
func allOnes(t *ir.Type) uint64 {
	if t.IsSigned() {
		return ^uint64(0)
	}
	return ^uint64(0) >> (64 - 8*uint(t.Size))
}

func largest(t *ir.Type) uint64 {
	switch {
	case t.Kind == ir.Float32:
		return uint64(math.Float32bits(float32(math.Inf(1))))
	case t.Kind == ir.Float64:
		return math.Float64bits(math.Inf(1))
	case t.IsSigned():
		return 1<<(8*uint(t.Size)-1) - 1
	}
	return allOnes(t)
}

func smallest(t *ir.Type) uint64 {
	switch {
	case t.Kind == ir.Float32:
		return uint64(math.Float32bits(float32(math.Inf(-1))))
	case t.Kind == ir.Float64:
		return math.Float64bits(math.Inf(-1))
	case t.IsSigned():
		return ^uint64(0) << (8*uint(t.Size) - 1)
	}
	return 0
}

// Int returns a constant int.
func Int(c int64, at ir.Pos) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(c), At: at} }
