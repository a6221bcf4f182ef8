//go:build amd64 || arm64

package gpubench

import _ "embed"

//go:embed fields.cu
var fieldsReference string

//go:embed others.cu
var othersReference string

// small makes numbers small and whole: sums of their products are exact.
func small(x []float32) []float32 {
	for i := range x {
		x[i] = float32(int(x[i] * 64))
	}
	return x
}

// below makes whole numbers below n.
func below(seed uint64, count, n int) []int32 {
	out := make([]int32, count)
	for i, v := range random64(seed, count) {
		out[i] = int32((v + 0.5) * float64(n))
	}
	return out
}

// words makes numbers of 32 bits.
func words(seed uint64, count int) []uint32 {
	out := make([]uint32, count)
	for i, v := range random64(seed, count) {
		out[i] = uint32(int64((v + 0.5) * (1 << 32)))
	}
	return out
}

// times32 is x by a plus b.
func times32(x []float32, a, b float32) []float32 {
	for i := range x {
		x[i] = a*x[i] + b
	}
	return x
}

func each(size int) func(n int) ([3]int64, [3]int64) {
	return func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, size)}, [3]int64{int64(size)} }
}

func rowsOf(threads int) func(n int) ([3]int64, [3]int64) {
	return func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n * threads)}, [3]int64{int64(threads)} }
}

// lanesOf has so many lanes for each of n, in teams of 256 threads.
func lanesOf(lanes int) func(n int) ([3]int64, [3]int64) {
	return func(n int) ([3]int64, [3]int64) { return [3]int64{up(n*lanes, 256)}, [3]int64{256} }
}

var fieldCases = []suiteCase{
	{forms: []any{Lattice}, hand: "lattice", size: [2]int{4096, 70}, args: func(n int) []any {
		return []any{n, float32(1.2), times32(random32(1, 9*n*n), 0.1, 0.2), make([]float32, 9*n*n)}
	}, out: 3, shape: teamsOf(32, 8, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{NormRows, NormTeams}, hand: "normrows", size: [2]int{65536, 40}, args: func(n int) []any {
		return []any{n, 1024, random32(1, n*1024), random32(2, 1024), random32(3, 1024), make([]float32, n*1024)}
	}, out: 5, shape: rowsOf(256), tolerance: 1e-3},
	{forms: []any{Covariance}, hand: "covariance", size: [2]int{2048, 130}, args: func(n int) []any {
		m := min(n, 2048)
		return []any{n, m, random32(1, n*m), random32(2, m), make([]float32, m*m)}
	}, out: 4, shape: gemmShape, tolerance: 1e-3},
	{forms: []any{MaxPool}, hand: "maxpool", size: [2]int{8192, 101}, args: func(n int) []any {
		return []any{n, random32(1, n*n), make([]float32, (n-1)/2*((n-1)/2))}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) {
		return teamsOf(32, 32, [3]int64{32, 8})((n - 1) / 2)
	}},
	{forms: []any{Median}, hand: "median", size: [2]int{8192, 101}, args: square(2), out: 2, shape: teamsOf(32, 64, [3]int64{32, 8})},
	{forms: []any{NearestOfRows}, hand: "nearestofrows", size: [2]int{1 << 22, 1000}, args: func(n int) []any {
		return []any{n, 8, 32, small(random32(1, n*8)), small(random32(2, 32*8)), make([]int32, n)}
	}, out: 5, shape: linear},
	{forms: []any{EllProduct}, hand: "ellproduct", size: [2]int{1 << 21, 1000}, args: func(n int) []any {
		column := below(2, n*16, 256)
		for i := range column {
			column[i] = (column[i] + int32(i%n)) % int32(n)
		}
		return []any{n, 16, random32(1, n*16), column, random32(3, n), make([]float32, n)}
	}, out: 5, shape: linear, tolerance: 1e-4},
	{forms: []any{Diffusion}, hand: "diffusion", size: [2]int{448, 20}, args: func(n int) []any {
		return []any{n, random32(1, n*n*n), random32(2, n*n*n), make([]float32, n*n*n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n, 32), up(n, 8), int64(n)}, [3]int64{32, 8, 1}
	}, tolerance: 1e-4},
	{forms: []any{Cutoff}, hand: "cutoff", size: [2]int{65536, 512}, args: func(n int) []any {
		return []any{n, float32(0.05), random32(1, n), random32(2, n), random32(3, n), make([]float32, n)}
	}, out: 5, shape: linear, tolerance: 1e-2},
	{forms: []any{BlurColumns}, hand: "blurcolumns", size: [2]int{8192, 130}, args: func(n int) []any {
		return []any{n, random32(1, n*n), random32(2, 17), make([]float32, n*n)}
	}, out: 3, shape: teamsOf(32, 128, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Butterflies}, hand: "butterflies", size: [2]int{1 << 25, 1 << 10}, args: func(n int) []any {
		return []any{n, 256, random32(1, n), random32(2, n), random32(3, n/2), random32(4, n/2), make([]float32, n), make([]float32, n)}
	}, out: 6, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 2) }, tolerance: 1e-4},
	{forms: []any{JointTable}, hand: "jointtable", size: [2]int{1 << 26, 5000}, args: func(n int) []any {
		return []any{below(1, n, 64), below(2, n, 64), make([]int32, 4096)}
	}, out: 2, shape: func(int) ([3]int64, [3]int64) { return [3]int64{132 * 4 * 512}, [3]int64{512} }, extra: lengthOf},
	{forms: []any{SmallFactors}, hand: "smallfactors", size: [2]int{1 << 19, 640}, args: func(n int) []any {
		a := random32(1, n*64)
		for q := range n {
			for k := range 8 {
				a[q*64+k*9] += 8
			}
		}
		return []any{n, a}
	}, out: 1, shape: each(64), tolerance: 1e-4},
	{forms: []any{Rotated}, hand: "rotated", size: [2]int{1 << 25, 1000}, args: func(n int) []any {
		return []any{n, []float32{0, 1, 0, -1, 0, 0, 0, 0, 1}, random32(1, 3*n)}
	}, out: 2, shape: linear, tolerance: 1e-5},
	{forms: []any{Lags}, hand: "lags", size: [2]int{1 << 22, 6000}, args: func(n int) []any {
		return []any{n, 512, random32(1, n), make([]float32, 512)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n-512, 2048) / 16}, [3]int64{128} }, tolerance: 1e-3},
	{forms: []any{GrayScott}, hand: "grayscott", size: [2]int{8192, 70}, args: func(n int) []any {
		return []any{n, float32(0.04), float32(0.06), random32(1, n*n), random32(2, n*n), make([]float32, n*n), make([]float32, n*n)}
	}, out: 5, shape: teamsOf(32, 8, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Edges, EdgesOver}, hand: "edges", size: [2]int{8192, 101}, args: func(n int) []any {
		return []any{n, n, random32(1, n*n), make([]float32, n*n)}
	}, out: 3, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Scores}, hand: "scores", size: [2]int{32768, 50}, args: func(n int) []any {
		return []any{32, n, random32(1, 32*128), random32(2, 32*n*128), make([]float32, 32*n)}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 32) * 8, 32}, [3]int64{256} }, tolerance: 1e-3},
	{forms: []any{NormalMatrix}, hand: "normalmatrix", size: [2]int{2048, 130}, args: func(n int) []any {
		m := min(n, 2048)
		return []any{n, m, random32(1, n*m), random32(2, n), random32(3, m), make([]float32, m*m)}
	}, out: 5, shape: gemmShape, tolerance: 1e-3},
	{forms: []any{Inverses}, hand: "inverses", size: [2]int{1 << 22, 640}, args: func(n int) []any {
		a := random32(1, n*16)
		for q := range n {
			for k := range 4 {
				a[q*16+k*5] += 4
			}
		}
		return []any{n, a}
	}, out: 1, shape: each(128), tolerance: 1e-4},
}

var otherCases = []suiteCase{
	{forms: []any{Classes}, hand: "classes", size: [2]int{1 << 17, 70}, args: func(n int) []any {
		return []any{n, 1000, small(random32(1, n*1000)), make([]int32, n)}
	}, out: 3, shape: lanesOf(32)},
	{forms: []any{FloodCrests}, hand: "floodcrests", size: [2]int{1 << 14, 70}, args: func(n int) []any {
		return []any{8760, n, small(random32(1, n*8760)), make([]int32, n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 32), 16}, [3]int64{32, 16} }},
	{forms: []any{SignalPowers}, hand: "signalpowers", size: [2]int{1 << 22, 1 << 14}, args: func(n int) []any {
		return []any{16, n, random32(1, 16*n), make([]float32, 16)}
	}, out: 3, shape: func(int) ([3]int64, [3]int64) { return [3]int64{64 * 256, 16}, [3]int64{256, 1} }, tolerance: 1e-3},
	{forms: []any{FeatureMoments}, hand: "featuremoments", size: [2]int{1 << 23, 1 << 14}, args: func(n int) []any {
		return []any{n, 8, times32(random32(1, 8*n), 1, 0.5), make([]float32, 8), make([]float32, 8)}
	}, out: 3, shape: func(int) ([3]int64, [3]int64) { return [3]int64{132 * 8 * 256}, [3]int64{256} }, tolerance: 1e-3},
	{forms: []any{BandProduct}, hand: "bandproduct", size: [2]int{1 << 20, 300}, args: func(n int) []any {
		return []any{n, 64, random32(1, n*129), random32(2, n), make([]float32, n)}
	}, out: 4, shape: lanesOf(32), tolerance: 1e-4},
	{forms: []any{Automaton}, hand: "automaton", size: [2]int{1 << 20, 256}, args: func(n int) []any {
		return []any{n, 64, words(1, n*64), words(2, 512), make([]uint32, n)}
	}, out: 4, shape: each(128)},
	{forms: []any{Fingerprints}, hand: "fingerprints", size: [2]int{1 << 21, 100}, args: func(n int) []any {
		return []any{n, 64, words(1, n*64), words(2, 64), make([]uint32, n)}
	}, out: 4, shape: lanesOf(8)},
	{forms: []any{Mandelbrot}, hand: "mandelbrot", size: [2]int{4096, 64}, args: func(n int) []any {
		return []any{n, 256, make([]int32, n*n)}
	}, out: 2, shape: teamsOf(32, 8, [3]int64{32, 8}), apart: true},
	{forms: []any{Alignment}, hand: "alignment", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, below(1, n, 4), below(2, n, 4), make([]int32, (n+1)*(n+1))}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n/2, 256)}, [3]int64{256} }, launches: func(n int) int { return 2*n - 1 }},
	{forms: []any{Bitonic}, hand: "bitonic", size: [2]int{1 << 20, 1 << 10}, args: func(n int) []any {
		return []any{n, below(1, n, 1<<30)}
	}, out: 1, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 2) }, launches: func(int) int { return 210 }},
	{forms: []any{Checksums}, hand: "checksums", size: [2]int{1 << 20, 256}, args: func(n int) []any {
		return []any{n, 64, words(1, n*64), words(2, 256), make([]uint32, n)}
	}, out: 4, shape: each(128)},
	{forms: []any{AsianOption}, hand: "asianoption", size: [2]int{1 << 20, 1000}, args: func(n int) []any {
		return []any{64, float32(100), float32(0.0001), float32(0.02), make([]float32, n)}
	}, out: 4, shape: linear, extra: lengthOf, tolerance: 1e-3},
	{forms: []any{Turned}, hand: "turned", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, float32(0.9), float32(0.43), random32(1, n*n), make([]float32, n*n)}
	}, out: 4, shape: teamsOf(32, 8, [3]int64{32, 8}), apart: true, tolerance: 1e-1},
	{forms: []any{RankOne}, hand: "rankone", size: [2]int{16384, 100}, args: func(n int) []any {
		return []any{n, random64(1, n), random64(2, n), random64(3, n*n)}
	}, out: 3, shape: teamsOf(64, 8, [3]int64{32, 8}), tolerance: 1e-9},
	{forms: []any{ManyProducts}, hand: "manyproducts", size: [2]int{32768, 10}, args: func(n int) []any {
		return []any{n, random32(1, n*4096), random32(2, n*64), make([]float32, n*64)}
	}, out: 3, shape: rowsOf(256), tolerance: 1e-4},
	{forms: []any{RootMeanRows}, hand: "rootmeanrows", size: [2]int{32768, 33}, args: func(n int) []any {
		return []any{n, 4096, random32(1, n*4096), random32(2, 4096), make([]float32, n*4096)}
	}, out: 4, shape: rowsOf(256), tolerance: 1e-3},
	{forms: []any{Life}, hand: "life", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, below(1, n*n, 2), make([]int32, n*n)}
	}, out: 2, shape: teamsOf(32, 64, [3]int64{32, 8})},
	{forms: []any{Polynomial}, hand: "polynomial", size: [2]int{1 << 26, 1000}, args: func(n int) []any {
		return []any{15, random64(1, 16), random64(2, n), make([]float64, n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 2) }, extra: lengthOf, tolerance: 1e-9},
	{forms: []any{Gathered}, hand: "gathered", size: [2]int{1 << 25, 1000}, args: func(n int) []any {
		return []any{random32(1, n), below(2, n, n), make([]float32, n)}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 4) }, extra: lengthOf},
	{forms: []any{Moments}, hand: "moments", size: [2]int{1 << 28, 1 << 14}, args: func(n int) []any {
		return []any{times32(random32(1, n), 1, 0.5), make([]float32, 2)}
	}, out: 1, shape: func(int) ([3]int64, [3]int64) { return [3]int64{132 * 4 * 512}, [3]int64{512} }, extra: lengthOf, tolerance: 1e-3},
	{forms: []any{ColumnMost}, hand: "columnmost", size: [2]int{65536, 200}, args: func(n int) []any {
		return []any{n, 2048, random32(1, n*2048), make([]float32, 2048)}
	}, out: 3, shape: func(int) ([3]int64, [3]int64) { return [3]int64{2048, 16 * 16}, [3]int64{32, 16} }},
	{forms: []any{Upwind}, hand: "upwind", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, float32(0.1), random32(1, n*n), random32(2, n*n), random32(3, n*n), make([]float32, n*n)}
	}, out: 5, shape: teamsOf(32, 8, [3]int64{32, 8}), tolerance: 1e-4},
}

// suiteHead is what every file of kernels by hand begins with.
const suiteHead = "typedef long long I;\n"

// A suitePart is kernels with means of their own.
type suitePart struct {
	name  string
	cases []suiteCase
	text  string // of the Go file
	hand  string
}

// suiteParts are the kernels of the suite: those that the compiler was changed for, and "others",
// "fresh" and "survey", that it was not when they were written.
var suiteParts = []suitePart{
	{"kernels", suite, suiteSource, suiteReference},
	{"fields", fieldCases, fieldsSource, suiteHead + fieldsReference},
	{"others", otherCases, othersSource, suiteHead + othersReference},
	{"fresh", freshCases, freshSource, suiteHead + freshReference},
	{"survey", surveyCases, surveySource, suiteHead + surveyReference},
}
