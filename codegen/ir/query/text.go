package query

import "github.com/gompss/gompss/codegen/ir"

// Source returns the text of e in Go syntax, without the marks of run-time checks.
func Source(e ir.Expr) string { return ir.Source(e) }

// Reducible says why values of type t cannot be combined with op, "" where they can.
func Reducible(op ir.Op, t *ir.Type) string {
	switch op {
	case ir.Add, ir.Mul, ir.Min, ir.Max, ir.MinLoc, ir.MaxLoc:
		if !t.IsInteger() && !t.IsFloat() {
			return "it needs numbers"
		}
	case ir.And, ir.Or, ir.Xor:
		if !t.IsInteger() {
			return "it needs integers"
		}
	case ir.LAnd, ir.LOr:
		if t.Kind != ir.Bool {
			return "it needs bools"
		}
	}
	return ""
}
