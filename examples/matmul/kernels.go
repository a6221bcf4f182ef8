package main

// MatMul adds rows lo to hi of the product of a, which has k columns, and b, which is k by m, to c.
//
//omp:target device(acc, smp)
//omp:shape a [][k]
//omp:shape b [k][m]
//omp:shape c [][m]
//omp:task in(a[lo:hi][:], b) inout(c[lo:hi][:]) taskloop(lo:hi) grainsize(16)
func MatMul(lo, hi, k, m int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := lo; i < hi; i++ {
		for j := 0; j < m; j++ {
			sum := c[i*m+j]
			for l := 0; l < k; l++ {
				sum += a[i*k+l] * b[l*m+j]
			}
			c[i*m+j] = sum
		}
	}
}
