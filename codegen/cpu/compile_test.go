package cpu

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Loop IR by hand, for what can be said shortly; kernels from Go source are in kernels_test.go.

func variable(name string, t *ir.Type, id int) *ir.Var { return &ir.Var{Name: name, Type: t, ID: id} }
func ref(v *ir.Var) ir.Expr                            { return &ir.Ref{Var: v} }
func at(s, i *ir.Var) ir.Expr                          { return &ir.Index{X: ref(s), I: ref(i), Checked: true} }
func bin(op ir.Op, x, y ir.Expr) ir.Expr               { return &ir.Binary{Op: op, X: x, Y: y, T: x.Type()} }
func intConst(v int64) ir.Expr                         { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }

// triad is a[i] = b[i] + s*c[i].
func triad() *ir.Kernel {
	a, b, c := variable("a", ir.SliceOf(ir.Float64Type), 0), variable("b", ir.SliceOf(ir.Float64Type), 1), variable("c", ir.SliceOf(ir.Float64Type), 2)
	s, i := variable("s", ir.Float64Type, 3), variable("i", ir.IntType, 4)
	loop := &ir.For{Var: i, Lo: intConst(0), Hi: &ir.Len{X: ref(a)}, Step: intConst(1), Rel: ir.Lt,
		Directive: &ir.Directive{Parts: ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare},
		Body:      []ir.Stmt{&ir.Assign{Place: at(a, i), Value: bin(ir.Add, at(b, i), bin(ir.Mul, ref(s), at(c, i)))}}}
	return &ir.Kernel{Name: "Triad", Params: []*ir.Var{a, b, c, s}, Body: []ir.Stmt{loop}, NumVars: 5}
}

func TestTriadByHand(t *testing.T) {
	arena, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, arena.Close()) }()
	for _, o := range []Options{{AVX512: true}, {AVX512: true, Width: vcode.W256}, {}} {
		if o.AVX512 && runtime.GOARCH != "amd64" {
			continue
		}
		code, err := Compile(triad(), o)
		require.NoError(t, err)
		p, err := arena.Install(code)
		require.NoError(t, err)
		for n := range 200 {
			checkTriad(t, NewRunner(p), n, code)
		}
	}
}

func checkTriad(t *testing.T, p *Runner, n int, code *Code) {
	t.Helper()
	a, b, c := make([]float64, n+8), make([]float64, n), make([]float64, n)
	want := make([]float64, n+8)
	for i := range n {
		b[i], c[i] = float64(i)+0.5, float64(3*i)
		want[i] = b[i] + float64(2.5*c[i])
	}
	slice := func(x []float64, n int) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(n)} }
	err := p.Call([]Value{slice(a, n), slice(b, n), slice(c, n), {Bits: 0x4004000000000000}}, nil)
	require.NoError(t, err, code.Listing())
	require.Equal(t, want, a, "n=%d\n%s", n, code.Listing())
}

func TestShortSliceIsAnErrorAndNothingPastItIsTouched(t *testing.T) {
	arena, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, arena.Close()) }()
	for _, o := range []Options{{AVX512: true}, {}} {
		if o.AVX512 && runtime.GOARCH != "amd64" {
			continue
		}
		code, err := Compile(triad(), o)
		require.NoError(t, err)
		p, err := arena.Install(code)
		require.NoError(t, err)
		a, b, c := make([]float64, 100), make([]float64, 100), make([]float64, 100)
		slice := func(x []float64) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))} }
		err = NewRunner(p).Call([]Value{slice(a), slice(b), slice(c[:77]), {Bits: 0x4004000000000000}}, nil)
		var bounds *ir.CheckError
		require.ErrorAs(t, err, &bounds)
		require.Equal(t, ir.CheckError{Kernel: "Triad", What: "c", Index: 77, Length: 77}, *bounds)
	}
}

func BenchmarkTriad(b *testing.B) {
	arena, err := NewArena()
	require.NoError(b, err)
	defer func() { require.NoError(b, arena.Close()) }()
	code, err := Compile(triad(), Options{AVX512: true})
	require.NoError(b, err)
	p, err := arena.Install(code)
	require.NoError(b, err)
	const n = 1024
	x := [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	args := []Value{{}, {}, {}, {Bits: 0x4004000000000000}}
	for i := range x {
		args[i] = Value{Addr: unsafe.Pointer(unsafe.SliceData(x[i])), Len: n}
	}
	b.SetBytes(24 * n)
	r := NewRunner(p)
	for b.Loop() {
		if err := r.Call(args, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	k := triad()
	for b.Loop() {
		if _, err := Compile(k, Options{AVX512: true}); err != nil {
			b.Fatal(err)
		}
	}
}
