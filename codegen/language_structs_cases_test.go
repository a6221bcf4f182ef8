package codegen_test

import (
	_ "embed"
	"math/rand/v2"
)

//go:embed language_structs_test.go
var languageStructs string

// matrixArgs are the leaves of a matrix of n rows.
func matrixArgs(n, cols int, r *rand.Rand) []any { return []any{floats[float64](r, n*cols), n, cols} }

func concat(lists ...[]any) []any {
	var out []any
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// Devices are given the leaves of structs; the oracles make the structs of these.
func init() {
	languageCases = append(languageCases,
		corpusCase{kernel: LangStructRows, args: func(n int, r *rand.Rand) []any {
			return concat(matrixArgs(n, 1+n%5, r), []any{n / 4, n - n/3, floats[float64](r, n)})
		}, oracle: func(d []float64, rows, cols, lo, hi int, y []float64) {
			LangStructRows(matrix{d, rows, cols}, lo, hi, y)
		}},
		corpusCase{kernel: LangStructShape, args: func(n int, r *rand.Rand) []any { return matrixArgs(side(n), side(n)+2, r) },
			oracle: func(d []float64, rows, cols int) { LangStructShape(matrix{d, rows, cols}) }},
		corpusCase{kernel: LangStructNested, args: func(n int, r *rand.Rand) []any {
			rows, count := side(n)+2, int64(n)
			return concat(matrixArgs(rows, 3, r), matrixArgs(rows, 3, r), []any{[3]float64{1, 2, 3}, 1, &count, struct{ low, high int8 }{-1, int8(n)}})
		}, oracle: func(d []float64, rows, cols int, next []float64, nrows, ncols int, w [3]float64, halo int, count *int64, tags struct{ low, high int8 }) {
			LangStructNested(layers{matrix: matrix{d, rows, cols}, Next: matrix{next, nrows, ncols}, W: w, Halo: halo, Count: count, tags: tags})
		}},
		corpusCase{kernel: LangStructInferred, args: func(n int, r *rand.Rand) []any {
			return concat(matrixArgs(side(n), 7, r), matrixArgs(side(n), 8, r), []any{floats[float64](r, 7)})
		}, oracle: func(d []float64, rows, cols int, out []float64, orows, ocols int, w []float64) {
			LangStructInferred(matrix{d, rows, cols}, matrix{out, orows, ocols}, w)
		}},
		corpusCase{kernel: LangStructGeneric[float32], args: func(n int, r *rand.Rand) []any {
			return []any{floats[float32](r, n), floats[float32](r, n), float32(1.5), floats[float32](r, n)}
		}, oracle: func(a, b []float32, by float32, y []float32) { LangStructGeneric(paired[float32]{a, b, by}, y) }},
		corpusCase{kernel: LangStructSwapped, args: func(n int, r *rand.Rand) []any {
			m := side(n)
			return concat(matrixArgs(m, m, r), matrixArgs(m, m, r), []any{n % 4})
		}, oracle: func(a []float64, rows, cols int, b []float64, brows, bcols, times int) {
			LangStructSwapped(matrix{a, rows, cols}, matrix{b, brows, bcols}, times)
		}},
		corpusCase{kernel: LangStructPointers, args: func(n int, r *rand.Rand) []any {
			return concat(matrixArgs(n, 3, r), []any{floats[float64](r, n)})
		}, oracle: func(d []float64, rows, cols int, y []float64) { LangStructPointers(matrix{d, rows, cols}, y) }},
		corpusCase{kernel: LangStructChosen, args: func(n int, r *rand.Rand) []any {
			return concat(matrixArgs(n, 3, r), matrixArgs(n, 3, r), []any{n%2 == 0, n % 3})
		}, oracle: func(a []float64, rows, cols int, b []float64, brows, bcols int, flip bool, at int) {
			LangStructChosen(matrix{a, rows, cols}, matrix{b, brows, bcols}, flip, at)
		}},
		corpusCase{kernel: LangStructLiterals, args: func(n int, r *rand.Rand) []any {
			return concat(matrixArgs(n, 3, r), []any{floats[float64](r, n)})
		}, oracle: func(d []float64, rows, cols int, y []float64) { LangStructLiterals(matrix{d, rows, cols}, y) }},
	)
}
