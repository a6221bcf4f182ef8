package codegen_test

import "math/rand/v2"

// Kernels whose iterations go along a row and load what they stored in the iterations before.

// CarriedSolve solves tridiagonal systems, one a row: up the row, and down again.
//
//omp:target device(acc, smp)
//omp:task in(a, b, d) inout(w, x)
func CarriedSolve(n, m int, a, b, d, w, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		w[i*m] = a[i*m] / b[i*m]
		x[i*m] = d[i*m] / b[i*m]
		for j := 1; j < m; j++ {
			inv := 1 / (b[i*m+j] - a[i*m+j]*w[i*m+j-1])
			w[i*m+j] = a[i*m+j] * inv
			x[i*m+j] = (d[i*m+j] - a[i*m+j]*x[i*m+j-1]) * inv
		}
		for j := m - 2; j >= 0; j-- {
			x[i*m+j] -= w[i*m+j] * x[i*m+j+1]
		}
	}
}

// CarriedFilter is a filter of the second order along rows.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func CarriedFilter(n, m int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 2; j < m; j++ {
			y[i*m+j] = 0.5*x[i*m+j] + 0.25*x[i*m+j-1] - 0.75*y[i*m+j-2] + 0.5*y[i*m+j-1]
		}
	}
}

// CarriedBranch stores the carried element on both sides of a branch, and reads it behind.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y, z)
func CarriedBranch(n, m int, x, y, z []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 1; j < m; j++ {
			if x[i*m+j] > 0 {
				y[i*m+j] = y[i*m+j-1] + x[i*m+j]
			} else {
				t := x[i*m+j] * 2
				y[i*m+j] = t * t
			}
			z[i*m+j] = y[i*m+j] - y[i*m+j-1]
		}
	}
}

// CarriedFirst loads the element before only where there is one.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func CarriedFirst(n, m int, x, y []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			t := x[i*m+j]
			if j > 0 {
				t += max(y[i*m+j-1], 0)
			}
			y[i*m+j] = t
		}
	}
}

// CarriedDown goes down rows in place, to an element of the front.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func CarriedDown(n, m int, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := m - 1; j > 3; j-- {
			x[i*m+j-1] += 3 * x[i*m+j]
		}
	}
}

// CarriedAhead takes new elements before its own and old ones behind it.
//
//omp:target device(acc, smp)
//omp:task in(b) inout(x)
func CarriedAhead(n, m int, b, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 1; j < m-1; j++ {
			x[i*m+j] = 0.5 * (b[i*m+j] + x[i*m+j-1] + x[i*m+j+1])
		}
	}
}

// CarriedChain makes a chain of random numbers in each row.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func CarriedChain(n, m int, x []uint64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 1; j < m; j++ {
			x[i*m+j] = x[i*m+j-1]*6364136223846793005 + 1442695040888963407
		}
	}
}

// CarriedStride leaves out every other element.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func CarriedStride(n, m int, x []uint16, y []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 1; j < m; j++ {
			y[i*2*m+2*j] = y[i*2*m+2*j-2]*31 + uint32(x[i*m+j])
		}
	}
}

// carriedKernels are the kernels of this file whose rows lie side by side.
var carriedKernels = []any{CarriedSolve, CarriedFilter, CarriedBranch, CarriedFirst, CarriedDown, CarriedAhead, CarriedChain}

func init() {
	// Rows shorter than a tile, and of several tiles; no row, blocks of rows.
	sides := func(n int, r *rand.Rand) (int, int) {
		return []int{0, 1, 31, 33, side(n)/2 + r.IntN(40)}[r.IntN(5)], []int{1, 2, 3, 31, 32, 33, 34, 65, 30 + r.IntN(280)}[r.IntN(9)]
	}
	corpus = append(corpus, []corpusCase{
		{kernel: CarriedSolve, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			b := floats[float32](r, h*w)
			for i := range b {
				b[i] += 4
			}
			return []any{h, w, floats[float32](r, h*w), b, floats[float32](r, h*w), make([]float32, h*w), make([]float32, h*w)}
		}},
		{kernel: CarriedFilter, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float64](r, h*w), floats[float64](r, h*w)}
		}},
		{kernel: CarriedBranch, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w), make([]float32, h*w)}
		}},
		{kernel: CarriedFirst, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[int32](r, h*w, 1<<30), make([]int32, h*w)}
		}},
		{kernel: CarriedDown, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[int64](r, h*w, 1<<40)}
		}},
		{kernel: CarriedAhead, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, floats[float32](r, h*w), floats[float32](r, h*w)}
		}},
		{kernel: CarriedChain, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			x := make([]uint64, h*w)
			for i := range x {
				x[i] = r.Uint64()
			}
			return []any{h, w, x}
		}},
		{kernel: CarriedStride, args: func(n int, r *rand.Rand) []any {
			h, w := sides(n, r)
			return []any{h, w, ints[uint16](r, h*w, 1<<16), ints[uint32](r, 2*h*w, 1<<31)}
		}},
	}...)
}
