package main

// Accumulate adds half of x to y, rounds times.
//
//omp:target device(acc)
//omp:task in(x) inout(y)
func Accumulate(rounds int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range y {
		for range rounds {
			y[i] += 0.5 * x[i]
		}
	}
}
