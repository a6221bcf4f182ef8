package codegen_test

import (
	_ "embed"
	"math/rand/v2"
)

//go:embed language_complex_test.go
var languageComplex string

func complexes(r *rand.Rand, n int) []complex128 {
	x := floats[float64](r, 2*n)
	out := make([]complex128, n)
	for i := range out {
		out[i] = complex(x[2*i], x[2*i+1])
	}
	return out
}

func narrowComplexes(r *rand.Rand, n int) []complex64 {
	out := make([]complex64, n)
	for i, z := range complexes(r, n) {
		out[i] = complex64(z)
	}
	return out
}

// specialComplexes are complex numbers of specialFloats.
func specialComplexes(r *rand.Rand, n int) []complex128 {
	x := specialFloats(r, 2*n)
	out := make([]complex128, n)
	for i := range out {
		out[i] = complex(x[2*i], x[2*i+1])
	}
	return out
}

func init() {
	languageCases = append(languageCases,
		corpusCase{kernel: LangComplex, args: func(n int, r *rand.Rand) []any {
			w := narrowComplexes(r, n)
			z := complexes(r, n)
			p := make([]phasor, n)
			for i := range z {
				if i%3 == 0 {
					z[i] = complex128(w[i])
				}
				p[i] = phasor(z[i])
			}
			return []any{z, w, complex(0.5, -0.25), complex64(complex(0.75, 2)), p, make([]complex64, n), make([]int, n)}
		}},
		corpusCase{kernel: LangComplexParts, args: func(n int, r *rand.Rand) []any {
			z := make([]signal, n)
			for i := range z {
				w := narrowComplexes(r, 2)
				z[i] = signal{[2]complex64{w[0], w[1]}, complexes(r, 1)[0]}
			}
			return []any{z, make([]signal, n)}
		}},
		corpusCase{kernel: LangComplexDivide, args: func(n int, r *rand.Rand) []any {
			values := specialComplexes
			if fusedError > 0 { // a fused difference of infinite products is infinite, and not NaN
				values = complexes
			}
			return []any{values(r, n), values(r, n), make([]complex128, n), make([]complex128, n), make([]complex64, n)}
		}},
		corpusCase{kernel: LangComplexSums, args: func(n int, r *rand.Rand) []any {
			z, w := make([]complex128, n), make([]complex64, n)
			for i := range z {
				z[i], w[i] = complex(float64(r.IntN(9)), float64(r.IntN(9)-4)), complex(float32(r.IntN(9)), float32(r.IntN(9)-4))
			}
			dot := complex(2, -1)
			return []any{z, w, &dot, &signal{gain: 3i}}
		}},
		corpusCase{kernel: LangJulia, args: func(n int, r *rand.Rand) []any { return []any{side(n) + 1, complex(-0.8, 0.156), make([]int32, n)} }},
		corpusCase{kernel: LangFFT, args: func(n int, r *rand.Rand) []any {
			size := 1 << (n % 9)
			return []any{size, narrowComplexes(r, size)}
		}},
	)
}
