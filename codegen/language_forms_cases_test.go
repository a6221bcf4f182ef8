package codegen_test

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/testdata/geometry"
)

//go:embed language_forms_test.go
var languageForms string

//go:embed language_arrays_test.go
var languageArrays string

//go:embed testdata/geometry/geometry.go
var geometrySource string

// loadLanguage returns the kernels of languageCases.
func loadLanguage(t *testing.T) *codegen.Package {
	p, err := codegen.Load(codegen.File{Name: "language_kernels_test.go", Text: languageSource},
		codegen.File{Name: "language_helpers_test.go", Text: languageHelpers}, codegen.File{Name: "language_forms_test.go", Text: languageForms}, codegen.File{Name: "language_structs_test.go", Text: languageStructs},
		codegen.File{Name: "language_complex_test.go", Text: languageComplex}, codegen.File{Name: "language_arrays_test.go", Text: languageArrays},
		codegen.File{Name: "geometry.go", Text: geometrySource, Package: "github.com/gompss/gompss/codegen/testdata/geometry"})
	require.NoError(t, err)
	return p
}

func init() {
	languageCases = append(languageCases,
		corpusCase{kernel: LangMethods, args: twoInts},
		corpusCase{kernel: LangBigUnsigned, args: func(n int, r *rand.Rand) []any {
			x := make([]uint64, n)
			for i := range x {
				e := uint64(1) << r.IntN(64)
				x[i] = []uint64{e, e - 1, -e, ^e, 0xfedcba9876543211, r.Uint64(), 1<<63 + r.Uint64N(9) - 4}[r.IntN(7)]
			}
			return []any{x, ints[int](r, max(n, 1), 100)}
		}},
		corpusCase{kernel: LangReducedPlaces, args: func(n int, r *rand.Rand) []any {
			return []any{ints[int](r, max(n, 1), 20), ints[int](r, min(n, 7)+1, 20), &sums{n: 3, least: [2]int{5, 6}, all: n%2 == 0}, &[2]int{1, 2}, &[3]int{7, 8, 9}}
		}},
		corpusCase{kernel: LangLeastOfSeveral, args: func(n int, r *rand.Rand) []any {
			return []any{ints[int](r, max(n, 1), 20), ints[int](r, 1, 20)}
		}},
		corpusCase{kernel: LangCopyAndClear, args: func(n int, r *rand.Rand) []any {
			m := side(n)
			return append([]any{m, m + 1}, twoInts(m*(m+1), r)...)
		}},
		corpusCase{kernel: LangArrayClauses, args: func(n int, r *rand.Rand) []any {
			return []any{make([]int, n), [3]int{1, 2, 3}, vector{4, 5}, &[4]int{6, 7, 8, 9}}
		}},
		corpusCase{kernel: LangArraysOfSlices, args: func(n int, r *rand.Rand) []any {
			return []any{ints[int](r, 4*max(n, 1), 20), ints[int](r, n, 20)}
		}},
		corpusCase{kernel: LangAcceptedSteps, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[int64](r, n+1, 200+n*40), ints[int64](r, n+1, 1000), ints[int64](r, n, 9)}
		}},
		corpusCase{kernel: LangSpecialFunctions, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
			x := floats[float64](r, n)
			for i := 0; i < n; i += 8 {
				x[i] = []float64{0, 1, -1, 0.5, -0.25, math.NaN(), 1.0 / 12, 1 - 1e-15}[i/8%8]
			}
			return []any{x, make([][13]float64, n)}
		}},
		corpusCase{kernel: LangOtherPackage, args: func(n int, r *rand.Rand) []any {
			p, q := make([]geometry.Point, n), make([]geometry.Pair[float64], n)
			for i := range p {
				p[i], q[i].A[0], q[i].A[1], q[i].B[0] = geometry.Point{X: r.Float64(), Y: r.Float64()}, r.Float64(), r.Float64(), r.Float64()
			}
			return []any{p, q}
		}, variables: func() []any { return []any{geometry.Weights} }},
	)
}
