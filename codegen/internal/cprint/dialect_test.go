package cprint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

var (
	nested = Dialect{Types: []string{"", "bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "float", "double"},
		Long: "l", UnsignedLong: "ul", Nil: "NULL", Float32Bits: "as_float(0x%xu)", Float64Bits: "as_double(0x%xul)"}
	flat = Dialect{Types: nested.Types, Long: "ll", UnsignedLong: "ull", FlatChains: true}
)

func name(s string, t Type) Val { return Value(s, PrecPostfix, t) }

func TestJoin_HasTheParenthesesOfAReader(t *testing.T) {
	a, b := name("a", U32), name("b", U32)
	for _, c := range []struct{ got, want string }{
		{flat.Join(ir.And, flat.Join(ir.And, a, b, U32), b, U32).Text, "a & b & b"},
		{nested.Join(ir.And, nested.Join(ir.And, a, b, U32), b, U32).Text, "(a & b) & b"},
		{flat.Join(ir.Add, a, flat.Join(ir.Add, a, b, U32), U32).Text, "a + a + b"},
		{nested.Join(ir.Add, a, nested.Join(ir.Add, a, b, U32), U32).Text, "a + (a + b)"},
		{flat.Join(ir.Sub, a, flat.Join(ir.Sub, a, b, U32), U32).Text, "a - (a - b)"},
		{flat.Join(ir.LOr, flat.Join(ir.LAnd, a, b, Bool), b, Bool).Text, "(a && b) || b"},
		{flat.Join(ir.Shl, flat.Join(ir.Shl, a, b, U32), b, U32).Text, "(a << b) << b"},
		{flat.Join(ir.AndNot, a, flat.Join(ir.Or, a, b, U32), U32).Text, "a & ~(a | b)"},
		{flat.Join(ir.Add, a, Number("-1", I32), I32).Text, "a + (-1)"},
		{Minus(Minus(a, I32), I32).Text, "-(-a)"},
	} {
		require.Equal(t, c.want, c.got)
	}
}

func TestConst_IsTheSameNumberInC(t *testing.T) {
	for _, c := range []struct {
		t    *ir.Type
		bits uint64
		want string
	}{
		{ir.IntType, 7, "7"}, {ir.IntType, math.MaxUint64, "-1"}, {ir.IntType, 1 << 40, "1099511627776l"},
		{ir.IntType, 1 << 63, "(-9223372036854775807l - 1)"}, {ir.Int32Type, uint64(0xffffffff80000000), "(-2147483647 - 1)"},
		{ir.Uint32Type, 1 << 31, "0x80000000u"}, {ir.Uint64Type, 1 << 63, "0x8000000000000000ul"}, {ir.BoolType, 1, "true"},
		{ir.Float32Type, uint64(math.Float32bits(0.1)), "0.1f"}, {ir.Float64Type, math.Float64bits(3), "3.0"},
		{ir.Float32Type, uint64(math.Float32bits(float32(math.Inf(1)))), "as_float(0x7f800000u)"},
		{ir.Float64Type, math.Float64bits(math.NaN()), "as_double(0x7ff8000000000001ul)"},
	} {
		require.Equal(t, c.want, nested.Const(&ir.Const{T: c.t, Bits: c.bits}).Text)
	}
}

func TestCast_MakesExact(t *testing.T) {
	low := name("x", U64).Modulo(32, true)
	require.False(t, low.IsExact())
	require.Equal(t, Value("(int)x", PrecUnary, I32), flat.Cast(low, I32))
	require.Equal(t, "5u", flat.Cast(name("5", I32), U32).Text)
	require.Equal(t, "5ull", flat.Cast(name("5", I32), U64).Text)
	require.Equal(t, "-1ull", flat.Beside(Number("-1", I32), U64).Text)
	require.Equal(t, U32, Common(I32, U32))
	require.Equal(t, I64, Common(I64, U32))
	require.Equal(t, I32, Common(Bool, U8))
	require.Equal(t, F64, Common(F32, F64))
}

func TestJumps_NameWhatCHasNoWordFor(t *testing.T) {
	outer, inner := &ir.Label{Name: "rows"}, &ir.Label{}
	loop := &ir.For{Label: inner, Body: []ir.Stmt{&ir.Break{Label: inner}, &ir.Break{Label: outer}, &ir.Continue{Label: outer}}}
	j := NewJumps(nil, nil)
	far := j.Enter(outer, true, true, []ir.Stmt{loop})
	require.Equal(t, "rows_end", far.End)
	require.Equal(t, "rows_next", far.Next)
	near := j.Enter(inner, true, true, loop.Body)
	require.Empty(t, near.End+near.Next)
	for _, c := range []struct {
		jump func(*ir.Label) (string, bool)
		to   *ir.Label
		want string
	}{{j.Leave, inner, "break"}, {j.Leave, outer, "goto rows_end"}, {j.Again, inner, "continue"}, {j.Again, outer, "goto rows_next"}} {
		text, ok := c.jump(c.to)
		require.True(t, ok)
		require.Equal(t, c.want, text)
	}
	j.Pop()
	_, ok := j.Again(inner)
	require.False(t, ok)
}
