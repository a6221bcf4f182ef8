package ir_test

import (
	"math"
	"math/big"
	"math/bits"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
)

var at = ir.Pos{File: "k.go", Line: 3, Col: 2}

var integerTypes = []*ir.Type{ir.Int8Type, ir.Int16Type, ir.Int32Type, ir.Int64Type, ir.Uint8Type, ir.Uint16Type,
	ir.Uint32Type, ir.Uint64Type}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// goInteger is what the Go compiler makes of x op y in type T.
func goInteger[T integer](op ir.Op, xb, yb ir.Bits) ir.Bits {
	x, y := T(xb), T(yb)
	switch op {
	case ir.Add:
		x += y
	case ir.Sub:
		x -= y
	case ir.Mul:
		x *= y
	case ir.Div:
		x /= y
	case ir.Rem:
		x %= y
	case ir.And:
		x &= y
	case ir.Or:
		x |= y
	case ir.Xor:
		x ^= y
	case ir.AndNot:
		x &^= y
	case ir.Shl:
		x <<= y
	case ir.Shr:
		x >>= y
	case ir.Min:
		x = min(x, y)
	case ir.Max:
		x = max(x, y)
	default:
		return ir.BoolBits(map[ir.Op]bool{ir.Eq: x == y, ir.Ne: x != y, ir.Lt: x < y, ir.Le: x <= y, ir.Gt: x > y,
			ir.Ge: x >= y}[op])
	}
	return ir.Bits(x)
}

var goIntegers = map[ir.Kind]func(ir.Op, ir.Bits, ir.Bits) ir.Bits{
	ir.Int8: goInteger[int8], ir.Int16: goInteger[int16], ir.Int32: goInteger[int32], ir.Int64: goInteger[int64],
	ir.Uint8: goInteger[uint8], ir.Uint16: goInteger[uint16], ir.Uint32: goInteger[uint32], ir.Uint64: goInteger[uint64],
}

// operand draws a value of t, often one near an end of its range.
func operand(r *rapid.T, t *ir.Type, label string) ir.Bits {
	edge := rapid.SampledFrom([]uint64{0, 1, 2, ^uint64(0), 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 1 << 7, 1 << 15, 31, 63, 64, 200})
	return ir.Normal(t, rapid.OneOf(edge, rapid.Uint64()).Draw(r, label))
}

func TestIntegersFoldAsGoComputesThem(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		typ := rapid.SampledFrom(integerTypes).Draw(r, "type")
		op := ir.Op(rapid.IntRange(int(ir.Add), int(ir.Ge)).Draw(r, "op"))
		if rapid.IntRange(0, 9).Draw(r, "minmax") == 0 {
			op = rapid.SampledFrom([]ir.Op{ir.Min, ir.Max}).Draw(r, "which")
		}
		x, y := operand(r, typ, "x"), operand(r, typ, "y")
		got, err := ir.FoldBinary(op, typ, typ, x, y)
		switch {
		case (op == ir.Div || op == ir.Rem) && y == 0:
			require.ErrorIs(r, err, ir.ErrDivide)
		case (op == ir.Shl || op == ir.Shr) && typ.IsSigned() && int64(y) < 0:
			require.ErrorIs(r, err, ir.ErrShift)
		default:
			require.NoError(r, err)
			require.Equal(r, goIntegers[typ.Kind](op, x, y), got)
		}
	})
}

func TestFloat32RoundsAtEachStep(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x, y := rapid.Float32().Draw(r, "x"), rapid.Float32().Draw(r, "y")
		want := map[ir.Op]float32{ir.Add: x + y, ir.Sub: x - y, ir.Mul: x * y, ir.Div: x / y, ir.Min: min(x, y), ir.Max: max(x, y)}
		for op, w := range want {
			got, err := ir.FoldBinary(op, ir.Float32Type, ir.Float32Type, f32(x), f32(y))
			require.NoError(r, err)
			require.Equal(r, f32(w), got, op)
		}
	})
}

func f32(f float32) ir.Bits { return ir.Bits(math.Float32bits(f)) }

func TestConversionsAreGos(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-300, 300)).Draw(r, "f")
		x := math.Float64bits(f)
		from := func(to *ir.Type) ir.Bits { return ir.FoldConvert(to, ir.Float64Type, x) }
		within := func(lo, hi float64) bool { // what does not fit is as on amd64, and Go has others elsewhere
			return runtime.GOARCH == "amd64" || f > lo && f < hi
		}
		if within(-1<<31, 1<<31) {
			require.Equal(r, ir.Bits(int8(f)), from(ir.Int8Type))
			require.Equal(r, ir.Bits(uint16(f)), from(ir.Uint16Type))
			require.Equal(r, ir.Bits(int32(f)), from(ir.Int32Type))
		}
		if within(-1, 1<<32) {
			require.Equal(r, ir.Bits(uint32(f)), from(ir.Uint32Type))
		}
		if within(-1<<63, 1<<63) {
			require.Equal(r, ir.Bits(int64(f)), from(ir.Int64Type))
		}
		if within(-1, 1<<64) {
			require.Equal(r, uint64(f), from(ir.Uint64Type))
		}
		require.Equal(r, f32(float32(f)), from(ir.Float32Type))
		u := rapid.Uint64().Draw(r, "u")
		require.Equal(r, f32(float32(u)), ir.FoldConvert(ir.Float32Type, ir.Uint64Type, u))
		require.Equal(r, f32(float32(int64(u))), ir.FoldConvert(ir.Float32Type, ir.Int64Type, u))
		require.Equal(r, ir.Bits(int16(u)), ir.FoldConvert(ir.Int16Type, ir.Uint64Type, u))
	})
}

// TestFMARoundsOnce compares with exact arithmetic; exponents are kept where float32 does not go subnormal.
func TestFMARoundsOnce(t *testing.T) {
	g := rapid.Custom(func(r *rapid.T) float32 {
		m := rapid.Uint32Range(0, 1<<23-1).Draw(r, "mantissa")
		e := rapid.Uint32Range(127-30, 127+30).Draw(r, "exponent")
		s := rapid.Uint32Range(0, 1).Draw(r, "sign")
		return math.Float32frombits(s<<31 | e<<23 | m)
	})
	rapid.Check(t, func(r *rapid.T) {
		x, y, z := g.Draw(r, "x"), g.Draw(r, "y"), g.Draw(r, "z")
		exact := new(big.Float).SetPrec(400)
		exact.Mul(big.NewFloat(float64(x)).SetPrec(200), big.NewFloat(float64(y)).SetPrec(200))
		exact.Add(exact, big.NewFloat(float64(z)).SetPrec(400))
		want, _ := exact.Float32()
		got := math.Float32frombits(uint32(ir.FoldMath(ir.FMA, ir.Float32Type, f32(x), f32(y), f32(z))))
		require.Equal(r, want, got)
	})
}

func TestBitFunctions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		u := rapid.Uint64().Draw(r, "u")
		k := rapid.IntRange(-70, 70).Draw(r, "k")
		x8, x16, x32 := uint8(u), uint16(u), uint32(u)
		for _, c := range []struct {
			fn   ir.MathFn
			t    *ir.Type
			args []ir.Bits
			want ir.Bits
		}{
			{ir.LeadingZeros, ir.Uint8Type, []ir.Bits{ir.Bits(x8)}, ir.Bits(bits.LeadingZeros8(x8))},
			{ir.TrailingZeros, ir.Uint16Type, []ir.Bits{ir.Bits(x16)}, ir.Bits(bits.TrailingZeros16(x16))},
			{ir.TrailingZeros, ir.Uint32Type, []ir.Bits{0}, 32},
			{ir.BitLen, ir.Uint32Type, []ir.Bits{ir.Bits(x32)}, ir.Bits(bits.Len32(x32))},
			{ir.Reverse, ir.Uint16Type, []ir.Bits{ir.Bits(x16)}, ir.Bits(bits.Reverse16(x16))},
			{ir.ReverseBytes, ir.Uint32Type, []ir.Bits{ir.Bits(x32)}, ir.Bits(bits.ReverseBytes32(x32))},
			{ir.RotateLeft, ir.Uint8Type, []ir.Bits{ir.Bits(x8), ir.Bits(k)}, ir.Bits(bits.RotateLeft8(x8, k))},
			{ir.RotateLeft, ir.Uint64Type, []ir.Bits{u, ir.Bits(k)}, bits.RotateLeft64(u, k)},
			{ir.MulHi, ir.Uint32Type, []ir.Bits{ir.Bits(x32), 0xdeadbeef}, ir.Bits(x32) * 0xdeadbeef >> 32},
			{ir.OnesCount, ir.Uint64Type, []ir.Bits{u}, ir.Bits(bits.OnesCount64(u))},
		} {
			require.Equal(r, c.want, ir.FoldMath(c.fn, c.t, c.args...), c.fn)
		}
	})
}

func TestEvalOverParameters(t *testing.T) {
	n := &ir.Var{Name: "n", Type: ir.IntType}
	s := &ir.Var{Name: "s", Type: ir.SliceOf(ir.Float32Type)}
	pair := &ir.Type{Kind: ir.Struct, Name: "pair", Size: 16, Align: 8, Fields: []ir.Field{
		{Name: "a", Type: ir.Int32Type}, {Name: "b", Type: ir.ArrayOf(ir.Int16Type, 4), Offset: 8}}}
	p := &ir.Var{Name: "p", Type: pair}
	env := ir.Values{n: {Bits: 7}, s: {Len: 10, Cap: 12},
		p: {Bytes: []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0, 2, 0, 0xfe, 0xff, 4, 0}}}
	ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v, At: at} }
	num := func(i int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: ir.Bits(i), At: at} }
	bin := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: x.Type(), At: at} }
	elem := func(i ir.Expr) ir.Expr {
		return &ir.Index{X: &ir.Member{X: ref(p), Field: 1, At: at}, I: i, At: at}
	}
	part := &ir.Reslice{X: ref(s), Lo: num(2), Hi: ref(n), At: at}
	for _, c := range []struct {
		e    ir.Expr
		want int64
		err  error
	}{
		{e: bin(ir.Div, bin(ir.Add, ref(n), num(3)), num(-4)), want: -2},
		{e: &ir.Len{X: ref(s), At: at}, want: 10},
		{e: &ir.Len{X: part, At: at}, want: 5},
		{e: &ir.Cap{X: part, At: at}, want: 10},
		{e: &ir.Member{X: ref(p), At: at}, want: -1},
		{e: elem(num(2)), want: -2},
		{e: elem(num(4)), err: ir.ErrBounds},
		{e: bin(ir.Rem, num(1), bin(ir.Sub, ref(n), num(7))), err: ir.ErrDivide},
		{e: bin(ir.Shl, num(1), num(-1)), err: ir.ErrShift},
		{e: &ir.Query{What: ir.NumTeams, At: at}, err: ir.ErrUnknown},
		{e: &ir.Index{X: ref(s), I: num(0), At: at}, err: ir.ErrUnknown},
		{e: &ir.Select{Cond: &ir.Binary{Op: ir.Gt, X: ref(n), Y: num(0), T: ir.BoolType, At: at}, X: num(1),
			Y: bin(ir.Div, num(1), num(0)), At: at}, want: 1},
	} {
		got, err := ir.Eval(c.e, env)
		if c.err != nil {
			require.ErrorIs(t, err, c.err, ir.ExprString(c.e))
			require.ErrorContains(t, err, "k.go:3:2: ")
			continue
		}
		require.NoError(t, err, ir.ExprString(c.e))
		require.Equal(t, c.want, int64(got), ir.ExprString(c.e))
	}
}
