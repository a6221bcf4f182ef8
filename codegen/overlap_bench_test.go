package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/ir"
)

// overlapsOf returns what launches of a kernel with body are checked for.
func overlapsOf(t testing.TB, body string) (*ir.Kernel, *Overlaps) {
	pkg, err := Load(File{Name: "k.go", Text: "package p\n\n//omp:target device(acc)\n//omp:task in(y) inout(x)\nfunc K(n int, x, y []float64) {\n//omp:teams distribute parallel for\n" + body + "\n}\n"})
	require.NoError(t, err)
	k, err := pkg.Kernel("K")
	require.NoError(t, err)
	o := NewOverlaps(k)
	require.NotNil(t, o)
	return k, o
}

// BenchmarkOverlapCheck decides launches whose two slices begin at one place, or a row apart; "again" is what the same launch costs the next time.
func BenchmarkOverlapCheck(b *testing.B) {
	for _, c := range []struct {
		name, body string
		gap        int64
		again      bool
	}{
		{"vector", "for i := 0; i < n; i++ {\nx[i] += y[i]\n}", 0, false},
		{"vector, again", "for i := 0; i < n; i++ {\nx[i] += y[i]\n}", 0, true},
		{"rows", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nx[i*n+j] += y[i*n+j]\n}\n}", 0, false},
		{"triangle", "for i := 0; i < n; i++ {\nfor j := 0; j <= i; j++ {\nx[i*n+j] += y[i*n+j]\n}\n}", 0, false},
		{"upper from lower", "for i := 0; i < n; i++ {\nfor j := i + 1; j < n; j++ {\nx[i*n+j] += y[j*n+i]\n}\n}", 0, false},
		{"odd and even", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j += 2 {\nx[i*n*2+j] += y[i*n*2+j]\n}\n}", 8, false},
		{"conflict", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nx[i*n+j] += y[i*n+j]\n}\n}", 8, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			k, o := overlapsOf(b, c.body)
			env := &few{k.Params, []ir.Value{{Bits: 1000}, {Len: 2e6, Cap: 2e6}, {Len: 2e6, Cap: 2e6}}}
			p := &Proof{}
			b.ReportAllocs()
			for b.Loop() {
				if !c.again {
					o.Passed[0] = new(contract.Launches)
				}
				if err := o.Check(k, env, p, 0, c.gap); (err != nil) != (c.name == "conflict") {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOverlapCheck_OneArgument decides launches of loops whose iterations may meet in one slice.
func BenchmarkOverlapCheck_OneArgument(b *testing.B) {
	for _, c := range []struct {
		name, body string
		again      bool
	}{
		{"parameter", "for i := 0; i < n; i++ {\nx[i] = x[i+n]\n}", false},
		{"parameter, again", "for i := 0; i < n; i++ {\nx[i] = x[i+n]\n}", true},
		{"elimination", "for i := 7; i < n; i++ {\nfor j := 7; j < n; j++ {\nx[i*n+j] -= x[i*n+6]*x[6*n+j]\n}\n}", false},
		{"elimination, again", "for i := 7; i < n; i++ {\nfor j := 7; j < n; j++ {\nx[i*n+j] -= x[i*n+6]*x[6*n+j]\n}\n}", true},
		{"paths by a condition", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nif v := x[i*n+6]+x[6*n+j]; v < x[i*n+j] {\nx[i*n+j] = v\n}\n}\n}", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			k, o := overlapsOf(b, c.body)
			env := &few{k.Params, []ir.Value{{Bits: 1000}, {Len: 2e6, Cap: 2e6}, {Len: 2e6, Cap: 2e6}}}
			p := &Proof{}
			b.ReportAllocs()
			for b.Loop() {
				if !c.again {
					o.Passed[0] = new(contract.Launches)
				}
				if err := o.Check(k, env, p, 0, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOverlap_LargeLoopsAreDecided has loops of a thousand iterations, whose systems have large coefficients.
func TestOverlap_LargeLoopsAreDecided(t *testing.T) {
	const row = 8 * 1000
	for _, c := range []struct {
		name, body string
		gap        int64
		want       string
	}{
		{"transposed in place", "for i := 0; i < n; i++ {\nfor j := i + 1; j < n; j++ {\nx[i*n+j] += y[j*n+i]\n}\n}", 0, ""},
		{"transposed in place, every other", "for i := 0; i < n; i++ {\nfor j := i + 1; j < n; j += 2 {\nx[i*n+j] += y[j*n+i]\n}\n}", 0, ""},
		{"transposed, shifted", "for i := 0; i < n; i++ {\nfor j := i + 1; j < n; j++ {\nx[i*n+j] += y[j*n+i]\n}\n}", 8, ""},
		{"transposed, shifted by two", "for i := 0; i < n; i++ {\nfor j := i + 1; j < n; j++ {\nx[i*n+j] += y[j*n+i]\n}\n}", 16, "which is the same memory"},
		{"blocks", "for b := 0; b < n; b += 8 {\nfor i := b; i < b+8; i++ {\nfor j := 0; j < n; j++ {\nx[i*n+j] += y[i*n+n-1-j]\n}\n}\n}", 0, ""},
		{"blocks that reach into the next", "for b := 0; b < n-8; b += 8 {\nfor i := b; i < b+9; i++ {\nfor j := 0; j < n; j++ {\nx[i*n+j] += y[i*n+n-1-j]\n}\n}\n}", 0, "iteration b = 0 writes x[8000] and iteration b = 8 reads y[8000]"},
		{"red and black", "for i := 1; i < n-1; i++ {\nfor j := 1 + i%2; j < n-1; j += 2 {\nx[i*n+j] = y[i*n+j-1] + y[i*n+j+1] + y[(i-1)*n+j] + y[(i+1)*n+j]\n}\n}", 0, ""},
		{"red and red", "for i := 1; i < n-1; i++ {\nfor j := 1 + i%2; j < n-1; j += 2 {\nx[i*n+j] = y[(i-1)*n+j+1]\n}\n}", 0, "iteration i = 1 writes x[1002] and iteration i = 2 reads y[1002]"},
		{"stencil", "for i := 1; i < n-1; i++ {\nfor j := 1; j < n-1; j++ {\nx[i*n+j] = y[i*n+j-1] + y[(i-1)*n+j]\n}\n}", 0, "iteration i = 1 writes x[1001] and iteration i = 2 reads y[1001]"},
		{"stencil of a row far away", "for i := 1; i < n-1; i++ {\nfor j := 1; j < n-1; j++ {\nx[i*n+j] = y[i*n+j-1] + y[(i-1)*n+j]\n}\n}", -999 * row, ""},
		{"halves", "for i := 0; i < n/2; i++ {\nx[i] = y[i+n/2]\n}", 0, ""},
		{"halves that meet", "for i := 0; i < n/2+1; i++ {\nx[i] = y[i+n/2]\n}", 0, "iteration i = 500 writes x[500] and iteration i = 0 reads y[500]"},
		{"columns", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nx[j*n+i] += y[j*n+i]\n}\n}", 0, ""},
		{"columns and rows", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nx[j*n+i] += y[i*n+j]\n}\n}", 0, "iteration i = 0 writes x[1000] and iteration i = 1 reads y[1000]"},
		{"product", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nfor k := 0; k < n; k++ {\nx[i*n+j] += y[i*n+k] * y[k*n+j]\n}\n}\n}", 0, "which is the same memory"},
		{"product, of its first row alone", "for i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nx[(i+1)*n+j] += y[j]\n}\n}", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, o := overlapsOf(t, c.body)
			env := &few{k.Params, []ir.Value{{Bits: 1000}, {Len: 2e6, Cap: 2e6}, {Len: 2e6, Cap: 2e6}}}
			err := o.Check(k, env, &Proof{}, 0, c.gap)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// TestOverlap_LoopsWithNowait has two loops of a team with no barrier in between. Issue 16, 2.
func TestOverlap_LoopsWithNowait(t *testing.T) {
	const first = "//omp:for nowait\nfor i := 0; i < n; i++ {\nx[i] = 3\n}\n"
	for _, c := range []struct {
		name, body string
		gap        int64
		want       string
	}{
		{"same", first + "//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 0, ""},
		{"shifted", first + "//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 8, "iteration i = 1 writes x[1] and iteration j = 0 reads y[0], which is the same memory"},
		{"shifted back", first + "//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", -16, "iteration i = 0 writes x[0] and iteration j = 2 reads y[2], which is the same memory"},
		{"far", first + "//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 8000, ""},
		{"by its own index", first + "//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j+1]\n}", -8, ""},
		{"fewer", first + "//omp:for\nfor j := 0; j < n-3; j++ {\nz[j] = y[j]\n}", 0, "which is the same memory"},
		{"dynamic", "//omp:for nowait schedule(dynamic)\nfor i := 0; i < n; i++ {\nx[i] = 3\n}\n//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 0, "which is the same memory"},
		{"odd and even", "//omp:for nowait\nfor i := 0; i < n; i++ {\nx[2*i] = 3\n}\n//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[2*j]\n}", 8, ""},
		{"with a barrier", first + "kernel.Barrier()\n//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 8, ""},
		{"without nowait", "//omp:for\nfor i := 0; i < n; i++ {\nx[i] = 3\n}\n//omp:for\nfor j := 0; j < n; j++ {\nz[j] = y[j]\n}", 8, ""},
		{"rows", "//omp:for nowait\nfor i := 0; i < 100; i++ {\nfor j := 0; j < 100; j++ {\nx[i*100+j] = 3\n}\n}\n//omp:for\nfor i := 0; i < 100; i++ {\nfor j := 0; j < 100; j++ {\nz[i*100+j] = y[i*100+j]\n}\n}", 0, ""},
		{"next iteration", "for k := 0; k < n; k++ {\n//omp:for\nfor i := 0; i < n; i++ {\nz[i] = y[i]\n}\n//omp:for nowait\nfor i := 0; i < n; i++ {\nx[i] = 3\n}\n}", 8, "may touch the same memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pkg, err := Load(File{Name: "k.go", Text: "package p\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.Barrier\n\n//omp:target device(acc)\n//omp:task in(y) inout(x, z)\nfunc K(n int, x, y, z []float64) {\n//omp:parallel\n{\n" + c.body + "\n}\n}\n"})
			require.NoError(t, err)
			k, err := pkg.Kernel("K")
			require.NoError(t, err)
			o := NewOverlaps(k)
			if c.want == "" && o == nil {
				return
			}
			require.NotNil(t, o)
			found := error(nil)
			for n, pair := range o.Pairs {
				if k.Params[pair[0]].Name == "x" && k.Params[pair[1]].Name == "y" {
					env := &few{k.Params, []ir.Value{{Bits: 1000}, {Len: 2e4, Cap: 2e4}, {Len: 2e4, Cap: 2e4}, {Len: 2e4, Cap: 2e4}}}
					found = o.Check(k, env, &Proof{}, n, c.gap)
				}
			}
			if c.want == "" {
				require.NoError(t, found)
			} else {
				require.ErrorContains(t, found, c.want)
			}
		})
	}
}
