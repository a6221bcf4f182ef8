package cpu

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// powKernel is a[i] = pow(b[i], c[i]).
func powKernel(t *ir.Type) *ir.Kernel {
	a, b, c, i := variable("a", ir.SliceOf(t), 0), variable("b", ir.SliceOf(t), 1), variable("c", ir.SliceOf(t), 2), variable("i", ir.IntType, 3)
	loop := &ir.For{Var: i, Lo: intConst(0), Hi: &ir.Len{X: ref(a)}, Step: intConst(1), Rel: ir.Lt,
		Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare},
		Body:      []ir.Stmt{&ir.Assign{Place: at(a, i), Value: &ir.Math{Fn: ir.Pow, Args: []ir.Expr{at(b, i), at(c, i)}, T: t}}}}
	return &ir.Kernel{Name: "pow", Params: []*ir.Var{a, b, c}, Body: []ir.Stmt{loop}, NumVars: 4}
}

func runPow[T float32 | float64](t *testing.T, typ *ir.Type, o Options, x, y []T) []T {
	t.Helper()
	arena, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, arena.Close()) }()
	code, err := Compile(powKernel(typ), o)
	require.NoError(t, err)
	p, err := arena.Install(code)
	require.NoError(t, err)
	out := make([]T, len(x))
	slice := func(x []T) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))} }
	require.NoError(t, NewRunner(p).Call([]Value{slice(out), slice(x), slice(y)}, nil))
	return out
}

// TestPowerKeepsItsBound tries bases and exponents over the whole range, near 1, negative with whole exponents, and all pairs of special values.
func TestPowerKeepsItsBound(t *testing.T) {
	for machine, o := range machineOptions(t) {
		t.Run(machine+"/float32", func(t *testing.T) { tryPow[float32](t, ir.Float32Type, o, 40_000) })
		t.Run(machine+"/float64", func(t *testing.T) { tryPow[float64](t, ir.Float64Type, o, 1500) })
	}
}

func tryPow[T float32 | float64](t *testing.T, typ *ir.Type, o Options, n int) {
	r := rand.New(rand.NewPCG(8, 8))
	var x, y []T
	add := func(a, b float64) { x, y = append(x, T(a)), append(y, T(b)) }
	for range n {
		base := math.Abs(float64(randomFloat[T](r)))
		largest := vecmath.PowerLimit(typ) * 1.1 / math.Max(1e-30, math.Abs(math.Log(base)))
		add(base, (2*r.Float64()-1)*largest)
		near := 1 + (r.Float64()-0.5)*math.Ldexp(1, -r.IntN(20))
		add(near, (2*r.Float64()-1)*vecmath.PowerLimit(typ)/math.Max(1e-30, math.Abs(math.Log(near))))
		add(r.Float64()*20, float64(r.IntN(40)-20))
		add(-r.Float64()*20, float64(r.IntN(40)-20))
		add(float64(randomFloat[T](r)), float64(randomFloat[T](r)))
	}
	special := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e-45, 5e-324, -1e-310, 1e-39, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, 1e30, -1e30, 1 << 53, 1<<24 + 1}
	for _, a := range special {
		for _, b := range special {
			add(a, b)
		}
	}
	got := runPow(t, typ, o, x, y)
	bound, ok := vecmath.Bound(ir.Pow, typ)
	require.True(t, ok)
	worst, at, easy := 0.0, "", 0
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		want := goFloat(typ, ir.FoldMath(ir.Pow, typ, ir.FloatBits(typ, a), ir.FloatBits(typ, b)))
		tiny := math.Ldexp(1, -126)
		if typ.Size == 8 {
			tiny = math.Ldexp(1, -1022)
		}
		if product := math.Abs(b * math.Log(a)); !(a >= tiny && product < vecmath.PowerLimit(typ)*0.999) || specialValue(want) { // Go's
			if math.Abs(product-vecmath.PowerLimit(typ)) > 1 || math.IsNaN(want) {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(float64(got[i])), "pow(%v, %v)", a, b)
			}
			continue
		}
		easy++
		exact := num(math.Pow(a, b))
		if typ.Size == 8 && a != 1 {
			exact = bigExpOf(new(big.Float).SetPrec(400).Mul(num(b), bigLog(a)))
		}
		if e := ulps(typ, float64(got[i]), exact); e > worst {
			worst, at = e, fmt.Sprintf("pow(%v, %v) = %v", a, b, got[i])
		}
	}
	require.LessOrEqual(t, worst, bound, at)
	require.Greater(t, easy, n)
	t.Logf("%.2f ulp over %d, %s", worst, easy, at)
}
