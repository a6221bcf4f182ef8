package codegen_test

import "math/rand/v2"

// Kernels with elements of one and two bytes, which a thread accesses in words: pixels, characters and samples.

// WordGray makes gray pixels of pixels with three colours.
//
//omp:target device(acc, smp)
//omp:task in(rgb) inout(y)
func WordGray(n int, rgb, y []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		r, g, b := int32(rgb[3*i]), int32(rgb[3*i+1]), int32(rgb[3*i+2])
		y[i] = uint8((77*r + 150*g + 29*b) >> 8)
	}
}

// WordLetters writes three bytes as four letters.
//
//omp:target device(acc, smp)
//omp:task in(text, letter) inout(out)
func WordLetters(n int, text, letter, out []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		w := uint32(text[3*i])<<16 | uint32(text[3*i+1])<<8 | uint32(text[3*i+2])
		out[4*i] = letter[w>>18&63]
		out[4*i+1] = letter[w>>12&63]
		out[4*i+2] = letter[w>>6&63]
		out[4*i+3] = letter[w&63]
	}
}

// WordTurns stores at two places, the second of which is computed behind the first store.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func WordTurns(n int, x, y []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		k := int(x[i]) & 1
		y[2*i+k] = x[i]
		k ^= 1
		y[2*i+k] = 255 - x[i]
	}
}

// WordChange changes bytes in place.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func WordChange(key uint8, x []uint8) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = x[i]<<1 ^ x[i]>>7 ^ key
	}
}

// WordSmooth reads neighbours, and begins at an odd place.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func WordSmooth(x, y []int8) {
	//omp:teams distribute parallel for
	for i := 1; i < len(y)-1; i++ {
		y[i] = int8((int32(x[i-1]) + 2*int32(x[i]) + int32(x[i+1])) >> 2)
	}
}

// WordMix mixes two channels of samples.
//
//omp:target device(acc, smp)
//omp:task in(left, right) inout(out)
func WordMix(left, right, out []int16) {
	//omp:teams distribute parallel for
	for i := 3; i < len(left); i++ {
		out[2*i] = left[i] + right[i]/2
		out[2*i+1] = right[i] - left[i]
	}
}

// WordScale makes numbers of bytes, and WordRound bytes of numbers.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func WordScale(scale float32, x []int8, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = scale * float32(x[i])
	}
}

// WordRound has a condition in its value.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func WordRound(scale float64, x []float64, y []uint16) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = uint16(min(max(x[i]*scale+0.5, 0), 65535))
	}
}

// WordSwap exchanges the bytes of words, and reads what it has stored.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func WordSwap(n int, x []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a := x[4*i]
		x[4*i] = x[4*i+3]
		x[4*i+3] = a
		x[4*i+1] ^= x[4*i+2]
		x[4*i+2] ^= x[4*i+1]
	}
}

// WordBack goes backwards through its source.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func WordBack(x, y []uint16) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		y[i] = x[len(y)-1-i] + 1
	}
}

func init() {
	corpus = append(corpus, []corpusCase{
		{kernel: WordGray, args: func(n int, r *rand.Rand) []any { return []any{n, ints[uint8](r, 3*n, 256), make([]uint8, n)} }},
		{kernel: WordTurns, args: func(n int, r *rand.Rand) []any { return []any{n, ints[uint8](r, n, 256), make([]uint8, 2*n)} }},
		{kernel: WordLetters, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[uint8](r, 3*n, 256), ints[uint8](r, 64, 256), make([]uint8, 4*n+1)}
		}},
		{kernel: WordChange, args: func(n int, r *rand.Rand) []any { return []any{uint8(r.IntN(256)), ints[uint8](r, n, 256)} }},
		{kernel: WordSmooth, args: func(n int, r *rand.Rand) []any { return []any{ints[int8](r, n, 128), ints[int8](r, n, 128)} }},
		{kernel: WordMix, args: func(n int, r *rand.Rand) []any {
			return []any{ints[int16](r, n, 1<<15), ints[int16](r, n, 1<<15), make([]int16, 2*n)}
		}},
		{kernel: WordScale, args: func(n int, r *rand.Rand) []any {
			return []any{float32(r.Float64()), ints[int8](r, n, 128), make([]float32, n)}
		}},
		{kernel: WordRound, args: func(n int, r *rand.Rand) []any {
			return []any{9e4 * r.Float64(), floats[float64](r, n), make([]uint16, n)}
		}},
		{kernel: WordSwap, args: func(n int, r *rand.Rand) []any { return []any{n / 4, ints[uint8](r, n, 256)} }},
		{kernel: WordBack, args: func(n int, r *rand.Rand) []any { return []any{ints[uint16](r, n, 1<<16), make([]uint16, n)} }},
	}...)
}
