//go:build amd64 || arm64

package gpubench

import _ "embed"

//go:embed survey.cu
var surveyReference string

// bytesOf makes n random bytes.
func bytesOf[T int8 | uint8](seed uint64, n int) []T {
	out := make([]T, n)
	for i, v := range words(seed, n) {
		out[i] = T(v >> 24)
	}
	return out
}

// repeated makes a text of n bytes of few letters, so that beginnings of a pattern are frequent.
func repeated(seed uint64, n int) []uint8 {
	out := bytesOf[uint8](seed, n)
	for i := range out {
		out[i] = 'a' + out[i]%20
	}
	return out
}

// meshOf makes the nodes of n tetrahedra, of which neighbours have nodes near each other.
func meshOf(n int) []int32 { return around(3, n, 4, min(n, 2000)) }

var surveyCases = []suiteCase{
	{forms: []any{Gray}, hand: "gray", size: [2]int{1 << 26, 1000}, args: func(n int) []any {
		return []any{n, bytesOf[uint8](1, 3*n), make([]uint8, n)}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 4) }},
	{forms: []any{Dilate}, hand: "dilate", size: [2]int{8192, 150}, args: func(n int) []any {
		return []any{n, bytesOf[uint8](1, n*n), make([]uint8, n*n)}
	}, out: 2, shape: teamsOf(64, 32, [3]int64{64, 4})},
	{forms: []any{Census}, hand: "census", size: [2]int{8192, 150}, args: func(n int) []any {
		return []any{n, bytesOf[uint8](1, n*n), make([]uint32, n*n)}
	}, out: 2, shape: teamsOf(64, 32, [3]int64{64, 4})},
	{forms: []any{Warped}, hand: "warped", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, float32(0.9), float32(-0.2), float32(0.2), float32(0.9), random32(1, n*n), make([]float32, n*n)}
	}, out: 6, shape: teamsOf(32, 8, [3]int64{32, 8}), tolerance: 1e-2},
	{forms: []any{GemmBias}, hand: "gemmbias", size: [2]int{4096, 128}, args: func(n int) []any {
		return []any{n, random32(1, n*n), random32(2, n*n), random32(3, n), make([]float32, n*n)}
	}, out: 4, shape: teamsOf(128, 128, [3]int64{256, 1}), tolerance: 1e-4},
	{forms: []any{MaxPlus}, hand: "maxplus", size: [2]int{2048, 128}, args: func(n int) []any {
		return []any{n, random32(1, n*n), random32(2, n*n), make([]float32, n*n)}
	}, out: 3, shape: teamsOf(128, 128, [3]int64{256, 1})},
	{forms: []any{ConvChannels}, hand: "convchannels", size: [2]int{258, 38}, args: func(n int) []any {
		in, out := 64, 64
		if n < 100 {
			in, out = 3, 8
		}
		return []any{in, out, n, random32(1, in*n*n), random32(2, in*out*9), make([]float32, out*n*n)}
	}, out: 5, shape: func(n int) ([3]int64, [3]int64) {
		out := 64
		if n < 100 {
			out = 8
		}
		return [3]int64{up(n-2, 32), up(n-2, 32) / 32 * 8, int64(out / 8)}, [3]int64{32, 8, 1}
	}, tolerance: 1e-3},
	{forms: []any{ChannelStats}, hand: "channelstats", size: [2]int{1024, 10}, args: func(n int) []any {
		return []any{32, n, 3136, random32(1, 32*n*3136), make([]float32, n), make([]float32, n)}
	}, out: 5, shape: rowsOf(512), tolerance: 1e-2},
	{forms: []any{ChannelsFirst}, hand: "channelsfirst", size: [2]int{64, 2}, args: func(n int) []any {
		return []any{n, 256, 3136, random32(1, n*256*3136), make([]float32, n*256*3136)}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{256, 98 * 8, int64(n)}, [3]int64{32, 8, 1} }},
	{forms: []any{Adam}, hand: "adam", size: [2]int{1 << 25, 1000}, args: func(n int) []any {
		return []any{float32(0.001), float32(0.9), float32(0.999), float32(1e-8), random32(1, n), random32(2, n), random32(3, n), times32(random32(4, n), 1, 0.6)}
	}, out: 5, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 4) }, extra: lengthOf, apart: true, tolerance: 1e-5},
	{forms: []any{QuantiseRows}, hand: "quantiserows", size: [2]int{1 << 15, 10}, args: func(n int) []any {
		return []any{n, 4096, random32(1, n*4096), make([]float32, n), make([]int8, n*4096)}
	}, out: 4, shape: rowsOf(256), apart: true},
	{forms: []any{ByteGemv}, hand: "bytegemv", size: [2]int{1 << 15, 40}, args: func(n int) []any {
		return []any{n, 16384, bytesOf[int8](1, n*16384), random32(2, n), random32(3, 16384), make([]float32, n)}
	}, out: 5, shape: lanesOf(32), tolerance: 1e-3},
	{forms: []any{BatchGemv}, hand: "batchgemv", size: [2]int{1 << 17, 40}, args: func(n int) []any {
		return []any{n, random32(1, n*1024), random32(2, n*32), make([]float32, n*32)}
	}, out: 3, shape: lanesOf(32), tolerance: 1e-4},
	{forms: []any{AttendOne}, hand: "attendone", size: [2]int{512, 3}, args: func(n int) []any {
		t := 4096
		if n < 10 {
			t = 300
		}
		return []any{n, t, random32(1, n*128), random32(2, n*t*128), random32(3, n*t*128), make([]float32, n*t), make([]float32, n*128)}
	}, out: 6, shape: rowsOf(256), tolerance: 1e-3},
	{forms: []any{Density}, hand: "density", size: [2]int{1 << 17, 300}, args: func(n int) []any {
		return []any{n, 4096, float32(8), random32(1, n), random32(2, 4096), make([]float32, n)}
	}, out: 5, shape: each(256), tolerance: 1e-4},
	{forms: []any{Coulomb, CoulombFast}, hand: "coulomb", size: [2]int{1024, 70}, args: func(n int) []any {
		return []any{n, 4096, float32(1) / float32(n), float32(2), random32(1, 4*4096), make([]float32, n*n)}
	}, out: 5, shape: teamsOf(128, 4, [3]int64{32, 4}), tolerance: 1e-3},
	{forms: []any{PairDistances}, hand: "pairdistances", size: [2]int{1 << 14, 300}, args: func(n int) []any {
		return []any{n, float32(40), random32(1, n), random32(2, n), random32(3, n), make([]int32, 64)}
	}, out: 5, shape: func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n, 256), up(n, 1024) / 1024}, [3]int64{256, 1}
	}, apart: true},
	{forms: []any{Ewma}, hand: "ewma", size: [2]int{1 << 17, 200}, args: func(n int) []any {
		return []any{n, 256, float32(0.1), random32(1, n*256), make([]float32, n*256)}
	}, out: 4, shape: each(128), tolerance: 1e-4},
	{forms: []any{Faraday}, hand: "faraday", size: [2]int{400, 30}, args: func(n int) []any {
		return []any{n, float32(0.5), random32(1, n*n*n), random32(2, n*n*n), random32(3, n*n*n), random32(4, n*n*n), random32(5, n*n*n), random32(6, n*n*n)}
	}, out: 6, shape: func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n-1, 32), up(n-1, 8), int64(n - 1)}, [3]int64{32, 8, 1}
	}, tolerance: 1e-4},
	{forms: []any{Shallow}, hand: "shallow", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, float32(0.1), random32(1, n*n), random32(2, n*n), random32(3, n*n), make([]float32, n*n)}
	}, out: 5, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Ising}, hand: "ising", size: [2]int{8192, 100}, args: func(n int) []any {
		spin := bytesOf[int8](1, n*n)
		for i := range spin {
			spin[i] = spin[i]&2 - 1
		}
		return []any{n, uint32(1), uint32(7), words(2, 8), spin}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up((n+1)/2, 32), up(n, 8)}, [3]int64{32, 8} }},
	{forms: []any{Base64}, hand: "base64", size: [2]int{1 << 25, 1000}, args: func(n int) []any {
		return []any{n, bytesOf[uint8](1, 3*n), []uint8("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"), make([]uint8, 4*n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return linear(n / 4) }},
	{forms: []any{Matches}, hand: "matches", size: [2]int{1 << 27, 3001}, args: func(n int) []any {
		text := repeated(1, n)
		return []any{n, 6, text, append([]uint8(nil), text[n/2:n/2+6]...), make([]int32, 1)}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{132 * 8 * 256}, [3]int64{256} }},
	{forms: []any{Xtea}, hand: "xtea", size: [2]int{1 << 24, 1000}, args: func(n int) []any {
		return []any{n, words(1, 4), words(2, 2*n)}
	}, out: 2, shape: linear},
	{forms: []any{Fir}, hand: "fir", size: [2]int{1 << 24, 1000}, args: func(n int) []any {
		return []any{n, 64, random32(1, n+63), random32(2, 64), make([]float32, n)}
	}, out: 4, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 2048) / 8}, [3]int64{256} }, tolerance: 1e-4},
	{forms: []any{Elements}, hand: "elements", size: [2]int{1 << 21, 500}, args: func(n int) []any {
		return []any{n, meshOf(n), random32(1, 3*n), make([]float32, 16*n)}
	}, out: 3, shape: each(128), tolerance: 1e-4},
	{forms: []any{ApplyDot}, hand: "applydot", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, random64(1, n*n), make([]float64, n*n), make([]float64, 1)}
	}, out: 2, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-9},
	{forms: []any{Mahalanobis}, hand: "mahalanobis", size: [2]int{1 << 22, 500}, args: func(n int) []any {
		return []any{n, random32(1, 16*n), random32(2, 256), make([]float32, n)}
	}, out: 3, shape: linear, tolerance: 1e-4},
	{forms: []any{Rotary}, hand: "rotary", size: [2]int{1 << 14, 10}, args: func(n int) []any {
		c, s := turned(n * 64)
		return []any{n, 32, 64, c, s, random32(1, n*32*128)}
	}, out: 5, shape: func(n int) ([3]int64, [3]int64) { return linear(n * 32 * 16) }, tolerance: 1e-4},
}
