package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

var here = ir.Pos{File: "k.go", Line: 1, Col: 1}

func intVars(names ...string) []*ir.Var {
	out := make([]*ir.Var, len(names))
	for i, n := range names {
		out[i] = &ir.Var{Name: n, Type: ir.IntType, ID: i, At: here}
	}
	return out
}

func TestAffineForms(t *testing.T) {
	v := intVars("i", "j", "n")
	i, j, n := build.Ref(v[0], here), build.Ref(v[1], here), build.Ref(v[2], here)
	row := build.Binary(ir.Mul, i, n, here)
	for _, c := range []struct {
		e    ir.Expr
		want string
	}{
		{build.Binary(ir.Add, row, j, here), "i*n + j"},
		{build.Binary(ir.Sub, build.Binary(ir.Add, row, j, here), row, here), "j"},
		{build.Binary(ir.Mul, build.Binary(ir.Add, i, build.Int(1, here), here), n, here), "i*n + n"},
		{&ir.Unary{Op: ir.Neg, X: build.Binary(ir.Sub, i, build.Int(3, here), here), At: here}, "-i + 3"},
		{&ir.Binary{Op: ir.Shl, X: i, Y: build.Int(3, here), T: ir.IntType, At: here}, "8*i"},
		{&ir.Convert{T: ir.IntType, X: build.Ref(&ir.Var{Name: "b", Type: ir.Uint8Type, ID: 9}, here), At: here}, "b"},
		{build.Binary(ir.Sub, i, i, here), "0"},
	} {
		a, ok := affine.Of(c.e)
		require.True(t, ok, ir.ExprString(c.e))
		require.Equal(t, c.want, a.String())
	}
}

func TestNoAffineForm(t *testing.T) {
	v := intVars("i", "j")
	i, j := build.Ref(v[0], here), build.Ref(v[1], here)
	narrow := build.Ref(&ir.Var{Name: "s", Type: ir.Int16Type, ID: 7}, here)
	for _, e := range []ir.Expr{
		&ir.Binary{Op: ir.Div, X: i, Y: j, T: ir.IntType, At: here},
		&ir.Binary{Op: ir.Add, X: narrow, Y: narrow, T: ir.Int16Type, At: here}, // may wrap at 16 bits
		&ir.Convert{T: ir.Int16Type, X: i, At: here},
		&ir.Convert{T: ir.UintType, X: i, At: here},
		&ir.Binary{Op: ir.Mul, X: build.Int(1<<62, here), Y: build.Int(4, here), T: ir.IntType, At: here}, // leaves 64 bits
		&ir.Const{T: ir.Float64Type, At: here},
	} {
		_, ok := affine.Of(e)
		require.False(t, ok, ir.ExprString(e))
	}
}

func TestAffineCoefficients(t *testing.T) {
	v := intVars("i", "j", "n")
	a := affine.OfVar(v[0]).Mul(affine.OfVar(v[2])).Add(affine.OfVar(v[1])).AddConst(5)
	coef, ok := a.Coef(v[0])
	require.True(t, ok)
	require.Equal(t, "n", coef.String())
	require.Equal(t, "j + 5", a.Without(v[0]).String())
	require.Equal(t, "n*n + j - n + 5", a.Subst(v[0], affine.OfVar(v[2]).AddConst(-1)).String())
	_, ok = a.Mul(affine.OfVar(v[0])).Coef(v[0])
	require.False(t, ok, "i*i is not affine in i")
}

// evaluate computes a for given values of its atoms.
func evaluate(a affine.Form, values map[*ir.Var]int64) int64 {
	sum := int64(0)
	for _, t := range a.Terms {
		x := t.Coef
		for _, atom := range t.Atoms {
			x *= values[atom.Var]
		}
		sum += x
	}
	return sum
}

func randomInt(t *rapid.T, vars []*ir.Var, depth int) (ir.Expr, func(map[*ir.Var]int64) int64) {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		if k := rapid.IntRange(-1, len(vars)-1).Draw(t, "var"); k >= 0 {
			return build.Ref(vars[k], here), func(m map[*ir.Var]int64) int64 { return m[vars[k]] }
		}
		c := rapid.Int64Range(-9, 9).Draw(t, "const")
		return build.Int(c, here), func(map[*ir.Var]int64) int64 { return c }
	}
	x, fx := randomInt(t, vars, depth-1)
	y, fy := randomInt(t, vars, depth-1)
	op := rapid.SampledFrom([]ir.Op{ir.Add, ir.Sub, ir.Mul}).Draw(t, "op")
	return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType, At: here}, func(m map[*ir.Var]int64) int64 {
		a, b := fx(m), fy(m)
		switch op {
		case ir.Add:
			return a + b
		case ir.Sub:
			return a - b
		}
		return a * b
	}
}

// A form, and the expression made of it again, have the value of the expression that it came from.
func TestAffineModel(t *testing.T) {
	vars := intVars("i", "j", "k")
	rapid.Check(t, func(t *rapid.T) {
		e, value := randomInt(t, vars, 4)
		a, ok := affine.Of(e)
		if !ok {
			t.Skip("past maxTerms")
		}
		again, ok := affine.Of(a.Expr(here))
		if !ok || !again.Equal(a) {
			t.Fatalf("%s: %s is not its own form", ir.ExprString(e), a)
		}
		values := map[*ir.Var]int64{}
		for _, v := range vars {
			values[v] = rapid.Int64Range(-6, 6).Draw(t, v.Name)
		}
		if got, want := evaluate(a, values), value(values); got != want {
			t.Fatalf("%s: form %s is %d, want %d", ir.ExprString(e), a, got, want)
		}
	})
}
