package simt_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed kernels_test.go
var kernelSource string

// device lays Go values out as the interpreter wants them, field by field: a second opinion on gc's layout.
type device struct{ mem []*simt.Memory }

func (d *device) arg(t *ir.Type, v reflect.Value) simt.Arg {
	switch t.Kind {
	case ir.Slice:
		size := int(t.Elem.Size)
		m := &simt.Memory{Bytes: make([]byte, v.Len()*size)}
		for i := range v.Len() {
			encode(t.Elem, m.Bytes[i*size:], v.Index(i))
		}
		d.mem = append(d.mem, m)
		return simt.Arg{Memory: m, Len: int64(v.Len()), Cap: int64(v.Len())}
	case ir.Struct, ir.Array:
		b := make([]byte, t.Size)
		encode(t, b, v)
		return simt.Arg{Bytes: b}
	}
	b := make([]byte, 8)
	encode(t, b, v)
	return simt.Arg{Bits: ir.LoadBits(t, b)}
}

func encode(t *ir.Type, b []byte, v reflect.Value) {
	switch t.Kind {
	case ir.Struct:
		for i, f := range t.Fields {
			encode(f.Type, b[f.Offset:], v.Field(i))
		}
	case ir.Array:
		for i := range int(t.Len) {
			encode(t.Elem, b[i*int(t.Elem.Size):], v.Index(i))
		}
	default:
		ir.StoreBits(t, b, scalarBits(t, v))
	}
}

func scalarBits(t *ir.Type, v reflect.Value) ir.Bits {
	switch {
	case t.Kind == ir.Bool:
		return ir.BoolBits(v.Bool())
	case t.IsFloat():
		return ir.FloatBits(t, v.Float())
	case t.IsSigned():
		return ir.Bits(v.Int())
	}
	return v.Uint()
}

// numbers makes n values with a seed of their own.
func numbers[T any](n int, f func(r *rand.Rand) T) []T {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	out := make([]T, n)
	for i := range out {
		out[i] = f(r)
	}
	return out
}

func anyInt(r *rand.Rand) int { return int(r.Int64()>>r.IntN(63)) - r.IntN(9) }

func smallInt(r *rand.Rand) int { return r.IntN(2000) - 1000 }

func anyNode(r *rand.Rand) node {
	return node{at: vec{r.Float32() - 0.5, r.Float32(), -r.Float32()}, count: [3]int16{int16(r.Int()), 2, -3}, next: r.IntN(50),
		alive: r.IntN(2) == 0}
}

// languageCases are the kernels with what makes their arguments for a size.
var languageCases = []struct {
	kernel any
	args   func(n int) []any
}{
	{Structs, func(n int) []any { return []any{numbers(n, anyNode), vec{0.25, -1, 3}, make([]float32, n)} }},
	{Helpers, func(n int) []any {
		return []any{numbers(n, anyInt), make([]int64, n), numbers(n, (*rand.Rand).Float64)}
	}},
	{Control, func(n int) []any { return []any{numbers(n, smallInt), make([]int, n)} }},
	{Numbers, func(n int) []any {
		return []any{numbers(n, anyInt), make([]int32, n), make([]uint16, n), make([]uint64, n), make([]float32, n), make([]float64, n)}
	}},
	{Windows, func(n int) []any { return []any{n, numbers(8*n, smallInt), make([]int, 8*n)} }},
	{Literals, func(n int) []any { return []any{numbers(n, smallInt), make([]int, n)} }},
}

func TestTheLanguageMeansWhatGoMeans(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "kernels_test.go", Text: kernelSource})
	require.NoError(t, err)
	for i, k := range p.Kernels() {
		require.Equal(t, len(languageCases), len(p.Kernels()))
		t.Run(k.Name, func(t *testing.T) {
			c := languageCases[i]
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
				l, err := codegen.Lower(k, opt)
				require.NoError(t, err)
				s, err := simt.New(l.Program)
				require.NoError(t, err)
				for _, n := range []int{0, 1, 5, 130} {
					compareWithGo(t, s, l.Program, c.kernel, func() []any { return c.args(n) })
				}
			}
		})
	}
}

func compareWithGo(t *testing.T, s *simt.Program, p *ir.Program, kernel any, args func() []any) {
	want := args()
	in := make([]reflect.Value, len(want))
	for i, a := range want {
		in[i] = reflect.ValueOf(a)
	}
	reflect.ValueOf(kernel).Call(in)
	expected := &device{}
	for i, v := range in {
		expected.arg(p.Params[i].Type, v)
	}
	for k, cfg := range []simt.Config{{}, {Teams: 1, Threads: 1}, {Teams: 3, Threads: 7}, {Teams: 2, Threads: 40}} {
		cfg.Seed, cfg.Races, cfg.Steps = uint64(k), true, 1<<26
		got := &device{}
		var list []simt.Arg
		for i, a := range args() {
			list = append(list, got.arg(p.Params[i].Type, reflect.ValueOf(a)))
		}
		_, err := s.Run(list, cfg)
		require.NoError(t, err)
		for i := range got.mem {
			if !bytes.Equal(expected.mem[i].Bytes, got.mem[i].Bytes) {
				t.Fatalf("%+v: buffer %d: %s\n%s", cfg, i, firstDifference(expected.mem[i].Bytes, got.mem[i].Bytes), p)
			}
		}
	}
}

func firstDifference(want, got []byte) string {
	for i := 0; i < len(want); i += 8 {
		w, g := append(want[i:], make([]byte, 8)...), append(got[i:], make([]byte, 8)...)
		if x, y := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(g); x != y {
			return fmt.Sprintf("byte %d: want %#x, got %#x", i, x, y)
		}
	}
	return "none"
}
