package cpu

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// mathKernel is a[i] = fn(b[i]).
func mathKernel(fn ir.MathFn, t *ir.Type) *ir.Kernel {
	a, b, i := variable("a", ir.SliceOf(t), 0), variable("b", ir.SliceOf(t), 1), variable("i", ir.IntType, 2)
	loop := &ir.For{Var: i, Lo: intConst(0), Hi: &ir.Len{X: ref(a)}, Step: intConst(1), Rel: ir.Lt,
		Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare},
		Body:      []ir.Stmt{&ir.Assign{Place: at(a, i), Value: &ir.Math{Fn: fn, Args: []ir.Expr{at(b, i)}, T: t}}}}
	return &ir.Kernel{Name: fn.String(), Params: []*ir.Var{a, b}, Body: []ir.Stmt{loop}, NumVars: 3}
}

// runMath computes fn of every x with the vector code for o.
func runMath[T float32 | float64](t *testing.T, fn ir.MathFn, typ *ir.Type, o Options, x []T) []T {
	t.Helper()
	arena, err := NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	code, err := Compile(mathKernel(fn, typ), o)
	require.NoError(t, err)
	p, err := arena.Install(code)
	require.NoError(t, err)
	out := make([]T, len(x))
	slice := func(x []T) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))} }
	require.NoError(t, NewRunner(p).Call([]Value{slice(out), slice(x)}, nil))
	return out
}

// machineOptions are the instruction sets of this machine.
func machineOptions(t *testing.T) map[string]Options {
	t.Helper()
	have, err := Detect()
	if err != nil {
		t.Skip(err)
	}
	out := map[string]Options{"avx2": {}} // or NEON
	if have.AVX512 {
		out["avx512"], out["avx512vl"] = Options{AVX512: true}, Options{AVX512: true, Width: vcode.W256}
	}
	return out
}

// A mathCase is a function with the ranges that it is tried over: exponents of |x| uniform, and x
// itself uniform.
type mathCase struct {
	fn     ir.MathFn
	lo, hi float64 // where x itself is uniform
	exact  func(x float64) *big.Float
}

var mathCases = []mathCase{
	{ir.Exp, -750, 715, bigExp}, {ir.Exp2, -1080, 1030, func(x float64) *big.Float { return bigExpOf(new(big.Float).Mul(num(x), bigLn2())) }},
	{ir.Log, 0.5, 2, bigLog}, {ir.Log2, 0.5, 2, func(x float64) *big.Float { return new(big.Float).Quo(bigLog(x), bigLn2()) }},
	{ir.Log10, 0.5, 2, func(x float64) *big.Float { return new(big.Float).Quo(bigLog(x), bigLog(10)) }},
	{ir.Sin, -1000, 1000, bigSin}, {ir.Cos, -1000, 1000, bigCos},
	{ir.Tan, -100, 100, func(x float64) *big.Float { return new(big.Float).SetPrec(prec).Quo(bigSin(x), bigCos(x)) }},
	{ir.Tanh, -3, 3, bigTanh}, {ir.Erf, -4, 4, bigErf},
	{ir.Rsqrt, 0.01, 4, func(x float64) *big.Float {
		return new(big.Float).SetPrec(prec).Quo(num(1), new(big.Float).SetPrec(400).Sqrt(num(x)))
	}},
}

// TestFunctionsKeepTheirBounds compares with exact values, and special arguments with Go's
// functions.
func TestFunctionsKeepTheirBounds(t *testing.T) {
	for machine, o := range machineOptions(t) {
		for _, c := range mathCases {
			t.Run(fmt.Sprintf("%s/%s/float32", c.fn, machine), func(t *testing.T) { tryMath[float32](t, c, ir.Float32Type, o, 4000) })
			t.Run(fmt.Sprintf("%s/%s/float64", c.fn, machine), func(t *testing.T) { tryMath[float64](t, c, ir.Float64Type, o, 150) })
		}
	}
}

func tryMath[T float32 | float64](t *testing.T, c mathCase, typ *ir.Type, o Options, n int) {
	r := rand.New(rand.NewPCG(3, uint64(c.fn)))
	var x []T
	for range n {
		x = append(x, T(c.lo+(c.hi-c.lo)*r.Float64()), randomFloat[T](r))
	}
	for e := range 1 << exponentBits(typ) { // every exponent, the subnormal numbers among them
		x = append(x, withExponent[T](r, e))
	}
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e-310, 1e-45, -1e-40, 1, -1, 2, 0.5, 710, 88.8, -745.2, -104, 1e300, 1e30, -1e22, 3e38,
		1865.3182, 805.0156, 52239.188, 5900.6865} // at which 1 + p*z lost a whole last place of the cosine
	for _, v := range special {
		x = append(x, T(v))
	}
	got := runMath(t, c.fn, typ, o, x)
	bound, ok := vecmath.Bound(c.fn, typ)
	require.True(t, ok)
	worst, at := 0.0, T(0)
	for i, v := range x {
		want := goFloat(typ, ir.FoldMath(c.fn, typ, ir.FloatBits(typ, float64(v))))
		if specialValue(want) || v == 0 {
			if math.Abs(want) < math.MaxFloat32 || typ.Size == 8 || !specialNear(float64(v), c, typ) {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(float64(got[i])), "%s(%v)", c.fn, v)
			}
			continue
		}
		if circular[c.fn] && math.Abs(float64(v)) > vecmath.CircularLimit(typ) { // left to Go
			require.Equal(t, want, float64(got[i]), "%s(%v)", c.fn, v)
			continue
		}
		if e := ulps(typ, float64(got[i]), exactValue(c, float64(v), typ)); e > worst {
			worst, at = e, v
		}
	}
	require.LessOrEqual(t, worst, bound, "%s(%v): %v", c.fn, at, worst)
	t.Logf("%.2f ulp", worst)
}

var circular = map[ir.MathFn]bool{ir.Sin: true, ir.Cos: true, ir.Tan: true}

// TestFastInverseRoot holds rsqrt under fastmath to the bound of the language, and its special
// values to Go's.
func TestFastInverseRoot(t *testing.T) {
	for machine, o := range machineOptions(t) {
		k := mathKernel(ir.Rsqrt, ir.Float32Type)
		k.Target.FastMath = true
		code, err := Compile(k, o)
		require.NoError(t, err)
		arena, err := NewArena()
		require.NoError(t, err)
		p, err := arena.Install(code)
		require.NoError(t, err)
		x := []float32{0, float32(math.Inf(1)), float32(math.NaN()), -1, 1, 4, 1e-38, 3e38}
		for e := -120; e < 120; e++ {
			x = append(x, float32(math.Ldexp(1.37, e)))
		}
		out := make([]float32, len(x))
		slice := func(x []float32) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))} }
		require.NoError(t, NewRunner(p).Call([]Value{slice(out), slice(x)}, nil))
		for i, v := range x {
			want := 1 / math.Sqrt(float64(v))
			if specialValue(want) {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(out[i]), "%s: rsqrt(%v)", machine, v)
				continue
			}
			require.InEpsilon(t, want, out[i], 1e-5, "%s: rsqrt(%v)", machine, v)
		}
		require.NoError(t, arena.Close())
	}
}

// specialNear tells arguments at which overflow itself depends on the last place.
func specialNear(x float64, c mathCase, t *ir.Type) bool {
	limit := map[ir.MathFn]float64{ir.Exp: 88.7228, ir.Exp2: 128}[c.fn]
	return t.Size == 4 && math.Abs(x-limit) < 1e-3
}

// exactValues are the values of functions in float64 at the arguments that were asked for: every
// machine asks for the same.
var exactValues = map[ir.MathFn]map[float64]*big.Float{}

func exactValue(c mathCase, x float64, t *ir.Type) *big.Float {
	if t.Size == 8 {
		known := exactValues[c.fn]
		if known == nil {
			known = map[float64]*big.Float{}
			exactValues[c.fn] = known
		}
		if known[x] == nil {
			known[x] = c.exact(x)
		}
		return known[x]
	}
	return num(ir.Float(ir.Float64Type, ir.FoldMath(c.fn, ir.Float64Type, ir.FloatBits(ir.Float64Type, x))))
}

func specialValue(v float64) bool { return v == 0 || math.IsNaN(v) || math.IsInf(v, 0) }

func goFloat(t *ir.Type, b ir.Bits) float64 { return ir.Float(t, b) }

// randomFloat is a random bit pattern of a finite number.
func randomFloat[T float32 | float64](r *rand.Rand) T {
	for {
		v := float64(math.Float32frombits(r.Uint32()))
		if unsafe.Sizeof(T(0)) == 8 {
			v = math.Float64frombits(r.Uint64())
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return T(v)
		}
	}
}

func exponentBits(t *ir.Type) int {
	if t.Size == 4 {
		return 9 // and the sign
	}
	return 11
}

// withExponent is a random number with sign and exponent e in its bits; of float64 with any sign.
func withExponent[T float32 | float64](r *rand.Rand, e int) T {
	if unsafe.Sizeof(T(0)) == 4 {
		v := math.Float32frombits(uint32(e)<<23 | r.Uint32()>>9)
		return *(*T)(unsafe.Pointer(&v))
	}
	v := math.Float64frombits(uint64(r.IntN(2))<<63 | uint64(e)<<52 | r.Uint64()>>12)
	return *(*T)(unsafe.Pointer(&v))
}

// ulps is |got - want| in units of want's last place.
func ulps(t *ir.Type, got float64, want *big.Float) float64 {
	if math.IsNaN(got) || math.IsInf(got, 0) {
		return math.Inf(1)
	}
	w, _ := want.Float64()
	_, e := math.Frexp(w)
	unit := math.Ldexp(1, max(e-53, -1074))
	if t.Size == 4 {
		unit = math.Ldexp(1, max(e-24, -149))
	}
	d, _ := new(big.Float).SetPrec(prec).Sub(num(got), want).Float64()
	return math.Abs(d) / unit
}

// What follows computes functions with prec bits; arguments of sin and cos may be large.
const prec = 1300

func num(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

func bigExp(x float64) *big.Float { return bigExpOf(num(x)) }

// bigExpOf halves the argument until the series is short.
func bigExpOf(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return num(1)
	}
	k := max(0, x.MantExp(nil)+10)
	r := new(big.Float).SetPrec(400).SetMantExp(x, -k)
	sum, term := new(big.Float).SetPrec(400).SetInt64(1), new(big.Float).SetPrec(400).SetInt64(1)
	for i := int64(1); i < 40; i++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(400).SetInt64(i))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog is Newton's iteration on exp.
func bigLog(x float64) *big.Float {
	f, e := math.Frexp(x)
	y := new(big.Float).SetPrec(400).SetFloat64(math.Log(f))
	for range 3 { // y += f/exp(y) - 1
		q := new(big.Float).SetPrec(400).Quo(num(f), bigExpOf(y))
		y.Add(y, q.Sub(q, num(1)))
	}
	if e == 0 {
		return y
	}
	return y.Add(y, new(big.Float).SetPrec(400).Mul(num(float64(e)), bigLn2()))
}

var ln2Value *big.Float

func bigLn2() *big.Float {
	if ln2Value == nil {
		y := new(big.Float).SetPrec(400).SetFloat64(math.Ln2)
		for range 3 {
			q := new(big.Float).SetPrec(400).Quo(num(2), bigExpOf(y))
			y.Add(y, q.Sub(q, num(1)))
		}
		ln2Value = y
	}
	return ln2Value
}

var piValue *big.Float

// bigPi is Machin's formula.
func bigPi() *big.Float {
	if piValue == nil {
		arctan := func(n int64) *big.Float {
			x := new(big.Float).SetPrec(prec).Quo(num(1), num(float64(n)))
			sq := new(big.Float).SetPrec(prec).Mul(x, x)
			sum, term := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).Set(x)
			for k := int64(0); k < 600; k++ {
				part := new(big.Float).SetPrec(prec).Quo(term, num(float64(2*k+1)))
				if k%2 == 1 {
					part.Neg(part)
				}
				sum.Add(sum, part)
				term.Mul(term, sq)
			}
			return sum
		}
		a, b := arctan(5), arctan(239)
		piValue = a.Sub(a.Mul(a, num(16)), b.Mul(b, num(4)))
	}
	return piValue
}

func bigSin(x float64) *big.Float { return bigCircular(x, 0) }
func bigCos(x float64) *big.Float { return bigCircular(x, 1) }

// bigCircular reduces by pi/2 and sums the series of the quadrant.
func bigCircular(x float64, shift int64) *big.Float {
	half := new(big.Float).SetPrec(prec).Quo(bigPi(), num(2))
	q := new(big.Float).SetPrec(prec).Quo(num(x), half)
	n, _ := q.Int(nil)
	r := new(big.Float).SetPrec(prec).Sub(num(x), new(big.Float).SetPrec(prec).Mul(new(big.Float).SetPrec(prec).SetInt(n), half))
	r.SetPrec(200)
	quadrant := (new(big.Int).Mod(n, big.NewInt(4)).Int64() + shift) % 4
	z := new(big.Float).SetPrec(200).Mul(r, r)
	term, k := new(big.Float).SetPrec(200).Set(r), int64(1)
	if quadrant%2 == 1 {
		term, k = new(big.Float).SetPrec(200).SetInt64(1), 0
	}
	sum := new(big.Float).SetPrec(200)
	for ; k < 50; k += 2 {
		sum.Add(sum, term)
		term.Mul(term, z)
		term.Quo(term, new(big.Float).SetPrec(200).SetInt64(-(k+1)*(k+2)))
	}
	if quadrant >= 2 {
		sum.Neg(sum)
	}
	return sum
}

func bigTanh(x float64) *big.Float {
	switch {
	case math.Abs(x) > 400:
		return num(math.Copysign(1, x))
	case math.Abs(x) < 1e-20:
		return num(x)
	}
	e := bigExpOf(num(2 * x))
	e.SetPrec(1300)
	return new(big.Float).SetPrec(prec).Quo(new(big.Float).SetPrec(prec).Sub(e, num(1)), new(big.Float).SetPrec(prec).Add(e, num(1)))
}

// bigErf is the series 2/sqrt(pi) * e^(-x*x) * sum x^(2k+1) 2^k / (2k+1)!!.
func bigErf(x float64) *big.Float {
	if math.Abs(x) > 7 {
		return num(math.Copysign(1, x))
	}
	z := new(big.Float).SetPrec(400).Mul(num(x), num(x))
	sum, term := new(big.Float).SetPrec(400), new(big.Float).SetPrec(400).SetFloat64(x)
	for k := int64(0); k < 400; k++ {
		sum.Add(sum, term)
		term.Mul(term, z)
		term.Mul(term, new(big.Float).SetPrec(400).SetInt64(2))
		term.Quo(term, new(big.Float).SetPrec(400).SetInt64(2*k+3))
	}
	sum.Mul(sum, bigExpOf(new(big.Float).SetPrec(400).Neg(z)))
	sum.Mul(sum, num(2))
	return sum.Quo(sum, new(big.Float).SetPrec(400).Sqrt(new(big.Float).SetPrec(400).Set(bigPi())))
}
