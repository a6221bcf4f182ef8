package main

// Survey takes the readings of one task into the smallest, the largest and the number above limit.
// Its loop reduces into variables of the kernel; the tasks reduce into low, high and above.
//
//omp:target device(acc, smp)
//omp:task in(x) reduction(min: low) reduction(max: high) reduction(+: above)
func Survey(limit float64, x, low, high []float64, above []int64) {
	least, most, n := low[0], high[0], int64(0)
	//omp:teams distribute parallel for reduction(min: least) reduction(max: most) reduction(+: n)
	for i := range x {
		least = min(least, x[i])
		most = max(most, x[i])
		if x[i] > limit {
			n++
		}
	}
	low[0] = min(low[0], least)
	high[0] = max(high[0], most)
	above[0] += n
}
