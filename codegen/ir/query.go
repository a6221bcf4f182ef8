package ir

import (
	"strconv"
	"strings"
)

// ConstInt returns the value of an integer constant that an int64 holds: none of those of uint64
// from 1<<63 on.
func ConstInt(e Expr) (int64, bool) {
	c, ok := e.(*Const)
	if !ok || !c.T.IsInteger() || c.T.Kind == Uint64 && c.Bits >= 1<<63 {
		return 0, false
	}
	return int64(c.Bits), true
}

// IsWide tells the 64-bit integers, in which indices are computed.
func IsWide(t *Type) bool { return t.Kind == Int64 || t.Kind == Uint64 }

// LeavesLoop reports whether s holds a break or continue that leaves s.
func LeavesLoop(s Stmt) bool {
	inner := map[*Label]bool{}
	found := false
	WalkStmts([]Stmt{s}, func(s Stmt) bool {
		switch s := s.(type) {
		case *For:
			inner[s.Label] = true
		case *While:
			inner[s.Label] = true
		case *Block:
			inner[s.Label] = true
		case *Break:
			found = found || !inner[s.Label]
		case *Continue:
			found = found || !inner[s.Label]
		case *Return:
			found = true
		}
		return true
	})
	return found
}

// ConstStep is the step of a loop, where it is a constant and not 0.
func ConstStep(s *For) (int64, bool) {
	c, ok := ConstInt(s.Step)
	return c, ok && c != 0
}

// ExprKey is a text that two expressions share only where they are the same, variables by their
// identity.
func ExprKey(e Expr) string {
	var b strings.Builder
	for _, v := range ExprVars(e).List() {
		b.WriteByte('#')
		b.WriteString(strconv.Itoa(v.ID))
	}
	return ExprString(e) + b.String()
}

// ParallelLoop tells the loops that a directive lets run on several workers.
func ParallelLoop(s Stmt) (*For, bool) {
	f, ok := s.(*For)
	return f, ok && RunsTogether(f)
}

// RunsTogether reports whether a directive lets the iterations of f run together.
func RunsTogether(f *For) bool {
	d := f.Directive
	return d != nil && d.Parts&(Parallel|Teams|Workshare|Loop|Distribute|Simd) != 0
}

// IsRef reports whether e names v.
func IsRef(e Expr, v *Var) bool {
	r, ok := e.(*Ref)
	return ok && r.Var == v
}

// IntConst is a constant of type int.
func IntConst(n int64, at Pos) Expr {
	return &Const{T: IntType, Bits: uint64(n), At: at}
}

// ToInt converts e to int, unless it is an int or int64.
func ToInt(e Expr) Expr {
	if e.Type().Kind == Int64 {
		return e
	}
	if c, ok := e.(*Const); ok {
		return IntConst(int64(c.Bits), c.At)
	}
	return &Convert{T: IntType, X: e, At: e.Pos()}
}
