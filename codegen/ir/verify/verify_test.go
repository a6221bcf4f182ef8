package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
)

var at = ir.Pos{File: "k.go", Line: 3, Col: 2}

// broken is a kernel with one mistake, made by change, in an otherwise fine body.
type broken struct {
	name   string
	change func(k *ir.Kernel, x, a *ir.Var, l *ir.Label) []ir.Stmt
	want   []string
}

func number(i int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: ir.Bits(i), At: at} }

func TestVerifyFindsEachMistake(t *testing.T) {
	ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v, At: at} }
	float := &ir.Const{T: ir.Float32Type, At: at}
	one := func(s ir.Stmt) []ir.Stmt { return []ir.Stmt{s} }
	for _, c := range []broken{
		{"fine", func(_ *ir.Kernel, x, a *ir.Var, l *ir.Label) []ir.Stmt {
			return []ir.Stmt{&ir.Assign{Place: &ir.Index{X: ref(a), I: ref(x), At: at}, Value: float, At: at}, &ir.Break{Label: l, At: at}}
		}, nil},
		{"types", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Assign{Place: ref(x), Value: float, At: at})
		}, []string{"assignment: int and float32"}},
		{"place", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Assign{Place: number(1), Value: number(2), At: at})
		}, []string{"1 is not a place"}},
		{"undeclared", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			y := &ir.Var{Name: "y", Type: ir.IntType, Space: ir.Local, ID: 5}
			return []ir.Stmt{&ir.Block{Body: one(&ir.Decl{Var: y, At: at}), At: at}, &ir.Assign{Place: ref(y), Value: number(1), At: at}}
		}, []string{"variable y is not declared here"}},
		{"space", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Decl{Var: &ir.Var{Name: "y", Type: ir.IntType, Space: ir.Team, ID: 5}, At: at})
		}, []string{"variable y is declared here but lives in space 2"}},
		{"twice, and its number", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return []ir.Stmt{&ir.Decl{Var: x, At: at}, &ir.Decl{Var: &ir.Var{Name: "z", Type: ir.IntType, Space: ir.Local, ID: 99}, At: at}}
		}, []string{"variable x is declared twice", "variable z has ID 99 of 10"}},
		{"label", func(_ *ir.Kernel, x, a *ir.Var, l *ir.Label) []ir.Stmt {
			return []ir.Stmt{&ir.Break{Label: &ir.Label{}, At: at}, &ir.Block{Label: &ir.Label{}, At: at}, &ir.Continue{Label: nil, At: at}}
		}, []string{"a jump to a label that is not around it"}},
		{"position", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Assign{Place: &ir.Ref{Var: x}, Value: number(1), At: at})
		}, []string{"*ir.Ref without a position"}},
		{"device nodes", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return []ir.Stmt{&ir.Decl{Var: &ir.Var{Name: "s", Type: ir.IntType, Space: ir.Local, ID: 5},
				Init: &ir.Shuffle{X: number(1), By: number(1), At: at}, At: at}, &ir.Barrier{Scope: ir.WarpBarrier, At: at}}
		}, []string{"a shuffle outside device code", "a warp or named barrier in loop IR"}},
		{"operators", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.If{Cond: &ir.Binary{Op: ir.Add, X: float, Y: number(1), T: ir.IntType, At: at}, At: at})
		}, []string{"float32 + int giving int"}},
		{"functions", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			f := &ir.Func{Name: "f", Results: []*ir.Type{ir.IntType}, At: at}
			return one(&ir.Call{Fn: f, Args: []ir.Expr{number(1)}, Results: []*ir.Var{x}, At: at})
		}, []string{"function f is not listed before its caller", "call of f with 1 arguments and 1 results, not 0 and 1"}},
		{"math", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Assign{Place: ref(x), Value: &ir.Math{Fn: ir.Sqrt, Args: []ir.Expr{number(4)}, T: ir.IntType, At: at}, At: at})
		}, []string{"sqrt: argument 0 is int"}},
		{"constant", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Decl{Var: &ir.Var{Name: "c", Type: ir.Int8Type, Space: ir.Local, ID: 5},
				Init: &ir.Const{T: ir.Int8Type, Bits: 0x80, At: at}, At: at})
		}, []string{"constant 0x80 is not extended as int8"}},
		{"asynchronous copy", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			elem := func() ir.Expr { return &ir.Index{X: ref(a), I: ref(x), At: at} }
			return one(&ir.Assign{Place: elem(), Value: elem(), Async: true, At: at})
		}, []string{"an asynchronous copy that is not from a slice to team memory"}},
		{"atomic", func(_ *ir.Kernel, x, a *ir.Var, _ *ir.Label) []ir.Stmt {
			return one(&ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Lt, Place: ref(x), Value: number(1), At: at})
		}, []string{"atomic operator <"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &ir.Var{Name: "a", Type: ir.SliceOf(ir.Float32Type), ID: 0}
			x := &ir.Var{Name: "x", Type: ir.IntType, Space: ir.Local, ID: 1}
			l := &ir.Label{}
			k := &ir.Kernel{Name: "K", At: at, Params: []*ir.Var{a}, NumVars: 10}
			k.Body = []ir.Stmt{&ir.Decl{Var: x, At: at}, &ir.While{Label: l, Body: c.change(k, x, a, l), At: at}}
			err := verify.Kernel(k)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
			var one *verify.Error
			require.ErrorAs(t, err, &one)
			require.Equal(t, "K", one.Name)
		})
	}
}

func TestVerifyProgram(t *testing.T) {
	n := &ir.Var{Name: "n", Type: ir.IntType, ID: 0}
	s := &ir.Var{Name: "s", Type: ir.IntType, Space: ir.Team, ID: 1}
	i := &ir.Var{Name: "i", Type: ir.IntType, Space: ir.Local, ID: 2}
	scratch := &ir.Var{Name: "part", Type: ir.SliceOf(ir.IntType), Space: ir.Scratch, ID: 3}
	ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v, At: at} }
	store := &ir.Assign{Place: ref(s), Value: &ir.Shuffle{X: ref(n), By: number(1), At: at}, At: at}
	p := &ir.Program{Name: "P", Params: []*ir.Var{n}, NumVars: 4,
		Scratch:  []ir.Scratchpad{{Var: scratch, Count: &ir.Query{What: ir.NumTeams, At: at}}},
		Launches: []*ir.Launch{{Name: "P", Trip: ref(n), Team: []*ir.Var{s}, Body: []ir.Stmt{store}, Warps: true, At: at}}}
	require.NoError(t, verify.Program(p))

	p.Launches[0].Warps = false
	require.ErrorContains(t, verify.Program(p), "ir: P: k.go:3:2: a shuffle in a launch that announces none")

	p.Launches[0].Body = []ir.Stmt{&ir.For{Label: &ir.Label{}, Var: i, Lo: number(0), Hi: ref(n), Step: number(1), Rel: ir.Lt,
		Directive: &ir.Directive{Parts: ir.Simd, Text: "simd", At: at}, At: at}, &ir.Construct{Directive: &ir.Directive{Parts: ir.Single}, At: at}}
	err := verify.Program(p)
	require.ErrorContains(t, err, `directive "simd" in device IR`)
	require.ErrorContains(t, err, "a construct in device IR")

	p.Launches = append(p.Launches, &ir.Launch{Name: "P", At: at, Body: []ir.Stmt{&ir.Assign{Place: ref(s), Value: number(0), At: at}}})
	err = verify.Program(p)
	require.ErrorContains(t, err, `two launches are named "P"`)
	require.ErrorContains(t, err, "variable s is not declared here")
}
