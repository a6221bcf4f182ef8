package simt_test

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// golang evaluates an expression with the Go compiler's own operators: every value is a Go value of its own type.
// It panics as Go does.
type golang map[*ir.Var]any

type number64 interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func (g golang) eval(e ir.Expr) any {
	switch e := e.(type) {
	case *ir.Const:
		return toGo(e.T, e.Bits)
	case *ir.Ref:
		return g[e.Var]
	case *ir.Unary:
		return goUnary(e.Op, g.eval(e.X))
	case *ir.Binary:
		x := g.eval(e.X)
		if b, ok := x.(bool); ok && (e.Op == ir.LAnd && !b || e.Op == ir.LOr && b) {
			return b
		}
		return goBinary(e.Op, x, g.eval(e.Y))
	case *ir.Convert:
		return goConvert(e.T, g.eval(e.X))
	case *ir.Select:
		if g.eval(e.Cond).(bool) {
			return g.eval(e.X)
		}
		return g.eval(e.Y)
	case *ir.Math:
		return g.math(e)
	}
	panic("no Go for this")
}

func (g golang) math(e *ir.Math) any {
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		args[i] = g.eval(a)
	}
	switch x := args[0].(type) {
	case float32:
		r := goFloat(e.Fn, float64(x), args[1:])
		return float32(r)
	case float64:
		return goFloat(e.Fn, x, args[1:])
	}
	op := ir.Min
	if e.Fn == ir.IMax {
		op = ir.Max
	}
	return goBinary(op, args[0], args[1])
}

func goFloat(fn ir.MathFn, x float64, rest []any) float64 {
	y := 0.0
	if len(rest) > 0 {
		y = goConvert(ir.Float64Type, rest[0]).(float64)
	}
	switch fn {
	case ir.Sqrt:
		return math.Sqrt(x)
	case ir.Rsqrt:
		return 1 / math.Sqrt(x)
	case ir.Abs:
		return math.Abs(x)
	case ir.FMin:
		return min(x, y)
	case ir.FMax:
		return max(x, y)
	case ir.Floor:
		return math.Floor(x)
	}
	panic("no Go for this function")
}

func goUnary(op ir.Op, x any) any {
	switch x := x.(type) {
	case bool:
		return !x
	case float32:
		return -x
	case float64:
		return -x
	case int8:
		return pick(op == ir.Neg, -x, ^x)
	case int16:
		return pick(op == ir.Neg, -x, ^x)
	case int32:
		return pick(op == ir.Neg, -x, ^x)
	case int64:
		return pick(op == ir.Neg, -x, ^x)
	case uint8:
		return pick(op == ir.Neg, -x, ^x)
	case uint16:
		return pick(op == ir.Neg, -x, ^x)
	case uint32:
		return pick(op == ir.Neg, -x, ^x)
	case uint64:
		return pick(op == ir.Neg, -x, ^x)
	}
	panic("no Go for this type")
}

func pick[T any](first bool, x, y T) T {
	if first {
		return x
	}
	return y
}

func goBinary(op ir.Op, x, y any) any {
	switch x := x.(type) {
	case bool:
		y := y.(bool)
		return map[ir.Op]bool{ir.LAnd: x && y, ir.LOr: x || y, ir.Eq: x == y, ir.Ne: x != y}[op]
	case int8:
		return goInt(op, x, y)
	case int16:
		return goInt(op, x, y)
	case int32:
		return goInt(op, x, y)
	case int64:
		return goInt(op, x, y)
	case uint8:
		return goInt(op, x, y)
	case uint16:
		return goInt(op, x, y)
	case uint32:
		return goInt(op, x, y)
	case uint64:
		return goInt(op, x, y)
	case float32:
		return goNumber(op, x, y.(float32))
	case float64:
		return goNumber(op, x, y.(float64))
	}
	panic("no Go for this type")
}

func goInt[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](op ir.Op, x T, y any) any {
	switch op {
	case ir.Shl, ir.Shr:
		return goShift(op, x, y)
	}
	z := y.(T)
	switch op {
	case ir.Rem:
		return x % z
	case ir.And:
		return x & z
	case ir.Or:
		return x | z
	case ir.Xor:
		return x ^ z
	case ir.AndNot:
		return x &^ z
	case ir.Min:
		return min(x, z)
	case ir.Max:
		return max(x, z)
	}
	return goNumber(op, x, z)
}

func goShift[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](op ir.Op, x T, y any) any {
	switch y := y.(type) {
	case int8:
		return pickShift(op, x, y)
	case int64:
		return pickShift(op, x, y)
	case uint16:
		return pickShift(op, x, y)
	case uint64:
		return pickShift(op, x, y)
	}
	panic("no Go for this count")
}

func pickShift[T, U int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](op ir.Op, x T, y U) any {
	if op == ir.Shl {
		return x << y
	}
	return x >> y
}

func goNumber[T number64](op ir.Op, x, y T) any {
	switch op {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	case ir.Div:
		return x / y
	}
	return map[ir.Op]bool{ir.Eq: x == y, ir.Ne: x != y, ir.Lt: x < y, ir.Le: x <= y, ir.Gt: x > y, ir.Ge: x >= y}[op]
}

func goConvert(to *ir.Type, x any) any {
	switch x := x.(type) {
	case int8:
		return convertTo(to, x)
	case int16:
		return convertTo(to, x)
	case int32:
		return convertTo(to, x)
	case int64:
		return convertTo(to, x)
	case uint8:
		return convertTo(to, x)
	case uint16:
		return convertTo(to, x)
	case uint32:
		return convertTo(to, x)
	case uint64:
		return convertTo(to, x)
	case float32:
		return convertTo(to, x)
	case float64:
		return convertTo(to, x)
	}
	return x
}

func convertTo[T number64](to *ir.Type, x T) any {
	return map[ir.Kind]func() any{
		ir.Int8: func() any { return int8(x) }, ir.Int16: func() any { return int16(x) }, ir.Int32: func() any { return int32(x) },
		ir.Int64: func() any { return int64(x) }, ir.Uint8: func() any { return uint8(x) }, ir.Uint16: func() any { return uint16(x) },
		ir.Uint32: func() any { return uint32(x) }, ir.Uint64: func() any { return uint64(x) },
		ir.Float32: func() any { return float32(x) }, ir.Float64: func() any { return float64(x) },
	}[to.Kind]()
}

func toGo(t *ir.Type, b ir.Bits) any {
	switch t.Kind {
	case ir.Bool:
		return b != 0
	case ir.Float32:
		return math.Float32frombits(uint32(b))
	case ir.Float64:
		return math.Float64frombits(b)
	}
	if t.IsSigned() {
		return convertTo(t, int64(b))
	}
	return convertTo(t, b)
}

func fromGo(x any) ir.Bits {
	switch x := x.(type) {
	case bool:
		return ir.BoolBits(x)
	case float32:
		return ir.Bits(math.Float32bits(x))
	case float64:
		return math.Float64bits(x)
	case uint64:
		return x
	}
	return ir.Bits(goConvert(ir.Int64Type, x).(int64))
}

var scalars = []*ir.Type{ir.BoolType, ir.Int8Type, ir.Int16Type, ir.Int32Type, ir.Int64Type, ir.Uint8Type, ir.Uint16Type,
	ir.Uint32Type, ir.Uint64Type, ir.Float32Type, ir.Float64Type}

// grower makes random expressions.
type grower struct {
	*builder
	r    *rapid.T
	vars map[ir.Kind]*ir.Var
}

func (g *grower) bits(t *ir.Type) ir.Bits {
	if t.IsFloat() && rapid.Bool().Draw(g.r, "tame") {
		return ir.FloatBits(t, rapid.Float64Range(-1000, 1000).Draw(g.r, "float"))
	}
	if rapid.Bool().Draw(g.r, "small") {
		return ir.Normal(t, uint64(rapid.IntRange(-3, 70).Draw(g.r, "int")))
	}
	return ir.Normal(t, rapid.Uint64().Draw(g.r, "bits"))
}

func (g *grower) kind(list ...*ir.Type) *ir.Type { return rapid.SampledFrom(list).Draw(g.r, "type") }

func (g *grower) expr(t *ir.Type, depth int) ir.Expr {
	if depth == 0 {
		if rapid.Bool().Draw(g.r, "var") {
			return g.ref(g.vars[t.Kind])
		}
		return g.konst(t, g.bits(t))
	}
	depth--
	sub := func() ir.Expr { return g.expr(t, rapid.IntRange(0, depth).Draw(g.r, "depth")) }
	switch rapid.IntRange(0, 5).Draw(g.r, "shape") {
	case 0:
		return &ir.Select{Cond: g.expr(ir.BoolType, depth), X: sub(), Y: sub(), At: g.at}
	case 1:
		return g.unary(t, sub())
	case 2:
		if t.Kind != ir.Bool {
			return g.conv(t, g.expr(g.kind(scalars[1:]...), depth))
		}
	case 3:
		if t.Kind != ir.Bool {
			return g.function(t, sub)
		}
	}
	return g.operator(t, depth, sub)
}

func (g *grower) unary(t *ir.Type, x ir.Expr) ir.Expr {
	op := ir.Neg
	switch {
	case t.Kind == ir.Bool:
		op = ir.Not
	case t.IsInteger() && rapid.Bool().Draw(g.r, "com"):
		op = ir.Com
	}
	return &ir.Unary{Op: op, X: x, At: g.at}
}

func (g *grower) function(t *ir.Type, sub func() ir.Expr) ir.Expr {
	if t.IsInteger() {
		return g.math(rapid.SampledFrom([]ir.MathFn{ir.IMin, ir.IMax}).Draw(g.r, "fn"), sub(), sub())
	}
	fn := rapid.SampledFrom([]ir.MathFn{ir.Sqrt, ir.Rsqrt, ir.Abs, ir.Floor, ir.FMin, ir.FMax}).Draw(g.r, "fn")
	if fn == ir.FMin || fn == ir.FMax {
		return g.math(fn, sub(), sub())
	}
	return g.math(fn, sub())
}

func (g *grower) operator(t *ir.Type, depth int, sub func() ir.Expr) ir.Expr {
	ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div}
	switch {
	case t.Kind == ir.Bool && rapid.Bool().Draw(g.r, "compare"):
		u := g.kind(scalars[1:]...)
		op := ir.Op(rapid.IntRange(int(ir.Eq), int(ir.Ge)).Draw(g.r, "op"))
		return g.bin(op, g.expr(u, depth), g.expr(u, depth))
	case t.Kind == ir.Bool:
		ops = []ir.Op{ir.LAnd, ir.LOr, ir.Eq, ir.Ne}
	case t.IsInteger():
		ops = append(ops, ir.Rem, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Shl, ir.Shr)
	}
	op := rapid.SampledFrom(ops).Draw(g.r, "op")
	if op == ir.Shl || op == ir.Shr {
		u := g.kind(ir.Int8Type, ir.Int64Type, ir.Uint16Type, ir.Uint64Type)
		return g.bin(op, sub(), g.expr(u, min(depth, 1)))
	}
	return g.bin(op, sub(), sub())
}

// checkExpression compares three evaluations of one random expression: the interpreter's, as a value, as a variable
// assigned to itself and as a condition; ir.Eval's; and the Go compiler's.
func checkExpression(r *rapid.T) {
	b := newBuilder("Fuzz")
	g := &grower{builder: b, r: r, vars: map[ir.Kind]*ir.Var{}}
	env, gov := ir.Values{}, golang{}
	var args []simt.Arg
	for _, t := range scalars {
		v, bits := b.param("p"+t.Name, t), g.bits(t)
		g.vars[t.Kind] = v
		env[v], gov[v] = ir.Value{Bits: bits}, toGo(t, bits)
		args = append(args, simt.Arg{Bits: bits})
	}
	t := g.kind(scalars...)
	e := g.expr(t, rapid.IntRange(1, 5).Draw(r, "size"))
	out := b.param("out", ir.SliceOf(t))
	mem := &simt.Memory{Name: "out", Bytes: make([]byte, 3*t.Size)}
	args = append(args, simt.Arg{Memory: mem, Len: 3, Cap: 3})
	b.body(b.set(b.elem(out, b.num(0)), e))
	if t.Kind == ir.Bool {
		yes := b.set(b.elem(out, b.num(1)), b.konst(t, 1))
		b.body(&ir.If{Cond: e, Then: []ir.Stmt{yes}, At: b.at})
	} else {
		b.body(b.set(b.elem(out, b.num(1)), e))
	}
	b.body(b.set(b.ref(g.vars[t.Kind]), e), b.set(b.elem(out, b.num(2)), b.ref(g.vars[t.Kind])))
	p, err := simt.New(b.p)
	require.NoError(r, err)

	want, failure := tryGo(gov, e)
	folded, err := ir.Eval(e, env)
	_, ran := p.Run(args, simt.Config{Teams: 1, Threads: 1})
	if failure != nil {
		require.Error(r, err)
		require.Error(r, ran)
		require.Equal(r, errors.Is(err, ir.ErrDivide), errors.Is(ran, ir.ErrDivide))
		return
	}
	require.NoError(r, err)
	require.NoError(r, ran)
	same(r, t, want, folded)
	for i := range 3 {
		same(r, t, want, ir.LoadBits(t, mem.Bytes[i*int(t.Size):]))
	}
}

// same compares bit patterns; any NaN is as good as another.
func same(r require.TestingT, t *ir.Type, want, got ir.Bits) {
	if t.IsFloat() && math.IsNaN(ir.Float(t, want)) && math.IsNaN(ir.Float(t, got)) {
		return
	}
	require.Equal(r, want, got)
}

func tryGo(g golang, e ir.Expr) (b ir.Bits, failure any) {
	defer func() { failure = recover() }()
	return fromGo(g.eval(e)), nil
}

func TestExpressionsAreGos(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("floats that do not fit an integer are converted as on amd64, and Go does that otherwise here")
	}
	rapid.Check(t, func(r *rapid.T) {
		for range 20 {
			checkExpression(r)
		}
	})
}

// edges are values at which operators go wrong.
func edges(t *ir.Type) []ir.Bits {
	if t.IsFloat() {
		var list []ir.Bits
		for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 3e38, -1e-44, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 40} {
			list = append(list, ir.FloatBits(t, f))
		}
		return list
	}
	var list []ir.Bits
	for _, b := range []uint64{0, 1, 2, 3, 7, 63, 64, 100, 127, 128, 255, 1 << 15, 1<<15 - 1, 1 << 31, 1<<31 - 1, 1 << 32, 1 << 63, 1<<63 - 1,
		^uint64(0), ^uint64(0) - 1} {
		list = append(list, ir.Normal(t, b))
	}
	return list
}

// TestOperatorsOnEdges tries every operator of every type on all pairs of edges, as a value and as a condition.
func TestOperatorsOnEdges(t *testing.T) {
	for _, typ := range scalars {
		for op := ir.Add; op <= ir.LOr; op++ {
			b := newBuilder("Edges")
			x, y := b.param("x", typ), b.param("y", typ)
			e := b.bin(op, b.ref(x), b.ref(y)).(*ir.Binary)
			out := b.param("out", ir.SliceOf(e.T))
			b.body(b.set(b.elem(out, b.num(0)), e))
			if e.T == ir.BoolType {
				yes := b.set(b.elem(out, b.num(1)), b.konst(e.T, 1))
				b.body(&ir.If{Cond: e, Then: []ir.Stmt{yes}, At: b.at})
				b.body(&ir.If{Cond: &ir.Unary{Op: ir.Not, X: e, At: b.at}, Else: []ir.Stmt{b.set(b.elem(out, b.num(2)), b.konst(e.T, 1))}, At: b.at})
			}
			p, err := simt.New(b.p)
			if err != nil || op == ir.Shl || op == ir.Shr { // not an operator of the type; shifts are tried above
				continue
			}
			for _, xb := range edges(typ) {
				for _, yb := range edges(typ) {
					checkEdge(t, p, e, golang{x: toGo(typ, xb), y: toGo(typ, yb)}, xb, yb)
				}
			}
		}
	}
}

func checkEdge(t *testing.T, p *simt.Program, e *ir.Binary, env golang, x, y ir.Bits) {
	m := &simt.Memory{Bytes: make([]byte, 3*e.T.Size)}
	_, err := p.Run([]simt.Arg{{Bits: x}, {Bits: y}, {Memory: m, Len: 3, Cap: 3}}, simt.Config{Teams: 1, Threads: 1})
	want, failure := tryGo(env, e)
	if failure != nil {
		require.ErrorIs(t, err, ir.ErrDivide)
		return
	}
	require.NoError(t, err)
	n := 1
	if e.T == ir.BoolType {
		n = 3
	}
	for i := range n {
		same(t, e.T, want, ir.LoadBits(e.T, m.Bytes[i*int(e.T.Size):]))
	}
}

func FuzzExpressions(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkExpression)) }
