package ir

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func integer(v int64) Expr { return &Const{T: IntType, Bits: uint64(v)} }

func local(name string, t *Type) *Var { return &Var{Name: name, Type: t, Space: Local} }

func use(v *Var) *Ref { return &Ref{Var: v} }

func op(o Op, x, y Expr) *Binary {
	t := x.Type()
	if o.Precedence() <= 3 {
		t = BoolType
	}
	return &Binary{Op: o, X: x, Y: y, T: t}
}

func TestExprStringHasGosPrecedence(t *testing.T) {
	x, y := use(local("x", IntType)), use(local("y", IntType))
	s := use(local("s", SliceOf(IntType)))
	p := use(local("p", PointerTo(IntType)))
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{op(Add, x, op(Mul, y, x)), "x + y * x"},
		{op(Mul, op(Add, x, y), x), "(x + y) * x"},
		{op(Sub, x, op(Sub, y, x)), "x - (y - x)"},
		{op(Shl, op(And, x, y), x), "x & y << x"},
		{op(LOr, op(LAnd, op(Lt, x, y), op(Eq, x, y)), op(Ge, x, y)), "x < y && x == y || x >= y"},
		{&Unary{Op: Neg, X: op(Add, x, y)}, "-(x + y)"},
		{&Index{X: s, I: op(Add, x, y), Checked: true}, "s[x + y?]"},
		{&Binary{Op: Div, X: x, Y: y, T: IntType, Checked: true}, "x /? y"},
		{&Index{X: &Reslice{X: s, Lo: x, Checked: true}, I: y}, "s[x:?][y]"},
		{op(Mul, &Deref{X: p, Checked: true}, x), "*p? * x"},
		{&Select{Cond: op(Lt, x, y), X: x, Y: op(Add, y, x)}, "x < y ? x : y + x"},
		{op(Add, &Select{Cond: op(Lt, x, y), X: x, Y: y}, x), "(x < y ? x : y) + x"},
		{&Convert{T: Float32Type, X: x}, "float32(x)"},
		{&Math{Fn: IMax, Args: []Expr{x, y}, T: IntType}, "max(x, y)"},
		{&Composite{T: ArrayOf(IntType, 2), Elems: []Expr{x, y}}, "[2]int{x, y}"},
		{&Shuffle{Kind: ShuffleXor, X: x, By: y}, "shuffleXor(x, y)"},
		{&Query{What: TeamNum}, "TeamNum()"},
		{&Const{T: Float64Type, Bits: 0x3ff0000000000000}, "1.0"},
		{&Const{T: Float32Type, Bits: 0x7f800000}, "+Inf"},
		{&Const{T: Int8Type, Bits: ^uint64(0)}, "-1"},
		{&Const{T: BoolType, Bits: 1}, "true"},
	} {
		require.Equal(t, c.want, ExprString(c.e))
	}
}

func TestTypesAndPositionsReadAsInGo(t *testing.T) {
	p := &Type{Kind: Struct, Name: "P", Fields: []Field{{Name: "x", Type: ArrayOf(Float32Type, 3)}, {Name: "n", Type: IntType}}}
	require.Equal(t, "[]P", SliceOf(p).String())
	require.Equal(t, "struct{x [3]float32; n int}", p.Literal())
	require.Equal(t, "*[2][]uint8", PointerTo(ArrayOf(SliceOf(Uint8Type), 2)).String())
	require.Equal(t, "a.go:3:5", Pos{File: "a.go", Line: 3, Col: 5}.String())
	require.Equal(t, "a.go:3", Pos{File: "a.go", Line: 3}.String())
	require.Equal(t, "-", Pos{}.String())
	require.Equal(t, "teams distribute parallel for simd", (Teams | Distribute | Parallel | Workshare | Simd).String())
}

// sample is a kernel with every statement of the loop IR.
func sample() *Kernel {
	x, n := &Var{Name: "x", Type: SliceOf(IntType)}, &Var{Name: "n", Type: IntType}
	i, j, s, in := local("i", IntType), local("j", IntType), local("s", IntType), &Var{Name: "in", Type: IntType}
	outer, inner, block := &Label{Name: "outer"}, &Label{}, &Label{}
	f := &Func{Name: "twice", Params: []*Var{in}, Results: []*Type{IntType, BoolType},
		Body: []Stmt{&Return{Results: []Expr{op(Mul, use(in), integer(2)), op(Gt, use(in), integer(0))}}}}
	hidden := local("i", IntType)
	loop := &While{Label: inner, Pre: []Stmt{&Call{Results: []*Var{j, nil}, Fn: f, Args: []Expr{use(i)}}},
		Cond: op(Lt, use(j), use(n)), Post: []Stmt{&Assign{Place: use(j), Value: op(Add, use(j), integer(1))}},
		Body: []Stmt{
			&If{Cond: op(Eq, use(j), integer(3)), Then: []Stmt{&Continue{Label: inner}}, Else: []Stmt{
				&If{Cond: op(Eq, use(j), integer(4)), Then: []Stmt{&Break{Label: outer}}, Else: []Stmt{&Break{Label: inner}}}}},
			&Decl{Var: hidden, Init: op(Add, use(i), integer(1))},
			&Atomic{Kind: AtomicCapture, Op: Add, Place: &Index{X: use(x), I: use(hidden)}, Value: integer(1), Old: use(s)},
			&Atomic{Kind: AtomicCompare, Place: &Index{X: use(x), I: use(i)}, Compare: integer(0), Value: use(s)},
		}}
	body := []Stmt{&Decl{Var: s}, &For{Label: outer, Var: i, Lo: integer(0), Hi: &Len{X: use(x)}, Step: integer(1), Rel: Lt,
		Directive: &Directive{Parts: Teams | Distribute | Parallel | Workshare, NumThreads: integer(64),
			Schedule: Schedule{Kind: ScheduleStatic, Chunk: use(n)}, Sharing: Sharing{Firstprivate: []*Var{s}, Reductions: []Reduction{{Op: Max, Place: use(s)}}}},
		Body: []Stmt{&Decl{Var: j}, &Block{Label: block, Body: []Stmt{&Break{Label: block}}}, loop,
			&Construct{Directive: &Directive{Parts: Single, Nowait: true}, Body: []Stmt{&Barrier{}}}}}}
	return &Kernel{Name: "sample", Params: []*Var{x, n}, Body: body, Funcs: []*Func{f}, NumVars: 7,
		Target: Target{Present: true, Kinds: []string{"acc"}, Resources: []Tokens{{Kind: "acc", Tokens: integer(1)}}, Floats: Floats{FastMath: true}},
		Task: Task{Present: true, Accesses: []Access{{Region: Region{Var: x, Shape: []Expr{use(n), use(n)},
			Dims: []Range{{Lo: integer(0), Hi: use(n)}, {Lo: integer(3)}}}}}, Priority: use(n), Label: "one"}}
}

func TestKernelString(t *testing.T) {
	k := sample()
	path := filepath.Join("testdata", "kernel.golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(k.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), k.String())
}

func TestProgramString(t *testing.T) {
	x := &Var{Name: "x", Type: SliceOf(Float32Type)}
	part := &Var{Name: "part", Type: SliceOf(Float32Type), Space: Scratch}
	tile := &Var{Name: "tile", Type: ArrayOf(Float32Type, 32), Space: Team}
	p := &Program{Name: "p", Params: []*Var{x}, Scratch: []Scratchpad{{Var: part, Count: &Query{What: NumTeams}}},
		Launches: []*Launch{{Name: "p", Trip: &Len{X: use(x)}, MaxThreads: integer(32), Warps: true, Team: []*Var{tile},
			Body: []Stmt{&Barrier{Scope: NamedBarrier, ID: 2, Count: integer(64)},
				&Assign{Place: &Index{X: use(part), I: &Query{What: TeamNum}}, Value: &Index{X: use(tile), I: &Query{What: Lane}}}}}}}
	require.Equal(t, `program p(x []float32)
scratch part []float32 count NumTeams() of launch 0

launch p trip len(x) threads <= 32 warps {
	team tile [32]float32
	namedBarrier(2, 64)
	part[TeamNum()] = tile[Lane()]
}
`, p.String())
}
