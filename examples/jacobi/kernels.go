package main

// Relax stores in rows lo to hi of to the mean of the four neighbours of each element in from, both
// n by n, and the largest change of a row in change.
//
//omp:target device(acc, smp)
//omp:shape from [n][n]
//omp:shape to [n][n]
//omp:task in(from[lo-1:hi+1][:]) inout(to[lo:hi][:]) out(change[lo:hi])
func Relax(lo, hi, n int, from, to, change []float64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		far := 0.0
		for j := 1; j < n-1; j++ {
			v := 0.25 * (from[(i-1)*n+j] + from[(i+1)*n+j] + from[i*n+j-1] + from[i*n+j+1])
			far = max(far, v-from[i*n+j], from[i*n+j]-v)
			to[i*n+j] = v
		}
		change[i] = far
	}
}

// Largest stores the largest element of x.
//
//omp:target device(acc, smp)
//omp:task in(x) out(*most)
func Largest(x []float64, most *float64) {
	far := 0.0
	//omp:teams distribute parallel for reduction(max: far)
	for i := range x {
		far = max(far, x[i])
	}
	*most = far
}
