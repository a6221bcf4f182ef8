package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExprKey_TellsVariablesOfOneNameApart(t *testing.T) {
	a, b := &Var{Name: "x", Type: IntType, ID: 1}, &Var{Name: "x", Type: IntType, ID: 2}
	sum := func(v *Var) Expr { return &Binary{Op: Add, X: &Ref{Var: v}, Y: IntConst(1, Pos{}), T: IntType} }
	require.Equal(t, ExprKey(sum(a)), ExprKey(sum(a)))
	require.NotEqual(t, ExprKey(sum(a)), ExprKey(sum(b)))
}

func TestConstStep_IsNeverZero(t *testing.T) {
	_, ok := ConstStep(&For{Step: IntConst(0, Pos{})})
	require.False(t, ok)
	step, ok := ConstStep(&For{Step: IntConst(-2, Pos{})})
	require.True(t, ok)
	require.EqualValues(t, -2, step)
}

func TestLeavesLoop_TellsWhoseBreakItIs(t *testing.T) {
	inner, outer := &Label{}, &Label{}
	loop := &For{Label: inner, Body: []Stmt{&Break{Label: inner}}}
	require.False(t, LeavesLoop(loop))
	loop.Body = append(loop.Body, &Continue{Label: outer})
	require.True(t, LeavesLoop(loop))
}

func TestToInt_FoldsConstants(t *testing.T) {
	require.Equal(t, IntConst(7, Pos{}), ToInt(&Const{T: Int32Type, Bits: 7}))
	v := &Ref{Var: &Var{Name: "n", Type: Int64Type}}
	require.Equal(t, Expr(v), ToInt(v))
}
