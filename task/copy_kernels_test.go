package task_test

//omp:target device(acc, smp)
//omp:task in(from) inout(to)
func copyAll(to, from []int) {
	n := copy(to, from)
	if n > 3 {
		copy(to[1:3], to)
	}
}

type running struct {
	sum, n int
	most   [2]int
}

//omp:target device(acc, smp)
//omp:task in(x) inout(*r, w)
func reducePlaces(x, w []int, r *running) {
	//omp:teams distribute parallel for reduction(+: r.sum, r.n) reduction(max: r.most[1])
	for i := range x {
		r.sum += x[i]
		r.n++
		if x[i] > r.most[1] && x[i] < 1000 {
			r.most[1] = x[i]
		}
	}
	//omp:teams distribute parallel for reduction(+: w[1])
	for i := range x {
		w[1] += x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) reduction(+: *c) reduction(max: h)
func reduceArrays(x []int64, c *[4]int64, h [][2]int32) {
	//omp:teams distribute parallel for reduction(+: *c)
	for i := range x {
		c[x[i]&3] += x[i]
	}
	for i := range x {
		h[x[i]&1][i&1] = max(h[x[i]&1][i&1], int32(x[i]%1000))
	}
}
