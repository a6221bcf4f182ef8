package simt_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// builder makes device IR by hand. at is the position that new nodes get; line moves it.
type builder struct {
	p  *ir.Program
	l  *ir.Launch
	at ir.Pos
}

func newBuilder(name string) *builder {
	b := &builder{at: ir.Pos{File: "k.go", Line: 1, Col: 1}}
	b.l = &ir.Launch{Name: name, At: b.at}
	b.p = &ir.Program{Name: name, Launches: []*ir.Launch{b.l}}
	return b
}

func (b *builder) line(n int) *builder { b.at.Line = n; return b }

func (b *builder) variable(name string, t *ir.Type, s ir.Space) *ir.Var {
	v := &ir.Var{Name: name, Type: t, Space: s, ID: b.p.NumVars, At: b.at}
	b.p.NumVars++
	return v
}

func (b *builder) param(name string, t *ir.Type) *ir.Var {
	v := b.variable(name, t, ir.Param)
	b.p.Params = append(b.p.Params, v)
	return v
}

func (b *builder) team(name string, t *ir.Type) *ir.Var {
	v := b.variable(name, t, ir.Team)
	b.l.Team = append(b.l.Team, v)
	return v
}

func (b *builder) local(name string, t *ir.Type) *ir.Var { return b.variable(name, t, ir.Local) }

func (b *builder) ref(v *ir.Var) ir.Expr { return &ir.Ref{Var: v, At: b.at} }
func (b *builder) num(i int64) ir.Expr   { return b.konst(ir.IntType, ir.Bits(i)) }

func (b *builder) konst(t *ir.Type, bits ir.Bits) ir.Expr {
	return &ir.Const{T: t, Bits: bits, At: b.at}
}

func (b *builder) f32(f float32) ir.Expr {
	return b.konst(ir.Float32Type, ir.Bits(math.Float32bits(f)))
}

func (b *builder) query(q ir.QueryKind) ir.Expr { return &ir.Query{What: q, At: b.at} }

func (b *builder) bin(op ir.Op, x, y ir.Expr) ir.Expr {
	t := x.Type()
	if op >= ir.Eq && op <= ir.LOr {
		t = ir.BoolType
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: t, At: b.at}
}

func (b *builder) math(fn ir.MathFn, args ...ir.Expr) ir.Expr {
	return &ir.Math{Fn: fn, Args: args, T: args[0].Type(), At: b.at}
}

func (b *builder) conv(t *ir.Type, x ir.Expr) ir.Expr { return &ir.Convert{T: t, X: x, At: b.at} }

func (b *builder) index(x, i ir.Expr) ir.Expr { return &ir.Index{X: x, I: i, Checked: true, At: b.at} }

func (b *builder) elem(v *ir.Var, i ir.Expr) ir.Expr { return b.index(b.ref(v), i) }

func (b *builder) decl(v *ir.Var, init ir.Expr) ir.Stmt {
	return &ir.Decl{Var: v, Init: init, At: b.at}
}

func (b *builder) set(place, value ir.Expr) ir.Stmt {
	return &ir.Assign{Place: place, Value: value, At: b.at}
}

func (b *builder) when(cond ir.Expr, then ...ir.Stmt) ir.Stmt {
	return &ir.If{Cond: cond, Then: then, At: b.at}
}

func (b *builder) forTo(v *ir.Var, n ir.Expr, body ...ir.Stmt) ir.Stmt {
	return &ir.For{Label: &ir.Label{}, Var: v, Lo: b.num(0), Hi: n, Step: b.num(1), Rel: ir.Lt, Body: body, At: b.at}
}

func (b *builder) barrier() ir.Stmt { return &ir.Barrier{Scope: ir.TeamBarrier, At: b.at} }

// global is the number of the thread in the grid.
func (b *builder) global() ir.Expr {
	return b.bin(ir.Add, b.bin(ir.Mul, b.query(ir.TeamNum), b.query(ir.NumThreads)), b.query(ir.ThreadNum))
}

// spread runs body for v = the thread's number in the grid, and on by the size of the grid, while below n.
func (b *builder) spread(v *ir.Var, n ir.Expr, body ...ir.Stmt) []ir.Stmt {
	size := b.bin(ir.Mul, b.query(ir.NumTeams), b.query(ir.NumThreads))
	return []ir.Stmt{b.decl(v, b.global()), &ir.While{Label: &ir.Label{}, Cond: b.bin(ir.Lt, b.ref(v), n),
		Post: []ir.Stmt{b.set(b.ref(v), b.bin(ir.Add, b.ref(v), size))}, Body: body, At: b.at}}
}

func (b *builder) body(list ...ir.Stmt) { b.l.Body = append(b.l.Body, list...) }

func (b *builder) compile(t testing.TB) *simt.Program {
	p, err := simt.New(b.p)
	require.NoError(t, err)
	return p
}

func floats(name string, list ...float32) (*simt.Memory, simt.Arg) {
	m := &simt.Memory{Name: name, Bytes: make([]byte, 4*len(list))}
	for i, f := range list {
		binary.LittleEndian.PutUint32(m.Bytes[4*i:], math.Float32bits(f))
	}
	return m, simt.Arg{Memory: m, Len: int64(len(list)), Cap: int64(len(list))}
}

func (x *buffer) float(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(x.Bytes[4*i:]))
}

type buffer struct{ *simt.Memory }

func ints(name string, list ...int64) (*simt.Memory, simt.Arg) {
	m := &simt.Memory{Name: name, Bytes: make([]byte, 8*len(list))}
	for i, x := range list {
		binary.LittleEndian.PutUint64(m.Bytes[8*i:], uint64(x))
	}
	return m, simt.Arg{Memory: m, Len: int64(len(list)), Cap: int64(len(list))}
}

func intAt(m *simt.Memory, i int) int64 {
	return int64(binary.LittleEndian.Uint64(m.Bytes[8*i:]))
}

func number(i int64) simt.Arg { return simt.Arg{Bits: ir.Bits(i)} }
