//go:build linux && amd64

package codegen_test

import "math/rand/v2"

func hostileInts(r *rand.Rand, n int) []any {
	return []any{n, randomOf[int](r, 2*n+600), randomOf[int](r, 2*n+600)}
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
}
