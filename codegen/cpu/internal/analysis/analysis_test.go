package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

func variable(name string, t *ir.Type, id int) *ir.Var { return &ir.Var{Name: name, Type: t, ID: id} }
func ref(v *ir.Var) ir.Expr                            { return &ir.Ref{Var: v} }
func num(v int64) ir.Expr                              { return ir.IntConst(v, ir.Pos{}) }
func bin(op ir.Op, x, y ir.Expr) ir.Expr               { return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType} }

// TestLinearOf_IsTheExpression evaluates random sums and products as they are, and taken apart.
func TestLinearOf_IsTheExpression(t *testing.T) {
	vars := []*ir.Var{variable("i", ir.IntType, 0), variable("j", ir.IntType, 1), variable("n", ir.IntType, 2)}
	r := rand.New(rand.NewPCG(1, 2))
	var random func(depth int) ir.Expr
	random = func(depth int) ir.Expr {
		switch {
		case depth == 0 && r.IntN(2) == 0:
			return num(r.Int64N(9) - 4)
		case depth == 0:
			return ref(vars[r.IntN(len(vars))])
		}
		return bin([]ir.Op{ir.Add, ir.Sub, ir.Mul}[r.IntN(3)], random(depth-1), random(depth-1))
	}
	value := map[*ir.Var]int64{vars[0]: 7, vars[1]: -3, vars[2]: 11}
	var eval func(e ir.Expr) int64
	eval = func(e ir.Expr) int64 {
		switch e := e.(type) {
		case *ir.Const:
			return int64(e.Bits)
		case *ir.Ref:
			return value[e.Var]
		}
		b := e.(*ir.Binary)
		x, y := eval(b.X), eval(b.Y)
		switch b.Op {
		case ir.Add:
			return x + y
		case ir.Sub:
			return x - y
		}
		return x * y
	}
	for range 500 {
		e := random(1 + r.IntN(4))
		l := LinearOf(e)
		sum := l.C
		for _, term := range l.Terms {
			sum += term.Coef * eval(term.Expr)
		}
		require.Equal(t, eval(e), sum, ir.Source(e))
	}
}

// TestShapesOf_Lanes: sums of the counter are affine, products of two that differ are not, and what
// the loop does not change is uniform.
func TestShapesOf_Lanes(t *testing.T) {
	i, n, v := variable("i", ir.IntType, 0), variable("n", ir.IntType, 1), variable("v", ir.IntType, 2)
	s := variable("s", ir.SliceOf(ir.IntType), 3)
	index := &ir.Index{X: ref(s), I: bin(ir.Add, bin(ir.Mul, ref(i), num(3)), ref(n))}
	loop := &ir.For{Var: i, Lo: num(0), Hi: ref(n), Step: num(2), Rel: ir.Lt, Body: []ir.Stmt{&ir.Decl{Var: v, Init: index}}}
	shapes := ShapesOf(loop, 2)
	for _, c := range []struct {
		e    ir.Expr
		want Shape
	}{
		{ref(n), Shape{}}, {ref(i), Shape{Affine, 2}}, {index.I, Shape{Affine, 6}}, {bin(ir.Sub, ref(n), ref(i)), Shape{Affine, -2}},
		{bin(ir.Mul, ref(i), ref(i)), Shape{Kind: Varying}}, {index, Shape{Kind: Varying}}, {ref(v), Shape{Kind: Varying}}, {bin(ir.Sub, ref(i), ref(i)), Shape{}},
	} {
		require.Equal(t, c.want, shapes.Shape(c.e), ir.Source(c.e))
	}
}

// TestWindowsOf_CoverAllLanes: every element lies in one window, at its place, and no window goes
// past the last element.
func TestWindowsOf_CoverAllLanes(t *testing.T) {
	for _, lanes := range []int{2, 4, 8, 16} {
		for gap := int64(1); gap <= int64(lanes); gap++ {
			seen := make([]int, lanes)
			for _, w := range WindowsOf(lanes, gap) {
				require.LessOrEqual(t, w.Start+int64(lanes), max(int64(lanes-1)*gap+1, int64(lanes)))
				for _, p := range w.Places {
					seen[p.Lane]++
					require.Equal(t, int64(p.Lane)*gap, w.Start+int64(p.At))
				}
			}
			for lane, n := range seen {
				require.Equal(t, 1, n, "lane %d of %d, %d apart", lane, lanes, gap)
			}
		}
	}
}
