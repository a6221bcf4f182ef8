package cuda_test

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// handBuilt are programs that show every part of the printer.
var handBuilt = []struct {
	name string
	make func() *ir.Program
}{
	{"triad", triad},
	{"forces", forces},
	{"spmv", spmv},
	{"dot", dot},
	{"matmul", matmul},
	{"copies", copies},
	{"atomics", atomics},
	{"integers", integers},
	{"conversions", conversions},
	{"control", control},
	{"values", values},
	{"maths32", func() *ir.Program { return maths("maths32", ir.Float32Type) }},
	{"maths64", func() *ir.Program { return maths("maths64", ir.Float64Type) }},
	{"bits", bitFunctions},
	{"names", clashingNames},
	{"checks", checks},
	{"largearrays", largeArrays},
}

func triad() *ir.Program {
	b := newProgram("triad")
	f := ir.SliceOf(ir.Float64Type)
	x, y, z, s := b.param("a", f), b.param("b", f), b.param("c", f), b.param("scalar", ir.Float64Type)
	i := b.local("i", ir.IntType)
	body := b.set(idx(ref(x), ref(i)), bin(ir.Add, idx(ref(y), ref(i)), bin(ir.Mul, ref(s), idx(ref(z), ref(i)))))
	b.launch(&ir.Launch{Trip: length(ref(x))}, b.grid(i, num(0), length(ref(x)), body))
	return b.prog
}

func forces() *ir.Program {
	b := newProgram("forces")
	b.prog.FastMath = true
	f32, f := ir.Float32Type, ir.SliceOf(ir.Float32Type)
	lo, hi, dt := b.param("lo", ir.IntType), b.param("hi", ir.IntType), b.param("dt", f32)
	px, py, vx, vy := b.param("px", f), b.param("py", f), b.param("vx", f), b.param("vy", f)
	i, j := b.local("i", ir.IntType), b.local("j", ir.IntType)
	fx, fy := b.local("fx", f32), b.local("fy", f32)
	dx, dy, inv, inv3 := b.local("dx", f32), b.local("dy", f32), b.local("inv", f32), b.local("inv3", f32)
	sq := func(v *ir.Var) ir.Expr { return bin(ir.Mul, ref(v), ref(v)) }
	inner := b.loop(j, num(0), length(ref(px)), num(1),
		b.decl(dx, bin(ir.Sub, idx(ref(px), ref(j)), idx(ref(px), ref(i)))),
		b.decl(dy, bin(ir.Sub, idx(ref(py), ref(j)), idx(ref(py), ref(i)))),
		b.decl(inv, call(ir.Rsqrt, sum(sq(dx), sq(dy), real(f32, 1e-9)))),
		b.decl(inv3, bin(ir.Mul, bin(ir.Mul, ref(inv), ref(inv)), ref(inv))),
		b.update(ref(fx), ir.Add, bin(ir.Mul, ref(dx), ref(inv3))),
		b.update(ref(fy), ir.Add, bin(ir.Mul, ref(dy), ref(inv3))))
	outer := b.grid(i, ref(lo), ref(hi), b.decl(fx, nil), b.decl(fy, nil), inner,
		b.update(idx(ref(vx), ref(i)), ir.Add, bin(ir.Mul, ref(dt), ref(fx))),
		b.update(idx(ref(vy), ref(i)), ir.Add, bin(ir.Mul, ref(dt), ref(fy))))
	b.launch(&ir.Launch{Trip: bin(ir.Sub, ref(hi), ref(lo)), MaxThreads: num(256)}, outer)
	return b.prog
}

// spmv checks what depends on data: the column of each element and the range of each row.
func spmv() *ir.Program {
	b := newProgram("spmv")
	f, n := ir.SliceOf(ir.Float64Type), ir.SliceOf(ir.Int32Type)
	row, col, val, x, y := b.param("row", n), b.param("col", n), b.param("val", f), b.param("x", f), b.param("y", f)
	i, k, acc := b.local("i", ir.IntType), b.local("k", ir.Int32Type), b.local("acc", ir.Float64Type)
	inner := b.loop(k, idx(ref(row), ref(i)), idx(ref(row), bin(ir.Add, ref(i), num(1))), konst(ir.Int32Type, 1),
		b.update(ref(acc), ir.Add, bin(ir.Mul, checked(ref(val), ref(k)), checked(ref(x), checked(ref(col), ref(k))))))
	outer := b.grid(i, num(0), length(ref(y)), b.decl(acc, nil), inner, b.set(idx(ref(y), ref(i)), ref(acc)))
	b.launch(&ir.Launch{Trip: length(ref(y))}, outer)
	return b.prog
}

// dot reduces with shuffles and team memory; the second launch adds the parts.
func dot() *ir.Program {
	b := newProgram("dot")
	f32, f := ir.Float32Type, ir.SliceOf(ir.Float32Type)
	x, y, out := b.param("x", f), b.param("y", f), b.param("out", f)
	part := b.scratch("part", f32, query(ir.NumTeams))
	i, s, w := b.local("i", ir.IntType), b.local("s", f32), b.newVar("warps", ir.ArrayOf(f32, 32), ir.Team)
	d := b.local("d", ir.IntType)
	warpSum := func() ir.Stmt {
		return &ir.For{Label: &ir.Label{}, Var: d, Lo: num(4), Hi: num(0), Step: num(-1), Rel: ir.Ge, At: b.at(), Body: list(
			b.update(ref(s), ir.Add, &ir.Shuffle{Kind: ir.ShuffleXor, X: ref(s), By: bin(ir.Shl, num(1), ref(d))}))}
	}
	lane := query(ir.Lane)
	b.launch(&ir.Launch{Trip: length(ref(x)), Warps: true, Team: []*ir.Var{w}},
		b.decl(s, nil),
		b.grid(i, num(0), length(ref(x)), b.update(ref(s), ir.Add, bin(ir.Mul, idx(ref(x), ref(i)), idx(ref(y), ref(i))))),
		warpSum(),
		b.when(bin(ir.Eq, lane, num(0)), b.set(idx(ref(w), bin(ir.Div, query(ir.ThreadNum), num(32))), ref(s))),
		b.barrier(),
		b.when(bin(ir.Lt, query(ir.ThreadNum), num(32)),
			b.set(ref(s), &ir.Select{Cond: bin(ir.Lt, query(ir.ThreadNum), bin(ir.Div, query(ir.NumThreads), num(32))),
				X: idx(ref(w), query(ir.ThreadNum)), Y: real(f32, 0)}),
			warpSum(),
			b.when(bin(ir.Eq, query(ir.ThreadNum), num(0)), b.set(idx(ref(part), query(ir.TeamNum)), ref(s)))))
	j := b.local("j", ir.IntType)
	b.launch(&ir.Launch{Name: "dot_2", MaxTeams: num(1), MaxThreads: num(1)},
		b.loop(j, num(0), length(ref(part)), num(1), b.update(idx(ref(out), num(0)), ir.Add, idx(ref(part), ref(j)))))
	return b.prog
}

// matmul shares out two collapsed loops and keeps a tile in team memory.
func matmul() *ir.Program {
	b := newProgram("matmul")
	f32, f := ir.Float32Type, ir.SliceOf(ir.Float32Type)
	n, m, k := b.param("n", ir.IntType), b.param("m", ir.IntType), b.param("k", ir.IntType)
	x, y, z := b.param("a", f), b.param("b", f), b.param("c", f)
	ij, i, j, l := b.local("ij", ir.IntType), b.local("i", ir.IntType), b.local("j", ir.IntType), b.local("l", ir.IntType)
	s := b.local("sum", f32)
	at := func(x *ir.Var, i, m, j *ir.Var) ir.Expr {
		return idx(ref(x), bin(ir.Add, bin(ir.Mul, ref(i), ref(m)), ref(j)))
	}
	trip := func() ir.Expr { return bin(ir.Mul, ref(n), ref(m)) }
	b.launch(&ir.Launch{Trip: trip()}, b.grid(ij, num(0), trip(),
		b.decl(i, bin(ir.Div, ref(ij), ref(m))),
		b.decl(j, bin(ir.Rem, ref(ij), ref(m))),
		b.decl(s, nil),
		b.loop(l, num(0), ref(k), num(1), b.update(ref(s), ir.Add, bin(ir.Mul, at(x, i, k, l), at(y, l, m, j)))),
		b.set(at(z, i, m, j), ref(s))))
	return b.prog
}

// copies has copies that are made beside their threads, and waits for them at the barriers behind them:
// at that of the same turn, of the next one, of the loop that a jump leaves, and at none for bytes.
func copies() *ir.Program {
	b := newProgram("copies")
	n, x, small := b.param("n", ir.IntType), b.param("x", ir.SliceOf(ir.Float64Type)), b.param("small", ir.SliceOf(ir.Uint8Type))
	y := b.param("y", ir.SliceOf(ir.Float64Type))
	tile, bytes := b.newVar("tile", ir.ArrayOf(ir.Float64Type, 128), ir.Team), b.newVar("bytes", ir.ArrayOf(ir.Uint8Type, 128), ir.Team)
	me := func() ir.Expr { return query(ir.ThreadNum) }
	copied := func(to, from *ir.Var, i *ir.Var) ir.Stmt {
		return &ir.Assign{Place: idx(ref(to), me()), Value: idx(ref(from), sum(ref(i), me())), Async: true, At: b.at()}
	}
	use := func(i *ir.Var) ir.Stmt {
		return b.set(idx(ref(y), sum(ref(i), me())), idx(ref(tile), bin(ir.Sub, num(127), me())))
	}
	i, j, k, l := b.local("i", ir.IntType), b.local("j", ir.IntType), b.local("k", ir.IntType), b.local("l", ir.IntType)
	left := b.loop(l, num(0), ref(n), num(128), copied(tile, x, l))
	left.Body = append(left.Body, b.when(bin(ir.Gt, ref(l), num(512)), &ir.Break{Label: left.Label, At: b.at()}), b.barrier(), use(l))
	b.launch(&ir.Launch{Threads: 128, Team: []*ir.Var{tile, bytes}},
		b.loop(i, num(0), ref(n), num(128), b.barrier(), copied(tile, x, i), b.barrier(), use(i)),
		b.loop(j, num(0), ref(n), num(128), b.barrier(), use(j), b.barrier(), b.when(bin(ir.Gt, ref(j), num(0)), copied(tile, x, j))),
		b.barrier(),
		b.loop(k, num(0), ref(n), num(128), copied(bytes, small, k), b.barrier(),
			b.set(idx(ref(y), sum(ref(k), me())), conv(ir.Float64Type, idx(ref(bytes), bin(ir.Sub, num(127), me()))))),
		left, b.barrier())
	return b.prog
}

func atomics() *ir.Program {
	b := newProgram("atomics")
	i := b.local("i", ir.IntType)
	var body []ir.Stmt
	for _, t := range []*ir.Type{ir.Int32Type, ir.Uint32Type, ir.IntType, ir.Uint64Type, ir.Float32Type, ir.Float64Type, ir.Uint8Type, ir.Int16Type} {
		body = append(body, atomicsOf(b, t, i)...)
	}
	flag := b.param("flag", ir.SliceOf(ir.BoolType))
	body = append(body, &ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.LOr, Place: idx(ref(flag), num(0)),
		Value: bin(ir.Gt, ref(i), num(5)), At: b.at()})
	count := b.newVar("count", ir.IntType, ir.Team)
	body = append(body, &ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Add, Place: ref(count), Value: num(1), Ordered: true, At: b.at()})
	b.launch(&ir.Launch{Trip: num(1000), Team: []*ir.Var{count}}, b.grid(i, num(0), num(1000), body...))
	return b.prog
}

// atomicsOf returns every form of atomic on one type.
func atomicsOf(b *builder, t *ir.Type, i *ir.Var) []ir.Stmt {
	x, old := b.param("x_"+t.Name, ir.SliceOf(t)), b.local("old_"+t.Name, t)
	place, three := func() ir.Expr { return idx(ref(x), ref(i)) }, konst(t, 3)
	if t.IsFloat() {
		three = real(t, 3)
	}
	out := list(b.decl(old, nil),
		&ir.Atomic{Kind: ir.AtomicRead, Place: place(), Old: ref(old), At: b.at()},
		&ir.Atomic{Kind: ir.AtomicWrite, Place: place(), Value: ref(old), At: b.at()},
		&ir.Atomic{Kind: ir.AtomicCompare, Place: place(), Compare: ref(old), Value: three, At: b.at()},
		&ir.Atomic{Kind: ir.AtomicCompare, Place: place(), Compare: three, Value: ref(old), Old: ref(old), At: b.at()},
		&ir.Atomic{Kind: ir.AtomicCapture, Place: place(), Value: three, Old: ref(old), At: b.at()},
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: place(), Value: idx(ref(x), num(0)), Old: ref(old), After: true, At: b.at()},
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Mul, Place: place(), Value: idx(ref(x), num(0)), Old: ref(old), At: b.at()},
		&ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Sub, Swapped: true, Place: place(), Value: ref(old), At: b.at()})
	ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Min, ir.Max}
	if t.IsInteger() {
		ops = append(ops, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Shl, ir.Shr)
	}
	for _, op := range ops {
		out = append(out, &ir.Atomic{Kind: ir.AtomicUpdate, Op: op, Place: place(), Value: three, At: b.at()})
	}
	return out
}

// integers shows where wrapping, shifts and division need more than C++'s operators.
func integers() *ir.Program {
	b := newProgram("integers")
	i := b.local("i", ir.IntType)
	var body []ir.Stmt
	for _, t := range []*ir.Type{ir.Int8Type, ir.Uint8Type, ir.Int16Type, ir.Uint16Type, ir.Int32Type, ir.Uint32Type, ir.IntType, ir.Uint64Type} {
		x, y := b.param("x_"+t.Name, ir.SliceOf(t)), b.local("y_"+t.Name, t)
		at := func(k int64) ir.Expr { return idx(ref(x), bin(ir.Add, ref(i), num(k))) }
		three := konst(t, 3)
		div := bin(ir.Div, ref(y), at(2))
		div.Checked = true
		shl := bin(ir.Shl, ref(y), at(3))
		shl.Checked = t.IsSigned()
		body = append(body, b.decl(y, sum(at(0), at(1), three)),
			b.update(ref(y), ir.Add, at(1)),
			b.update(ref(y), ir.Mul, at(1)),
			b.set(ref(y), bin(ir.Add, bin(ir.Mul, ref(y), konst(t, 31)), at(2))),
			b.set(ref(y), div),
			b.set(ref(y), bin(ir.Rem, ref(y), konst(t, 7))),
			b.set(ref(y), bin(ir.Div, konst(t, 100), at(1))),
			b.set(ref(y), shl),
			b.set(ref(y), bin(ir.Shl, ref(y), three)),
			b.set(ref(y), bin(ir.Shr, bin(ir.Add, ref(y), at(1)), num(2))),
			b.set(ref(y), bin(ir.Shr, ref(y), conv(ir.Uint8Type, ref(i)))),
			b.set(ref(y), un(ir.Neg, bin(ir.Sub, ref(y), un(ir.Neg, at(1))))),
			b.set(ref(y), un(ir.Com, bin(ir.AndNot, bin(ir.Or, ref(y), three), bin(ir.Xor, at(0), at(1))))),
			b.update(ref(y), ir.AndNot, three),
			b.update(ref(y), ir.Sub, konst(t, 1)),
			b.set(idx(ref(x), ref(i)), call(ir.IMin, ref(y), at(4), konst(t, 9))),
			b.when(bin(ir.LAnd, bin(ir.Lt, ref(y), konst(t, 4)), bin(ir.Ge, bin(ir.Add, at(0), at(1)), at(2))),
				b.set(idx(ref(x), ref(i)), ref(y))))
	}
	b.launch(&ir.Launch{Trip: num(1000)}, b.grid(i, num(0), num(1000), body...))
	return b.prog
}

func conversions() *ir.Program {
	b := newProgram("conversions")
	i := b.local("i", ir.IntType)
	types := []*ir.Type{ir.Int8Type, ir.Uint8Type, ir.Int16Type, ir.Uint16Type, ir.Int32Type, ir.Uint32Type, ir.IntType, ir.Uint64Type, ir.Float32Type, ir.Float64Type}
	params := make([]*ir.Var, len(types))
	for k, t := range types {
		params[k] = b.param("x_"+t.Name, ir.SliceOf(t))
	}
	var body []ir.Stmt
	for k, to := range types {
		for l, from := range types {
			if k == l {
				continue
			}
			x := ir.Expr(idx(ref(params[l]), ref(i)))
			if from.IsInteger() {
				x = bin(ir.Add, x, konst(from, 1))
			}
			body = append(body, b.update(idx(ref(params[k]), ref(i)), ir.Add, conv(to, x)))
		}
	}
	b.launch(&ir.Launch{Trip: num(1000)}, b.grid(i, num(0), num(1000), body...))
	return b.prog
}

// control jumps in every way that Go has.
func control() *ir.Program {
	b := newProgram("control")
	x := b.param("x", ir.SliceOf(ir.Int32Type))
	i, j, k := b.local("i", ir.IntType), b.local("j", ir.IntType), b.local("k", ir.IntType)
	t := b.local("t", ir.Int32Type)
	one, five := konst(ir.Int32Type, 1), konst(ir.Int32Type, 5)
	outer, middle, pick, plain := &ir.Label{Name: "outer"}, &ir.Label{}, &ir.Label{}, &ir.Label{}
	test := func(v int64) ir.Expr { return bin(ir.Eq, idx(ref(x), ref(j)), konst(ir.Int32Type, v)) }
	while := &ir.While{Label: plain, At: b.at(), Cond: bin(ir.Lt, ref(t), five),
		Post: list(b.update(ref(t), ir.Add, one)),
		Body: list(b.when(test(1), &ir.Continue{Label: plain, At: b.at()}), b.when(test(2), &ir.Break{Label: plain, At: b.at()}))}
	pre := &ir.Label{}
	withPre := &ir.While{Label: pre, At: b.at(), Pre: list(b.decl(k, bin(ir.Add, ref(j), num(1)))), Cond: bin(ir.Lt, ref(k), num(9)),
		Post: list(b.when(test(7), b.set(ref(t), one))),
		Body: list(b.when(test(3), &ir.Continue{Label: pre, At: b.at()}), b.update(ref(t), ir.Add, one))}
	inner := &ir.For{Label: middle, Var: j, Lo: ref(i), Hi: num(0), Step: num(-2), Rel: ir.Gt, At: b.at(), Body: list(
		b.when(test(4), &ir.Continue{Label: outer, At: b.at()}),
		b.when(test(5), &ir.Break{Label: outer, At: b.at()}),
		b.when(test(6), &ir.Break{Label: middle, At: b.at()}),
		&ir.Block{Label: pick, At: b.at(), Body: list(
			&ir.If{Cond: test(8), At: b.at(), Then: list(&ir.Break{Label: pick, At: b.at()}), Else: list(
				&ir.If{Cond: test(9), At: b.at(), Then: list(&ir.Return{At: b.at()}), Else: list(b.set(ref(t), five))})},
			b.update(ref(t), ir.Add, one))},
		while, withPre)}
	loop := b.grid(i, num(0), length(ref(x)), b.decl(t, idx(ref(x), ref(i))), inner, b.set(idx(ref(x), ref(i)), ref(t)))
	loop.Label = outer
	b.launch(&ir.Launch{Trip: length(ref(x))}, loop)
	return b.prog
}

// values copies structs, arrays and slices, and calls functions with them.
func values() *ir.Program {
	b := newProgram("values")
	f32 := ir.Float32Type
	vec := ir.ArrayOf(f32, 3)
	particle := &ir.Type{Kind: ir.Struct, Name: "Particle", Size: 24, Align: 8, Fields: []ir.Field{
		{Name: "pos", Type: vec, Offset: 0}, {Name: "alive", Type: ir.BoolType, Offset: 12}, {Name: "class", Type: ir.Int64Type, Offset: 16}}}
	ps, out := b.param("ps", ir.SliceOf(particle)), b.param("out", ir.PointerTo(f32))
	first := b.param("first", particle)

	v, q := b.newVar("v", vec, ir.Param), b.newVar("q", ir.PointerTo(particle), ir.Param)
	norm := &ir.Func{Name: "norm", Params: []*ir.Var{v, q}, Results: []*ir.Type{f32, vec}, Body: list(
		&ir.Assign{Place: idx(field(&ir.Deref{X: ref(q), Checked: true}, 0), num(1)), Value: idx(ref(v), num(0)), At: b.at()},
		&ir.Return{At: b.at(), Results: []ir.Expr{call(ir.Sqrt, bin(ir.Mul, idx(ref(v), num(0)), idx(ref(v), num(0)))),
			&ir.Composite{T: vec, Elems: []ir.Expr{real(f32, 1), real(f32, -2), idx(ref(v), num(2))}}}})}
	s, i := b.newVar("s", ir.SliceOf(f32), ir.Param), b.newVar("i", ir.IntType, ir.Param)
	third := &ir.Func{Name: "third", Params: []*ir.Var{s, i}, Results: []*ir.Type{f32}, Body: list(
		&ir.Return{At: b.at(), Results: []ir.Expr{idx(ref(s), ref(i))}})}
	b.prog.Funcs = []*ir.Func{norm, third}

	k, n, unit := b.local("k", ir.IntType), b.local("n", f32), b.local("unit", vec)
	p, row, grid := b.local("p", particle), b.local("row", ir.SliceOf(f32)), b.local("grid", ir.ArrayOf(ir.ArrayOf(ir.Int32Type, 4), 2))
	scale := b.local("third", f32)
	part := idx(ref(ps), ref(k))
	b.launch(&ir.Launch{Trip: length(ref(ps))}, b.grid(k, num(0), length(ref(ps)),
		b.decl(p, part), b.decl(n, nil), b.decl(unit, nil),
		&ir.Call{Results: []*ir.Var{n, unit}, Fn: norm, Args: []ir.Expr{field(ref(p), 0), &ir.AddrOf{X: part}}, At: b.at()},
		b.decl(row, &ir.Reslice{X: ref(unit), Lo: num(1)}),
		b.set(ref(row), &ir.Reslice{X: ref(row), Lo: num(0), Hi: conv(ir.IntType, ref(n)), Checked: true}),
		b.decl(scale, nil),
		&ir.Call{Results: []*ir.Var{scale}, Fn: third, Args: []ir.Expr{ref(row), num(2)}, At: b.at()},
		b.decl(grid, nil),
		b.set(idx(idx(ref(grid), num(1)), num(2)), konst(ir.Int32Type, 5)),
		b.set(part, &ir.Composite{T: particle, Elems: []ir.Expr{ref(unit), bin(ir.Ne, ref(p), ref(first)), bin(ir.Mul, field(ref(p), 2), ref(k))}}),
		b.set(&ir.Deref{X: ref(out)}, bin(ir.Mul, ref(scale), idx(field(part, 0), num(0)))),
		b.set(idx(field(part, 0), num(1)), conv(f32, idx(idx(ref(grid), num(1)), num(2)))),
		b.set(field(part, 2), length(ref(row)))))
	return b.prog
}

// maths calls every math function on floats.
func maths(name string, t *ir.Type) *ir.Program {
	b := newProgram(name)
	x, n := b.param("x", ir.SliceOf(t)), b.param("n", ir.SliceOf(ir.BoolType))
	i, y := b.local("i", ir.IntType), b.local("y", t)
	body := list(b.decl(y, idx(ref(x), ref(i))))
	for fn := ir.Abs; fn <= ir.FMax; fn++ {
		args := []ir.Expr{ref(y)}
		switch fn {
		case ir.Pow, ir.Atan2, ir.Hypot, ir.Mod, ir.Remainder, ir.Copysign, ir.Dim, ir.FMin, ir.FMax:
			args = append(args, real(t, 2))
		case ir.FMA:
			args = append(args, ref(y), ref(y))
		}
		body = append(body, b.update(ref(y), ir.Add, call(fn, args...)))
	}
	inf := &ir.Math{Fn: ir.IsInf, Args: []ir.Expr{ref(y), num(1)}, T: ir.BoolType}
	nan := &ir.Math{Fn: ir.IsNaN, Args: []ir.Expr{ref(y)}, T: ir.BoolType}
	sign := &ir.Math{Fn: ir.Signbit, Args: []ir.Expr{ref(y)}, T: ir.BoolType}
	body = append(body, b.set(idx(ref(n), ref(i)), bin(ir.LOr, inf, bin(ir.LAnd, nan, sign))), b.set(idx(ref(x), ref(i)), ref(y)))
	b.launch(&ir.Launch{Trip: length(ref(x))}, b.grid(i, num(0), length(ref(x)), body...))
	return b.prog
}

func bitFunctions() *ir.Program {
	b := newProgram("bits")
	i, n, out := b.local("i", ir.IntType), b.local("n", ir.IntType), b.param("out", ir.SliceOf(ir.IntType))
	body := list(b.decl(n, nil))
	for _, t := range []*ir.Type{ir.Uint8Type, ir.Uint16Type, ir.Uint32Type, ir.Uint64Type} {
		x := b.param("x_"+t.Name, ir.SliceOf(t))
		at := idx(ref(x), ref(i))
		for fn := ir.LeadingZeros; fn <= ir.BitLen; fn++ {
			body = append(body, b.update(ref(n), ir.Add, &ir.Math{Fn: fn, Args: []ir.Expr{at}, T: ir.IntType}))
		}
		body = append(body, b.set(at, call(ir.Reverse, at)), b.set(at, call(ir.ReverseBytes, at)),
			b.set(at, call(ir.RotateLeft, at, ref(n))), b.set(at, bin(ir.Add, call(ir.MulHi, at, at), konst(t, 1))))
	}
	x, y := b.param("x", ir.SliceOf(ir.Float32Type)), b.param("y", ir.SliceOf(ir.Float64Type))
	u := &ir.Math{Fn: ir.Float32Bits, Args: []ir.Expr{idx(ref(x), ref(i))}, T: ir.Uint32Type}
	v := &ir.Math{Fn: ir.Float64Bits, Args: []ir.Expr{idx(ref(y), ref(i))}, T: ir.Uint64Type}
	body = append(body, b.set(idx(ref(out), ref(i)), ref(n)),
		b.set(idx(ref(x), ref(i)), &ir.Math{Fn: ir.Float32FromBits, Args: []ir.Expr{bin(ir.Xor, u, konst(ir.Uint32Type, 1))}, T: ir.Float32Type}),
		b.set(idx(ref(y), ref(i)), &ir.Math{Fn: ir.Float64FromBits, Args: []ir.Expr{bin(ir.Xor, v, konst(ir.Uint64Type, 1))}, T: ir.Float64Type}))
	b.launch(&ir.Launch{Trip: length(ref(out))}, b.grid(i, num(0), length(ref(out)), body...))
	return b.prog
}

// clashingNames uses words of C++ and CUDA, hidden names and letters outside ASCII.
func clashingNames() *ir.Program {
	b := newProgram("names")
	t := ir.Float32Type
	x, class, rsqrtf := b.param("threadIdx", ir.SliceOf(t)), b.param("class", ir.IntType), b.param("rsqrtf", t)
	i, alpha, inner, fault := b.local("i", ir.IntType), b.local("α", t), b.local("i", ir.Int32Type), b.local("fault", t)
	b.launch(&ir.Launch{Trip: length(ref(x)), Name: "names"}, b.grid(i, num(0), ref(class),
		b.decl(alpha, call(ir.Rsqrt, ref(rsqrtf))),
		b.decl(fault, bin(ir.Add, ref(alpha), checked(ref(x), ref(i)))),
		&ir.Block{At: b.at(), Body: list(b.decl(inner, conv(ir.Int32Type, ref(i))), b.set(checked(ref(x), ref(inner)), ref(fault)))}))
	return b.prog
}

// checks has every kind of check, and an index of every type.
func checks() *ir.Program {
	b := newProgram("checks")
	x, step := b.param("x", ir.SliceOf(ir.Int32Type)), b.param("step", ir.IntType)
	p, a := b.param("p", ir.PointerTo(ir.Int32Type)), b.local("a", ir.ArrayOf(ir.Int32Type, 8))
	i, k := b.local("i", ir.IntType), b.local("k", ir.IntType)
	body := list(b.decl(a, nil))
	for _, t := range []*ir.Type{ir.Int8Type, ir.Uint8Type, ir.Int32Type, ir.Uint32Type, ir.IntType, ir.Uint64Type} {
		j := b.param(fmt.Sprintf("j_%s", t.Name), t)
		body = append(body, b.update(checked(ref(a), ref(j)), ir.Add, checked(ref(x), bin(ir.Sub, ref(j), konst(t, 2)))))
	}
	count := bin(ir.Shl, konst(ir.Int32Type, 1), idx(ref(x), num(0)))
	count.Checked = true
	quotient := bin(ir.Rem, idx(ref(x), num(1)), idx(ref(x), num(2)))
	quotient.Checked = true
	body = append(body, b.set(&ir.Deref{X: ref(p), Checked: true}, bin(ir.Add, count, quotient)),
		&ir.For{Label: &ir.Label{}, Var: k, Lo: length(ref(x)), Hi: num(0), Step: ref(step), Rel: ir.Gt, At: b.at(),
			Body: list(b.set(idx(ref(x), ref(k)), idx(ref(a), num(3))))},
		b.set(ref(i), length(&ir.Reslice{X: ref(x), Lo: ref(i), Hi: ref(step), Max: num(100), Checked: true})))
	b.launch(&ir.Launch{}, append(list(b.decl(i, nil)), body...)...)
	return b.prog
}
