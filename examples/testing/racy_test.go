package main

// Racy is Count without its atomic.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(counts)
func Racy(x []float64, counts []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		counts[int(x[i]*float64(len(counts)))]++
	}
}
