package main

// Smooth stores in y the mean of each value of x and of those at most radius beside it.
//
//omp:target device(acc, smp)
//omp:task in(x) out(y)
func Smooth(radius int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range y {
		from, to := max(0, i-radius), min(len(x), i+radius+1)
		sum := 0.0
		for _, v := range x[from:to] {
			sum += v
		}
		y[i] = sum / float64(to-from)
	}
}

// Count adds to counts the number of values of x in each of the bins, which share 0 to 1; values
// outside go into the first or the last.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(counts)
func Count(x []float64, counts []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		bin := min(max(int(x[i]*float64(len(counts))), 0), len(counts)-1)
		//omp:atomic
		counts[bin]++
	}
}
