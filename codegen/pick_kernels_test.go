package codegen_test

import (
	"math"
	"math/rand/v2"
)

// Iterations whose inner loop picks an element, or combines in an order that does not show: threads
// share the inner loop, and the result is Go's, of ties and of NaN too.

//omp:target device(acc, smp)
//omp:task in(x) inout(at, bits)
func RowPicks(n, m int, x []float32, at []int32, bits []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		least, most := x[i*m+m/2], float32(-1)
		first, last, count := -1, int32(-1), int32(0)
		for j := 0; j < m; j++ {
			v := x[i*m+j]
			if v < least {
				least, first = v, j
			}
			if j%5 != 1 && most <= v {
				last = int32(m - j)
				most = v
			}
			if v > 0.5 {
				count++
			}
		}
		at[3*i], at[3*i+1], at[3*i+2] = int32(first), last, count
		bits[2*i], bits[2*i+1] = 1/float64(least), 1/float64(most) // which zero it was
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(at, bits)
func ColumnPicks(n, m int, x []float32, at []int32, bits []float64) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		least, where := x[j], 0
		for i := 1; i < n; i++ {
			if least > x[i*m+j] {
				least, where = x[i*m+j], i
			}
		}
		at[j], bits[j] = int32(where), 1/float64(least)
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(at)
func ColumnPicksLast(n, m int, x []int64, at []int32) {
	//omp:loop
	for j := 0; j < m; j++ {
		most := int64(2)
		where := int32(-1)
		for i := 0; i < n; i++ {
			if v := x[i*m+j]; v >= most {
				most = v
				where = int32(i)
			}
		}
		at[j] = where
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(most, sum)
func ColumnExtremes(n, m int, x []float32, most []float32, sum []int32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		v, s := float32(0), int32(j)
		for i := 0; i < n; i++ {
			v = max(v, x[i*m+j], -x[i*m+j])
			s -= int32(x[i*m+j] * 1000)
		}
		most[j], sum[j] = v, s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(sum)
func RowCombines(n, m int, x []uint32, sum []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s, e, o := uint32(1), uint32(i), ^uint32(0)
		for j := 0; j < m; j++ {
			if v := x[i*m+j]; v != 3 {
				s *= v | 1
				e ^= v << 3
				o &= v
			}
		}
		sum[i] = s ^ e ^ o
	}
}

// tied are few different values: ties, both zeros and, where some says so, NaN and infinities.
func tied(r *rand.Rand, n int) []float32 {
	values := []float32{0, float32(math.Copysign(0, -1)), 0.25, 0.75, 0.75, -0.25, -0.75}
	switch r.IntN(4) {
	case 0:
		values = append(values, float32(math.NaN()))
	case 1:
		values = []float32{0, float32(math.Copysign(0, -1)), 0.25}
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = values[r.IntN(len(values))]
	}
	return out
}

// GatherBetween takes values between four elements that memory decides, and stores by a permutation.
//
//omp:target device(acc, smp)
//omp:task in(x, u, v, p) inout(y)
func GatherBetween(n, m int, x, u, v []float32, p []int32, y []float32) {
	//omp:teams distribute parallel for
	for i := range u {
		if u[i] >= 0 && v[i] >= 0 && u[i] < float32(n-1) && v[i] < float32(m-1) {
			a, b := int(u[i]), int(v[i])
			s, t := u[i]-float32(a), v[i]-float32(b)
			top := x[a*m+b]*(1-t) + x[a*m+b+1]*t
			low := x[(a+1)*m+b]*(1-t) + x[(a+1)*m+b+1]*t
			y[p[i]] = top*(1-s) + low*s
		} else {
			y[p[i]] = x[p[i]%int32(n)] - x[i%m]
		}
	}
}

func init() {
	sides := func(n int, r *rand.Rand) (int, int) { return side(n)/2 + r.IntN(40), 1 + r.IntN(300) }
	corpus = append(corpus, []corpusCase{
		{kernel: RowPicks, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, tied(r, h*w), make([]int32, 3*h), make([]float64, 2*h)}
		}},
		{kernel: ColumnPicks, args: func(n int, r *rand.Rand) []any {
			w, h := sides(n, r)
			return []any{h, w, tied(r, h*w+w), make([]int32, w), make([]float64, w)}
		}},
		{kernel: ColumnPicksLast, args: func(n int, r *rand.Rand) []any {
			w, h := sides(n, r)
			x := make([]int64, h*w)
			for i := range x {
				x[i] = int64(r.IntN(5))
			}
			return []any{h, w, x, make([]int32, w)}
		}},
		{kernel: ColumnExtremes, args: func(n int, r *rand.Rand) []any {
			w, h := sides(n, r)
			x := floats[float32](r, h*w)
			return []any{h, w, x, make([]float32, w), make([]int32, w)}
		}},
		{kernel: RowCombines, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[uint32](r, h*w, 50), make([]uint32, h)}
		}},
		{kernel: GatherBetween, args: func(n int, r *rand.Rand) []any {
			h, w := 2+r.IntN(9), 2+r.IntN(9)
			p := make([]int32, n)
			for i, k := range r.Perm(n) {
				p[i] = int32(k)
			}
			u, v := floats[float32](r, n), floats[float32](r, n)
			for i := range u {
				u[i], v[i] = (u[i]+0.1)*float32(h), (v[i]+0.1)*float32(w)
			}
			return []any{h, w, floats[float32](r, h*w), u, v, p, make([]float32, n)}
		}},
	}...)
}

// BlockRows multiplies a sparse matrix of blocks of 3 by 2 with x: runs of elements behind indices.
//
//omp:target device(acc, smp)
//omp:task in(start, column, value, x) inout(y)
func BlockRows(start, column []int32, value, x, y []float32) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		var s [3]float32
		for k := start[r]; k < start[r+1]; k++ {
			for a := 0; a < 3; a++ {
				for b := 0; b < 2; b++ {
					s[a] += value[int(k)*6+a*2+b] * x[int(column[k])*2+1-b]
				}
			}
		}
		for a := 0; a < 3; a++ {
			y[r*3+a] = s[a]
		}
	}
}

// NearRows adds up the distances of each row to others behind indices, and first elements of some.
//
//omp:target device(acc, smp)
//omp:task in(near, x) inout(y)
func NearRows(n, d, each int, near []int32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < each; k++ {
			var s float32
			for j := 0; j < d; j++ {
				v := x[i*d+j] - x[int(near[i*each+k])*d+j]
				s += v * v
			}
			if s > 1 {
				for j := 0; j < 4; j += 2 {
					if j > 0 {
						s += x[int(near[i*each])*d+j]
					}
				}
			}
			y[i*each+k] = s
		}
	}
}

// AddBehind adds up elements behind indices where they go to, which may be where they come from.
//
//omp:target device(acc, smp)
//omp:task in(index, x) inout(y, z)
func AddBehind(n, each int, index []int32, x, y, z []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		first := x[i]
		for a := 0; a < 2; a++ {
			v := first * float32(a)
			y[2*i+a] = 1
			for k := 0; k < each; k++ {
				y[2*i+a] += v + x[index[i*each+k]]
				z[2*i+a] = max(z[2*i+a], x[index[i*each+k]])
				if k == 1 {
					z[2*i+a] -= y[2*i+a]
				}
			}
			for k := 0; k < each; k++ {
				z[2*i+a] += y[2*i+a] * x[index[i*each+k]]
			}
		}
	}
}
