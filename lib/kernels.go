package lib

// Sum stores the sum of x. Cost: one pass.
//
//omp:target device(acc, smp)
//omp:task in(x) out(*sum)
func Sum[T Number](x []T, sum *T) {
	s := T(0)
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i]
	}
	*sum = s
}

// Dot stores the scalar product of x and y, which is as long. Cost: one pass.
//
//omp:target device(acc, smp)
//omp:task in(x, y) out(*product)
func Dot[T Number](x, y []T, product *T) {
	s := T(0)
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	*product = s
}

// Scan stores in y[i] the sum of x[0] to x[i]. y is as long as x and another slice.
//
//omp:target device(acc, smp)
//omp:task in(x) out(y)
func Scan[T Number](x, y []T) {
	s := T(0)
	//omp:teams distribute parallel for reduction(inscan, +: s)
	for i := range y {
		s += x[i]
		//omp:scan inclusive(s)
		y[i] = s
	}
}

// Histogram adds to counts[v] how often v is in x. A value outside of counts is an error of the
// task.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(counts)
func Histogram(x []uint32, counts []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		counts[x[i]]++
	}
}

// Sort sorts x in increasing order; the order of equal elements is not kept, and NaNs may stand
// anywhere. Cost: n log(n)^2 comparisons, a sweep over x for each of the log(n)^2 / 2 rounds.
//
// Source: Kenneth E. Batcher, Sorting networks and their applications, 1968; the form for any
// length is that of Donald E. Knuth, The art of computer programming 3, 1973, section 5.2.2,
// algorithm M.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Sort[T Number](x []T) {
	for p := 1; p < len(x); p *= 2 {
		for k := p; k >= 1; k /= 2 {
			first := k % p
			//omp:teams distribute parallel for
			for i := first; i < len(x)-k; i++ { //nolint:gompss // pairs are disjoint
				if (i-first)/k%2 == 0 && i/(2*p) == (i+k)/(2*p) && x[i+k] < x[i] {
					x[i], x[i+k] = x[i+k], x[i]
				}
			}
		}
	}
}

// Transpose stores the transposed matrix of x, which is row-major n by m, in y.
//
//omp:target device(acc, smp)
//omp:task in(x[0:n*m]) out(y[0:n*m])
func Transpose[T Number](n, m int, x, y []T) {
	//omp:teams distribute parallel for collapse(2)
	for j := 0; j < m; j++ {
		for i := 0; i < n; i++ {
			y[j*n+i] = x[i*m+j]
		}
	}
}

// MatMul stores the product of a, which is row-major n by k, and b, k by m, in c.
//
//omp:target device(acc, smp)
//omp:task in(a[0:n*k], b[0:k*m]) out(c[0:n*m])
func MatMul[T Number](n, k, m int, a, b, c []T) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			sum := T(0)
			for l := 0; l < k; l++ {
				sum += a[i*k+l] * b[l*m+j]
			}
			c[i*m+j] = sum
		}
	}
}

// Gemv stores the product of a, which is row-major n by m, and x in y.
//
//omp:target device(acc, smp)
//omp:task in(a[0:n*m], x[0:m]) out(y[0:n])
func Gemv[T Number](n, m int, a, x, y []T) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		sum := T(0)
		for j := 0; j < m; j++ {
			sum += a[i*m+j] * x[j]
		}
		y[i] = sum
	}
}

// SpMV stores the product of a sparse matrix and x in y. Row i has the elements rows[i] to
// rows[i+1]-1 of columns and values, so that rows is one longer than y.
//
//omp:target device(acc, smp)
//omp:task in(rows, columns, values, x) out(y)
func SpMV[T Number](rows, columns []int32, values, x, y []T) {
	//omp:teams distribute parallel for
	for i := range y {
		sum := T(0)
		for e := rows[i]; e < rows[i+1]; e++ {
			sum += values[e] * x[columns[e]]
		}
		y[i] = sum
	}
}
