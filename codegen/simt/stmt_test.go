package simt_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

var pair = &ir.Type{Kind: ir.Struct, Name: "pair", Size: 16, Align: 8, Fields: []ir.Field{
	{Name: "a", Type: ir.IntType}, {Name: "b", Type: ir.Int32Type, Offset: 8}}}

// grown has an array, so that its variables live in memory.
var grown = &ir.Type{Kind: ir.Struct, Name: "grown", Size: 40, Align: 8, Fields: []ir.Field{
	{Name: "p", Type: pair}, {Name: "x", Type: ir.ArrayOf(ir.IntType, 3), Offset: 16}}}

// results runs one thread of a kernel over out, n ints long, and returns them.
func results(t *testing.T, n int, body func(b *builder, out *ir.Var) []ir.Stmt) []int64 {
	b := newBuilder("Test")
	out := b.param("out", ir.SliceOf(ir.IntType))
	b.body(body(b, out)...)
	m, o := ints("out", make([]int64, n)...)
	_, err := b.compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 1, Races: true, Steps: 1 << 20})
	require.NoError(t, err)
	got := make([]int64, n)
	for i := range got {
		got[i] = intAt(m, i)
	}
	return got
}

func (b *builder) member(x ir.Expr, i int) ir.Expr { return &ir.Member{X: x, Field: i, At: b.at} }

func (b *builder) lit(t *ir.Type, elems ...ir.Expr) ir.Expr {
	return &ir.Composite{T: t, Elems: elems, At: b.at}
}

func (b *builder) i32(i int32) ir.Expr { return b.konst(ir.Int32Type, ir.Bits(i)) }

func (b *builder) put(out *ir.Var, i int, x ir.Expr) ir.Stmt {
	if x.Type().Kind != ir.Int64 {
		x = b.conv(ir.IntType, x)
	}
	return b.set(b.elem(out, b.num(int64(i))), x)
}

func TestLiteralsReadTheOldValue(t *testing.T) {
	got := results(t, 4, func(b *builder, out *ir.Var) []ir.Stmt {
		p, x := b.local("p", pair), b.local("x", ir.ArrayOf(ir.IntType, 2))
		at := func(i int64) ir.Expr { return b.elem(x, b.num(i)) }
		return []ir.Stmt{
			b.decl(p, b.lit(pair, b.num(1), b.i32(2))),
			b.set(b.ref(p), b.lit(pair, b.conv(ir.IntType, b.member(b.ref(p), 1)), b.conv(ir.Int32Type, b.member(b.ref(p), 0)))),
			b.decl(x, b.lit(x.Type, b.num(3), b.num(4))),
			b.set(b.ref(x), b.lit(x.Type, at(1), at(0))),
			b.put(out, 0, b.member(b.ref(p), 0)), b.put(out, 1, b.member(b.ref(p), 1)), b.put(out, 2, at(0)), b.put(out, 3, at(1)),
		}
	})
	require.Equal(t, []int64{2, 1, 4, 3}, got)
}

func TestConditionMayReadItsTarget(t *testing.T) {
	got := results(t, 2, func(b *builder, out *ir.Var) []ir.Stmt {
		x, y := b.local("x", ir.BoolType), b.local("y", ir.BoolType)
		n := b.local("n", ir.IntType)
		return []ir.Stmt{
			b.decl(x, b.konst(ir.BoolType, 1)), b.decl(y, nil),
			b.set(b.ref(x), b.bin(ir.LOr, b.ref(y), b.ref(x))),
			b.decl(n, b.num(5)),
			b.set(b.ref(n), &ir.Select{Cond: b.ref(y), X: b.num(0), Y: b.bin(ir.Mul, b.ref(n), b.ref(n)), At: b.at}),
			b.put(out, 0, &ir.Select{Cond: b.ref(x), X: b.num(1), Y: b.num(0), At: b.at}), b.put(out, 1, b.ref(n)),
		}
	})
	require.Equal(t, []int64{1, 25}, got)
}

func TestNestedValuesAreCopied(t *testing.T) {
	got := results(t, 5, func(b *builder, out *ir.Var) []ir.Stmt {
		g, h, i := b.local("g", grown), b.local("h", grown), b.local("i", ir.IntType)
		x := func(v *ir.Var, i ir.Expr) ir.Expr { return b.index(b.member(b.ref(v), 1), i) }
		init := b.lit(grown, b.lit(pair, b.num(7), b.i32(-8)), b.lit(ir.ArrayOf(ir.IntType, 3), b.num(1), b.num(2), b.num(3)))
		return []ir.Stmt{
			b.decl(g, init), b.decl(h, b.ref(g)),
			b.forTo(i, b.num(3), b.set(x(h, b.ref(i)), b.bin(ir.Add, x(g, b.ref(i)), x(h, b.bin(ir.Rem, b.bin(ir.Add, b.ref(i), b.num(1)), b.num(3)))))),
			b.set(b.member(b.member(b.ref(h), 0), 1), b.i32(-9)),
			b.put(out, 0, x(g, b.num(0))), b.put(out, 1, x(h, b.num(0))), b.put(out, 2, x(h, b.num(2))),
			b.put(out, 3, b.member(b.member(b.ref(g), 0), 1)), b.put(out, 4, b.member(b.member(b.ref(h), 0), 1)),
		}
	})
	require.Equal(t, []int64{1, 3, 6, -8, -9}, got)
}

func TestEquality(t *testing.T) {
	got := results(t, 4, func(b *builder, out *ir.Var) []ir.Stmt {
		g, h := b.local("g", grown), b.local("h", grown)
		p := b.local("p", pair)
		one := func(i int, cond ir.Expr) ir.Stmt { return b.when(cond, b.put(out, i, b.num(1))) }
		return []ir.Stmt{
			b.decl(g, nil), b.decl(h, nil), b.decl(p, b.lit(pair, b.num(0), b.i32(1))),
			one(0, b.bin(ir.Eq, b.ref(g), b.ref(h))),
			b.set(b.index(b.member(b.ref(h), 1), b.num(2)), b.num(1)),
			one(1, b.bin(ir.Eq, b.ref(g), b.ref(h))), one(2, b.bin(ir.Ne, b.member(b.ref(g), 0), b.ref(p))),
			one(3, b.bin(ir.Eq, &ir.Const{T: ir.SliceOf(ir.IntType), At: b.at}, b.ref(out))),
		}
	})
	require.Equal(t, []int64{1, 0, 1, 0}, got)
}

func TestPointersAndParts(t *testing.T) {
	got := results(t, 6, func(b *builder, out *ir.Var) []ir.Stmt {
		n, q := b.local("n", ir.IntType), b.local("q", ir.PointerTo(ir.IntType))
		s, x := b.local("s", ir.SliceOf(ir.IntType)), b.local("x", ir.ArrayOf(ir.IntType, 4))
		deref := &ir.Deref{X: b.ref(q), Checked: true, At: b.at}
		return []ir.Stmt{
			b.decl(n, b.num(1)), b.decl(q, &ir.AddrOf{X: b.ref(n), At: b.at}),
			b.set(deref, b.bin(ir.Add, deref, b.num(41))), b.put(out, 0, b.ref(n)),
			b.set(b.ref(q), &ir.AddrOf{X: b.elem(out, b.num(1)), At: b.at}), b.set(deref, b.num(8)),
			b.decl(x, nil), b.decl(s, &ir.Reslice{X: b.ref(x), Lo: b.num(1), Hi: b.num(3), At: b.at}),
			b.set(b.elem(s, b.num(1)), b.num(6)), b.put(out, 2, b.elem(x, b.num(2))),
			b.put(out, 3, &ir.Len{X: b.ref(s), At: b.at}), b.put(out, 4, &ir.Cap{X: b.ref(s), At: b.at}),
			b.set(b.ref(s), &ir.Reslice{X: b.ref(out), Lo: b.num(4), At: b.at}),
			b.set(b.ref(s), &ir.Reslice{X: b.ref(s), Lo: b.num(1), At: b.at}), b.set(b.elem(s, b.num(0)), b.num(5)),
		}
	})
	require.Equal(t, []int64{42, 8, 6, 2, 3, 5}, got)
}

func TestSlicesOfOneBufferAlias(t *testing.T) {
	b := newBuilder("Alias")
	x, y := b.param("x", ir.SliceOf(ir.IntType)), b.param("y", ir.SliceOf(ir.IntType))
	p := b.param("p", ir.PointerTo(ir.IntType))
	b.body(b.set(b.elem(x, b.num(1)), b.num(7)), b.set(b.elem(x, b.num(0)), b.elem(y, b.num(0))),
		b.set(&ir.Deref{X: b.ref(p), At: b.at}, b.num(9)))
	m, a := ints("m", 1, 2, 3)
	_, err := b.compile(t).Run([]simt.Arg{a, {Memory: m, Offset: 8, Len: 2, Cap: 2}, {Memory: m, Offset: 16}},
		simt.Config{Teams: 1, Threads: 1})
	require.NoError(t, err)
	require.Equal(t, []int64{7, 7, 9}, []int64{intAt(m, 0), intAt(m, 1), intAt(m, 2)})
}

func TestLoops(t *testing.T) {
	got := results(t, 6, func(b *builder, out *ir.Var) []ir.Stmt {
		count := func(i int) ir.Stmt {
			return b.put(out, i, b.bin(ir.Add, b.elem(out, b.num(int64(i))), b.num(1)))
		}
		loop := func(i int, t *ir.Type, lo, hi, step int64, rel ir.Op) ir.Stmt {
			v := b.local("i", t)
			k := func(x int64) ir.Expr { return b.konst(t, ir.Normal(t, ir.Bits(x))) }
			return &ir.For{Label: &ir.Label{}, Var: v, Lo: k(lo), Hi: k(hi), Step: k(step), Rel: rel, Body: []ir.Stmt{count(i)}, At: b.at}
		}
		outer := &ir.Label{Name: "outer"}
		i, j := b.local("i", ir.IntType), b.local("j", ir.IntType)
		inner := b.forTo(j, b.num(10), b.when(b.bin(ir.Gt, b.ref(j), b.ref(i)), &ir.Continue{Label: outer, At: b.at}),
			b.when(b.bin(ir.Eq, b.ref(i), b.num(4)), &ir.Break{Label: outer, At: b.at}), count(5))
		nest := b.forTo(i, b.num(10), inner).(*ir.For)
		nest.Label = outer
		return []ir.Stmt{
			loop(0, ir.Uint8Type, 249, 255, 2, ir.Lt), loop(1, ir.Int32Type, 10, 0, -3, ir.Ge), loop(2, ir.Int64Type, 0, 12, 4, ir.Ne),
			loop(3, ir.Uint16Type, 9, 3, -2, ir.Gt), loop(4, ir.Int8Type, 5, 5, 1, ir.Le), nest,
		}
	})
	require.Equal(t, []int64{3, 4, 3, 3, 1, 1 + 2 + 3 + 4}, got)
}

// TestCalls swaps through results and keeps callers' loop counters apart from callees'.
func TestCalls(t *testing.T) {
	got := results(t, 4, func(b *builder, out *ir.Var) []ir.Stmt {
		x, y := b.variable("x", ir.IntType, ir.Param), b.variable("y", grown, ir.Param)
		i, s := b.local("i", ir.IntType), b.local("s", ir.IntType)
		first := b.index(b.member(b.ref(y), 1), b.num(0))
		f := &ir.Func{Name: "f", Params: []*ir.Var{x, y}, Results: []*ir.Type{grown, ir.IntType}, At: b.at}
		f.Body = []ir.Stmt{
			b.decl(s, nil),
			b.forTo(i, b.num(3), b.set(b.ref(s), b.bin(ir.Add, b.ref(s), b.ref(x)))),
			b.set(first, b.bin(ir.Add, first, b.num(1))), // its own copy
			b.when(b.bin(ir.Eq, b.ref(s), b.num(0)), &ir.Return{Results: []ir.Expr{b.ref(y), first}, At: b.at}),
			&ir.Return{Results: []ir.Expr{b.ref(y), b.ref(s)}, At: b.at},
		}
		u, w := b.variable("u", ir.IntType, ir.Param), b.local("w", ir.IntType)
		yy := b.local("yy", grown)
		g := &ir.Func{Name: "g", Params: []*ir.Var{u}, Results: []*ir.Type{ir.IntType}, At: b.at}
		g.Body = []ir.Stmt{b.decl(yy, nil), b.decl(w, nil),
			&ir.Call{Fn: f, Args: []ir.Expr{b.bin(ir.Mul, b.ref(u), b.num(2)), b.ref(yy)}, Results: []*ir.Var{nil, w}, At: b.at},
			&ir.Return{Results: []ir.Expr{b.bin(ir.Add, b.ref(w), b.ref(u))}, At: b.at}}
		b.p.Funcs = []*ir.Func{f, g}
		a, k, r, z := b.local("a", grown), b.local("k", ir.IntType), b.local("r", ir.IntType), b.local("z", ir.IntType)
		return []ir.Stmt{
			b.decl(a, nil), b.decl(r, nil), b.decl(z, nil),
			b.forTo(k, b.num(4),
				&ir.Call{Fn: f, Args: []ir.Expr{b.ref(k), b.ref(a)}, Results: []*ir.Var{a, r}, At: b.at},
				b.put(out, 0, b.bin(ir.Add, b.elem(out, b.num(0)), b.ref(r)))),
			b.put(out, 1, b.index(b.member(b.ref(a), 1), b.num(0))),
			&ir.Call{Fn: g, Args: []ir.Expr{b.num(5)}, Results: []*ir.Var{z}, At: b.at}, b.put(out, 2, b.ref(z)),
			b.put(out, 3, b.ref(r)),
		}
	})
	require.Equal(t, []int64{1 + 3 + 6 + 9, 4, 35, 9}, got)
}

func TestByValueStructs(t *testing.T) {
	for _, taken := range []bool{false, true} {
		b := newBuilder("Struct")
		p, out := b.param("p", pair), b.param("out", ir.SliceOf(ir.IntType))
		g := b.param("g", grown)
		if taken {
			q := b.local("q", ir.PointerTo(pair))
			b.body(b.decl(q, &ir.AddrOf{X: b.ref(p), At: b.at}), b.set(b.member(&ir.Deref{X: b.ref(q), At: b.at}, 1), b.i32(-3)))
		}
		b.body(b.put(out, 0, b.member(b.ref(p), 0)), b.put(out, 1, b.member(b.ref(p), 1)),
			b.put(out, 2, b.index(b.member(b.ref(g), 1), b.num(1))))
		m, o := ints("out", 0, 0, 0)
		raw := make([]byte, 40)
		raw[24] = 6
		_, err := b.compile(t).Run([]simt.Arg{{Bytes: []byte{5, 1, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0}}, o, {Bytes: raw}},
			simt.Config{Teams: 1, Threads: 1})
		require.NoError(t, err)
		second := int64(-2)
		if taken {
			second = -3
		}
		require.Equal(t, []int64{261, second, 6}, []int64{intAt(m, 0), intAt(m, 1), intAt(m, 2)})
	}
}

func TestAtomicKinds(t *testing.T) {
	got := results(t, 8, func(b *builder, out *ir.Var) []ir.Stmt {
		x, old := b.local("x", ir.IntType), b.local("old", ir.IntType)
		do := func(kind ir.AtomicKind, op ir.Op, value ir.Expr, more func(*ir.Atomic)) ir.Stmt {
			a := &ir.Atomic{Kind: kind, Op: op, Place: b.ref(x), Value: value, At: b.at}
			if more != nil {
				more(a)
			}
			return a
		}
		keep := func(a *ir.Atomic) { a.Old = b.ref(old) }
		return []ir.Stmt{
			b.decl(x, b.num(10)), b.decl(old, nil),
			do(ir.AtomicUpdate, ir.Sub, b.num(3), func(a *ir.Atomic) { a.Swapped = true }), b.put(out, 0, b.ref(x)), // 3-10
			do(ir.AtomicCapture, ir.Max, b.num(4), keep), b.put(out, 1, b.ref(old)),
			do(ir.AtomicCapture, ir.Mul, b.num(5), func(a *ir.Atomic) { keep(a); a.After = true }), b.put(out, 2, b.ref(old)),
			do(ir.AtomicCapture, ir.NoOp, b.num(9), keep), b.put(out, 3, b.ref(old)), b.put(out, 4, b.ref(x)),
			do(ir.AtomicCompare, ir.NoOp, b.num(1), func(a *ir.Atomic) { a.Compare = b.num(8) }), b.put(out, 5, b.ref(x)),
			do(ir.AtomicCompare, ir.NoOp, b.num(2), func(a *ir.Atomic) { keep(a); a.Compare = b.num(9) }), b.put(out, 6, b.ref(x)),
			do(ir.AtomicRead, ir.NoOp, nil, keep), b.put(out, 7, b.ref(old)),
		}
	})
	require.Equal(t, []int64{-7, -7, 20, 20, 9, 9, 2, 2}, got)
}

// A float that fits no int64 becomes the least one on every host, as device code makes it.
func TestConversion_FloatsThatDoNotFit(t *testing.T) {
	got := results(t, 4, func(b *builder, out *ir.Var) []ir.Stmt {
		var list []ir.Stmt
		for i, x := range []float64{1e30, -1e30, math.NaN()} {
			v := b.local("v", ir.Float64Type)
			list = append(list, b.decl(v, b.konst(ir.Float64Type, math.Float64bits(x))), b.put(out, i, b.conv(ir.IntType, b.ref(v))))
		}
		w := b.local("w", ir.Float32Type)
		return append(list, b.decl(w, b.f32(1e30)), b.put(out, 3, b.conv(ir.IntType, b.ref(w))))
	})
	require.Equal(t, []int64{math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}, got)
}
