package cuda_test

import (
	"math"
	"math/rand/v2"

	"github.com/gompss/gompss/codegen/ir"
)

// intTypes and scalarTypes are what random expressions are made of.
var (
	intTypes = []*ir.Type{ir.Int8Type, ir.Int16Type, ir.Int32Type, ir.IntType, ir.Uint8Type, ir.Uint16Type, ir.Uint32Type, ir.Uint64Type}
	scalars  = append(append([]*ir.Type{}, intTypes...), ir.Float32Type, ir.Float64Type)
)

// randomProgram is a kernel that computes many random expressions for many rows of inputs.
type randomProgram struct {
	*builder
	rnd    *rand.Rand
	in     map[*ir.Type]*ir.Var // slices of inputs, two values a row
	out    []*ir.Var            // slices of results, one value a row
	exprs  []ir.Expr
	vars   map[*ir.Type][]*ir.Var
	row    *ir.Var
	narrow []*ir.Var // Go int parameters
}

func newRandomProgram(seed uint64, exprs, depth int) *randomProgram {
	g := &randomProgram{builder: newProgram("randoms"), rnd: rand.New(rand.NewPCG(seed, 1)),
		in: map[*ir.Type]*ir.Var{}, vars: map[*ir.Type][]*ir.Var{}}
	rows := g.param("rows", ir.IntType)
	g.narrow = []*ir.Var{rows, g.param("n", ir.IntType), g.param("m", ir.IntType)}
	g.row = g.local("row", ir.IntType)
	body := []ir.Stmt{}
	for _, t := range scalars {
		g.in[t] = g.param("in_"+t.Name, ir.SliceOf(t))
		for k := range 2 {
			v := g.local(string(rune('x'+k))+"_"+t.Name, t)
			g.vars[t] = append(g.vars[t], v)
			at := bin(ir.Add, bin(ir.Mul, ref(g.row), num(2)), num(int64(k)))
			body = append(body, g.decl(v, idx(ref(g.in[t]), at)))
		}
	}
	g.vars[ir.IntType] = append(g.vars[ir.IntType], append(g.narrow, g.row)...)
	for k := range exprs {
		t := scalars[k%len(scalars)]
		e := g.expr(t, depth)
		out := g.param("out"+string(rune('a'+k/26%26))+string(rune('a'+k%26)), ir.SliceOf(t))
		g.out, g.exprs = append(g.out, out), append(g.exprs, e)
		body = append(body, g.set(idx(ref(out), ref(g.row)), e))
	}
	g.launch(&ir.Launch{Trip: ref(rows)}, g.grid(g.row, num(0), ref(rows), body...))
	return g
}

func (g *randomProgram) pick(n int) int { return g.rnd.IntN(n) }

func (g *randomProgram) expr(t *ir.Type, depth int) ir.Expr {
	if depth == 0 || g.pick(8) == 0 {
		return g.leaf(t)
	}
	switch {
	case t.Kind == ir.Bool:
		return g.condition(depth)
	case t.IsFloat():
		return g.float(t, depth)
	}
	return g.integer(t, depth)
}

func (g *randomProgram) leaf(t *ir.Type) ir.Expr {
	if t.Kind == ir.Bool {
		return bin(ir.Lt, g.leaf(ir.IntType), g.leaf(ir.IntType))
	}
	if g.pick(4) == 0 {
		return &ir.Const{T: t, Bits: g.value(t)}
	}
	vars := g.vars[t]
	return ref(vars[g.pick(len(vars))])
}

// value returns a bit pattern of t, often one from an edge.
func (g *randomProgram) value(t *ir.Type) uint64 {
	if t.IsFloat() {
		edges := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e10, -1e10, 3e9, 1e19, 2147483647, -2147483648.5, 9.3e18, math.Inf(1),
			math.Inf(-1), math.NaN(), 1e-40, 255.5, 65536}
		if g.pick(3) == 0 {
			return ir.FloatBits(t, (g.rnd.Float64()-0.5)*math.Pow(2, float64(g.pick(80))-10))
		}
		return ir.FloatBits(t, edges[g.pick(len(edges))])
	}
	switch g.pick(4) {
	case 0:
		return ir.Normal(t, g.rnd.Uint64())
	case 1:
		return ir.Normal(t, uint64(g.pick(21)-10))
	}
	edges := []uint64{0, 1, 1 << 7, 1<<7 - 1, 1 << 15, 1<<15 - 1, 1 << 31, 1<<31 - 1, 1 << 63, 1<<63 - 1, math.MaxUint64, 31, 32, 63, 64}
	return ir.Normal(t, edges[g.pick(len(edges))])
}

func (g *randomProgram) condition(depth int) ir.Expr {
	x := func() ir.Expr { return g.expr(ir.BoolType, depth-1) }
	switch g.pick(6) {
	case 0:
		return bin(ir.LAnd, x(), x())
	case 1:
		return bin(ir.LOr, x(), x())
	case 2:
		return un(ir.Not, x())
	case 3:
		return &ir.Math{Fn: ir.IsNaN, Args: []ir.Expr{g.expr(ir.Float64Type, depth-1)}, T: ir.BoolType}
	}
	t := scalars[g.pick(len(scalars))]
	return bin(ir.Eq+ir.Op(g.pick(6)), g.expr(t, depth-1), g.expr(t, depth-1))
}

func (g *randomProgram) choose(t *ir.Type, depth int) ir.Expr {
	return &ir.Select{Cond: g.expr(ir.BoolType, depth-1), X: g.expr(t, depth-1), Y: g.expr(t, depth-1)}
}

func (g *randomProgram) converted(t *ir.Type, depth int) ir.Expr {
	return conv(t, g.expr(scalars[g.pick(len(scalars))], depth-1))
}

func (g *randomProgram) integer(t *ir.Type, depth int) ir.Expr {
	x := func() ir.Expr { return g.expr(t, depth-1) }
	switch g.pick(14) {
	case 0, 1, 2, 3:
		return bin([]ir.Op{ir.Add, ir.Sub, ir.Mul}[g.pick(3)], x(), x())
	case 4, 5:
		return bin([]ir.Op{ir.And, ir.Or, ir.Xor, ir.AndNot}[g.pick(4)], x(), x())
	case 6, 7:
		return bin([]ir.Op{ir.Div, ir.Rem}[g.pick(2)], x(), bin(ir.Or, x(), konst(t, 1)))
	case 8:
		return bin([]ir.Op{ir.Shl, ir.Shr}[g.pick(2)], x(), g.expr(intTypes[4+g.pick(4)], depth-1))
	case 9:
		return bin([]ir.Op{ir.Shl, ir.Shr}[g.pick(2)], x(), num(int64(g.pick(70))))
	case 10:
		return un([]ir.Op{ir.Neg, ir.Com}[g.pick(2)], x())
	case 11:
		return g.choose(t, depth)
	case 12:
		return g.intMath(t, depth)
	}
	return g.converted(t, depth)
}

func (g *randomProgram) intMath(t *ir.Type, depth int) ir.Expr {
	x := func() ir.Expr { return g.expr(t, depth-1) }
	if t == ir.IntType && g.pick(2) == 0 {
		u := intTypes[4+g.pick(4)]
		return &ir.Math{Fn: ir.LeadingZeros + ir.MathFn(g.pick(4)), Args: []ir.Expr{g.expr(u, depth-1)}, T: t}
	}
	if t.IsSigned() || g.pick(3) == 0 {
		return call([]ir.MathFn{ir.IMin, ir.IMax}[g.pick(2)], x(), x())
	}
	switch g.pick(4) {
	case 0:
		return call(ir.Reverse, x())
	case 1:
		return call(ir.ReverseBytes, x())
	case 2:
		return call(ir.RotateLeft, x(), g.expr(ir.IntType, depth-1))
	}
	return call(ir.MulHi, x(), x())
}

func (g *randomProgram) float(t *ir.Type, depth int) ir.Expr {
	x := func() ir.Expr { return g.expr(t, depth-1) }
	switch g.pick(9) {
	case 0, 1, 2, 3:
		return bin([]ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div}[g.pick(4)], x(), x())
	case 4:
		return un(ir.Neg, x())
	case 5:
		return g.choose(t, depth)
	case 6:
		return call([]ir.MathFn{ir.Abs, ir.Sqrt, ir.Floor, ir.Ceil, ir.Trunc, ir.Round, ir.RoundToEven}[g.pick(7)], x())
	case 7:
		if g.pick(2) == 0 { // the sign of a NaN is not defined
			return call(ir.Copysign, x(), real(t, float64(1-2*g.pick(2))))
		}
		return call(ir.Dim, x(), x())
	}
	return g.converted(t, depth)
}
