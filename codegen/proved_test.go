package codegen_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// valuesOf is what the host knows of arguments.
func valuesOf(p *ir.Program, args []any) ir.Values {
	env := ir.Values{}
	for i, v := range p.Params {
		switch x := reflect.ValueOf(args[i]); x.Kind() {
		case reflect.Slice:
			env[v] = ir.Value{Len: int64(x.Len()), Cap: int64(x.Cap())}
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			env[v] = ir.Value{Bits: ir.Bits(x.Int())}
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
			env[v] = ir.Value{Bits: ir.Bits(x.Uint())}
		case reflect.Float32:
			env[v] = ir.Value{Bits: ir.Bits(math.Float32bits(float32(x.Float())))}
		case reflect.Float64:
			env[v] = ir.Value{Bits: ir.Bits(math.Float64bits(x.Float()))}
		}
	}
	return env
}

// hold reports whether guards are true for arguments of which none shares memory.
func hold(guards []ir.Expr, env ir.Env) bool {
	apart := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if x, ok := e.(*ir.Apart); ok {
			return &ir.Const{T: ir.BoolType, Bits: 1, At: x.At}
		}
		return e
	}}
	for _, g := range guards {
		if bits, err := ir.Eval(apart.CopyExpr(g), env); err != nil || bits == 0 {
			return false
		}
	}
	return true
}

// TestProvedProgramsAreTheSame runs every kernel of the corpus without the checks that the host makes: where its tests hold the result is that of Go, and where an
// access fails, since a slice is too short, they do not hold.
func TestProvedProgramsAreTheSame(t *testing.T) {
	p := loadCorpus(t)
	proved, free, held, failed := 0, 0, 0, 0
	for _, c := range corpus {
		full := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{}).Program
		q, guards := cuda.Proved(full)
		if len(guards) == 0 {
			continue
		}
		proved++
		require.NoError(t, ir.VerifyProgram(q), name(c.kernel))
		whole, err := simt.New(full)
		require.NoError(t, err)
		bare, err := simt.New(q)
		require.NoError(t, err)
		source, err := cuda.Print(q, cuda.Options{})
		require.NoError(t, err)
		fails := slices.ContainsFunc(source.Entries, func(e cuda.Entry) bool { return e.Fault })
		if !fails {
			free++
		}
		for _, n := range []int{1, 20, 64} {
			for _, s := range shapes[2:5] {
				cfg := simt.Config{Teams: s.teams, Threads: s.threads}
				want, got := c.makeArgs(n), c.makeArgs(n)
				if hold(guards, valuesOf(full, got)) {
					held++
					c.runGo(want)
					require.NoError(t, runDevice(bare, got, cfg), "%s, size %d", name(c.kernel), n)
					require.Empty(t, c.differ(want, got), "%s, size %d", name(c.kernel), n)
				}
			}
			for i := range full.Params {
				args := c.makeArgs(n)
				x := reflect.ValueOf(args[i])
				if x.Kind() != reflect.Slice || x.Len() == 0 {
					continue
				}
				for _, short := range []int{0, x.Len() / 2, x.Len() - 1} {
					args := c.makeArgs(n)
					args[i] = x.Slice3(0, short, short).Interface()
					holds := hold(guards, valuesOf(full, args))
					err := runDevice(whole, args, simt.Config{Teams: 2, Threads: 32})
					if err == nil {
						continue
					}
					failed++
					if holds { // then it is a check that is left
						args := c.makeArgs(n)
						args[i] = reflect.ValueOf(args[i]).Slice3(0, short, short).Interface()
						require.True(t, fails, "%s, size %d, argument %d with %d elements: %v", name(c.kernel), n, i, short, err)
						require.Error(t, runDevice(bare, args, simt.Config{Teams: 2, Threads: 32}))
					}
				}
			}
		}
	}
	t.Logf("%d of %d kernels, of which %d have no check left; %d runs, %d that failed", proved, len(corpus), free, held, failed)
	require.Greater(t, free, 50)
	require.Greater(t, held, 400)
	require.Greater(t, failed, 1000)
}

// Kernels that reduce into an element of a parameter have no check left, nor has what follows in launches of their own.
func TestReductionsAreProved(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(x, y) inout(z)
func Dot(x, y, z []float64) {
	s := 0.0
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	z[0] = s
}

//omp:target device(acc)
//omp:task in(x) inout(out)
func Sum(lo, hi int, x, out []float64, at int32) {
	s := out[at]
	//omp:teams distribute parallel for reduction(+: s)
	for i := lo; i < hi; i++ {
		s += x[i]
	}
	out[at] = s
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for _, c := range []struct {
		kernel      string
		right, fine []any
		wrong       [][]any
	}{
		{"Dot", []any{make([]float64, 9), make([]float64, 9), make([]float64, 1)}, []any{make([]float64, 0), make([]float64, 0), make([]float64, 1)},
			[][]any{{make([]float64, 9), make([]float64, 8), make([]float64, 1)}, {make([]float64, 9), make([]float64, 9), make([]float64, 0)}}},
		{"Sum", []any{2, 9, make([]float64, 9), make([]float64, 2), int32(1)}, []any{0, 0, make([]float64, 0), make([]float64, 2), int32(0)},
			[][]any{{-1, 9, make([]float64, 9), make([]float64, 2), int32(1)}, {0, 10, make([]float64, 9), make([]float64, 2), int32(1)},
				{0, 9, make([]float64, 9), make([]float64, 2), int32(2)}, {0, 9, make([]float64, 9), make([]float64, 2), int32(-1)}}},
	} {
		full := lowerKernel(t, pkg, c.kernel, codegen.LowerOptions{}).Program
		before := full.String()
		q, guards := cuda.Proved(full)
		require.Equal(t, before, full.String(), "the program is as before")
		source, err := cuda.Print(q, cuda.Options{})
		require.NoError(t, err)
		for _, e := range source.Entries {
			require.False(t, e.Fault, e.Name)
		}
		require.True(t, hold(guards, valuesOf(full, c.right)))
		require.True(t, hold(guards, valuesOf(full, c.fine)))
		for _, args := range c.wrong {
			require.False(t, hold(guards, valuesOf(full, args)), args)
		}
	}
}
