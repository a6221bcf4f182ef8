package ir

import (
	"fmt"
	"strings"
)

// ExprString returns e as Go text, for diagnostics and tests: every variable has its own name, and
// a "?" marks a run-time check, a[i?], x /? y, *p?.
func ExprString(e Expr) string { return (&exprText{}).expr(e, 0) }

// The binding strengths: Go's, with the conditional below and the operand of a selector above them.
const (
	precCond    = 0
	precUnary   = 6
	precPrimary = 7
)

// Precedence returns how strongly o binds as a binary operator in Go, 1 (||) to 5 (*); 0 for no
// binary operator.
func (o Op) Precedence() int {
	switch o {
	case LOr:
		return 1
	case LAnd:
		return 2
	case Eq, Ne, Lt, Le, Gt, Ge:
		return 3
	case Add, Sub, Or, Xor:
		return 4
	case Mul, Div, Rem, And, AndNot, Shl, Shr:
		return 5
	}
	return 0
}

// expr returns e, in parentheses where it binds less than min.
func (t *exprText) expr(e Expr, min int) string {
	s, prec := t.bare(e)
	if prec < min {
		return "(" + s + ")"
	}
	return s
}

// bare returns e and how strongly it binds.
func (t *exprText) bare(e Expr) (string, int) {
	switch e := e.(type) {
	case nil:
		return "<nil>", precPrimary
	case *Const:
		return e.String(), precPrimary
	case *Ref:
		return t.name(e.Var), precPrimary
	case *Unary:
		return e.Op.String() + t.expr(e.X, precUnary), precUnary
	case *Binary:
		return t.binary(e)
	case *Convert:
		return convertName(e.T) + "(" + t.expr(e.X, 0) + ")", precPrimary
	case *Select:
		return t.expr(e.Cond, 1) + " ? " + t.expr(e.X, 1) + " : " + t.expr(e.Y, 0), precCond
	case *Index:
		return t.expr(e.X, precPrimary) + "[" + t.expr(e.I, 1) + mark(e.Checked) + "]", precPrimary
	case *Member:
		return t.expr(e.X, precPrimary) + "." + fieldName(e), precPrimary
	case *Deref:
		return "*" + t.expr(e.X, precUnary) + mark(e.Checked), precUnary
	case *AddrOf:
		return "&" + t.expr(e.X, precUnary), precUnary
	}
	return t.call(e), precPrimary
}

// call returns the expressions that look like calls and literals.
func (t *exprText) call(e Expr) string {
	switch e := e.(type) {
	case *Math:
		return e.Fn.String() + "(" + t.list(e.Args) + ")"
	case *Query:
		return e.What.String() + "()"
	case *Len:
		return "len(" + t.expr(e.X, 0) + ")"
	case *Cap:
		return "cap(" + t.expr(e.X, 0) + ")"
	case *Apart:
		return "apart(" + t.expr(e.X, 0) + ", " + t.expr(e.Y, 0) + ")"
	case *Composite:
		return e.T.String() + "{" + t.list(e.Elems) + "}"
	case *Shuffle:
		return e.Kind.String() + "(" + t.expr(e.X, 0) + ", " + t.expr(e.By, 0) + ")"
	case *Reslice:
		return t.reslice(e)
	}
	panic(fmt.Sprintf("gompss: bug: ir: no text for expression %T", e))
}

func (t *exprText) binary(e *Binary) (string, int) {
	prec := e.Op.Precedence()
	if prec == 0 {
		return fmt.Sprintf("%s(%s, %s)", e.Op, t.expr(e.X, 0), t.expr(e.Y, 0)), precPrimary
	}
	return t.expr(e.X, prec) + " " + e.Op.String() + mark(e.Checked) + " " + t.expr(e.Y, prec+1), prec
}

func (t *exprText) reslice(e *Reslice) string {
	s := t.expr(e.X, precPrimary) + "[" + t.optional(e.Lo) + ":" + t.optional(e.Hi)
	if e.Max != nil {
		s += ":" + t.expr(e.Max, 1)
	}
	return s + mark(e.Checked) + "]"
}

func (t *exprText) optional(e Expr) string {
	if e == nil {
		return ""
	}
	return t.expr(e, 1)
}

func (t *exprText) list(es []Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = t.expr(e, 0)
	}
	return strings.Join(out, ", ")
}

func mark(checked bool) string {
	if checked {
		return "?"
	}
	return ""
}

func convertName(t *Type) string {
	if t.Name == "" && t.Kind == Pointer {
		return "(" + t.String() + ")"
	}
	return t.String()
}

func fieldName(e *Member) string {
	if t := e.X.Type(); t != nil && e.Field < len(t.Fields) {
		return t.Fields[e.Field].Name
	}
	return fmt.Sprintf("field%d", e.Field)
}
