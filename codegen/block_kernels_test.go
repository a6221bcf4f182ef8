package codegen_test

import "math/rand/v2"

// Nests whose rows, rims and sides a device takes apart: what it makes of them has the bits of the
// Go function.

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func BlockManyRows(n, m, l int, a, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for q := 0; q < n; q++ {
		for i := 0; i < m; i++ {
			var s float32
			for k := 0; k < l; k++ {
				s += a[(q*m+i)*l+k] * x[q*l+k]
			}
			y[q*m+i] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func BlockManyLanes(n, m, l int, a, x, y []float64) {
	//omp:teams distribute parallel for collapse(3)
	for p := 0; p < n; p++ {
		for q := 0; q < 3; q++ {
			for i := 0; i < m; i++ {
				var s float64
				//omp:simd reduction(+: s)
				for k := 0; k < l; k++ {
					s += a[(p*3+q)*(m*l+5)+i*(l+1)+k] * x[q*l+k]
				}
				y[(p*3+q)*m+i] = s
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockTorus(n, m int, x, y []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			up, down, left, right := (i+n-1)%n, (i+1)%n, (j+m-1)%m, (j+3)%m
			c := x[up*m+j] + x[down*m+j] + x[i*m+left] + x[i*m+right] + x[up*m+left] + x[down*m+right]
			if c > 3 {
				y[i*m+j] = c - x[i*m+j]
			} else {
				y[i*m+j] = -x[i*m+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockRing(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for k := -3; k <= 3; k++ {
			s += x[(i+k+n)%n]
		}
		y[i] = s / 7
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockClamped(n, m, l int, x, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			for k := 0; k < l; k++ {
				a, b := max(i-1, 0), min(i+1, n-1)
				c, d := max(j-2, 0), min(j+2, m-1)
				e, f := min(max(k-1, 0), l-1), max(min(k+1, l-1), 0)
				y[(i*m+j)*l+k] = x[(a*m+j)*l+k] + x[(b*m+j)*l+k] + x[(i*m+c)*l+k] + x[(i*m+d)*l+k] + x[(i*m+j)*l+e] - 5*x[(i*m+j)*l+f]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, w, centre) inout(a)
func BlockWeighted(n, m int, x, w, centre, a []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < m; i++ {
		for j := 0; j < m; j++ {
			ci := centre[i]
			var s float32
			for k := 0; k < n; k++ {
				d := x[k*m+j] - centre[j]
				s += w[k] * (x[k*m+i] - ci) * d * float32(j+k)
			}
			a[i*m+j] += s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(p, q, scale) inout(c)
func BlockMixed(n, m, l int, p, q []int16, scale []float64, c []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			var s float64
			for k := 0; k < l; k++ {
				s += float64(p[i*l+k]) * scale[i] * (float64(q[j*l+k]) + scale[0])
			}
			c[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func BlockInverses(n int, a []float64) {
	//omp:teams distribute parallel for
	for q := 0; q < n; q++ {
		for k := 0; k < 3; k++ {
			inv := 1 / a[q*9+k*4]
			a[q*9+k*4] = 1
			for j := 0; j < 3; j++ {
				a[q*9+k*3+j] *= inv
			}
			for i := 0; i < 3; i++ {
				if i != k {
					f := a[q*9+i*3+k]
					a[q*9+i*3+k] = 0
					for j := 0; j < 3; j++ {
						a[q*9+i*3+j] -= f * a[q*9+k*3+j]
					}
				}
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockReversed(n int, x, y []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < 8; k++ {
			y[i*8+k] = x[i*8+7-k]
		}
	}
}

// BlockFilter has windows that neighbours share, from beside what a thread accesses at once.
//
//omp:target device(acc, smp)
//omp:task in(f, x) inout(y)
func BlockFilter(n int, f, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 9; i < n-3; i++ {
		var s float32
		for k := 0; k < 12; k++ {
			s += f[k] * x[i+k-8]
		}
		y[i-4] = s
	}
}

// BlockTaps has as many taps as the caller says, which all iterations read.
//
//omp:target device(acc, smp)
//omp:task in(f, x) inout(y)
func BlockTaps(n, taps int, f, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 2; i < n; i++ {
		var s float32
		for k := 0; k < taps; k++ {
			s += f[k] * x[i+2*k]
		}
		y[i] = s
	}
}

// BlockShortRows has a row for each iteration, of fewer elements than a tile has columns.
//
//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func BlockShortRows(n int, a, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for b := 0; b < n; b++ {
		for i := 0; i < 40; i++ {
			var s float32
			for j := 0; j < 40; j++ {
				s += a[(b*40+i)*40+j] * x[b*40+j]
			}
			y[b*40+i] = s
		}
	}
}

// BlockFluxes computes what neighbours have in common, in rows of which none begins at the first
// element.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockFluxes(n int, x, y []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 1; j < 62; j++ {
			a, b, c := x[i*64+j-1], x[i*64+j], x[i*64+j+1]
			left := (a*b+3)*(a-b)*(a+2*b)*(b*b-a) + (a-3*b)*(b+4)*(2*a-b)*(a*a-b)
			right := (b*c+3)*(b-c)*(b+2*c)*(c*c-b) + (b-3*c)*(c+4)*(2*b-c)*(b*b-c)
			y[i*64+j] = left*left*left - right*right*right
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func BlockProducts(n int, a, b, c []float64) {
	//omp:teams distribute parallel for collapse(3)
	for q := 0; q < n; q++ {
		for i := 0; i < 6; i++ {
			for j := 0; j < 16; j++ {
				var s float64
				for k := 0; k < 10; k++ {
					s += a[q*60+i*10+k] * b[q*160+k*16+j]
				}
				c[q*96+i*16+j] = s
			}
		}
	}
}

// BlockRounds reads what it keeps in registers after it has stored to what it only writes, and
// has loops that touch neither.
//
//omp:target device(acc, smp)
//omp:task in(key, text) inout(out)
func BlockRounds(n int, key, text, out []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var x [8]uint32
		for k := 0; k < 8; k++ {
			x[k] = text[i*8+k] ^ key[k]
		}
		for r := 0; r < 6; r++ {
			for k := 0; k < 8; k++ {
				x[k] = x[k]*5 + x[(k+3)%8]>>3
			}
		}
		for k := 0; k < 8; k++ {
			out[i*8+k] = x[7-k] + text[i*8+7-k]
		}
	}
}

// BlockSome stores to an element under a condition, and to the others before it reads them.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func BlockSome(n int, x, y []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < 9; k++ {
			if x[i*10+k] > x[i*10+k+1] {
				y[i*10+k] = x[i*10+k]
			}
			y[i*10+k+1] = x[i*10+k+1] + 1
		}
		y[i*10] += y[i*10+9]
	}
}

func init() {
	corpus = append(corpus, []corpusCase{
		{kernel: BlockManyRows, args: func(n int, r *rand.Rand) []any {
			h, w, l := 1+r.IntN(5), 1+r.IntN(40), 30+r.IntN(60)
			return []any{h, w, l, floats[float32](r, h*w*l), floats[float32](r, h*l), floats[float32](r, h*w)}
		}},
		{kernel: BlockManyLanes, tolerance: 1e-9, args: func(n int, r *rand.Rand) []any {
			h, w, l := 1+r.IntN(3), 1+r.IntN(20), 1+r.IntN(70)
			return []any{h, w, l, floats[float64](r, 3*h*(w*l+5)+w), floats[float64](r, 3*l), floats[float64](r, 3*h*w)}
		}},
		{kernel: BlockTorus, args: func(n int, r *rand.Rand) []any {
			h, w := 1+r.IntN(30), 1+r.IntN(90)
			return []any{h, w, ints[int32](r, h*w, 4), make([]int32, h*w)}
		}},
		{kernel: BlockRing, args: func(n int, r *rand.Rand) []any {
			h := 3 + r.IntN(2*n+1)
			return []any{h, floats[float32](r, h), make([]float32, h)}
		}},
		{kernel: BlockClamped, args: func(n int, r *rand.Rand) []any {
			h, w, l := 1+r.IntN(5), 1+r.IntN(15), 1+r.IntN(70)
			return []any{h, w, l, floats[float32](r, h*w*l), floats[float32](r, h*w*l)}
		}},
		{kernel: BlockWeighted, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(n, r)
			weights := floats[float32](r, h)
			for i := range weights {
				weights[i] /= 256 // sums near 1, as fusedError takes them to be
			}
			return []any{h, w, floats[float32](r, h*w), weights, floats[float32](r, w), floats[float32](r, w*w)}
		}},
		{kernel: BlockMixed, args: func(n int, r *rand.Rand) []any {
			h, w, l := nestSides(n, r)
			return []any{h, w, l, ints[int16](r, h*l, 99), ints[int16](r, w*l, 99), floats[float64](r, h), floats[float64](r, h*w)}
		}},
		{kernel: BlockInverses, args: func(n int, r *rand.Rand) []any {
			a := floats[float64](r, 9*n)
			for q := range n {
				for k := range 3 {
					a[q*9+k*4] += 4
				}
			}
			return []any{n, a}
		}},
		{kernel: BlockReversed, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[uint32](r, 8*n, 1<<30), make([]uint32, 8*n)}
		}},
		{kernel: BlockTaps, args: func(n int, r *rand.Rand) []any {
			return []any{n, 37, floats[float32](r, 37), floats[float32](r, n+72), make([]float32, n)}
		}},
		{kernel: BlockShortRows, args: func(n int, r *rand.Rand) []any {
			n = n%30 + 1
			return []any{n, floats[float32](r, n*1600), floats[float32](r, n*40), make([]float32, n*40)}
		}},
		{kernel: BlockFilter, args: func(n int, r *rand.Rand) []any {
			return []any{n, floats[float32](r, 12), floats[float32](r, n), make([]float32, n)}
		}},
		{kernel: BlockFluxes, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[int32](r, 64*n, 99), make([]int32, 64*n)}
		}},
		{kernel: BlockProducts, args: func(n int, r *rand.Rand) []any {
			return []any{n, floats[float64](r, 60*n), floats[float64](r, 160*n), make([]float64, 96*n)}
		}},
		{kernel: BlockRounds, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[uint32](r, 8, 1<<30), ints[uint32](r, 8*n, 1<<30), make([]uint32, 8*n)}
		}},
		{kernel: BlockSome, args: func(n int, r *rand.Rand) []any {
			return []any{n, ints[int32](r, 10*n, 99), ints[int32](r, 10*n, 99)}
		}},
	}...)
}
