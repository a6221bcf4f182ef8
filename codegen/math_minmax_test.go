package codegen_test

import (
	_ "embed"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed math_minmax_test.go
var minMaxSource string

// SpecialMinMax is math.Min and math.Max, and the builtins, of all pairs of a and b.
//
//omp:target device(acc)
//omp:task in(a, b) inout(out, narrow)
func SpecialMinMax(a, b, out []float64, narrow []float32) {
	for i := range a {
		for j := range b {
			k := (i*len(b) + j) * 8
			out[k] = math.Min(a[i], b[j])
			out[k+1] = math.Max(a[i], b[j])
			out[k+2] = min(a[i], b[j])
			out[k+3] = max(a[i], b[j])
			out[k+4] = math.Min(math.Inf(-1), b[j])
			out[k+5] = math.Max(b[j], math.Inf(1))
			out[k+6] = math.Min(math.Max(a[i], 1), b[j])
			out[k+7] = math.Max(math.NaN(), a[i])
			x, y := float32(a[i]), float32(b[j])
			narrow[k] = float32(math.Min(float64(x), float64(y)))
			narrow[k+1] = float32(math.Max(float64(x), float64(y)))
			narrow[k+2] = min(x, y)
			narrow[k+3] = max(x, y)
			narrow[k+4] = float32(math.Max(float64(x), 0))
		}
	}
}

var specials = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -2.5}

// NaN, the infinities and both zeros: a kernel gives what Go gives, to the bit but for which NaN.
func TestMinMaxOfSpecials(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "math_minmax_test.go", Text: minMaxSource})
	require.NoError(t, err)
	program, err := simt.New(lowerKernel(t, p, name(SpecialMinMax), codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	n := len(specials) * len(specials) * 8
	want, wantNarrow := make([]float64, n), make([]float32, n)
	SpecialMinMax(specials, specials, want, wantNarrow)
	got, narrow := make([]float64, n), make([]float32, n)
	require.NoError(t, runDevice(program, []any{specials, specials, got, narrow}, simt.Config{Teams: 1, Threads: 1}))
	bits := func(x float64) uint64 {
		if math.IsNaN(x) {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(x)
	}
	for i := range want {
		x, y := specials[i/8/len(specials)], specials[i/8%len(specials)]
		require.Equal(t, bits(want[i]), bits(got[i]), "result %d of %v and %v: got %v, want %v", i%8, x, y, got[i], want[i])
		require.Equal(t, bits(float64(wantNarrow[i])), bits(float64(narrow[i])), "float32 result %d of %v and %v", i%8, x, y)
	}
}

// ir's functions are the builtins.
func TestFoldMinMaxOfSpecials(t *testing.T) {
	for _, typ := range []*ir.Type{ir.Float32Type, ir.Float64Type} {
		for _, x := range specials {
			for _, y := range specials {
				a, b := &ir.Const{T: typ, Bits: ir.FloatBits(typ, x)}, &ir.Const{T: typ, Bits: ir.FloatBits(typ, y)}
				for fn, want := range map[ir.MathFn]float64{ir.FMin: min(x, y), ir.FMax: max(x, y)} {
					got, err := ir.Eval(&ir.Math{Fn: fn, Args: []ir.Expr{a, b}, T: typ}, nil)
					require.NoError(t, err)
					if math.IsNaN(want) {
						require.True(t, math.IsNaN(ir.Float(typ, got)), "%v of %v and %v", fn, x, y)
						continue
					}
					require.Equal(t, ir.FloatBits(typ, want), got, "%v of %v and %v", fn, x, y)
				}
			}
		}
	}
}

// math.Max has no place in an atomic update or a reduction, whose maximum is the builtin's; other code takes it.
func TestMathMaxUpdates(t *testing.T) {
	const head = "import \"math\"\n//omp:target device(acc)\n//omp:task in(x) inout(out)\nfunc K(x, out []float64) {\n"
	for _, c := range []struct{ body, want string }{
		{"//omp:teams distribute parallel for\nfor i := range x {\n//omp:atomic\nout[0] = math.Max(out[0], x[i])\n}", "x = max(x, e)"},
		{"s := out[0]\n//omp:teams distribute parallel for reduction(max: s)\nfor i := range x { s = math.Max(s, x[i]) }\nout[0] = s",
			"write s = max(s, e)"},
	} {
		_, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + head + c.body + "\n}"})
		require.ErrorContains(t, err, c.want)
	}
	l, err := lowerText(t, head+"i, s := 0, out[0]\nfor math.Max(s, x[i]) < 5 && math.Min(x[i], s) < 9 { s += x[i]\ni++ }\nout[0] = s\n}",
		codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	out := []float64{1}
	require.NoError(t, runDevice(program, []any{[]float64{1, 3, 2, 9}, out}, simt.Config{Teams: 1, Threads: 1}))
	require.Equal(t, 5.0, out[0], l.Program.String())
}
