//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math"
	"math/rand/v2"
)

func hostileInts(r *rand.Rand, n int) []any {
	return []any{n, randomOf[int](r, 2*n+600), randomOf[int](r, 2*n+600)}
}

func oddReals[T float32 | float64](r *rand.Rand, n int) []T {
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e-40, 1e19, -1e19, 9.3e18, 1.5, -2.5, 4294967296.5, -2147483649, 3e9}
	x := make([]T, n)
	for i := range x {
		if x[i] = T(r.Float64()*700 - 350); r.IntN(2) == 0 {
			x[i] = T(odd[r.IntN(len(odd))])
		}
	}
	return x
}

func awayFromZero[T int8 | int16 | int32 | int64](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		if x[i] = T(r.Uint64() >> r.IntN(64)); x[i] == 0 || r.IntN(3) == 0 {
			x[i] = -1
		}
	}
	return x
}

func small(r *rand.Rand, n, lo, hi int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = lo + r.IntN(hi-lo)
	}
	return x
}

var hostileCases = []hostileCase{
	{HostileZeroStride, "HostileZeroStride", func(r *rand.Rand, n int) []any {
		return []any{n, n % 3, realsOf[float64](r, 3*n), realsOf[float64](r, n)}
	}},
	{HostileShifted, "HostileShifted", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, 2*n), belowOf[int](r, n, 3)} }},
	{HostileStepped, "HostileStepped", hostileInts},
	{HostileByte, "HostileByte", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, 300)} }},
	{HostileWide, "HostileWide", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, 300)} }},
	{HostileNarrow, "HostileNarrow", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, 300)} }},
	{HostileLocal, "HostileLocal", hostileInts},
	{HostileLast, "HostileLast", hostileInts},
	{HostileInner, "HostileInner", hostileInts},
	{HostileRows, "HostileRows", func(r *rand.Rand, n int) []any { return []any{n, 5, n % 7, randomOf[int](r, 7*n+6)} }},
	{HostileRowBack, "HostileRowBack", func(r *rand.Rand, n int) []any { return []any{n, n%7 + 1, randomOf[int](r, 7*n+6)} }},
	{HostileDown, "HostileDown", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, n)} }},
	{HostileTri, "HostileTri", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, n*(n+1)/2+n)} }},
	{HostileAlias, "HostileAlias", func(r *rand.Rand, n int) []any {
		all := randomOf[int32](r, n+100)
		return []any{n, all[r.IntN(20):][:n], all[r.IntN(20):][:n], all[r.IntN(20):][:n]}
	}},
	{HostileAlias2, "HostileAlias2", func(r *rand.Rand, n int) []any {
		all := realsOf[float32](r, 16*n+100)
		return []any{n, 11, all[r.IntN(20):][:n*4], all[r.IntN(20):][:44], all[r.IntN(20):][:n*11]}
	}},
	{HostileReslice, "HostileReslice", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int](r, n), randomOf[int](r, n)} }},
	{HostileResliceIn, "HostileResliceIn", hostileInts},
	{HostileSwapped, "HostileSwapped", hostileInts},
	{HostileOffset, "HostileOffset", func(r *rand.Rand, n int) []any {
		return []any{n, r.IntN(4), randomOf[int](r, n+4), randomOf[int](r, n)}
	}},
	{HostileScratch, "HostileScratch", func(r *rand.Rand, n int) []any {
		return []any{n, r.IntN(n + 1), randomOf[int](r, n+4), randomOf[int](r, n)}
	}},
	{HostilePoints, "HostilePoints", func(r *rand.Rand, n int) []any {
		p := make([]hostilePoint, n)
		for i := range p {
			p[i] = hostilePoint{r.IntN(9), r.IntN(9), [2]int{r.IntN(9), r.IntN(9)}}
		}
		return []any{n, p}
	}},
	{HostileStepVar, "HostileStepVar", func(r *rand.Rand, n int) []any {
		return []any{n, n%5 + 1, randomOf[int](r, n+9), randomOf[int](r, n+9)}
	}},
	{HostilePointer, "HostilePointer", func(r *rand.Rand, n int) []any {
		s := 3
		return []any{n, &s, randomOf[int](r, n+4), randomOf[int](r, n)}
	}},
	{HostilePointIn, "HostilePointIn", func(r *rand.Rand, n int) []any { x := randomOf[int](r, n+4); return []any{n, &x[n/2], x} }},
	{HostileGuards, "HostileGuards", func(r *rand.Rand, n int) []any {
		y := randomOf[int64](r, n)
		for i := range y {
			y[i] &= []int64{0, 1, -1, 15}[r.IntN(4)]
		}
		return []any{n, make([]int64, n+1)[1:], y, small(r, n, -3, n+3)}
	}},
	{HostileZero, "HostileZero", func(r *rand.Rand, n int) []any { return []any{n, randomOf[int32](r, n), belowOf[int32](r, n, 2)} }},
	{HostileDivide, "HostileDivide", func(r *rand.Rand, n int) []any {
		x, y := awayFromZero[int32](r, n), awayFromZero[int32](r, n)
		if n > 0 && r.IntN(2) == 0 {
			y[r.IntN(n)] = 0
		}
		return []any{n, x, y}
	}},
	{HostileLeast, "HostileLeast", func(r *rand.Rand, n int) []any {
		return []any{n, make([]int8, n), awayFromZero[int8](r, n), make([]int16, n+1)[1:], awayFromZero[int16](r, n), make([]int32, n), awayFromZero[int32](r, n),
			make([]int64, n+1)[1:], awayFromZero[int64](r, n)}
	}},
	{HostileShifts, "HostileShifts", func(r *rand.Rand, n int) []any {
		return []any{n, randomOf[int8](r, n), randomOf[uint16](r, n), randomOf[int32](r, n), randomOf[uint64](r, n), randomOf[uint8](r, n)}
	}},
	{HostileConvert, "HostileConvert", func(r *rand.Rand, n int) []any {
		return []any{n, make([]int64, n), make([]int32, n), make([]uint16, n), make([]float32, n), make([]int8, n), oddReals[float64](r, n), oddReals[float32](r, n)}
	}},
	{HostileMinMax, "HostileMinMax", func(r *rand.Rand, n int) []any {
		return []any{n, make([]float64, n), make([]float64, n+3)[3:], oddReals[float64](r, n), oddReals[float64](r, n)}
	}},
	{HostileCount8, "HostileCount8", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n)} }},
	{HostileToMax, "HostileToMax", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n)} }},
	{HostileEdge, "HostileEdge", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n)} }},
	{HostileLastPrivate, "HostileLastPrivate", func(r *rand.Rand, n int) []any {
		return []any{n, make([]int, n), randomOf[int](r, n), make([]int, 2)}
	}},
	{HostileMinLoc, "HostileMinLoc", func(r *rand.Rand, n int) []any {
		x := realsOf[float64](r, n)
		for i := range x {
			x[i] = float64(r.IntN(5)) - 1
			if r.IntN(4) == 0 {
				x[i] = math.NaN()
			}
			if r.IntN(4) == 0 {
				x[i] = math.Copysign(0, -1)
			}
		}
		return []any{n, make([]int, 2), x}
	}},
	{HostileNested, "HostileNested", func(r *rand.Rand, n int) []any {
		return []any{n, make([]int, 2), randomOf[int](r, n), randomOf[int](r, n)}
	}},
	{HostileBigLocal, "HostileBigLocal", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n), randomOf[int](r, n)} }},
	{HostileBoxes, "HostileBoxes", func(r *rand.Rand, n int) []any {
		p := make([]hostileBox, n)
		for i := range p {
			p[i] = hostileBox{[3]float32{r.Float32(), r.Float32(), r.Float32()}, [3]float32{r.Float32(), 2, 3}, uint16(r.IntN(4)), [2][2]int8{{127, 1}, {-1, 5}}}
		}
		return []any{n, p, small(r, n, -9, 30)}
	}},
	{HostileTwoTiles, "HostileTwoTiles", func(r *rand.Rand, n int) []any {
		h, w, l := n%13, n%37, r.IntN(6)
		all := realsOf[float64](r, h*w+h*l+l*w+9)
		at := r.IntN(3)
		if r.IntN(2) == 0 {
			return []any{h, w, l, all[at:][:h*w], all[h*w+at:][:h*l], all[h*w+h*l+at:][:l*w]}
		}
		return []any{h, w, l, realsOf[float64](r, h*w+1)[1:], all[at:][:h*l], all[at+1:][:l*w]}
	}},
	{HostileTriangle, "HostileTriangle", func(r *rand.Rand, n int) []any {
		n %= 41
		return []any{n, make([]float32, n*n), realsOf[float32](r, n*n)}
	}},
	{HostileCapture, "HostileCapture", func(r *rand.Rand, n int) []any {
		return []any{n, make([]int32, 8), make([]int, n), randomOf[int](r, n)}
	}},
	{HostileBounds, "HostileBounds", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n), small(r, n, -9, 9)} }},
	{HostileParts, "HostileParts", func(r *rand.Rand, n int) []any { return []any{n, make([]int, n), randomOf[int](r, n)} }},
	{HostileCap, "HostileCap", func(r *rand.Rand, n int) []any {
		d := small(r, n, 0, n+1)
		if n > 0 && r.IntN(2) == 0 {
			d[r.IntN(n)] = []int{-1, 2*n + 8, 2*n + 9, -n - 1}[r.IntN(4)]
		}
		return []any{n, randomOf[int](r, 2*n+8), d, make([]int, n)}
	}},
	{HostileEnds, "HostileEnds", func(r *rand.Rand, n int) []any {
		return []any{n, r.IntN(4), 1 + []int{0, 1, -1, -2, 8}[r.IntN(5)], realsOf[float32](r, 2*n+8-r.IntN(3)), make([]float32, n)}
	}},
	{HostileEnd, "HostileEnd", func(r *rand.Rand, n int) []any {
		return []any{n, []int{-1, 0, 0, 1, n, n - 1}[r.IntN(6)], realsOf[float32](r, n), make([]float32, n)}
	}},
	{HostileCaps, "HostileCaps", func(r *rand.Rand, n int) []any {
		return []any{n, []int{0, 1, 5, 6, -1}[r.IntN(5)], randomOf[int32](r, n+5), make([]int32, n)}
	}},
	{HostileUnsigned, "HostileUnsigned", func(r *rand.Rand, n int) []any { return []any{n, randomOf[uint32](r, n), randomOf[uint8](r, n)} }},
}
