package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

// constKernel is a[i] = b[i] op c.
func constKernel(t *ir.Type, op ir.Op, c uint64) *ir.Kernel {
	a, b, i := variable("a", ir.SliceOf(t), 0), variable("b", ir.SliceOf(t), 1), variable("i", ir.IntType, 2)
	loop := &ir.For{Var: i, Lo: intConst(0), Hi: &ir.Len{X: ref(a)}, Step: intConst(1), Rel: ir.Lt,
		Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare},
		Body:      []ir.Stmt{&ir.Assign{Place: at(a, i), Value: &ir.Binary{Op: op, X: at(b, i), Y: &ir.Const{T: t, Bits: c}, T: t}}}}
	return &ir.Kernel{Name: "constant", Params: []*ir.Var{a, b}, Body: []ir.Stmt{loop}, NumVars: 3}
}

// divisors are the ends of what t holds, powers of two and their neighbours, and some between.
func divisors(r *rand.Rand, t *ir.Type) []uint64 {
	out := []uint64{1, 3, 5, 6, 7, 10, 25, 100, 28, ir.Normal(t, 641), ir.Normal(t, ^uint64(0)>>1), ir.Normal(t, ^uint64(0))}
	for range 6 {
		c := r.Uint64() >> r.IntN(64)
		out = append(out, ir.Normal(t, c), ir.Normal(t, -c))
	}
	for range 5 {
		p := uint64(1) << r.IntN(8*int(t.Size))
		out = append(out, ir.Normal(t, p), ir.Normal(t, p-1), ir.Normal(t, p+1), ir.Normal(t, -p))
	}
	return out
}

// dividends are as those, and multiples of c and their neighbours.
func dividends(r *rand.Rand, t *ir.Type, c uint64, n int) []uint64 {
	var out []uint64
	for range n / 4 {
		x := ir.Normal(t, r.Uint64()>>r.IntN(64)*c)
		out = append(out, x, ir.Normal(t, x-1), ir.Normal(t, x+1), ir.Normal(t, r.Uint64()>>r.IntN(64)))
	}
	return append(out, 0, 1, ir.Normal(t, ^uint64(0)), ir.Normal(t, ^uint64(0)>>1), ir.Normal(t, 1<<(8*t.Size-1)), ir.Normal(t, 1<<(8*t.Size-1)-1))
}

// TestDivisionByConst_IsGos divides by constants of every type: they are multiplied with.
func TestDivisionByConst_IsGos(t *testing.T) {
	arena, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range machineOptions(t) {
		for _, typ := range []*ir.Type{ir.Int8Type, ir.Int16Type, ir.Int32Type, ir.Int64Type, ir.Uint8Type, ir.Uint16Type, ir.Uint32Type, ir.Uint64Type} {
			r := rand.New(rand.NewPCG(3, uint64(typ.Kind)))
			for _, c := range divisors(r, typ) {
				for _, op := range []ir.Op{ir.Div, ir.Rem} {
					if c != 0 {
						tryConst(t, arena, o, typ, op, c, dividends(r, typ, c, 300), machine)
						single := o
						single.Single = SingleAlways
						tryConst(t, arena, single, typ, op, c, dividends(r, typ, c, 300), machine+", one by one")
					}
				}
			}
		}
	}
}

func tryConst(t *testing.T, arena *Arena, o Options, typ *ir.Type, op ir.Op, c uint64, x []uint64, machine string) {
	t.Helper()
	code, err := Compile(constKernel(typ, op, c), o)
	require.NoError(t, err)
	p, err := arena.Install(code)
	require.NoError(t, err)
	size := int(typ.Size)
	in, out := make([]byte, size*len(x)), make([]byte, size*len(x))
	for i, v := range x {
		for b := range size {
			in[i*size+b] = byte(v >> (8 * b))
		}
	}
	slice := func(b []byte) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(b)), Len: int64(len(x))} }
	require.NoError(t, NewRunner(p).Call([]Value{slice(out), slice(in)}, nil))
	for i, v := range x {
		want, err := ir.FoldBinary(op, typ, typ, ir.Bits(v), ir.Bits(c))
		require.NoError(t, err)
		got := uint64(0)
		for b := range size {
			got |= uint64(out[i*size+b]) << (8 * b)
		}
		if ir.Normal(typ, got) != want {
			require.Fail(t, "wrong", fmt.Sprintf("%s: %s: %#x %s %#x: got %#x, want %#x", machine, typ, v, op, c, got, want))
		}
	}
}
