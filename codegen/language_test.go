package codegen_test

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

//go:embed language_kernels_test.go
var languageSource string

//go:embed language_helpers_test.go
var languageHelpers string

func bodies(r *rand.Rand, n int) []body {
	out := make([]body, n)
	for i := range out {
		out[i] = body{pos: [2]float32{r.Float32(), r.Float32()}, vel: vector{float32(r.IntN(2)), float32(r.IntN(2))}, tag: int8(r.IntN(5)), id: int32(i)}
	}
	return out
}

// twoInts are two slices of n and at least one element.
func twoInts(n int, r *rand.Rand) []any {
	return []any{ints[int](r, n, 10), ints[int](r, max(n, 1), 10)}
}

var languageCases = []corpusCase{
	{kernel: LangHelpers, args: twoInts},
	{kernel: LangStructs, args: func(n int, r *rand.Rand) []any { return []any{bodies(r, n)} }},
	{kernel: LangLocalArrays, args: func(n int, r *rand.Rand) []any { return append([]any{n}, twoInts(n, r)...) }},
	{kernel: LangSlices, args: func(n int, r *rand.Rand) []any {
		m := side(n)
		return append([]any{m, m + 1}, twoInts(m*(m+1), r)...)
	}},
	{kernel: LangFlow, args: twoInts},
	{kernel: LangGeneric[float32, int32], args: func(n int, r *rand.Rand) []any {
		return []any{float32(1.5), floats[float32](r, n), ints[int32](r, n, 9)}
	}},
	{kernel: LangGeneric[float64, uint8], args: func(n int, r *rand.Rand) []any {
		return []any{-0.5, floats[float64](r, n), ints[uint8](r, n, 9)}
	}},
	{kernel: LangForAll, args: func(n int, r *rand.Rand) []any {
		return []any{float32(1.5), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: LangLiterals, args: func(n int, r *rand.Rand) []any { return append([]any{new(int)}, twoInts(n, r)...) }},
	{kernel: LangIntegers, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, n, 1<<40), ints[int](r, max(n, 1), 9)} }},
	{kernel: LangConversions, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), ints[int](r, max(n, 1), 1<<20)} }},
	{kernel: LangBits, args: func(n int, r *rand.Rand) []any {
		x := make([]uint64, n)
		for i := range x {
			x[i] = r.Uint64()
		}
		return []any{x, ints[int](r, max(n, 1), 100)}
	}},
	{kernel: LangMath, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), floats[float64](r, max(n, 1))} }},
	{kernel: LangTranscendental, tolerance: 1e-15, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, max(n, 1))}
	}},
	{kernel: LangOrphans, args: func(n int, r *rand.Rand) []any {
		m := side(n)
		return []any{m, m + 2, ints[int](r, m*(m+2), 10), ints[int](r, m, 10)}
	}},
}

// TestLanguageEqualsGo runs every part of the language in parallel loops: Go and the device agree on every grid.
func TestLanguageEqualsGo(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "language_kernels_test.go", Text: languageSource},
		codegen.File{Name: "language_helpers_test.go", Text: languageHelpers})
	require.NoError(t, err)
	for _, c := range languageCases {
		full, args := instanceOf(c)
		t.Run(strings.Join(append([]string{full}, args...), "_"), func(t *testing.T) {
			t.Parallel()
			k, err := p.Kernel(full)
			if args != nil {
				k, err = p.Instance(full, args...)
			}
			require.NoError(t, err)
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
				l, err := codegen.Lower(k, opt)
				require.NoError(t, err)
				c.compare(t, l.Program, opt.NoShuffles)
			}
		})
	}
}

// instanceOf returns the name of the kernel of c, and its type arguments.
func instanceOf(c corpusCase) (string, []string) {
	switch c.kernel.(type) {
	case func(float32, []float32, []int32):
		return "LangGeneric", []string{"float32", "int32"}
	case func(float64, []float64, []uint8):
		return "LangGeneric", []string{"float64", "uint8"}
	}
	return name(c.kernel), nil
}
