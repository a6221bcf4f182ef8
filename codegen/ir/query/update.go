package query

import "github.com/gompss/gompss/codegen/ir"

// Flatten opens bodies that nothing breaks out of.
func Flatten(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		if b, ok := s.(*ir.Block); ok {
			out = append(out, Flatten(b.Body)...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// UpdateForm takes value apart as place op operand, or operand op place (swapped). A chain such as
// s + a - b is taken as s + (a - b) only by reductions; here the place must be a direct operand.
func UpdateForm(place, value ir.Expr) (op ir.Op, operand ir.Expr, swapped, ok bool) {
	switch v := value.(type) {
	case *ir.Binary:
		switch {
		case v.Op.Precedence() == 0 || v.Op.Precedence() == 3 || v.Op == ir.Rem:
		case Same(v.X, place):
			return v.Op, v.Y, false, true
		case Same(v.Y, place):
			return v.Op, v.X, !commutes(v.Op), true
		}
	case *ir.Math:
		op, found := MinMaxOf[v.Fn]
		if !found || len(v.Args) != 2 {
			break
		}
		if Same(v.Args[0], place) {
			return op, v.Args[1], false, true
		}
		if Same(v.Args[1], place) {
			return op, v.Args[0], false, true
		}
	}
	return ir.NoOp, nil, false, false
}

// MinMaxOf is the operator of each minimum and maximum function.
var MinMaxOf = map[ir.MathFn]ir.Op{ir.IMin: ir.Min, ir.FMin: ir.Min, ir.IMax: ir.Max, ir.FMax: ir.Max}

// commutes reports whether x op y is y op x, bit for bit; LAnd and LOr do, their operands having no
// side effects.
func commutes(op ir.Op) bool {
	switch op {
	case ir.Add, ir.Mul, ir.And, ir.Or, ir.Xor, ir.LAnd, ir.LOr, ir.Min, ir.Max:
		return true
	}
	return false
}
