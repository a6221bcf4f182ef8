package codegen_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A corpusCase runs one kernel of the corpus: args makes arguments of about size n, the same in every call.
type corpusCase struct {
	kernel any
	// oracle computes what the kernel does, where the Go function rounds differently; nil for that itself.
	oracle any
	args   func(n int, r *rand.Rand) []any
	// tolerance is the relative difference that reordered float sums may make; 0 asks for the same bits.
	tolerance float64
	// ulps bounds the difference of functions of math in units of the last place, where it is not 0, and tolerance has no part in it.
	ulps float64
	// variables returns what the program gives the kernel of the package variables that it reads, by their names.
	variables func() []any
}

func floats[T float32 | float64](r *rand.Rand, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.Float64()*2 - 1)
	}
	return out
}

func ints[T int8 | int16 | uint16 | int32 | int64 | int | uint8 | uint32](r *rand.Rand, n, limit int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.IntN(limit))
	}
	return out
}

// csr makes a sparse matrix of n rows, some of them empty.
func csr(r *rand.Rand, n int) []any {
	start := make([]int32, n+1)
	var col []int32
	for i := range n {
		for range r.IntN(7) * r.IntN(2) {
			col = append(col, int32(r.IntN(n)))
		}
		start[i+1] = int32(len(col))
	}
	return []any{start, col, floats[float64](r, len(col)), floats[float64](r, n), floats[float64](r, n)}
}

// hubs is csr with a few long rows.
func hubs(r *rand.Rand, n int) (start, col []int32) {
	start = make([]int32, n+1)
	for i := range n {
		length := r.IntN(7) * r.IntN(2)
		if r.IntN(16) == 0 {
			length = 20 + r.IntN(200)
		}
		for range length {
			col = append(col, int32(r.IntN(n)))
		}
		start[i+1] = int32(len(col))
	}
	return start, col
}

// side is the side of a small matrix with about n elements.
func side(n int) int { return int(math.Sqrt(float64(n))) + 1 }

// corpus has every kernel of corpus_test.go and corpus_team_test.go.
var corpus = []corpusCase{
	{kernel: LatticeStep, args: func(n int, r *rand.Rand) []any {
		channel.nx, channel.ny = side(n)+1, side(n)
		cells := channel.nx * channel.ny
		f := floats[float64](r, 9*cells)
		for i := range f {
			f[i] += 1.5
		}
		return []any{f, floats[float64](r, 9*cells), ints[uint8](r, cells, 2)}
	}, variables: func() []any { return []any{channel, latticeWeight, latticeX, latticeY, opposite} }},
	{kernel: HeatStep, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		heatDT, heatPeriodic = r.Float64(), n%2 == 1
		return []any{s, s + 1, make([]float32, s*(s+1)), floats[float32](r, s*(s+1))}
	}, variables: func() []any { return []any{heatDT, heatDX, heatPeriodic, heatStencil} }},
	{kernel: Alarms, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n/5), ints[int](r, 2, 2)}
	}, variables: func() []any { return []any{heatHigh, heatLow} }},
	{kernel: ToneMap, args: func(n int, r *rand.Rand) []any {
		copy(toneCurve[:], ints[uint16](r, len(toneCurve), 500))
		gain := r.Float32()
		toneOffsets, toneGain = ints[int32](r, n/2+1, 50), &gain
		return []any{make([]uint16, n), ints[uint16](r, n, 5000)}
	}, variables: func() []any { return []any{toneCurve[:], toneGain, toneLimit, toneOffsets} }},
	{kernel: StreamCopy, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), floats[float64](r, n)} }},
	{kernel: StreamScale, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n+3), 2.5}
	}},
	{kernel: StreamAdd, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n), floats[float64](r, n)}
	}},
	{kernel: StreamTriad, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n), floats[float64](r, n), 3.0}
	}},
	{kernel: Saxpy, args: func(n int, r *rand.Rand) []any {
		return []any{n, float32(2), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: Dot, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n), floats[float64](r, n), []float64{7}}
	}},
	{kernel: SumInto, args: func(n int, r *rand.Rand) []any {
		p := 100
		return []any{ints[int](r, n, 50), &p}
	}},
	{kernel: NBodyForces, tolerance: 1e-4, args: func(n int, r *rand.Rand) []any {
		n = n/8 + 2
		return []any{1, n - 1, float32(0.5), floats[float32](r, n), floats[float32](r, n), floats[float32](r, n),
			floats[float32](r, n), floats[float32](r, n), floats[float32](r, n)}
	}},
	{kernel: Jacobi2D, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 2, floats[float64](r, s*(s+2)), floats[float64](r, s*(s+2))}
	}},
	{kernel: MatMul, args: func(n int, r *rand.Rand) []any {
		s := side(n / 4)
		return []any{s, floats[float32](r, s*s), floats[float32](r, s*s), floats[float32](r, s*s)}
	}},
	{kernel: MatMulTiled, tolerance: 1e-4, args: func(n int, r *rand.Rand) []any {
		s := side(n / 2)
		return []any{s, floats[float32](r, s*s), floats[float32](r, s*s), floats[float32](r, s*s)}
	}},
	{kernel: Histogram, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 1000), make([]int32, 16)} }},
	{kernel: HistogramTeams, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 1000), make([]int32, 16)}
	}},
	{kernel: ArgMin, args: func(n int, r *rand.Rand) []any {
		x := floats[float32](r, n)
		for i := range x {
			x[i] = float32(int(x[i] * 20)) // ties
		}
		return []any{x, make([]float32, 1), make([]int, 1)}
	}},
	{kernel: ReverseBlocks, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 1000)} }},
	{kernel: ScanBlocks, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 1000)} }},
	{kernel: TeamAlpha, args: func(n int, r *rand.Rand) []any { return []any{floats[float32](r, n), floats[float32](r, n)} }},
	{kernel: RowSums, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		m := s + 3
		return []any{s, m, floats[float64](r, s), floats[float64](r, s*m), floats[float64](r, m), floats[float64](r, s),
			floats[float64](r, s)}
	}},
	{kernel: SeqParSeq, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), []float64{2, 0, 0}} }},
	{kernel: HubRows, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		start, col := hubs(r, n)
		return []any{start, col, floats[float64](r, len(col)), floats[float64](r, n), floats[float64](r, n)}
	}},
	{kernel: HubNodes, args: func(n int, r *rand.Rand) []any {
		start, edges := hubs(r, n)
		return []any{int32(4), start, edges, ints[int32](r, n, 9), ints[int32](r, n, 9), ints[int32](r, 1, 9)}
	}},
	{kernel: HubSteps, args: func(n int, r *rand.Rand) []any {
		start, col := hubs(r, n)
		return []any{3, start, col, ints[int64](r, n, 99), ints[int64](r, n, 99)}
	}},
	{kernel: SpMV, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any { return csr(r, n) }},
	{kernel: SpMVTeams, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any { return csr(r, n/8) }},
	{kernel: SpMVLoop, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any { return csr(r, n) }},
	{kernel: Transpose, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 1, make([]int32, s*(s+1)), ints[int32](r, s*(s+1), 1000)}
	}},
	{kernel: ColumnLoop, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 5, floats[float32](r, s*(s+5))}
	}},
	{kernel: MoveParticles, args: func(n int, r *rand.Rand) []any {
		p := make([]Particle, n)
		for i := range p {
			p[i] = Particle{Vel: [3]float32{1, float32(i), 3}, Mass: float32(i), Kind: int8(i % 3)}
		}
		return []any{p, float32(0.25)}
	}},
	{kernel: Strides, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 99), ints[int32](r, n, 99), n}
	}},
	{kernel: NarrowIndex, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, 255, 99), uint8(min(n, 255))} }},
	{kernel: VariableStep, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 99), 1 + n/10} }},
	{kernel: MinMax, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int16](r, n, 999), floats[float32](r, n), []int16{500, 500}, []float32{0, 0}}
	}},
	{kernel: AllAny, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 30), make([]bool, 2)} }},
	{kernel: BitReduce, args: func(n int, r *rand.Rand) []any {
		return []any{ints[uint32](r, n, 1<<30), []uint32{0xffffff0f, 0x80000000, 5}}
	}},
	{kernel: Product, args: func(n int, r *rand.Rand) []any { return []any{ints[uint8](r, n, 256), []uint8{3}} }},
	{kernel: ArrayReduce, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 1000), []int64{1, 2, 3, 4, 5, 6}}
	}},
	{kernel: TeamArrayReduce, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n/4, 1000), make([]int64, 20)}
	}},
	{kernel: Mandelbrot, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 1, 40, make([]int32, s*(s+1))}
	}},
	{kernel: BlackScholes, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		s, k, t := floats[float64](r, n), floats[float64](r, n), floats[float64](r, n)
		for i := range s {
			s[i], k[i], t[i] = 10+s[i], 10+k[i], 2+t[i]
		}
		return []any{s, k, t, make([]float64, n), make([]float64, n), 0.02, 0.3}
	}},
	{kernel: FloydStep, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s / 2, ints[int32](r, s*s, 1000)}
	}},
	{kernel: Clauses, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 100), make([]int32, n+1)} }},
	{kernel: LastInTeam, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 100), make([]int32, 7), n} }},
	{kernel: DistributeReduce, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 1, ints[int64](r, s*(s+1), 100), make([]int64, 1)}
	}},
	{kernel: TeamsReduce, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, n, 100), make([]int64, 1)} }},
	{kernel: ParallelReduce, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, n, 100), make([]int64, 1)} }},
	{kernel: RowNorms, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 40, make([]float64, s), floats[float64](r, s*(s+40)), floats[float64](r, s)}
	}},
	{kernel: Undirected, args: func(n int, r *rand.Rand) []any { return []any{floats[float32](r, n)} }},
	{kernel: UndirectedNest, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 3, floats[float64](r, s*(s+3))}
	}},
	{kernel: Recurrence, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, n, 100)} }},
	{kernel: Orphan, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 100), 9} }},
	{kernel: DivMods, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int](r, n, 1000), ints[int](r, n, 5), make([]int, n), make([]int, n)}
	}},
	{kernel: Bounded, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 100), 11, n%2 == 0} }},
	{kernel: Branches, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 6), min(n, 120)} }},
	{kernel: TimeLoop, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float64](r, n/4), make([]float64, n/4), 3}
	}},
	{kernel: TimeSteps, args: func(n int, r *rand.Rand) []any {
		s := side(n) + 2
		return []any{s, n % 6, floats[float32](r, s*s), floats[float32](r, s*s), make([]float32, s*s)}
	}},
	{kernel: LocalsBetween, args: func(n int, r *rand.Rand) []any {
		return []any{n, 0.5, 0.25, floats[float64](r, n*n), floats[float64](r, n*n)}
	}},
	{kernel: LocalsBetweenThree, args: func(n int, r *rand.Rand) []any {
		n %= 13
		return []any{n, floats[float64](r, n*n*n), floats[float64](r, n*n*n)}
	}},
	{kernel: AcceptedSteps, args: func(n int, r *rand.Rand) []any {
		return []any{n, ints[int64](r, n+1, 200+n*40), ints[int64](r, n+1, 1000), ints[int64](r, n, 9)}
	}},
	{kernel: ExchangedWhere, args: func(n int, r *rand.Rand) []any {
		return []any{n, ints[int64](r, n+1, 90), ints[int64](r, n+1, 90), ints[int64](r, n, 9)}
	}},
	{kernel: ThreeSlices, args: func(n int, r *rand.Rand) []any {
		return []any{n % 9, ints[int64](r, n+1, 3), ints[int64](r, n+1, 5), ints[int64](r, n+1, 5)}
	}},
	{kernel: ManyExchanges, args: func(n int, r *rand.Rand) []any {
		return []any{n, ints[int64](r, n+1, 30), ints[int64](r, n+1, 30)}
	}},
	{kernel: RowsOfTables, args: func(n int, r *rand.Rand) []any {
		m, k := n%7, side(n)
		return []any{m, ints[int32](r, k*m, 3), ints[int32](r, k*m, 3), ints[int32](r, 2*k*(m+1), 9), make([]int32, k)}
	}},
	{kernel: CountDown, args: func(n int, r *rand.Rand) []any {
		x, by := ints[int64](r, n+1, 20), ints[int32](r, 7, 5)
		for i := range by {
			by[i] = max(by[i], 1)
		}
		return []any{3 + n%40, x, by}
	}},
	{kernel: ReturnsEarly, args: func(n int, r *rand.Rand) []any {
		by := ints[int32](r, 9, 5)
		for i := range by {
			by[i] = max(by[i], 1)
		}
		return []any{n % 7, ints[int64](r, 8*(n/8+1), 50), by}
	}},
	{kernel: Converge, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, 5*13, 100), 13, make([]int32, 5)} }},
	{kernel: SingleMasked, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n/10*10, 100), make([]int32, n/10), 10}
	}},
	{kernel: Capture, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 100), make([]int32, 1), make([]int32, n)}
	}},
	{kernel: Nested, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, n, 100), 10} }},
	{kernel: Broadcast, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n/9*9, 100), ints[int32](r, n/9, 6), 9}
	}},
	{kernel: Mixed, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n/9*9, 100), ints[int32](r, n/9, 6), 9}
	}},
	{kernel: SpreadFor, args: func(n int, r *rand.Rand) []any { return []any{ints[int64](r, n, 100)} }},
	{kernel: MaxLocTeams, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int64](r, 6*17, 20), make([]int64, 12), 17}
	}},
	{kernel: LUStep, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		m := floats[float64](r, s*s)
		for i := range s {
			m[i*s+i] += 3
		}
		return []any{s, 0, m}
	}},
	{kernel: CounterChunks, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int64](r, n, 100), make([]int64, n+1)}
	}},
	{kernel: DynamicChunks, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		x := ints[int64](r, s*(s+1), 9)
		x[len(x)-1] = 5 // the last iteration sets last
		return []any{s, s + 1, x, make([]int64, s*(s+1)+1)}
	}},
	{kernel: GuidedChunks, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int64](r, n, 100), make([]int64, n+1)}
	}},
	{kernel: GuidedRounds, args: func(n int, r *rand.Rand) []any {
		return []any{n%5 + 1, ints[int64](r, n, 100), make([]int64, n)}
	}},
	{kernel: CountedRounds, args: func(n int, r *rand.Rand) []any {
		return []any{n%5 + 1, ints[int64](r, n, 100), make([]int64, n)}
	}},
	{kernel: StaticChunks, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		x := ints[int64](r, s*(s+1), 9)
		x[len(x)-1] = 5 // the last iteration sets last
		return []any{s, s + 1, x, make([]int64, s*(s+1)+2)}
	}},
	{kernel: ChunksOfRows, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, floats[float64](r, n), floats[float64](r, n)}
	}},
	{kernel: SyrkTriangle, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, 4, floats[float64](r, 4*s), floats[float64](r, s*s)}
	}},
	{kernel: PairsBelow, args: func(n int, r *rand.Rand) []any {
		return []any{n / 3, ints[int64](r, n, 50), make([]int64, 2)}
	}},
	{kernel: Band, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s / 3, floats[float32](r, s), floats[float32](r, s*s)}
	}},
	{kernel: Tetrahedron, args: func(n int, r *rand.Rand) []any {
		s := side(n) / 2
		return []any{s, ints[int32](r, s*s*s, 9)}
	}},
	{kernel: RowsCollapsed, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		return []any{m[0], m[1], m[2], floats[float64](r, n), make([]float64, len(m[1].([]int32))), make([]float64, n)}
	}},
	{kernel: RowsInTeam, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		return []any{m[0], m[1], make([]int64, n)}
	}},
	{kernel: MomentTable, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 1000), make([]int64, 12)}
	}},
	{kernel: Lanes, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), floats[float64](r, n)} }},
	{kernel: LanesOfTeams, args: func(n int, r *rand.Rand) []any { return []any{floats[float64](r, n), 40} }},
	{kernel: LoopParts, args: func(n int, r *rand.Rand) []any {
		return []any{n, floats[float64](r, n), make([]float64, 3*n)}
	}},
	{kernel: Guarded, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n, 99), ints[int32](r, n, 99), n}
	}},
	{kernel: AllPairs, tolerance: 1e-5, args: func(n int, r *rand.Rand) []any {
		b := make([]Body, 2*n+3)
		for i := range b {
			b[i] = Body{Pos: [3]float32(floats[float32](r, 3)), Mass: r.Float32()}
		}
		return []any{min(n, 40), float32(0.01), b, floats[float32](r, 3*min(n, 40))}
	}},
	{kernel: Nearest, args: func(n int, r *rand.Rand) []any {
		s := min(side(n), 6)
		return []any{s, s - 1, floats[float64](r, 2*n+2), ints[int32](r, n, 99), make([]int32, s*s), make([]float64, s*s)}
	}},
	{kernel: TeamPairs, tolerance: 1e-4, args: func(n int, r *rand.Rand) []any { return []any{3, n, floats[float32](r, 3*n)} }},
	{kernel: Fluxes, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		args := []any{s, s, 0.5}
		for range 8 {
			args = append(args, floats[float64](r, (s+2)*(s+2)))
		}
		return args
	}},
	{kernel: JacobiRows, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, floats[float64](r, (s+2)*(s+2)), floats[float64](r, (s+2)*(s+2))}
	}},
	{kernel: JacobiColumns, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, floats[float64](r, (s+2)*(s+2)), floats[float64](r, (s+2)*(s+2))}
	}},
	{kernel: AddArrays, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n), floats[float32](r, n+1), floats[float32](r, n)}
	}},
	{kernel: ScaleRows, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 4, floats[float64](r, s*(s+4)), floats[float64](r, s*(s+4)), floats[float64](r, s)}
	}},
	{kernel: DG, args: func(n int, r *rand.Rand) []any {
		return []any{n / 16, 0.1, floats[float64](r, 16), floats[float64](r, 16), floats[float64](r, 4), floats[float64](r, n), floats[float64](r, n)}
	}},
	{kernel: Relax, args: func(n int, r *rand.Rand) []any {
		blocks := (n + 31) / 32 // of which each iteration owns one
		return []any{floats[float32](r, 32*blocks), []float32{0.25, 0.5, 0.125}, floats[float32](r, 32*blocks), make([]float32, 2*blocks+3)}
	}},
	{kernel: OwnBins, args: func(n int, r *rand.Rand) []any { return []any{ints[uint8](r, n, 256), ints[int32](r, 8*(n/9)+3, 5)} }},
	{kernel: Large, args: func(n int, r *rand.Rand) []any { return []any{ints[int32](r, min(n, 8), 99), 2} }},
	{kernel: EdgeLoop, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		return []any{m[0], m[1], m[2], m[3], make([]float64, len(m[1].([]int32)))}
	}},
	{kernel: EdgeSums, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		start := make([]int, n+1)
		for i, v := range m[0].([]int32) {
			start[i] = int(v)
		}
		return []any{start, m[1], make([]int64, n)}
	}},
	{kernel: Jacobi3D, args: func(n int, r *rand.Rand) []any {
		s := int(math.Cbrt(float64(n))) + 1
		return []any{s, floats[float64](r, s*s*s), floats[float64](r, s*s*s)}
	}},
	{kernel: TwoMM, args: func(n int, r *rand.Rand) []any { return matrices[float64](r, side(n/4), []any{1.5, 0.5}, 5) }},
	{kernel: ThreeMM, args: func(n int, r *rand.Rand) []any { return matrices[float32](r, side(n/4), nil, 7) }},
	{kernel: Atax, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 2, floats[float64](r, s*(s+2)), floats[float64](r, s+2), floats[float64](r, s+2), make([]float64, s)}
	}},
	{kernel: Bicg, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 2, floats[float64](r, s*(s+2)), floats[float64](r, s+2), floats[float64](r, s), make([]float64, s),
			make([]float64, s+2)}
	}},
	{kernel: Mvt, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, floats[float32](r, s*s), floats[float32](r, s), floats[float32](r, s), floats[float32](r, s), floats[float32](r, s)}
	}},
	{kernel: Gemver, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		args := []any{s, 1.5, 0.5, floats[float64](r, s*s)}
		for range 8 {
			args = append(args, floats[float64](r, s))
		}
		return args
	}},
	{kernel: Syrk, args: func(n int, r *rand.Rand) []any {
		s := side(n / 2)
		return []any{s, s + 3, 1.5, 0.5, floats[float64](r, s*(s+3)), floats[float64](r, s*s)}
	}},
	{kernel: Correlation, args: func(n int, r *rand.Rand) []any {
		s := side(n / 3)
		return []any{s + 1, s, floats[float64](r, (s+1)*s), make([]float64, s), make([]float64, s), make([]float64, s*s)}
	}},
	{kernel: GramSchmidtStep, tolerance: 1e-11, args: func(n int, r *rand.Rand) []any {
		s := side(n / 2)
		return []any{s + 1, s, s / 3, floats[float64](r, (s+1)*s), make([]float64, (s+1)*s), make([]float64, s*s)}
	}},
	{kernel: FDTD2D, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 3, 0.25, floats[float64](r, s*(s+3)), floats[float64](r, s*(s+3)), floats[float64](r, s*(s+3))}
	}},
	{kernel: PrefixStep, args: func(n int, r *rand.Rand) []any { return []any{8, ints[int64](r, n, 99), make([]int64, n)} }},
	{kernel: PrefixSums, args: func(n int, r *rand.Rand) []any {
		total := int64(7)
		return []any{ints[int64](r, n, 99), make([]int64, n), &total}
	}},
	{kernel: Compact, args: func(n int, r *rand.Rand) []any {
		count := 0
		return []any{floats[float32](r, n), make([]float32, n), &count}
	}},
	{kernel: RowScans, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		return []any{3, n, floats[float32](r, 3*n), make([]float32, 3*n), make([]int32, 3*n), make([]float64, 3*n)}
	}},
	{kernel: KMeans, args: func(n int, r *rand.Rand) []any {
		return []any{3, floats[float32](r, 3*n), floats[float32](r, 15), ints[int32](r, n, 5), make([]int32, 5), make([]int64, 15), make([]int32, 1)}
	}},
	{kernel: SpMVELL, args: func(n int, r *rand.Rand) []any {
		col := ints[int32](r, 5*n, n+2)
		for i := range col {
			col[i] = min(col[i], int32(n)) - 1
		}
		return []any{5, col, floats[float64](r, 5*n), floats[float64](r, n), make([]float64, n)}
	}},
	{kernel: BlockRows, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		k := len(m[1].([]int32))
		return []any{m[0], m[1], floats[float32](r, 6*k), floats[float32](r, 2*n), make([]float32, 3*n)}
	}},
	{kernel: NearRows, args: func(n int, r *rand.Rand) []any {
		return []any{n, 5, 3, ints[int32](r, 3*n, n), floats[float32](r, 5*n), make([]float32, 3*n)}
	}},
	{kernel: AddBehind, args: func(n int, r *rand.Rand) []any {
		return []any{n, 4, ints[int32](r, 4*n, n), floats[float32](r, n), make([]float32, 2*n), make([]float32, 2*n)}
	}},
	{kernel: BFSLevel, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		depth := make([]int32, n)
		for i := range depth {
			depth[i] = int32(r.IntN(5)) - 1
		}
		return []any{int32(1), m[0], m[1], depth, make([]int32, 1)}
	}},
	{kernel: MonteCarloPi, args: func(n int, r *rand.Rand) []any { return []any{n, uint64(42), make([]int64, 1)} }},
	{kernel: EP, tolerance: 1e-11, args: func(n int, r *rand.Rand) []any { return []any{n, uint64(7), make([]int64, 10), make([]float64, 2)} }},
	{kernel: CGStep, tolerance: 1e-11, args: func(n int, r *rand.Rand) []any {
		m := csr(r, n)
		return []any{m[0], m[1], m[2], floats[float64](r, n), floats[float64](r, n), floats[float64](r, n), make([]float64, n), []float64{3}}
	}},
	{kernel: CellLists, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		boxes := n/20 + 1
		first, near := make([]int32, boxes+1), ints[int32](r, 3*boxes, boxes)
		for b := range boxes {
			first[b+1] = first[b] + int32(r.IntN(12))
		}
		p := make([]Particle4, first[boxes])
		for i := range p {
			p[i] = Particle4{r.Float64(), r.Float64(), r.Float64(), r.Float64()}
		}
		return []any{first, near, p, make([]Particle4, len(p))}
	}},
	{kernel: Tracks, args: func(n int, r *rand.Rand) []any {
		tracks := n / 60
		return []any{12, 3, 6, floats[float32](r, 12*12), ints[int32](r, tracks, 4), ints[int32](r, tracks, 4),
			floats[float32](r, 9*tracks), make([]int32, tracks), make([]float32, tracks)}
	}},
	{kernel: LUFactor, args: func(n int, r *rand.Rand) []any {
		s := side(n / 4)
		a := floats[float64](r, s*s)
		for i := range s {
			a[i*s+i] += 4
		}
		return []any{s, a}
	}},
	{kernel: WeightedSum, tolerance: 1e-6, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n), floats[float32](r, n), make([]float32, n)}
	}},
	{kernel: CGProduct, tolerance: 1e-11, args: func(n int, r *rand.Rand) []any {
		m, pq := csr(r, n), 3.0
		return []any{m[0], m[1], m[2], floats[float64](r, n), make([]float64, n), &pq}
	}},
	{kernel: LayerNorm, tolerance: 1e-3, args: func(n int, r *rand.Rand) []any {
		m := max(n/7, 1)
		return []any{m, float32(0.5), floats[float32](r, m), floats[float32](r, m), floats[float32](r, n)}
	}},
	{kernel: SHA256, args: func(n int, r *rand.Rand) []any {
		k, blocks := make([]uint32, 64), make([][16]uint32, n)
		for i := range k {
			k[i] = r.Uint32()
		}
		for i := range blocks {
			blocks[i] = [16]uint32(ints[uint32](r, 16, 1<<32))
		}
		return []any{k, blocks, make([]Digest, n)}
	}},
	{kernel: FFTStage, args: func(n int, r *rand.Rand) []any {
		size := 1 << bits.Len(uint(n))
		half := 1 << r.IntN(bits.Len(uint(n))+1)
		points := func(n int) []Complex {
			out := make([]Complex, n)
			for i := range out {
				out[i] = Complex{r.NormFloat64(), r.NormFloat64()}
			}
			return out
		}
		return []any{max(half/2, 1), points(size), points(size), points(size)}
	}},
	{kernel: TriangularSolve, args: triangular},
	{kernel: Queens, args: func(n int, r *rand.Rand) []any { return []any{n % 8, []int64{3}} }},
	{kernel: Life, args: func(n int, r *rand.Rand) []any {
		h, w := side(n/2), side(n/2)+1
		old := make([]uint64, h*w)
		for i := range old {
			old[i] = r.Uint64() & r.Uint64()
		}
		return []any{h, w, old, make([]uint64, h*w)}
	}},
}

// triangular makes a lower triangular matrix of n rows, with the rows that may be solved together one after the other.
func triangular(n int, r *rand.Rand) []any {
	start, level, depth := []int32{0}, []int32{0}, make([]int, n)
	var col, rows []int32
	for i := range n {
		for range min(i, r.IntN(4)) {
			j := r.IntN(i)
			col, depth[i] = append(col, int32(j)), max(depth[i], depth[j]+1)
		}
		col = append(col, int32(i))
		start = append(start, int32(len(col)))
	}
	for l := 0; len(rows) < n; l++ {
		for i := range n {
			if depth[i] == l {
				rows = append(rows, int32(i))
			}
		}
		level = append(level, int32(len(rows)))
	}
	val := floats[float64](r, len(col))
	for i := range n {
		val[start[i+1]-1] = 2 + r.Float64()
	}
	return []any{level, rows, start, col, val, floats[float64](r, n), make([]float64, n)}
}

// matrices makes the arguments of a kernel of count square matrices of side s.
func matrices[T float32 | float64](r *rand.Rand, s int, scalars []any, count int) []any {
	out := append([]any{s}, scalars...)
	for range count {
		out = append(out, floats[T](r, s*s))
	}
	return out
}
