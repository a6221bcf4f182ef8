package codegen_test

import "math/rand/v2"

// Nests in the forms in which they are written: what the device makes of them has the bits of the Go function.

//omp:target device(acc, smp)
//omp:task in(x, f) inout(y)
func NestConvolve(n, m int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 3; i < n-3; i++ {
		for j := 3; j < m-3; j++ {
			var s float32
			for a := 0; a < 7; a++ {
				for b := 0; b < 7; b++ {
					s += f[a*7+b] * x[(i+a-3)*m+j+b-3]
				}
			}
			y[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, f) inout(y)
func NestConvolveRim(n, m int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			var s float32
			for a := -2; a <= 2; a++ {
				for b := -2; b <= 2; b++ {
					if i+a >= 0 && i+a < n && j+b >= 0 && j+b < m {
						s += f[(a+2)*5+b+2] * x[(i+a)*m+j+b]
					}
				}
			}
			y[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func NestSevenPoints(n, m, l int, x, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			for k := 1; k < l-1; k++ {
				y[(i*m+j)*l+k] = 0.4*x[(i*m+j)*l+k] + 0.1*(x[((i-1)*m+j)*l+k]+x[((i+1)*m+j)*l+k]+
					x[(i*m+j-1)*l+k]+x[(i*m+j+1)*l+k]+x[(i*m+j)*l+k-1]+x[(i*m+j)*l+k+1])
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestProducts(m int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(3)
	for q := 0; q < m; q++ {
		for i := 0; i < 16; i++ {
			for j := 0; j < 16; j++ {
				var s float32
				for k := 0; k < 16; k++ {
					s += a[q*256+i*16+k] * b[q*256+k*16+j]
				}
				c[q*256+i*16+j] = s
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestProductsOf(p, q, n, m, l int, a, b, c []float64) {
	//omp:teams distribute parallel for collapse(4)
	for u := 0; u < p; u++ {
		for v := 0; v < q; v++ {
			for i := 0; i < n; i++ {
				for j := 0; j < m; j++ {
					at := (u*q+v)*n*m + i*m + j
					s := c[at]
					for k := 0; k < l; k++ {
						s += a[(u*n+i)*l+k] * b[(v*l+k)*m+j]
					}
					c[at] = s
				}
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestInPlace(n, m, l int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			for k := 0; k < l; k++ {
				c[i*m+j] += a[i*l+k] * b[k*m+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestCleared(n, m, l int, a, b, c []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			c[i*m+j] = 0
			for k := 0; k < l; k++ {
				c[i*m+j] += a[i*l+k] * b[k*m+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestRowByRow(n, m, l int, a, b, c []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < l; k++ {
			for j := 0; j < m; j++ {
				c[i*m+j] += a[i*l+k] * b[k*m+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func NestRowByRowLoop(n, m, l int, a, b, c []float32) {
	//omp:loop
	for i := 0; i < n; i++ {
		for k := 0; k < l; k++ {
			v := a[i*l+k]
			for j := 0; j < m; j++ {
				c[i*m+j] += v * b[k*m+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func NestTranspose(n, m int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			y[j*n+i] = x[i*m+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, z) inout(y)
func NestAddTransposed(n, m int, x, z, y []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			y[i*m+j] = 0.5*x[i*m+j] + z[j*n+i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func NestColumns(n, m int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		var s float32
		for i := 0; i < n; i++ {
			s += a[i*m+j] * x[i]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x, centre) inout(nearest)
func NestNearest(n, d, c int, x, centre []float32, nearest []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, at := float32(1e30), 0
		for k := 0; k < c; k++ {
			var s float32
			for j := 0; j < d; j++ {
				e := x[j*n+i] - centre[k*d+j]
				s += e * e
			}
			if s < best {
				best, at = s, k
			}
		}
		nearest[i] = int32(at)
	}
}

// NestPlanesRim is a stencil over planes that are zero outside: many teams are at a boundary.
//
//omp:target device(acc, smp)
//omp:task in(x, f) inout(y)
func NestPlanesRim(planes, h, w int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for p := 0; p < planes; p++ {
		for i := 0; i < h; i++ {
			for j := 0; j < w; j++ {
				at := (p*h+i)*w + j
				s := f[p%3] * x[at]
				if i > 0 {
					s += f[3] * x[at-w]
				}
				if j > 0 && i+1 < h {
					s += f[4] * x[at+w-1]
				}
				if j+1 < w {
					s -= f[3] * x[at+1]
					s += f[4]
				}
				y[at] = s
			}
		}
	}
}

// NestClamped is a filter in which the pixels outside are those at the edges.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func NestClamped(h, w int, x, y []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < h; i++ {
		for j := 0; j < w; j++ {
			up, down, left, right := max(i-1, 0), min(i+1, h-1), max(j-1, 0), min(j+1, w-1)
			y[i*w+j] = 4*x[i*w+j] - x[up*w+j] - x[down*w+j] - x[i*w+left] - x[i*w+right] + x[up*w+right]
		}
	}
}

// NestLines has rows of an interior, whose first elements lie inside lines of the cache.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func NestLines(n int, x []float32, y []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 3; j < 509; j++ {
			v := x[i*512+j]
			if v > 0.9 {
				continue
			}
			k := 0
			for k < 9 && v > -3 {
				v -= 0.75
				k++
			}
			y[i*512+j] = int32(k)
		}
	}
}

// nestSides are sides of matrices of about n elements, none a multiple of what a team takes at once.
func nestSides(n int, r *rand.Rand) (int, int, int) {
	s := side(n)
	return s + r.IntN(9), s + r.IntN(40), s/2 + r.IntN(9)
}

func init() {
	two := func(rim int) func(n int, r *rand.Rand) []any {
		return func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, rim), floats[float32](r, h*w)}
		}
	}
	three := func(n int, r *rand.Rand) []any {
		h, w, l := nestSides(n/4, r)
		return []any{h, w, l, floats[float32](r, h*l), floats[float32](r, l*w), floats[float32](r, h*w)}
	}
	corpus = append(corpus, []corpusCase{
		{kernel: NestConvolve, args: two(49)},
		{kernel: NestConvolveRim, args: two(25)},
		{kernel: NestPlanesRim, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(n/2, r)
			return []any{3, h, w, floats[float32](r, 3*h*w), floats[float32](r, 5), floats[float32](r, 3*h*w)}
		}},
		{kernel: NestLines, args: func(n int, r *rand.Rand) []any {
			h := n / 128
			return []any{h, floats[float32](r, 512*h), ints[int32](r, 512*h, 9)}
		}},
		{kernel: NestClamped, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(4*n, r)
			return []any{h, w, ints[int32](r, h*w, 100), ints[int32](r, h*w, 100)}
		}},
		{kernel: NestSevenPoints, args: func(n int, r *rand.Rand) []any {
			h, w, l := 3+r.IntN(4), side(n/4)+r.IntN(9), side(n/4)+r.IntN(40)
			return []any{h, w, l, floats[float32](r, h*w*l), floats[float32](r, h*w*l)}
		}},
		{kernel: NestProducts, args: func(n int, r *rand.Rand) []any {
			m := n / 256
			return []any{m, floats[float32](r, 256*m), floats[float32](r, 256*m), floats[float32](r, 256*m)}
		}},
		{kernel: NestProductsOf, args: func(n int, r *rand.Rand) []any {
			h, w, l := nestSides(n/8, r)
			return []any{2, 3, h, w, l, floats[float64](r, 2*h*l), floats[float64](r, 3*l*w), floats[float64](r, 6*h*w)}
		}},
		{kernel: NestInPlace, args: three},
		{kernel: NestCleared, args: three},
		{kernel: NestRowByRow, args: three},
		{kernel: NestRowByRowLoop, args: three},
		{kernel: NestTranspose, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(5*n, r) // whole squares, too
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w)}
		}},
		{kernel: NestAddTransposed, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(5*n, r) // whole squares, too
			return []any{h, w, floats[float64](r, h*w), floats[float64](r, h*w), floats[float64](r, h*w)}
		}},
		{kernel: NestColumnSums, tolerance: 1e-4, args: func(n int, r *rand.Rand) []any {
			h, w := n/3+r.IntN(9), side(n)+r.IntN(40) // columns that are cut, and some that are not
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h), floats[float32](r, w)}
		}},
		{kernel: NestNearest, args: func(n int, r *rand.Rand) []any {
			return []any{n, 3, 5, floats[float32](r, 3*n), floats[float32](r, 15), make([]int32, n)}
		}},
		{kernel: NestColumns, args: func(n int, r *rand.Rand) []any {
			h, w, _ := nestSides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h), floats[float32](r, w)}
		}},
	}...)
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func NestColumnSums(n, m int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		s, most := y[j], float32(0)
		//omp:simd reduction(+: s) reduction(max: most)
		for i := 0; i < n; i++ {
			s += a[i*m+j] * x[i]
			most = max(most, a[i*m+j])
		}
		y[j] = s * most
	}
}
