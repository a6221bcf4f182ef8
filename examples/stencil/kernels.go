package main

// Rows computes the next state of rows lo to hi of a plate of n by n: each element is the mean of
// its four neighbours, and the edges of the plate keep their heat.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(from[max(0, lo-1)*n:min(n, hi+1)*n]) out(to[lo*n:hi*n]) label("rows")
func Rows(lo, hi, n int, from, to []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := lo; i < hi; i++ {
		for j := 0; j < n; j++ {
			at := i*n + j
			if i == 0 || i == n-1 || j == 0 || j == n-1 {
				to[at] = from[at] //nolint:gompss stays in rows lo to hi
			} else {
				to[at] = 0.25 * (from[at-n] + from[at+n] + from[at-1] + from[at+1]) //nolint:gompss the upper and lower edge read no neighbour
			}
		}
	}
}
