package launch

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
)

// TestPacking prints a kernel with all sorts of parameters and reads its arguments back from the
// block.
func TestPacking(t *testing.T) {
	prog, vars := packed()
	pair := []byte{1, 0, 0, 0, 2, 0, 0, 0}
	args := []devices.Arg{
		{Type: ir.SliceOf(ir.Float32Type), Buffer: 3, Offset: 40, Len: 100, Cap: 120},
		{Type: ir.SliceOf(ir.Float32Type), Nil: true},
		{Type: ir.IntType, Bits: uint64(math.MaxUint64 - 4)}, // -5
		{Type: ir.Uint8Type, Bits: 200},
		{Type: vars[4].Type, Blob: pair},
		{Type: ir.Float64Type, Bits: math.Float64bits(2.5)},
	}
	at := func(b deps.BufferID) (uint64, error) { return uint64(b) << 32, nil }
	for _, index32 := range []bool{false, true} {
		src, err := cuda.Print(prog, cuda.Options{Index32: index32})
		require.NoError(t, err)
		b := &Binding{Params: prog.Params, Args: args}
		require.True(t, Fits32(src, b))
		size, err := b.SizeScratch(prog, []Grid{{7, 128}})
		require.NoError(t, err)
		require.Equal(t, Room{Zeroed: 256}, size)
		b.Place(1<<40, 0)
		e := &src.Entries[0]
		out := make([]byte, e.ArgsSize)
		require.NoError(t, b.Pack(e, out, at, 77))
		seen := 0
		for _, a := range e.Args {
			raw := make([]byte, 8)
			copy(raw, out[a.Offset:a.Offset+a.Size])
			v := binary.LittleEndian.Uint64(raw)
			signed := int64(v)
			if a.Size == 4 {
				signed = int64(int32(v))
			}
			switch {
			case a.Kind == cuda.Fault:
				require.EqualValues(t, 77, v)
			case a.Var == vars[0] && a.Kind == cuda.Data:
				require.EqualValues(t, 3<<32+40, v)
			case a.Var == vars[0] && a.Kind == cuda.Length:
				require.EqualValues(t, 100, signed)
			case a.Var == vars[1] && a.Kind == cuda.Data:
				require.Zero(t, v, "nil")
			case a.Var == vars[1]:
				require.Zero(t, v)
			case a.Var == vars[2]:
				require.EqualValues(t, -5, signed)
			case a.Var == vars[3]:
				require.EqualValues(t, 200, v)
			case a.Var == vars[4]:
				require.Equal(t, pair, raw)
			case a.Var == vars[5]:
				require.Equal(t, 2.5, math.Float64frombits(v))
			case a.Var == vars[6] && a.Kind == cuda.Data:
				require.EqualValues(t, 1<<40, v)
			case a.Var == vars[6]:
				require.EqualValues(t, 7, signed)
			default:
				t.Fatalf("argument %+v", a)
			}
			seen++
		}
		require.GreaterOrEqual(t, seen, 8)
	}
}

// packed is a kernel that uses a slice, a nil slice, an int, a byte, a struct, a float and scratch
// memory.
func packed() (*ir.Program, []*ir.Var) {
	p := &ir.Program{Name: "packed", Kernel: &ir.Kernel{Name: "packed"}}
	variable := func(name string, t *ir.Type, s ir.Space) *ir.Var {
		p.NumVars++
		return &ir.Var{Name: name, Type: t, Space: s, ID: p.NumVars - 1}
	}
	pair := &ir.Type{Kind: ir.Struct, Name: "Pair", Size: 8, Align: 4, Fields: []ir.Field{
		{Name: "a", Type: ir.Int32Type}, {Name: "b", Type: ir.Int32Type, Offset: 4}}}
	f := ir.SliceOf(ir.Float32Type)
	vars := []*ir.Var{variable("x", f, ir.Param), variable("y", f, ir.Param), variable("n", ir.IntType, ir.Param),
		variable("k", ir.Uint8Type, ir.Param), variable("q", pair, ir.Param), variable("s", ir.Float64Type, ir.Param)}
	p.Params = vars
	pad := variable("pad", f, ir.Scratch)
	p.Scratch = []ir.Scratchpad{{Var: pad, Count: &ir.Query{What: ir.NumTeams}}}
	ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v} }
	to32 := func(x ir.Expr) ir.Expr { return &ir.Convert{T: ir.Float32Type, X: x} }
	sum := to32(ref(vars[5]))
	for _, x := range []ir.Expr{ref(vars[3]), ref(vars[2]), &ir.Member{X: ref(vars[4]), Field: 1}, &ir.Len{X: ref(vars[0])}, &ir.Len{X: ref(pad)}} {
		sum = &ir.Binary{Op: ir.Add, X: sum, Y: to32(x), T: ir.Float32Type}
	}
	zero := &ir.Const{T: ir.IntType}
	place := func(v *ir.Var) ir.Expr {
		return &ir.Index{X: ref(v), I: &ir.Binary{Op: ir.Add, X: ref(vars[2]), Y: zero, T: ir.IntType}, Checked: true}
	}
	var body []ir.Stmt
	for _, v := range []*ir.Var{vars[0], vars[1], pad} {
		body = append(body, &ir.Assign{Place: place(v), Value: sum})
	}
	p.Launches = []*ir.Launch{{Name: "packed", MaxTeams: &ir.Const{T: ir.IntType, Bits: 7}, Body: body}}
	return p, append(vars, pad)
}

// A multiplier is that of the magnitude of its divisor, and nothing where the divisor has no value
// of 32 bits.
func TestPack_Divisor(t *testing.T) {
	n := &ir.Var{Name: "n", Type: ir.IntType, Space: ir.Param}
	e := &cuda.Entry{ArgsSize: 12, Args: []cuda.Argument{{Kind: cuda.Divisor, Of: &ir.Binary{Op: ir.Sub, X: &ir.Ref{Var: n}, Y: &ir.Const{T: ir.IntType, Bits: 1}, T: ir.IntType}, Offset: 4, Size: 8}}}
	for value, divisor := range map[int64]int64{8: 7, -6: 7, 1: 0, 1 << 40: 0} {
		b := &Binding{Params: []*ir.Var{n}, Args: []devices.Arg{{Type: ir.IntType, Bits: uint64(value)}}}
		out := make([]byte, 12)
		require.NoError(t, b.Pack(e, out, nil, 0))
		multiplier, shift := cuda.Multiplier(divisor)
		require.Equal(t, multiplier, binary.LittleEndian.Uint32(out[4:]), value)
		require.Equal(t, shift, binary.LittleEndian.Uint32(out[8:]), value)
	}
}

// The version of 32-bit indices runs only where what its text relies on holds: a loop to n*m-5 has no
// iteration where that is negative, but it would wrap around in 32 bits.
func TestFits32_Promises(t *testing.T) {
	n, m := &ir.Var{Name: "n", Type: ir.IntType, Space: ir.Param}, &ir.Var{Name: "m", Type: ir.IntType, Space: ir.Param}
	bin := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType} }
	number := func(x int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(x)} }
	end := bin(ir.Sub, bin(ir.Mul, &ir.Ref{Var: n}, &ir.Ref{Var: m}), number(5))
	trip := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{end, number(0)}, T: ir.IntType}
	src := &cuda.Source{Entries: []cuda.Entry{{Launch: &ir.Launch{Trip: trip}, Promises: []ir.Expr{end}}}}
	for value, fits := range map[int64]bool{100: true, -100: true, 1 << 20: false, -1 << 20: false} {
		b := &Binding{Params: []*ir.Var{n, m}, Args: []devices.Arg{{Type: ir.IntType, Bits: uint64(value)}, {Type: ir.IntType, Bits: 1<<12 - 1}}}
		require.Equal(t, fits, Fits32(src, b), value)
	}
}
