package main

// Settle moves each value half way to 0.5, a number of times, and adds the distances to moved.
//
//omp:target device(acc, smp)
//omp:task inout(x) inout(moved)
func Settle(rounds int, x []float64, moved []float64) {
	sum := 0.0
	//omp:teams distribute parallel for reduction(+: sum)
	for i := range x {
		old := x[i]
		for range rounds {
			x[i] = 0.5*x[i] + 0.25
		}
		sum += abs(x[i] - old)
	}
	moved[0] += sum
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}
