package cpu_test

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// The kernels of this file are nests of which several rows run at once.

//go:embed tile_test.go
var tileSource string

//omp:target device(smp)
func Gemm(n, m, l int, alpha, beta float64, c, a, b []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := beta * c[i*m+j]
			for k := 0; k < l; k++ {
				s += alpha * a[i*l+k] * b[k*m+j]
			}
			c[i*m+j] = s
		}
	}
}

//omp:target device(smp) fastmath
func GemmFast(n, m, l int, alpha, beta float64, c, a, b []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := beta * c[i*m+j]
			for k := 0; k < l; k++ {
				s += alpha * a[i*l+k] * b[k*m+j]
			}
			c[i*m+j] = s
		}
	}
}

//omp:target device(smp)
func GemmTransposed(n, m, l int, c, a, b []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := n - 1; i >= 0; i-- {
		for j := 0; j < m; j++ {
			var s, t float32
			for k := 0; k < l; k++ {
				s += a[k*n+i] * b[k*m+j]
				t -= a[k*n+i]
			}
			c[i*m+j] = s + t
		}
	}
}

//omp:target device(smp)
func GemmOfIntegers(n, m, l int32, c, a, b []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := int32(0); i < n; i += 2 {
		for j := int32(0); j < m; j++ {
			var s int32
			for k := l - 1; k >= 0; k-- {
				s ^= a[i*l+k] * b[k*m+j]
				s += 3
			}
			c[i*m+j] = s
		}
	}
}

//omp:target device(smp)
func Blocks(n, i0, i1, j0, j1, k0, k1 int, c, a, b []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			s := c[i*n+j]
			for k := k0; k < k1; k++ {
				x := a[i*n+k]
				s += x * b[k*n+j]
			}
			u := float32(1)
			for k := k0; k < k1; k++ {
				u *= b[k*n+j]
			}
			c[i*n+j] = s * u
		}
	}
}

func gemmArgs(r *rand.Rand, n int) []any {
	h, w, l := n%37, r.IntN(90), r.IntN(9)
	return []any{h, w, l, 1.5, r.Float64(), floats64(r, h*w), floats64(r, h*l), floats64(r, l*w)}
}

var tileTrials = map[string]trial{
	"Gemm":     {Gemm, gemmArgs, 0},
	"GemmFast": {GemmFast, gemmArgs, 1e-13},
	"GemmTransposed": {GemmTransposed, func(r *rand.Rand, n int) []any {
		h, w, l := n%37, r.IntN(90), r.IntN(9)
		return []any{h, w, l, floats32(r, h*w), floats32(r, h*l), floats32(r, l*w)}
	}, 0},
	"GemmOfIntegers": {GemmOfIntegers, func(r *rand.Rand, n int) []any {
		h, w, l := int32(n%37), int32(r.IntN(90)), int32(r.IntN(9))
		return []any{h, w, l, integers[int32](r, int(h*w)), integers[int32](r, int(h*l)), integers[int32](r, int(l*w))}
	}, 0},
	"Blocks": {Blocks, func(r *rand.Rand, n int) []any {
		n = 2 + n%61
		at := func() (int, int) { lo := r.IntN(n); return lo, lo + r.IntN(n-lo+1) }
		i0, i1 := at()
		j0, j1 := at()
		k0, k1 := at()
		return []any{n, i0, i1, j0, j1, k0, k1, floats32(r, n*n), floats32(r, n*n), floats32(r, n*n)}
	}, 0},
}

func loadTiles(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "tile_test.go", Text: tileSource})
	require.NoError(t, err)
	return p
}

// TestTilesAgreeWithGo runs nests of which several rows run at once, whole and in chunks.
func TestTilesAgreeWithGo(t *testing.T) {
	p := loadTiles(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for name, tr := range tileTrials {
		for machine, o := range machines() {
			t.Run(name+"/"+machine, func(t *testing.T) {
				k, err := p.Kernel(name)
				require.NoError(t, err)
				for _, few := range []bool{false, true} {
					if few {
						o = fewRegisters(o)
					}
					code, err := cpu.Compile(k, o)
					require.NoError(t, err)
					if name != "GemmOfIntegers" {
						require.Contains(t, strings.Join(code.Notes, "\n"), "rows at once", "no tile")
					}
					prog, err := arena.Install(code)
					require.NoError(t, err)
					for seed := range uint64(60) {
						tr.compare(t, rand.New(rand.NewPCG(seed, 10)), prog, k, int(seed))
						if t.Failed() {
							t.Fatalf("seed %d\n%s", seed, code.Listing())
						}
					}
				}
			})
		}
	}
}

// TestTilesOfShortSlicesFail looks for the error that the row that reaches out of a slice makes
// where rows run one by one.
func TestTilesOfShortSlicesFail(t *testing.T) {
	p := loadTiles(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := p.Kernel("Gemm")
	require.NoError(t, err)
	for machine, o := range machines() {
		code, err := cpu.Compile(k, o)
		require.NoError(t, err)
		prog, err := arena.Install(code)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 1))
		for i, slice := range []string{"c", "a", "b"} {
			args := []any{24, 64, 5, 1.0, 1.0, floats64(r, 24*64), floats64(r, 24*5), floats64(r, 5*64)}
			whole := args[5+i].([]float64)
			args[5+i] = whole[: len(whole)-1 : len(whole)-1]
			last := whole[len(whole)-1]
			var bounds *ir.CheckError
			require.ErrorAs(t, cpu.NewRunner(prog).Call(values(args), nil), &bounds, machine)
			require.Equal(t, slice, bounds.What, machine)
			require.EqualValues(t, len(whole)-1, bounds.Index, machine)
			require.Equal(t, last, whole[len(whole)-1], machine)
		}
	}
}

// TestRowsPastTheCaches runs a nest whose rows are written past the caches, whole and in chunks, at
// every alignment of its slices.
func TestRowsPastTheCaches(t *testing.T) {
	p := loadKernels(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	if have, err := cpu.Detect(); err != nil || !have.AVX512 {
		t.Skip("no AVX-512")
	}
	k, err := p.Kernel("Jacobi")
	require.NoError(t, err)
	for _, width := range []vcode.Width{vcode.W128, vcode.W256} {
		plain, err := cpu.Compile(k, cpu.Options{AVX512: true, Width: width})
		require.NoError(t, err)
		otherwise, err := arena.Install(plain)
		require.NoError(t, err)
		code, err := cpu.Compile(k, cpu.Options{AVX512: true, Width: width, Past: true})
		require.NoError(t, err)
		require.Contains(t, code.Listing(), "VMOVNTPD")
		prog, err := arena.InstallPast(code, otherwise)
		require.NoError(t, err)
		for seed := range uint64(60) {
			at := int(seed % 9)
			trials := trial{Jacobi, func(r *rand.Rand, n int) []any {
				h, w := 3+r.IntN(4), 3+r.IntN(150)
				return []any{h, w, floats64(r, h*w+at)[at:], floats64(r, h*w+9)[9-at:]}
			}, 0}
			trials.compare(t, rand.New(rand.NewPCG(seed, 11)), prog, k, 0)
		}
	}
}
