//go:build amd64 || arm64

package gpubench

import (
	_ "embed"
	"math"
)

//go:embed fresh.cu
var freshReference string

// around makes, for each of n rows, each numbers below n that are near the row's.
func around(seed uint64, n, each, width int) []int32 {
	out := below(seed, n*each, width)
	for i := range out {
		out[i] = int32((i/each + int(out[i]) + n - width/2) % n)
	}
	return out
}

// turned makes tables of cosines and of sines of a whole turn.
func turned(n int) (c, s []float32) {
	c, s = make([]float32, n), make([]float32, n)
	for k := range n {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		c[k], s[k] = float32(cos), float32(sin)
	}
	return c, s
}

// systems makes n tridiagonal equations of each of m systems; places are those of both layouts, as
// the diagonal is the same everywhere.
func systems(n, m int) []any {
	return []any{n, m, random32(1, n*m), times32(random32(2, n*m), 1, 3), random32(3, n*m), random32(4, n*m), make([]float32, n*m), make([]float32, n*m)}
}

// blocks makes the starts and columns of a matrix of n rows with 8 to 24 blocks each.
func blocks(n int) (start, column []int32) {
	start = make([]int32, n+1)
	for r, k := range below(1, n, 17) {
		start[r+1] = start[r] + 8 + k
	}
	return start, below(2, int(start[n]), n)
}

// directions makes n vectors of length 1.
func directions(seed uint64, n int) []float32 {
	x := random32(seed, 3*n)
	for i := range n {
		v := x[3*i : 3*i+3]
		l := float32(math.Sqrt(float64(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])))
		v[0], v[1], v[2] = v[0]/l, v[1]/l, v[2]/l
	}
	return x
}

var freshCases = []suiteCase{
	{forms: []any{RadixFour}, hand: "radixfour", size: [2]int{1 << 24, 1 << 12}, args: func(n int) []any {
		c, s := turned(n)
		return []any{n, 256, random32(1, n), random32(2, n), c, s, make([]float32, n), make([]float32, n)}
	}, out: 6, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 4) }, tolerance: 1e-4},
	{forms: []any{Bilateral}, hand: "bilateral", size: [2]int{4096, 70}, args: func(n int) []any {
		return []any{n, float32(4), random32(1, n*n), times32(random32(2, 25), 1, 1), make([]float32, n*n)}
	}, out: 4, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{TridiagonalColumns}, hand: "tridiagonalcolumns", size: [2]int{1 << 17, 200}, args: func(n int) []any { return systems(128, n) },
		out: 7, shape: each(128), tolerance: 1e-4},
	{forms: []any{TridiagonalRows}, hand: "tridiagonalrows", size: [2]int{1 << 17, 200}, args: func(n int) []any { return systems(128, n) },
		out: 7, shape: each(64), tolerance: 1e-4},
	{forms: []any{NormBack}, hand: "normback", size: [2]int{1 << 16, 40}, args: func(n int) []any {
		return []any{n, 1024, random32(1, n*1024), random32(2, n), times32(random32(3, n), 1, 2), random32(4, 1024), random32(5, n*1024), make([]float32, n*1024)}
	}, out: 7, shape: rowsOf(256), tolerance: 1e-3},
	{forms: []any{Depthwise, DepthwiseLoop}, hand: "depthwise", size: [2]int{4096, 10}, args: func(n int) []any {
		side := 112
		if n < 100 {
			side = 21
		}
		return []any{n, 4, side, side, random32(1, n*side*side), random32(2, 36), make([]float32, n*side*side)}
	}, out: 6, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{4 * 32, 2 * 8, int64(n)}, [3]int64{32, 8, 1} }, tolerance: 1e-4},
	{forms: []any{BagSum, BagSumInPlace}, hand: "bagsum", size: [2]int{1 << 16, 50}, args: func(n int) []any {
		return []any{n, 20, 128, random32(1, n*128), below(2, n*20, n), make([]float32, n*128)}
	}, out: 5, shape: lanesOf(32), tolerance: 1e-5},
	{forms: []any{CrossEntropy, CrossEntropyTeams}, hand: "crossentropy", size: [2]int{1 << 16, 40}, args: func(n int) []any {
		return []any{n, 2048, random32(1, n*2048), below(2, n, 2048), make([]float32, n)}
	}, out: 4, shape: rowsOf(256), tolerance: 1e-4},
	{forms: []any{Gates}, hand: "gates", size: [2]int{1 << 14, 10}, args: func(n int) []any {
		return []any{n, 1024, random32(1, n*3072), random32(2, n*3072), random32(3, n*1024), make([]float32, n*1024)}
	}, out: 5, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{256, int64(n)}, [3]int64{256, 1} }, tolerance: 1e-4},
	{forms: []any{Advection}, hand: "advection", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, float32(0.2), random32(1, n*n), make([]float32, n*n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n-5, 255) / 255 * 256, int64(n)}, [3]int64{256, 1}
	}, tolerance: 1e-3},
	{forms: []any{Seismic, SeismicLoop}, hand: "seismic", size: [2]int{512, 30}, args: func(n int) []any {
		return []any{n, random32(1, n*n*n), random32(2, n*n*n), random32(3, 5), random32(4, n*n*n)}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n-8, 32), up(n-8, 16), 8}, [3]int64{32, 16, 1} }, tolerance: 1e-4},
	{forms: []any{Viterbi}, hand: "viterbi", size: [2]int{1 << 18, 200}, args: func(n int) []any {
		return []any{n, 64, below(1, n*64, 4), random32(2, 64), random32(3, 32), make([]float32, n)}
	}, out: 5, shape: each(128)},
	{forms: []any{Cipher}, hand: "cipher", size: [2]int{1 << 22, 200}, args: func(n int) []any {
		return []any{n, words(1, 8), words(2, n*16), make([]uint32, n*16)}
	}, out: 3, shape: each(128)},
	{forms: []any{Digests}, hand: "digests", size: [2]int{1 << 20, 200}, args: func(n int) []any {
		return []any{n, words(1, n*16), words(2, 64), words(3, 8), make([]uint32, n*8)}
	}, out: 4, shape: each(128)},
	{forms: []any{Neighbours}, hand: "neighbours", size: [2]int{1 << 18, 300}, args: func(n int) []any {
		return []any{n, 64, float32(0.3), around(4, n, 64, 256), random32(1, n), random32(2, n), random32(3, n), make([]float32, n), make([]float32, n), make([]float32, n)}
	}, out: 7, shape: lanesOf(16), tolerance: 1e-3},
	{forms: []any{TwoBest}, hand: "twobest", size: [2]int{1 << 18, 70}, args: func(n int) []any {
		return []any{n, 512, random32(1, n*512), make([]float32, 2*n)}
	}, out: 3, shape: lanesOf(32)},
	{forms: []any{RunningMost}, hand: "runningmost", size: [2]int{1 << 15, 20}, args: func(n int) []any {
		return []any{n, 2048, random32(1, n*2048), make([]float32, n*2048)}
	}, out: 3, shape: rowsOf(256)},
	{forms: []any{BlockProduct}, hand: "blockproduct", size: [2]int{1 << 17, 70}, args: func(n int) []any {
		start, column := blocks(n)
		return []any{n, start, column, random32(3, int(start[n])*16), random32(4, n*4), make([]float32, n*4)}
	}, out: 5, shape: lanesOf(16), tolerance: 1e-4},
	{forms: []any{Rays}, hand: "rays", size: [2]int{1 << 22, 300}, args: func(n int) []any {
		sphere := random32(3, 4*128)
		for k := range 128 {
			sphere[4*k+3] = 0.1*sphere[4*k+3] + 0.1
		}
		return []any{n, 128, times32(random32(1, 3*n), 4, 0), directions(2, n), sphere, make([]float32, n), make([]int32, n)}
	}, out: 6, shape: linear, apart: true, tolerance: 1e-4},
	{forms: []any{RedBlack, RedBlackIf}, hand: "redblack", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, 1, random32(1, n*n), random32(2, n*n)}
	}, out: 3, shape: teamsOf(64, 8, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Turns}, hand: "turns", size: [2]int{1 << 24, 1000}, args: func(n int) []any {
		return []any{n, random32(1, 4*n), random32(2, 3*n), make([]float32, 3*n)}
	}, out: 3, shape: linear, tolerance: 1e-5},
}
