package devicetest

import (
	"errors"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Twice returns a kernel of int64 slices, y[i] = 2*x[i] + y[i] for i below len(x), as a Go function
// and as a program.
func Twice() *devices.Kernel {
	return &devices.Kernel{
		Name: "Twice",
		Pos:  ir.Pos{File: "twice.go", Line: 1, Col: 1},
		Go: func(a *devices.Args) {
			x, y := devices.SliceArg[int64](a, 0), devices.SliceArg[int64](a, 1)
			for i := range x {
				y[i] = 2*x[i] + y[i]
			}
		},
		Program: twiceProgram(),
	}
}

// Broken returns a kernel that fails when it runs, and would leave the device in order: it indexes
// x[len(x)].
func Broken() *devices.Kernel {
	p := twiceProgram()
	p.Name = "Broken"
	l := p.Launches[0]
	l.Name = "Broken"
	x := p.Params[0]
	l.Trip = number(1)
	l.Body = []ir.Stmt{&ir.Assign{Place: element(x, &ir.Len{X: ref(x), At: at}), Value: number(0), At: at}}
	return &devices.Kernel{
		Name: "Broken",
		Pos:  at,
		Go: func(a *devices.Args) {
			x := devices.SliceArg[int64](a, 0)
			x[len(x)] = 0
		},
		Program: p,
	}
}

// Refused returns a kernel that has no variant for accelerators.
func Refused() *devices.Kernel { return &devices.Kernel{Name: "Refused", Pos: at, Refused: ErrRefused} }

// ErrRefused is why Refused has no program.
var ErrRefused = errors.New("it has no variant for accelerators")

var at = ir.Pos{File: "twice.go", Line: 1, Col: 1}

func ref(v *ir.Var) ir.Expr        { return &ir.Ref{Var: v, At: at} }
func number(n int64) ir.Expr       { return &ir.Const{T: ir.IntType, Bits: uint64(n), At: at} }
func query(q ir.QueryKind) ir.Expr { return &ir.Query{What: q, At: at} }
func element(v *ir.Var, i ir.Expr) ir.Expr {
	return &ir.Index{X: ref(v), I: i, Checked: true, At: at}
}

func binary(op ir.Op, x, y ir.Expr) ir.Expr {
	t := x.Type()
	if op == ir.Lt {
		t = ir.BoolType
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: t, At: at}
}

// twiceProgram is a grid-stride loop.
func twiceProgram() *ir.Program {
	variable := func(id int, name string, t *ir.Type, s ir.Space) *ir.Var {
		return &ir.Var{Name: name, Type: t, Space: s, ID: id, At: at}
	}
	slice := ir.SliceOf(ir.Int64Type)
	x, y, i := variable(0, "x", slice, ir.Param), variable(1, "y", slice, ir.Param), variable(2, "i", ir.IntType, ir.Local)
	n := &ir.Len{X: ref(x), At: at}
	first := binary(ir.Add, binary(ir.Mul, query(ir.TeamNum), query(ir.NumThreads)), query(ir.ThreadNum))
	size := binary(ir.Mul, query(ir.NumTeams), query(ir.NumThreads))
	twice := &ir.Binary{Op: ir.Mul, X: element(x, ref(i)), Y: &ir.Const{T: ir.Int64Type, Bits: 2, At: at}, T: ir.Int64Type, At: at}
	sum := &ir.Binary{Op: ir.Add, X: twice, Y: element(y, ref(i)), T: ir.Int64Type, At: at}
	loop := &ir.While{
		Label: &ir.Label{},
		Cond:  binary(ir.Lt, ref(i), n),
		Post:  []ir.Stmt{&ir.Assign{Place: ref(i), Value: binary(ir.Add, ref(i), size), At: at}},
		Body:  []ir.Stmt{&ir.Assign{Place: element(y, ref(i)), Value: sum, At: at}},
		At:    at,
	}
	return &ir.Program{
		Name:     "Twice",
		Params:   []*ir.Var{x, y},
		NumVars:  3,
		Launches: []*ir.Launch{{Name: "Twice", Trip: n, Body: []ir.Stmt{&ir.Decl{Var: i, Init: first, At: at}, loop}, At: at}},
	}
}

// slice is the argument that is elements [lo, hi) of a buffer of int64.
func slice(b deps.BufferID, lo, hi int64) devices.Arg {
	return devices.Arg{Type: ir.SliceOf(ir.Int64Type), Buffer: b, Offset: deps.Bytes(lo) * elem, Len: hi - lo, Cap: hi - lo}
}
