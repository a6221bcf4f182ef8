package codegen_test

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels of language_test.go: a part of the Go subset each, in parallel loops. Their helpers are here and in
// language_helpers_test.go.

//omp:target
//omp:task inout(x) in(y)
func LangHelpers(x, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		q, r := divmod(y[i]*7, i%5+1)
		lo, _, hi := three(q, r)
		x[i] = lo + hi + chain(r) + sumOf(q, r, i)
	}
}

//omp:target
//omp:task inout(p)
func LangStructs(p []body) {
	//omp:teams distribute parallel for
	for i := range p {
		b := &p[i]
		b.pos[0] += 0.5 * b.vel.x
		b.pos[1] += 0.5 * b.vel.y
		old := *b
		p[i].vel = turned(old.vel)
		if old.tag == 3 || old.vel == (vector{}) {
			b.tag, b.id = 9, old.id*2
		}
		push(b)
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangLocalArrays(n int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var count [8]int
		var grid [3][4]int
		for j := 0; j < n; j += 3 {
			count[y[j]&7]++
			grid[y[j]%3][j%4] += j
		}
		last := count
		insertionSort(count[2:7])
		x[i] = count[2]*1000 + count[6] - last[y[i]&7] + grid[i%3][i%4]
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangSlices(rows, cols int, x, y []int) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		row := x[r*cols : (r+1)*cols]
		from := y[r*cols:][:cols]
		half := row[len(row)/2:]
		copyInto(row[:len(row)/2], from)
		for i := range half {
			half[i] = from[i] + len(half) - len(row[:i])
		}
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangFlow(x, y []int) {
	//omp:teams distribute parallel for
outer:
	for i := range x {
		s := 0
	scan:
		for j := range y {
			switch v := y[j]; {
			case v == i%7:
				continue scan
			case v > 8 && i%2 == 0:
				s += 100
				break scan
			case s > 50:
				x[i] = -s
				continue outer
			}
			switch y[j] % 4 {
			case 0, 1:
				s++
				fallthrough
			case 2:
				s += 2
			default:
				if s%5 == 4 {
					break
				}
				s += 3
			}
		}
		x[i] = s
	}
}

// LangGeneric runs through language_test.go's wrappers for its instances.
//
//omp:target
//omp:task inout(x) in(y)
func LangGeneric[T kernel.Float, I kernel.Integer](a T, x []T, y []I) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = clamp(a*x[i]+T(y[i]), -3, 3) + kernel.Sqrt(kernel.Abs(x[i])) + T(clamp(y[i], 1, 5))
	}
}

// LangForAll is one loop, with its directive, for every body.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, figure 7.2.
//
//omp:target
//omp:task inout(y) in(x)
func LangForAll(a float32, x, y []float32) {
	forAll(0, len(x), func(i int) {
		y[i] += a * x[i]
	})
	shift := float32(1)
	forAll(1, len(x), func(i int) {
		t := y[i] * shift
		if t > 1 {
			return
		}
		y[i] = t + x[i-1]
	})
}

//omp:target
//omp:task inout(x, *total) in(y)
func LangLiterals(total *int, x, y []int) {
	scale := 3
	//omp:teams distribute parallel for
	for i := range x {
		at := func(j int) int { return y[(i+j)%len(y)] * scale }
		x[i] = mapReduce(4, at, func(a, b int) int { return a*2 - b })
	}
	sum := 0
	//omp:teams distribute parallel for reduction(+: sum)
	for i := range x {
		sum += apply(func(v int) int { return v & 15 }, x[i])
	}
	*total += sum
}

//omp:target
//omp:task inout(x) in(y)
func LangIntegers(x []int64, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := y[i%len(y)]
		a, b, c, d := int8(v*37), uint8(v*91), int16(v*-3001), uint32(v)*2654435761
		a += 100
		b -= 200
		c *= c
		d = d<<7 | d>>25
		s := uint(v)
		var r int64
		r += int64(a) + int64(b)<<8 + int64(c)<<16
		r ^= int64(d) << (s * 9)
		r += int64(-17/(v+1)) + int64(-17%(v+1)) + int64(int8(-128)/int8(v%2*2-1))
		r ^= int64(uint64(math.MaxUint64)>>s) ^ math.MinInt64>>(s*8) ^ int64(int32(math.MinInt32)>>(s*4))
		r &^= 1 << (s & 3)
		r += int64(int32(x[i]) * 65537 * 4099)
		x[i] = r - int64(^b) + int64(-d) + int64(+c)
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangConversions(x []float64, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		f := x[i] * 1000
		n := y[i%len(y)]
		x[i] = float64(int8(int(f))) + float64(uint16(int32(f))) + float64(float32(f)/3) + float64(uint64(n)*uint64(n)) + float64(int64(float32(n)*16777217))
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangBits(x []uint64, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]*0x9E3779B97F4A7C15 + uint64(y[i%len(y)])
		hi, lo := bits.Mul64(v, v|1)
		sum, carry := bits.Add64(hi, lo, v&1)
		r := uint64(bits.OnesCount64(v)) + uint64(bits.LeadingZeros32(uint32(v)))<<8 + uint64(bits.TrailingZeros16(uint16(v)))<<16
		r ^= bits.RotateLeft64(v, y[i%len(y)]) ^ uint64(bits.Reverse32(uint32(v))) ^ uint64(bits.ReverseBytes16(uint16(v))) + uint64(bits.Len8(uint8(v)))
		x[i] = r + sum ^ carry + math.Float64bits(float64(uint32(v))) + uint64(math.Float32bits(float32(v>>40)))
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangMath(x, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		v, w := x[i]*3, y[i%len(y)]
		s := math.Sqrt(math.Abs(v)) + math.Floor(v) - math.Ceil(w) + math.Trunc(v*w) + math.Copysign(1, v) + math.Max(v, w)*math.Min(v, w)
		x[i] = s + math.FMA(v, w, s) + float64(kernel.FMA(float32(v), 2, 1)) + math.Round(v*10) + math.Mod(v, 0.75) + math.Hypot(3, 4)
	}
}

//omp:target
//omp:task inout(x, narrow) in(y)
func LangTranscendental(x [][11]float64, narrow [][3]float32, y []float64) {
	//omp:teams distribute parallel for
	for i := range y {
		v := y[i]
		x[i][0], x[i][1], x[i][2], x[i][3] = math.Exp(v), math.Log(v+2), math.Sin(v*9), math.Cos(v*9)
		x[i][4], x[i][5], x[i][6], x[i][7] = math.Tan(v), math.Atan2(v, 2), math.Pow(v+2, v), math.Tanh(v)
		x[i][8], x[i][9], x[i][10] = math.Cbrt(v), math.Log1p(v*v), math.Erf(v)
		w := float64(float32(v))
		narrow[i] = [3]float32{float32(math.Exp(w)), float32(math.Sin(w)), float32(math.Tanh(w))}
	}
}

//omp:target
//omp:task inout(x) in(y)
func LangOrphans(rows, cols int, x, y []int) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		row := x[r*cols : (r+1)*cols]
		//omp:parallel
		{
			scaleRow(row, y[r])
			kernel.Barrier()
			firstOf(row)
		}
	}
}

// LangOutOfRange converts what does not fit, NaN and infinities too, and takes integers past their ends.
//
//omp:target
//omp:task inout(x) in(f, y)
func LangOutOfRange(x []uint64, f []float64, y []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		v, w := f[i%len(f)], float32(f[(i*7)%len(f)])
		r := uint64(int8(v)) ^ uint64(int16(v))<<3 ^ uint64(int32(v))<<7 ^ uint64(int64(v))<<11
		r ^= uint64(uint8(v))<<1 ^ uint64(uint16(v))<<5 ^ uint64(uint32(v))<<9 ^ uint64(v)<<13
		r += uint64(int8(w)) ^ uint64(int16(w))<<3 ^ uint64(int32(w))<<7 ^ uint64(int64(w))<<11
		r ^= uint64(uint8(w))<<1 ^ uint64(uint16(w))<<5 ^ uint64(uint32(w))<<9 ^ uint64(w)<<13
		r ^= uint64(int(v)) ^ uint64(uint(w))
		n := y[i%len(y)]
		if n != 0 {
			r ^= uint64(math.MinInt64/n) ^ uint64(math.MinInt64%n)<<2 ^ uint64(int32(math.MinInt32)/int32(n|1))<<4
			r ^= uint64(int8(-128)/int8(n|1)) ^ uint64(int8(-128)%int8(n|1))
		}
		s := uint64(n)
		r ^= 1<<s ^ uint64(n)>>s ^ uint64(n>>s) ^ uint64(int32(n)<<s) ^ uint64(int8(n)>>s) ^ uint64(uint16(n)<<(s&31))
		r += uint64(float32(n)) ^ math.Float64bits(float64(uint64(n))) ^ uint64(math.Float32bits(float32(uint64(n))))
		x[i] = r
	}
}

// LangSpecials compares, orders and rounds NaN, infinities and zeros of both signs.
//
//omp:target
//omp:task inout(x) in(f)
func LangSpecials(x []uint64, f []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		v, w := f[i%len(f)], f[(i*5+1)%len(f)]
		a, b := float32(v), float32(w)
		r := uint64(0)
		if v < w {
			r |= 1
		}
		if v <= w || a != b {
			r |= 2
		}
		if !(v > w) && a >= b {
			r |= 4
		}
		if v == w {
			r |= 8
		}
		least, most := min(v, w, 1), max(a, b, -1)
		if least == least {
			r ^= math.Float64bits(least) << 1
		}
		if most == most {
			r ^= uint64(math.Float32bits(most)) << 3
		}
		if q := math.Min(v, w); q == q {
			r += math.Float64bits(q)
		}
		if q := math.Max(v, w) / math.Copysign(1, w); q == q {
			r += math.Float64bits(q)
		}
		if q := math.Round(v) + math.RoundToEven(w) + math.Floor(v) - math.Ceil(w) + math.Trunc(w); q == q {
			r ^= math.Float64bits(q)
		}
		if q := float64(v*w) + v; q == q { // rounded twice, also by a compiler of Go that fuses
			r += math.Float64bits(q)
		}
		if q := float32(a*b) - a; q == q {
			r += uint64(math.Float32bits(q))
		}
		x[i] = r
	}
}

// LangClasses asks what kind of a float it has.
//
//omp:target
//omp:task inout(x) in(f)
func LangClasses(x []uint64, f []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		v, w := f[i%len(f)], f[(i*5+1)%len(f)]
		r := uint64(0)
		if math.IsInf(v, 1) || math.IsInf(w, -1) || math.Signbit(w) {
			r |= 1
		}
		if math.IsNaN(v) != math.IsNaN(float64(float32(w))) || math.IsInf(float64(float32(v)), 0) {
			r |= 2
		}
		x[i] = r
	}
}

type cell struct {
	rows [3][4]int32
	part [2]struct {
		at  vector
		tag [3]uint8
	}
}

// LangDeep reaches into structs of arrays of structs, slices of their parts and pointers to them.
//
//omp:target
//omp:task inout(x) in(y)
func LangDeep(x []cell, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		c := &x[i]
		row := c.rows[i%3][1:3]
		row[0], row[1] = row[1]+1, int32(y[i%len(y)])
		p := &c.part[i&1].tag
		p[2] += uint8(len(row) + cap(row))
		for k, v := range c.part {
			c.part[k].at.x = v.at.y + float32(k)
			tail := c.part[k].tag[:]
			for j := range tail[1:] {
				tail[1+j] ^= tail[j] + v.tag[2]
			}
		}
		whole := c.rows
		swapRows(&c.rows, i%3, (i+1)%3)
		grid := [2][2]vector{{{1, 2}, {}}, {1: {x: float32(i)}}}
		grid[1][0] = grid[i&1][1]
		c.part[0].at.y += grid[1][0].x + grid[0][0].y + float32(whole[2][3])
		if c.rows == whole {
			c.rows[0][0] = -1
		}
	}
}

// LangLoops runs every form of loop, with jumps between them.
//
//omp:target
//omp:task inout(x) in(y)
func LangLoops(x, y []int) {
	//omp:teams distribute parallel for
	for i := len(x) - 1; i >= 0; i-- {
		s := 0
		for range 3 {
			s += 2
		}
		for j := range 4 {
			for k := j; k != 6; k++ {
				if k == 4 {
					continue
				}
				s += k * j
			}
		}
		corners := [4]int{3, 1, 4, 1}
		for j, c := range corners {
			corners[3-j] = s // range keeps what it began with
			s += c
		}
		n := y[i%len(y)]
	halve:
		for n > 0 {
			switch {
			case n&1 == 1:
				n--
				continue halve
			case n > 100:
				break halve
			}
			n /= 2
			s++
		}
		for a, b := 0, 10; a < b; a, b = a+1, b-2 {
			s += a * b
		}
	search:
		for j := 0; ; j++ {
			for k := len(y) - 1; k >= 0; k -= 2 {
				if j*k > 7 || j > 9 {
					break search
				}
			}
			s ^= j
		}
		add := func(v int) int { s += v; return s }
		x[i] = add(n) - add(1)*2
	}
}

//omp:target device(acc, smp)
//omp:task in(y) inout(x)
func LangLaneByLane(x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		for k := 0; k < 3; k++ {
			held := 0
			//omp:atomic capture
			{
				held = x[i]
				x[i] += y[i%len(y)] + y[min(i, len(y)-1)] + k
			}
			if held > 50 {
				x[i] -= 7
			}
		}
	}
}

// LangSafelen has loops of which some iterations may run at once, and no more.
//
//omp:target device(acc, smp)
//omp:task in(y) inout(x)
func LangSafelen(x, y []int) {
	//omp:simd safelen(4)
	for i := 4; i < len(x); i++ {
		x[i] = x[i-4] + y[i%len(y)]
	}
	//omp:teams distribute parallel for
	for r := 0; r < len(x)/8; r++ {
		s := 0
		//omp:simd safelen(2) reduction(+: s)
		for i := 2; i < 8; i++ {
			x[r*8+i] += x[r*8+i-2]
			s += x[r*8+i]
		}
		x[r*8] += s
	}
}

// LangFirstAndLast begins each iteration with what a variable held, and leaves there what the last one made of it.
//
//omp:target device(acc, smp)
//omp:task inout(x, y)
func LangFirstAndLast(x, y []int) {
	k := y[0]
	//omp:teams distribute parallel for firstprivate(k) lastprivate(k)
	for i := 0; i < len(x); i++ {
		x[i] += k
		if i == len(x)-1 {
			k = x[i]
		}
	}
	y[0] = k
	//omp:parallel
	{
		//omp:for firstprivate(k) lastprivate(k)
		for i := 0; i < len(x); i++ {
			x[i] += k
			if i == len(x)-1 {
				k = 100
			}
		}
		//omp:for
		for i := 0; i < len(x); i++ {
			x[i] -= k
		}
	}
}

// LangEnds has loops whose counters come near the ends of their types: a thread of a grid goes past the last iteration, and must not come
// back from the other end.
//
//omp:target
//omp:task inout(y)
func LangEnds(n int, y []int64) {
	//omp:teams distribute parallel for
	for i := int64(math.MaxInt64 - 10); i < math.MaxInt64-1; i += 2 {
		y[math.MaxInt64-i] += i >> 40
	}
	//omp:teams distribute parallel for schedule(static, 3)
	for i := math.MinInt64 + 9; i >= math.MinInt64+2; i -= 2 {
		y[i-math.MinInt64] -= int64(i) >> 33
	}
	hi := math.MaxInt64 - n%30
	//omp:teams distribute
	for i := math.MaxInt64 - 30; i < hi; i++ {
		y[math.MaxInt64-i] ^= int64(i & 7)
	}
	//omp:teams distribute parallel for
	for i := uint32(math.MaxUint32 - 40); i < math.MaxUint32-3; i += 2 {
		y[math.MaxUint32-i] += int64(i)
	}
	//omp:teams distribute parallel for
	for i := int8(126); i > -120; i -= 4 {
		y[int(i)+128] ^= int64(i)
	}
}

// LangLongSteps has steps that are longer than what they step through: each makes one iteration or few, however many threads there are.
//
//omp:target
//omp:task inout(y)
func LangLongSteps(n, step int, y []int64) {
	last := -1
	//omp:teams distribute parallel for
	for i := 0; i < n; i += math.MaxInt64 {
		y[i] += 3
	}
	//omp:parallel for
	for i := n; i > 0; i -= 1 << 61 {
		y[i] ^= 5
	}
	//omp:teams distribute parallel for lastprivate(last)
	for i := 0; i <= n; i += 1 << 62 {
		y[i] *= 3
		last = i
	}
	//omp:teams distribute parallel for
	for i := 0; i < n; i += step {
		y[i] -= 7
	}
	//omp:teams distribute parallel for schedule(dynamic)
	for i := n; i >= 0; i -= step {
		y[i] *= 5
	}
	//omp:teams distribute
	for i := n - 1; i > -1; i += -step {
		y[i]++
	}
	y[n+1] = int64(last)
}

//omp:target
//omp:task inout(y)
func LangPastInt64(n int, y []int64) {
	//omp:parallel for
	for i := uint64(1<<63 - 3); i < 1<<63+uint64(n%9); i++ {
		y[i-(1<<63-3)] *= 3
	}
}

// LangReducedTwice reduces into one variable again and again, between code that reads it and code that sets it.
//
//omp:target
//omp:task inout(x, y)
func LangReducedTwice(x, y []int) {
	s, most := y[0], -1
	//omp:teams distribute parallel for reduction(+: s) reduction(max: most)
	for i := range x {
		s += x[i]
		most = max(most, x[i])
	}
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += i
	}
	if s%2 == 0 {
		//omp:parallel for reduction(^: s) reduction(max: most)
		for i := range x {
			s ^= x[i]
			most = max(most, i)
		}
	}
	y[0] = s
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * most
	}
	y[len(y)-1] += s
}
