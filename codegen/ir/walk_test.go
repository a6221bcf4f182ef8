package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func varNames(s *VarSet) []string {
	var out []string
	for _, v := range s.List() {
		out = append(out, v.Name)
	}
	return out
}

func TestVariablesOfAKernel(t *testing.T) {
	k := sample()
	require.Equal(t, []string{"s", "i", "j", "i"}, varNames(Declared(k.Body)))
	require.Equal(t, []string{"s", "j"}, varNames(Assigned(k.Body)))
	require.Equal(t, []string{"n", "x"}, varNames(Free(k.Body)))
	require.True(t, Used(k.Body).Has(k.Params[1]), "n occurs in a clause and in a condition")
	require.Zero(t, AddressTaken(k.Body).Len())
}

func TestRootVarStopsAtMemory(t *testing.T) {
	a, s := local("a", ArrayOf(IntType, 4)), local("s", SliceOf(IntType))
	require.Same(t, a, RootVar(&Index{X: use(a), I: integer(1)}))
	require.Nil(t, RootVar(&Index{X: use(s), I: integer(1)}))
	taken := AddressTaken([]Stmt{&Decl{Var: s, Init: &Reslice{X: use(a)}}, &Decl{Var: local("p", PointerTo(IntType)),
		Init: &AddrOf{X: &Index{X: use(s), I: integer(0)}}}})
	require.Equal(t, []string{"a"}, varNames(taken))
}

// TestCopyIsEqualAndShared sees that a plain copy prints the same and has no statement or expression of the original.
func TestCopyIsEqualAndShared(t *testing.T) {
	k := sample()
	before := k.String()
	copied := (&Rewrite{}).CopyStmts(k.Body)
	require.Equal(t, k.Body, copied)
	stmts, exprs := map[Stmt]bool{}, map[Expr]bool{}
	Inspect(k.Body, func(s Stmt) { stmts[s] = true }, func(e Expr) { exprs[e] = true })
	n := 0
	Inspect(copied, func(s Stmt) { require.False(t, stmts[s], "%T", s); n++ }, func(e Expr) { require.False(t, exprs[e], "%T", e); n++ })
	require.Equal(t, len(stmts)+len(exprs), n)

	// Changing all of the copy leaves the original alone.
	fresh := Fresh(k.Body, func(v *Var) *Var { return &Var{Name: v.Name + "2", Type: v.Type, Space: v.Space} })
	renamed := fresh.CopyStmts(k.Body)
	require.Equal(t, before, k.String())
	require.Equal(t, []string{"s2", "i2", "j2", "i2"}, varNames(Declared(renamed)))
	require.Equal(t, []string{"n", "x"}, varNames(Free(renamed)), "what is not declared inside keeps its identity")
	for i, l := range labelsOf(renamed) {
		require.NotSame(t, labelsOf(k.Body)[i], l)
	}
}

func labelsOf(list []Stmt) []*Label {
	var out []*Label
	WalkStmts(list, func(s Stmt) bool {
		if l := LabelOf(s); l != nil {
			out = append(out, l)
		}
		return true
	})
	return out
}

func TestRewriteReplacesFromTheInside(t *testing.T) {
	x, y := local("x", IntType), local("y", IntType)
	e := op(Add, op(Mul, use(x), integer(2)), use(y))
	require.Equal(t, "(x + 1) * 2 + y", ExprString(Subst(e, map[*Var]Expr{x: op(Add, use(x), integer(1))})))
	require.Equal(t, "x * 2 + y", ExprString(e))

	drop := &Rewrite{Stmt: func(s Stmt) []Stmt {
		if _, ok := s.(*Barrier); ok {
			return nil
		}
		return []Stmt{s, s}
	}}
	out := drop.CopyStmts([]Stmt{&Block{Body: []Stmt{&Barrier{}, &Assign{Place: use(x), Value: use(y)}}}})
	require.Len(t, out, 2)
	require.Len(t, out[0].(*Block).Body, 2)
}

func TestWalkPrunes(t *testing.T) {
	k, n := sample(), 0
	WalkStmts(k.Body, func(s Stmt) bool {
		n++
		_, isFor := s.(*For)
		return !isFor
	})
	require.Equal(t, 2, n)
}
