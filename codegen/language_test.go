package codegen_test

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"runtime"
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

// specialFloats are floats at the ends of every integer type, NaN, infinities and zeros among others.
func specialFloats(r *rand.Rand, n int) []float64 {
	known := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0.5, -0.5, 2.5, -1}
	for _, bits := range []float64{7, 8, 15, 16, 31, 32, 63, 64} {
		p := math.Exp2(bits)
		known = append(known, p, -p, p-1, -p-1, p+0.5, math.Nextafter(p, 0))
	}
	out := []float64{known[r.IntN(len(known))]}
	for range n {
		out = append(out, known[r.IntN(len(known))])
	}
	return out
}

// edgeInts are integers at and beside the ends of every type, and small ones.
func edgeInts(r *rand.Rand, n int) []int64 {
	out := []int64{-1}
	for range n {
		e := int64(1) << []int{0, 3, 5, 7, 8, 15, 31, 32, 62, 63}[r.IntN(10)]
		out = append(out, []int64{e, e - 1, -e, -e - 1, e + 1, int64(r.IntN(70))}[r.IntN(6)])
	}
	return out
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
	{kernel: LangLaneByLane, args: twoInts},
	{kernel: LangSafelen, args: twoInts},
	{kernel: LangFirstAndLast, args: twoInts},
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
	{kernel: LangTranscendental, ulps: 5, args: func(n int, r *rand.Rand) []any { // 4 of the device and 1 of Go's own
		return []any{make([][11]float64, n), make([][3]float32, n), floats[float64](r, n)}
	}},
	{kernel: LangOutOfRange, args: func(n int, r *rand.Rand) []any {
		return []any{make([]uint64, 2*n), specialFloats(r, n), edgeInts(r, n)}
	}},
	{kernel: LangSpecials, args: func(n int, r *rand.Rand) []any { return []any{make([]uint64, 2*n), specialFloats(r, n)} }},
	{kernel: LangClasses, args: func(n int, r *rand.Rand) []any { return []any{make([]uint64, 2*n), specialFloats(r, n)} }},
	{kernel: LangDeep, args: func(n int, r *rand.Rand) []any {
		x := make([]cell, n)
		for i := range x {
			x[i].rows[r.IntN(3)][r.IntN(4)] = r.Int32()
			x[i].part[1].at.y, x[i].part[r.IntN(2)].tag = r.Float32(), [3]uint8{uint8(i), 2, uint8(r.IntN(256))}
		}
		return []any{x, ints[int](r, max(n, 1), 10)}
	}},
	{kernel: LangLoops, args: twoInts},
	{kernel: LangEnds, args: func(n int, r *rand.Rand) []any { return []any{n, ints[int64](r, 300, 100)} }},
	{kernel: LangReducedTwice, args: twoInts},
	{kernel: LangPastInt64, args: func(n int, r *rand.Rand) []any { return []any{n, ints[int64](r, 20, 100)} }},
	{kernel: LangLongSteps, args: func(n int, r *rand.Rand) []any {
		steps := []int{1, 3, n + 1, 1 << 33, 1 << 62, math.MaxInt64 - 5, math.MaxInt64}
		return []any{n, steps[r.IntN(len(steps))], ints[int64](r, n+2, 100)}
	}},
	{kernel: LangOrphans, args: func(n int, r *rand.Rand) []any {
		m := side(n)
		return []any{m, m + 2, ints[int](r, m*(m+2), 10), ints[int](r, m, 10)}
	}},
}

// TestLanguageEqualsGo runs every part of the language in parallel loops: Go and the device agree on every grid.
func TestLanguageEqualsGo(t *testing.T) {
	p := loadLanguage(t)
	for _, c := range languageCases {
		full, args := instanceOf(c)
		t.Run(strings.Join(append([]string{full}, args...), "_"), func(t *testing.T) {
			t.Parallel()
			skipWhereGoSaturates(t, full)
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

// skipWhereGoSaturates skips a kernel that converts floats that do not fit: all targets cut them as Go
// does on amd64, where Go on arm64 takes the nearest integer.
func skipWhereGoSaturates(t *testing.T, kernel string) {
	t.Helper()
	if kernel == "LangOutOfRange" && runtime.GOARCH == "arm64" {
		t.Skip("Go converts floats that do not fit in another way on arm64")
	}
}

// instanceOf returns the name of the kernel of c, and its type arguments.
func instanceOf(c corpusCase) (string, []string) {
	switch c.kernel.(type) {
	case func(float32, []float32, []int32):
		return "LangGeneric", []string{"float32", "int32"}
	case func(float64, []float64, []uint8):
		return "LangGeneric", []string{"float64", "uint8"}
	case func(paired[float32], []float32):
		return "LangStructGeneric", []string{"float32"}
	}
	return name(c.kernel), nil
}
