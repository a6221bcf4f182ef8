package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

// BenchmarkProves proves launches of kernels whose checks are left out.
func BenchmarkProves(b *testing.B) {
	for name, body := range map[string]string{
		"vector":   "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nx[i] += y[i]\n}",
		"stencil":  "//omp:teams distribute parallel for collapse(2)\nfor i := 1; i < n-1; i++ {\nfor j := 1; j < n-1; j++ {\nx[i*n+j] = y[i*n+j-1] + y[i*n+j+1] + y[(i-1)*n+j] + y[(i+1)*n+j]\n}\n}",
		"matrix":   "//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nfor k := 0; k < n; k++ {\nx[i*n+j] += y[i*n+k] * y[k*n+j]\n}\n}\n}",
		"red":      "//omp:teams distribute parallel for\nfor i := 1; i < n-1; i++ {\nfor j := 1 + i%2; j < n-1; j += 2 {\nx[i*n+j] = x[i*n+j-1] + x[i*n+j+1]\n}\n}",
		"triangle": "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 0; j <= i; j++ {\nx[i*n+j] = 1\n}\n}",
	} {
		b.Run(name, func(b *testing.B) {
			pkg, err := Load(File{Name: "k.go", Text: "package p\n\n//omp:target device(acc)\n//omp:task in(y) inout(x)\nfunc K(n int, x, y []float64) {\n" + body + "\n_ = y[0]\n}\n"})
			require.NoError(b, err)
			k, err := pkg.Kernel("K")
			require.NoError(b, err)
			env := &few{k.Params, []ir.Value{{Bits: 1000}, {Len: 1e6, Cap: 1e6}, {Len: 1e6, Cap: 1e6}}}
			contract, p := NewContract(k), &Proof{}
			b.ReportAllocs()
			for b.Loop() {
				p.Load(k, contract, env)
				if !p.Proves() {
					b.Fatal("not proved")
				}
			}
		})
	}
}

// few is an environment of few parameters, as that of a launch.
type few struct {
	params []*ir.Var
	values []ir.Value
}

func (f *few) of(v *ir.Var) *ir.Value {
	for i, p := range f.params {
		if p == v {
			return &f.values[i]
		}
	}
	return &ir.Value{}
}

func (f *few) Scalar(v *ir.Var) (ir.Bits, bool) { return f.of(v).Bits, true }
func (f *few) Bytes(*ir.Var) ([]byte, bool)     { return nil, false }
func (f *few) Slice(v *ir.Var) (length, capacity int64, ok bool) {
	x := f.of(v)
	return x.Len, x.Cap, true
}
func (f *few) Query(ir.QueryKind) (int64, bool) { return 0, false }
