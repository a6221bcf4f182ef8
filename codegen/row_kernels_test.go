package codegen_test

import "math/rand/v2"

// Iterations that each go along a row, dealt one a thread: what the device makes of them has the
// bits of the Go function.

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowNormalised(n, m int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		most, sum := x[i*m], float32(0)
		for j := 0; j < m; j++ {
			most = max(most, x[i*m+j])
		}
		for j := 0; j < m; j++ {
			sum += 1 / (1 + most - x[i*m+j])
		}
		for j := 0; j < m; j++ {
			y[i*m+j] = (x[i*m+j] - most) / sum
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func RowStandardised(n, m int, x []float64) {
	//omp:loop
	for i := 0; i < n; i++ {
		row := i * m
		var s, q float64
		for j := 0; j < m; j++ {
			v := x[row+j]
			s += v
			q += v * v
		}
		mean := s / float64(m)
		scale := 1 / (1 + q/float64(m) - mean*mean)
		for j := 0; j < m; j++ {
			x[row+j] = (x[row+j] - mean) * scale
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y, last)
func RowRunning(n, m int, x []int32, y []int64, last []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s, before := int64(0), int32(7)
		for j := 0; j < m; j++ {
			s = 3*s + int64(x[i*m+j])
			y[i*m+j] = s
			before = x[i*m+j]
		}
		last[i] = before
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(x)
func RowInPlace(n, m int, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := float32(0)
		for j := 1; j < m; j++ {
			s = 0.5*s + x[i*m+j]
			x[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, w) inout(least, at)
func RowLeast(n, m int, x, w, least []float32, at []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, where := x[i*m], 0
		for j := 1; j < m; j++ {
			v := x[i*m+j] * w[j]
			if v < best {
				best, where = v, j
			}
		}
		least[i], at[i] = best, int32(where)
	}
}

//omp:target device(acc, smp)
//omp:task in(x, y) inout(z)
func RowSteps(n, m int, x, y []float32, z []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s, t float64
		for j := 0; j < m; j++ {
			if x[i*m+j] > 0.25 {
				s += float64(x[i*m+j]) * float64(y[i*m+j])
			} else if j > 0 {
				t += float64(x[i*m+j-1])
			}
		}
		z[i] = s - t
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y, total)
func RowBytes(n, m int, x []uint8, y []uint16, total []int64) {
	all := int64(0)
	//omp:teams distribute parallel for reduction(+: all)
	for i := 0; i < n; i++ {
		odd, sum := false, uint16(0)
		for j := 0; j < m; j++ {
			odd = odd != (x[i*m+j]%3 == 1)
			sum = sum*5 + uint16(x[i*m+j])
		}
		if odd {
			sum++
		}
		y[i] = sum
		all += int64(sum)
	}
	total[0] = all
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowsApart(n, m int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 2; i < n; i++ {
		s := float32(i)
		for j := 0; j < m-1; j++ {
			s = s*0.5 + x[i*m+j]
			y[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, w) inout(y, z)
func RowUpright(n, m int, x, w, y []float32, z []int32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		s, most, at := y[j], x[j], 0
		for i := 0; i < n; i++ {
			v := x[i*m+j]
			s += v * w[i]
			if v > most {
				most, at = v, i
			}
		}
		y[j], z[j] = s*most, int32(at)
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func RowUprightRunning(n, m int, x []float64) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		s := 0.0
		for i := 0; i < n; i++ {
			s = 0.5*s + x[i*m+j]
			x[i*m+j] = s
		}
	}
}

// RowCounts reads a row in loops of every kind: what shows no order, what does, and what is apart.
//
//omp:target device(acc, smp)
//omp:task in(x, w) inout(y, count)
func RowCounts(n, m int, x, w, y []float32, count []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		least, most := float32(1), float32(-1)
		for j := 0; j < m; j++ {
			least = min(least, x[i*m+j])
			most = max(most, x[i*m+j])
		}
		middle, n := (least+most)/2, int32(0)
		for k := 0; k < m; k++ {
			if x[i*m+k] > middle {
				n++
			}
		}
		s := float32(0)
		for j := 0; j < m; j++ {
			s = 0.5*s + w[j]/(2+x[i*m+j])
		}
		count[i] = n
		for j := 0; j < m; j++ {
			v := w[j]/(2+x[i*m+j]) - s + least
			if v < 0 {
				v = float32(n)
			}
			y[i*m+j] = v * w[j]
		}
	}
}

// RowTriangle adds up the columns of a triangle.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowTriangle(n int, x, y []float32) {
	//omp:teams distribute parallel for schedule(static)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += x[i*n+j]
		}
		y[j] = s
	}
}

// A schedule deals out iterations as it says, or blocks of them where neighbours read together: no
// kernel here can tell which.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowTriangleDynamic(n int, x, y []float32) {
	//omp:teams distribute parallel for schedule(dynamic)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += x[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowTriangleCyclic(n int, x, y []float32) {
	//omp:teams distribute parallel for schedule(cyclic)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += x[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowsGuided(n, m int, x, y []float32) {
	//omp:teams distribute parallel for schedule(guided, n)
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 0; j < m; j++ {
			s = s*0.5 + x[i*m+j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowsCounted(n, m int, x, y []float32) {
	//omp:teams distribute parallel for schedule(counter, 5)
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 0; j < m; j++ {
			s = s*0.5 + x[i*m+j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowsOneToOne(n, m int, x, y []float32) {
	//omp:teams distribute parallel for schedule(onetoone)
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 0; j < m; j++ {
			s = s*0.5 + x[i*m+j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowsCyclic(n, m int, x, y []float32) {
	//omp:teams distribute parallel for schedule(cyclic, 2)
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 0; j < m; j++ {
			s = s*0.5 + x[i*m+j]
		}
		y[i] = s
	}
}

// RowCrossed goes along a row by steps that each wait for the one before, and down a column.
//
//omp:target device(acc, smp)
//omp:task in(x, w) inout(y)
func RowCrossed(n, m int, x, w, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 0; j < m; j++ {
			s = 1 / (s + x[i*m+j])
		}
		t := s
		for j := 0; j < m; j++ {
			t = t*0.5 + w[j*n+i]
		}
		y[i] = t
	}
}

// RowNearest compares a short row with each of a table.
//
//omp:target device(acc, smp)
//omp:task in(x, table) inout(nearest, far)
func RowNearest(n, d, c int, x, table []float32, nearest []int32, far []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, most, at := float32(1e30), float32(-1), -1
		for k := 0; k < c; k++ {
			var s float32
			for j := 0; j < d; j++ {
				e := x[i*d+j] - table[k*d+j]
				s += e * e
			}
			if s < best {
				best, at = s, k
			}
			most = max(most, s)
		}
		nearest[i], far[i] = int32(at), most
	}
}

// RowVotes has rows of two slices, of which one begins late, and a condition.
//
//omp:target device(acc, smp)
//omp:task in(x, w, table) inout(votes)
func RowVotes(n, d, c int, x, w, table []float64, votes []int64) {
	//omp:teams distribute parallel for
	for i := 1; i < n; i++ {
		v := int64(0)
		for k := 0; k < c; k++ {
			s := table[k]
			for j := 1; j < d; j++ {
				e := w[i*d+j]
				if x[(i-1)*d+j] > table[j] {
					s += e
				} else {
					s -= e * x[(i-1)*d+j]
				}
			}
			if s > 0 {
				v = 3*v + 1
			}
		}
		votes[i] = v
	}
}

// RowTwice reads a short row twice for each step of a loop, and no table.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowTwice(n, d, steps int, x []int32, y []int64) {
	//omp:teams distribute parallel for schedule(dynamic)
	for i := 0; i < n; i++ {
		a, b := int64(i), int64(1)
		for t := 0; t < steps; t++ {
			for j := 0; j < d; j++ {
				a = a*5 + int64(x[i*d+j]) + b
			}
			for j := 0; j < d; j++ {
				b ^= a + int64(x[i*d+j])
			}
		}
		y[i] = a ^ b
	}
}

// RowWeighted adds up rows that may be short, against weights.
//
//omp:target device(acc, smp)
//omp:task in(x, w) inout(y)
func RowWeighted(n, d int, x, w, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := float32(i)
		for j := 1; j < d; j++ {
			s = s*0.5 + x[i*d+j]*w[j]
		}
		y[i] = s
	}
}

// RowClasses reads a row that may be short three times, and writes another.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RowClasses(n, d int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		most, s := float32(-1), float32(0)
		for j := 0; j < d; j++ {
			most = max(most, x[i*d+j])
		}
		for j := 0; j < d; j++ {
			s += 1 / (1 + most - x[i*d+j])
		}
		for j := 0; j < d; j++ {
			y[i*d+j] = (most - x[i*d+j]) / s
		}
	}
}

// RowOnto writes what may be the rows that it reads.
//
//omp:target device(acc, smp) overlap(ok)
//omp:task in(x) inout(y)
func RowOnto(n, d, c int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for k := 0; k < c; k++ {
			for j := 0; j < d; j++ {
				s = 0.5*s + x[i*d+j]*float32(k-j)
			}
		}
		y[i] = s
	}
}

// RowBand goes along the rows of a band, whose weights are those of a distance.
//
//omp:target device(acc, smp)
//omp:task in(x, w) inout(y, z)
func RowBand(n, m, b int, x, w []float64, y, z []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := 0.0
		for j := max(0, i-b); j < min(m, i+b+1); j++ {
			s += x[i*m+j] * w[j-i+b]
			z[i*m+j] = s
		}
		y[i] = s
	}
}

// RowTurned goes along the rows of a triangle whose rows become shorter, and then changes them.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func RowTurned(n int, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := float32(1)
		for j := i; j < n; j++ {
			s = s*0.5 + x[i*n+j]
		}
		for j := 0; j < n-i; j++ {
			x[i*n+j] /= s*s + 1
		}
	}
}

// RowChecks has a table and a loop in each step.
//
//omp:target device(acc, smp)
//omp:task in(text, table) inout(sum)
func RowChecks(n, m int, text, table, sum []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		c := ^uint32(0)
		for j := 0; j < m; j++ {
			w := text[i*m+j]
			for b := 0; b < 4; b++ {
				c = table[(c^w)&255] ^ c>>8
				w >>= 8
			}
		}
		sum[i] = ^c
	}
}

// RowStates walks a table of states by bytes, and writes each.
//
//omp:target device(acc, smp)
//omp:task in(text, next) inout(state, last)
func RowStates(n, m int, text, next, state []uint8, last []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		at := uint8(i)
		for j := 0; j < m; j++ {
			at = next[int(at&15)*16+int(text[i*m+j]>>4)]
			state[i*m+j] = at
		}
		last[i] = int32(at)
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func PointsBetween(n, m int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < 2*n-2; i++ {
		for j := 0; j < 2*m-2; j++ {
			u, p, q := i/2, float32(i%2)*0.5, float32(j%2)*0.5
			top := x[u*m+j/2]*(1-q) + x[u*m+j/2+1]*q
			low := x[(u+1)*m+j/2]*(1-q) + x[(u+1)*m+j/2+1]*q
			y[i*(2*m-2)+j] = top*(1-p) + low*p
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, row) inout(y)
func PointsNumbered(n, m int, x, row, y []float32) {
	//omp:teams distribute parallel for
	for at := 0; at < n*m; at++ {
		i, j := at/m, at%m
		y[j*n+i] = x[i*m+j] + row[at%4]*float32(i-j)
	}
}

// PartsDots are products of few long rows with one vector.
//
//omp:target device(acc, smp) contract
//omp:task in(a, x, from) inout(y)
func PartsDots(n, m int, a, x, from, y []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := from[i]
		scale := 1 + from[i]
		//omp:simd reduction(+: s)
		for j := 0; j < m; j++ {
			s += a[i*m+j] * x[j] * scale
		}
		y[i] = s / scale
	}
}

// PartsLags are sums over one signal, each with another distance.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(r)
func PartsLags(n, m int, x, r []int32) {
	//omp:teams distribute parallel for
	for k := 1; k <= m; k++ {
		s := r[k-1]
		for i := 2; i < n-m; i++ {
			s += x[i] * x[i+k]
		}
		r[k-1] = s
	}
}

// PartsExtremes finds the most and the least of few long rows, and what all have in common.
//
//omp:target device(acc, smp)
//omp:task in(x, z) inout(most, least, common)
func PartsExtremes(n, m int, x []float32, z []int64, most, least []float32, common []int64) {
	//omp:loop
	for i := 0; i < n; i++ {
		high, low, bits := float32(-2), x[i*m], int64(-1)
		for j := 1; j < m; j++ {
			high = max(high, x[i*m+j])
			low = min(low, x[i*m+j])
			bits &= z[i*m+j]
		}
		most[i], least[i], common[i] = high, low, bits
	}
}

// PartsColumns adds up few long columns.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(mean, variance)
func PartsColumns(n, m int, x, mean, variance []float64) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		var s, q float64
		//omp:simd reduction(+: s, q)
		for i := 0; i < n; i++ {
			s += x[i*m+j]
			q += x[i*m+j] * x[i*m+j]
		}
		mean[j] = s / float64(n)
		variance[j] = q/float64(n) - s/float64(n)*(s/float64(n))
	}
}

// PartsCounts counts in few long columns, but in the first.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(count)
func PartsCounts(n, m int, x []float32, count []int32) {
	//omp:teams distribute parallel for
	for j := 1; j < m; j++ {
		c := count[j]
		for i := 1; i < n; i++ {
			if x[i*m+j] > x[j] {
				c++
			}
		}
		count[j] = c
	}
}

// PlaneSums sums up each plane of a batch, and its squares: the loop along a plane stands in that
// over the batch.
//
//omp:target device(acc, smp) contract
//omp:task in(x) inout(mean, square)
func PlaneSums(batch, planes, size int, x, mean, square []float64) {
	//omp:teams distribute parallel for
	for c := 0; c < planes; c++ {
		var s, q float64
		for b := 0; b < batch; b++ {
			//omp:simd reduction(+: s, q)
			for p := 0; p < size; p++ {
				v := x[(b*planes+c)*size+p]
				s += v
				q += v * v
			}
		}
		mean[c] = s / float64(batch*size)
		square[c] = q / float64(batch*size)
	}
}

// PlaneScales scales the planes of a batch by the largest element of those that count, which two
// loops find and two write.
//
//omp:target device(acc, smp)
//omp:task in(x, counts) inout(y, most)
func PlaneScales(batch, planes, size int, x []float32, counts []int32, y, most []float32) {
	//omp:teams distribute parallel for
	for c := 0; c < planes; c++ {
		high, seen := float32(1), int32(0)
		for b := batch - 1; b >= 0; b-- {
			n := counts[b*planes+c]
			if n > 2 {
				//omp:simd reduction(max: high)
				for p := 0; p < size; p++ {
					high = max(high, x[(b*planes+c)*size+p])
				}
				seen += n
			} else if n > 0 {
				//omp:simd reduction(max: high)
				for p := 1; p < size; p++ {
					high = max(high, -x[(b*planes+c)*size+p])
				}
				most[b*planes+c] = high
			}
		}
		if seen > 0 {
			for b := 0; b < batch; b++ {
				for p := 0; p < size; p++ {
					y[(b*planes+c)*size+p] = x[(b*planes+c)*size+p] / high
				}
			}
		}
	}
}

// PairClasses counts the pairs of numbers by their distance, but for those that are far apart, and
// keeps what the distances of a class have in common.
//
//omp:target device(acc, smp)
//omp:task in(x, weight) inout(count, bits)
func PairClasses(n, m int, x []float32, weight, count []int32, bits []int64) {
	//omp:teams distribute parallel for
	for i := 1; i < n; i++ {
		at := x[i]
		for j := 2; j < m; j++ {
			c := int(max(at-x[j], x[j]-at) * 20)
			if c > 31 {
				continue
			}
			//omp:atomic
			count[c] -= weight[j]
			if c&1 == 0 {
				//omp:atomic
				bits[i&7] |= 1 << c
			}
		}
	}
}

func init() {
	// Rows that fill tiles and rows that do not; blocks of rows, too.
	sides := func(n int, r *rand.Rand) (int, int) { return side(n)/2 + r.IntN(40), 30 + r.IntN(280) }
	// Rows of which some are so long that a team keeps few of them, one or none.
	long := func(n int, r *rand.Rand) (int, int) {
		if r.IntN(3) > 0 {
			return sides(n, r)
		}
		return r.IntN(7), []int{511, 512, 513, 700 + r.IntN(1000), 2303, 2304, 4607, 4608}[r.IntN(8)]
	}
	triangle := func(n int, r *rand.Rand) []any {
		h := []int{0, 1, 31, 37 + r.IntN(200)}[r.IntN(4)]
		return []any{h, floats[float32](r, h*h), make([]float32, h)}
	}
	along := func(n int, r *rand.Rand) []any {
		h, w := sides(n, r)
		return []any{h, w, floats[float32](r, h*w), make([]float32, h)}
	}
	// Rows that fit the tiles of short rows, and longer ones; tables without entries.
	few := func(n int, r *rand.Rand) (h, d, c int) {
		return n + r.IntN(5), []int{0, 1, 3, 8, 16, 17, 40}[r.IntN(7)], []int{0, 1, 4, 5, 11}[r.IntN(5)]
	}
	corpus = append(corpus, []corpusCase{
		{kernel: RowNormalised, args: func(n int, r *rand.Rand) []any {
			h, w := long(n, r)
			return []any{h, w, floats[float32](r, h*w+1), floats[float32](r, h*w)}
		}},
		{kernel: RowStandardised, args: func(n int, r *rand.Rand) []any {
			h, w := long(n, r)
			return []any{h, w, floats[float64](r, h*w)}
		}},
		{kernel: RowRunning, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			x := make([]int32, h*w)
			for i := range x {
				x[i] = int32(r.Uint32())
			}
			return []any{h, w, x, make([]int64, h*w), make([]int32, h)}
		}},
		{kernel: RowInPlace, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w)}
		}},
		{kernel: RowLeast, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w+1), floats[float32](r, w), make([]float32, h), make([]int32, h)}
		}},
		{kernel: RowSteps, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w), make([]float64, h)}
		}},
		{kernel: RowBytes, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			x := make([]uint8, h*w)
			for i := range x {
				x[i] = uint8(r.Uint32())
			}
			return []any{h, w, x, make([]uint16, h), make([]int64, 1)}
		}},
		{kernel: RowUpright, args: func(n int, r *rand.Rand) []any {
			w, h := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h), floats[float32](r, w), make([]int32, w)}
		}},
		{kernel: RowUprightRunning, args: func(n int, r *rand.Rand) []any {
			w, h := sides(n, r)
			return []any{h, w, floats[float64](r, h*w)}
		}},
		{kernel: PointsBetween, args: func(n int, r *rand.Rand) []any {
			h, w := 1+r.IntN(side(n)), 1+side(n)+r.IntN(9)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, 4*(h-1)*(w-1))}
		}},
		{kernel: PointsNumbered, args: func(n int, r *rand.Rand) []any {
			h, w := r.IntN(side(n)+1), 1+side(n)+r.IntN(9)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, 4), floats[float32](r, h*w)}
		}},
		{kernel: RowCounts, args: func(n int, r *rand.Rand) []any {
			h, w := long(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, w), make([]float32, h*w), make([]int32, h)}
		}},
		{kernel: RowTriangle, args: triangle},
		{kernel: RowTriangleDynamic, args: triangle}, {kernel: RowTriangleCyclic, args: triangle},
		{kernel: RowCrossed, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w), make([]float32, h)}
		}},
		{kernel: RowNearest, args: func(n int, r *rand.Rand) []any {
			h, d, c := few(n, r)
			x := floats[float32](r, h*d)
			if c == 0 { // no row is read
				x = nil
			}
			return []any{h, d, c, x, floats[float32](r, c*d), make([]int32, h), make([]float32, h)}
		}},
		{kernel: RowVotes, args: func(n int, r *rand.Rand) []any {
			h, d, c := few(n, r)
			return []any{h, d, c, floats[float64](r, h*d), floats[float64](r, h*d), floats[float64](r, max(c, d)), make([]int64, h)}
		}},
		{kernel: RowTwice, args: func(n int, r *rand.Rand) []any {
			h, d, c := few(n, r)
			return []any{h, d, c, ints[int32](r, h*d, 1000), make([]int64, h)}
		}},
		{kernel: RowWeighted, args: func(n int, r *rand.Rand) []any {
			h, d, _ := few(n, r)
			return []any{h, d, floats[float32](r, h*d), floats[float32](r, d), make([]float32, h)}
		}},
		{kernel: RowClasses, args: func(n int, r *rand.Rand) []any {
			h, d, _ := few(n, r)
			return []any{h, d, floats[float32](r, h*d), floats[float32](r, h*d)}
		}},
		{kernel: RowOnto, args: func(n int, r *rand.Rand) []any {
			h, d, c := few(n, r)
			return []any{h, d, c, floats[float32](r, h*d), floats[float32](r, h)}
		}},
		{kernel: RowsGuided, args: along}, {kernel: RowsCounted, args: along}, {kernel: RowsOneToOne, args: along}, {kernel: RowsCyclic, args: along},
		{kernel: RowBand, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			b := []int{0, 5, 40 + r.IntN(60), 500}[r.IntN(4)]
			return []any{h, w, b, floats[float64](r, h*w), floats[float64](r, 2*b+1), make([]float64, h), make([]float64, h*w)}
		}},
		{kernel: RowTurned, args: func(n int, r *rand.Rand) []any {
			h := []int{0, 1, 32, 37 + r.IntN(200)}[r.IntN(4)]
			return []any{h, floats[float32](r, h*h)}
		}},
		{kernel: RowChecks, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[uint32](r, h*w, 1<<31), ints[uint32](r, 256, 1<<31), make([]uint32, h)}
		}},
		{kernel: RowStates, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[uint8](r, h*w, 256), ints[uint8](r, 256, 256), make([]uint8, h*w), make([]int32, h)}
		}},
		{kernel: RowsApart, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w)}
		}},
		{kernel: PartsDots, tolerance: 1e-10, args: func(n int, r *rand.Rand) []any {
			h, w := r.IntN(7), 27*n
			return []any{h, w, floats[float64](r, h*w), floats[float64](r, w), floats[float64](r, h), make([]float64, h)}
		}},
		{kernel: PlaneSums, tolerance: 1e-10, args: func(n int, r *rand.Rand) []any {
			batch, planes, size := r.IntN(4), r.IntN(5), 13*n
			return []any{batch, planes, size, floats[float64](r, batch*planes*size), make([]float64, planes), make([]float64, planes)}
		}},
		{kernel: PlaneScales, args: func(n int, r *rand.Rand) []any {
			batch, planes, size := r.IntN(4), r.IntN(5), 13*n
			return []any{batch, planes, size, floats[float32](r, batch*planes*size), ints[int32](r, batch*planes, 5), floats[float32](r, batch*planes*size), floats[float32](r, batch*planes)}
		}},
		{kernel: PairClasses, args: func(n int, r *rand.Rand) []any {
			h, w := r.IntN(40), 13*n+2
			return []any{h, w, floats[float32](r, max(h, w)), ints[int32](r, w, 9), make([]int32, 32), make([]int64, 8)}
		}},
		{kernel: PartsLags, args: func(n int, r *rand.Rand) []any {
			m := r.IntN(12)
			return []any{27 * n, m, ints[int32](r, 27*n+m, 1000), ints[int32](r, m, 1000)}
		}},
		{kernel: PartsExtremes, args: func(n int, r *rand.Rand) []any {
			h, w := r.IntN(4), 1+27*n
			return []any{h, w, floats[float32](r, h*w), ints[int64](r, h*w, 1<<40), make([]float32, h), make([]float32, h), make([]int64, h)}
		}},
		{kernel: PartsColumns, tolerance: 1e-10, args: func(n int, r *rand.Rand) []any {
			h, w := 1+5*n, r.IntN(7)
			return []any{h, w, floats[float64](r, h*w), make([]float64, w), make([]float64, w)}
		}},
		{kernel: PartsCounts, args: func(n int, r *rand.Rand) []any {
			h, w := 5*n, r.IntN(40)
			return []any{h, w, floats[float32](r, h*w+w), ints[int32](r, w, 9)}
		}},
	}...)
}
