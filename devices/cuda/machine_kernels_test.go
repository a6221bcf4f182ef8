package cuda_test

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A program builds the device IR of one kernel.
type program struct {
	prog *ir.Program
	line int
}

func newProgram(name string) *program {
	at := ir.Pos{File: name + ".go", Line: 3, Col: 1}
	return &program{prog: &ir.Program{Name: name, Kernel: &ir.Kernel{Name: name, At: at}}, line: 3}
}

func (p *program) variable(name string, t *ir.Type, s ir.Space) *ir.Var {
	p.prog.NumVars++
	return &ir.Var{Name: name, Type: t, Space: s, ID: p.prog.NumVars - 1}
}

func (p *program) param(name string, t *ir.Type) *ir.Var {
	v := p.variable(name, t, ir.Param)
	p.prog.Params = append(p.prog.Params, v)
	return v
}

func (p *program) at() ir.Pos {
	p.line++
	return ir.Pos{File: p.prog.Name + ".go", Line: p.line, Col: 2}
}

// grid adds a launch whose threads share out the iterations 0 to trip.
func (p *program) grid(name string, i *ir.Var, trip ir.Expr, body ...ir.Stmt) {
	query := func(q ir.QueryKind) ir.Expr { return &ir.Query{What: q} }
	first := op(ir.Add, op(ir.Mul, query(ir.TeamNum), query(ir.NumThreads)), query(ir.ThreadNum))
	loop := &ir.For{Label: &ir.Label{}, Var: i, Lo: first, Hi: trip, Step: op(ir.Mul, query(ir.NumTeams), query(ir.NumThreads)),
		Rel: ir.Lt, Body: body, At: p.at()}
	p.prog.Launches = append(p.prog.Launches, &ir.Launch{Name: name, Trip: trip, Body: []ir.Stmt{loop}, At: p.prog.Kernel.At})
}

func (p *program) set(place, x ir.Expr) ir.Stmt {
	return &ir.Assign{Place: place, Value: x, At: p.at()}
}

func ref(v *ir.Var) ir.Expr { return &ir.Ref{Var: v} }

func op(o ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: o, X: x, Y: y, T: x.Type()} }

func element(x *ir.Var, i ir.Expr) *ir.Index { return &ir.Index{X: ref(x), I: i} }

// kernel finishes a kernel.
func (p *program) kernel(run func(a *devices.Args)) *devices.Kernel {
	return &devices.Kernel{Name: p.prog.Name, Pos: p.prog.Kernel.At, Program: p.prog, Go: run}
}

// addBox adds v to rows x columns elements of x from offset on, rows being stride apart:
// addBox(x []int64, offset, rows, columns, stride, v int).
func addBox() *devices.Kernel {
	p := newProgram("addBox")
	x := p.param("x", ir.SliceOf(ir.Int64Type))
	offset, rows, columns := p.param("offset", ir.IntType), p.param("rows", ir.IntType), p.param("columns", ir.IntType)
	stride, v := p.param("stride", ir.IntType), p.param("v", ir.Int64Type)
	i := p.variable("i", ir.IntType, ir.Local)
	at := element(x, op(ir.Add, ref(offset), op(ir.Add, op(ir.Mul, op(ir.Div, ref(i), ref(columns)), ref(stride)), op(ir.Rem, ref(i), ref(columns)))))
	p.grid("addBox", i, op(ir.Mul, ref(rows), ref(columns)), p.set(at, op(ir.Add, at, ref(v))))
	return p.kernel(func(a *devices.Args) {
		x, n := devices.SliceArg[int64](a, 0), func(i int) int { return devices.ScalarArg[int](a, i) }
		for r := range n(2) {
			for c := range n(3) {
				x[n(1)+r*n(4)+c] += devices.ScalarArg[int64](a, 5)
			}
		}
	})
}

// fill sets all elements of x to v: fill(x []int64, v int64).
func fill() *devices.Kernel {
	p := newProgram("fill")
	x, v := p.param("x", ir.SliceOf(ir.Int64Type)), p.param("v", ir.Int64Type)
	i := p.variable("i", ir.IntType, ir.Local)
	p.grid("fill", i, &ir.Len{X: ref(x)}, p.set(element(x, ref(i)), ref(v)))
	return p.kernel(func(a *devices.Args) {
		for i, x := 0, devices.SliceArg[int64](a, 0); i < len(x); i++ {
			x[i] = devices.ScalarArg[int64](a, 1)
		}
	})
}

// copyTo sets y[i] to x[i] + 1 for all i: copyTo(x, y []int64).
func copyTo() *devices.Kernel {
	p := newProgram("copyTo")
	x, y := p.param("x", ir.SliceOf(ir.Int64Type)), p.param("y", ir.SliceOf(ir.Int64Type))
	i := p.variable("i", ir.IntType, ir.Local)
	p.grid("copyTo", i, &ir.Len{X: ref(y)}, p.set(element(y, ref(i)), op(ir.Add, element(x, ref(i)), &ir.Const{T: ir.Int64Type, Bits: 1})))
	return p.kernel(func(a *devices.Args) {
		x, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
		for i := range y {
			y[i] = x[i] + 1
		}
	})
}

// gather sets y[i] to x[at[i]], which is checked: gather(x, at, y []int64).
func gather() *devices.Kernel {
	p := newProgram("gather")
	t := ir.SliceOf(ir.Int64Type)
	x, at, y := p.param("x", t), p.param("at", t), p.param("y", t)
	i := p.variable("i", ir.IntType, ir.Local)
	from := element(x, element(at, ref(i)))
	from.Checked, from.At = true, ir.Pos{File: "gather.go", Line: 7, Col: 3}
	p.grid("gather", i, &ir.Len{X: ref(y)}, p.set(element(y, ref(i)), from))
	return p.kernel(func(a *devices.Args) {
		x, at, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1), devices.SliceArg[int64](a, 2)
		for i := range y {
			y[i] = x[at[i]]
		}
	})
}

// twice goes through scratch memory in two launches: y[i] = 2 * x[i]. twice(x, y []int64).
func twice() *devices.Kernel {
	p := newProgram("twice")
	t := ir.SliceOf(ir.Int64Type)
	x, y := p.param("x", t), p.param("y", t)
	pad := p.variable("pad", t, ir.Scratch)
	p.prog.Scratch = []ir.Scratchpad{{Var: pad, Count: &ir.Len{X: ref(x)}}}
	i, j := p.variable("i", ir.IntType, ir.Local), p.variable("j", ir.IntType, ir.Local)
	p.grid("twice", i, &ir.Len{X: ref(x)}, // pad is zero before
		p.set(element(pad, ref(i)), op(ir.Add, element(pad, ref(i)), element(x, ref(i)))))
	p.grid("twice_2", j, &ir.Len{X: ref(y)}, p.set(element(y, ref(j)), op(ir.Add, element(pad, ref(j)), element(pad, ref(j)))))
	return p.kernel(func(a *devices.Args) {
		x, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
		for i := range y {
			y[i] = 2 * x[i]
		}
	})
}

// twiceAtOnce is twice in one launch, which can be sent with others.
func twiceAtOnce() *devices.Kernel {
	p := newProgram("twiceAtOnce")
	t := ir.SliceOf(ir.Int64Type)
	x, y := p.param("x", t), p.param("y", t)
	pad := p.variable("pad", t, ir.Scratch)
	p.prog.Scratch = []ir.Scratchpad{{Var: pad, Count: &ir.Len{X: ref(x)}}}
	i := p.variable("i", ir.IntType, ir.Local)
	p.grid("twiceAtOnce", i, &ir.Len{X: ref(x)}, p.set(element(pad, ref(i)), op(ir.Add, element(pad, ref(i)), element(x, ref(i)))),
		p.set(element(y, ref(i)), op(ir.Add, element(pad, ref(i)), element(pad, ref(i)))))
	return p.kernel(twice().Go)
}

// Arguments.

func number(v int64) devices.Arg { return devices.Arg{Type: ir.IntType, Bits: uint64(v)} }

func value(v int64) devices.Arg { return devices.Arg{Type: ir.Int64Type, Bits: uint64(v)} }

// part is the slice [lo:hi] of a buffer.
func part(b deps.BufferID, lo, hi int64) devices.Arg {
	return devices.Arg{Type: ir.SliceOf(ir.Int64Type), Buffer: b, Offset: deps.Bytes(lo) * elem, Len: hi - lo, Cap: hi - lo}
}
