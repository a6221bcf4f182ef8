package cuda_test

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// The functions of this file build device IR by hand. line numbers the statements, so that #line has something to say.

type builder struct {
	prog *ir.Program
	line int
}

func newProgram(name string) *builder {
	at := ir.Pos{File: name + ".go", Line: 3, Col: 1}
	k := &ir.Kernel{Name: name, At: at}
	return &builder{prog: &ir.Program{Name: name, Kernel: k}, line: 3}
}

func (b *builder) at() ir.Pos {
	b.line++
	return ir.Pos{File: b.prog.Name + ".go", Line: b.line, Col: 2}
}

func (b *builder) newVar(name string, t *ir.Type, s ir.Space) *ir.Var {
	b.prog.NumVars++
	return &ir.Var{Name: name, Type: t, Space: s, ID: b.prog.NumVars - 1}
}

func (b *builder) param(name string, t *ir.Type) *ir.Var {
	v := b.newVar(name, t, ir.Param)
	b.prog.Params = append(b.prog.Params, v)
	return v
}

func (b *builder) local(name string, t *ir.Type) *ir.Var { return b.newVar(name, t, ir.Local) }

func (b *builder) scratch(name string, elem *ir.Type, count ir.Expr) *ir.Var {
	v := b.newVar(name, ir.SliceOf(elem), ir.Scratch)
	b.prog.Scratch = append(b.prog.Scratch, ir.Scratchpad{Var: v, Count: count})
	return v
}

func (b *builder) launch(l *ir.Launch, body ...ir.Stmt) *ir.Launch {
	l.Body = body
	l.At = b.prog.Kernel.At
	if l.Name == "" {
		l.Name = b.prog.Name
	}
	b.prog.Launches = append(b.prog.Launches, l)
	return l
}

func (b *builder) decl(v *ir.Var, init ir.Expr) ir.Stmt {
	return &ir.Decl{Var: v, Init: init, At: b.at()}
}
func (b *builder) set(place, x ir.Expr) ir.Stmt {
	return &ir.Assign{Place: place, Value: x, At: b.at()}
}

// add is place op= x.
func (b *builder) update(place ir.Expr, op ir.Op, x ir.Expr) ir.Stmt {
	return b.set(place, bin(op, place, x))
}

func (b *builder) loop(i *ir.Var, lo, hi, step ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Label: &ir.Label{}, Var: i, Lo: lo, Hi: hi, Step: step, Rel: ir.Lt, Body: body, At: b.at()}
}

// grid is the loop that the whole grid shares out.
func (b *builder) grid(i *ir.Var, lo, hi ir.Expr, body ...ir.Stmt) *ir.For {
	first := bin(ir.Add, bin(ir.Mul, query(ir.TeamNum), query(ir.NumThreads)), query(ir.ThreadNum))
	if c, ok := lo.(*ir.Const); !ok || c.Bits != 0 {
		first = bin(ir.Add, lo, first)
	}
	return b.loop(i, first, hi, bin(ir.Mul, query(ir.NumTeams), query(ir.NumThreads)), body...)
}

func (b *builder) when(cond ir.Expr, then ...ir.Stmt) ir.Stmt {
	return &ir.If{Cond: cond, Then: then, At: b.at()}
}

func (b *builder) barrier() ir.Stmt { return &ir.Barrier{At: b.at()} }

func ref(v *ir.Var) *ir.Ref              { return &ir.Ref{Var: v} }
func query(q ir.QueryKind) ir.Expr       { return &ir.Query{What: q} }
func length(x ir.Expr) ir.Expr           { return &ir.Len{X: x} }
func conv(t *ir.Type, x ir.Expr) ir.Expr { return &ir.Convert{T: t, X: x} }

func num(v int64) *ir.Const               { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }
func konst(t *ir.Type, v int64) *ir.Const { return &ir.Const{T: t, Bits: uint64(v)} }

func real(t *ir.Type, v float64) *ir.Const {
	if t.Kind == ir.Float32 {
		return &ir.Const{T: t, Bits: uint64(math.Float32bits(float32(v)))}
	}
	return &ir.Const{T: t, Bits: math.Float64bits(v)}
}

func bin(op ir.Op, x, y ir.Expr) *ir.Binary {
	t := x.Type()
	switch op {
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.LAnd, ir.LOr:
		t = ir.BoolType
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: t}
}

// sum folds + over its arguments.
func sum(list ...ir.Expr) ir.Expr {
	out := list[0]
	for _, e := range list[1:] {
		out = bin(ir.Add, out, e)
	}
	return out
}

func un(op ir.Op, x ir.Expr) ir.Expr { return &ir.Unary{Op: op, X: x} }

func idx(x, i ir.Expr) *ir.Index { return &ir.Index{X: x, I: i} }

func checked(x, i ir.Expr) *ir.Index {
	return &ir.Index{X: x, I: i, Checked: true, At: ir.Pos{File: "check.go", Line: 7, Col: 3}}
}

func call(fn ir.MathFn, args ...ir.Expr) ir.Expr {
	return &ir.Math{Fn: fn, Args: args, T: args[0].Type()}
}

func field(x ir.Expr, i int) *ir.Member { return &ir.Member{X: x, Field: i} }

func list(s ...ir.Stmt) []ir.Stmt { return s }
