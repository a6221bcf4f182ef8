package task_test

// Kernels of hostile_vector_test.go: what goes wrong in them depends on the arguments.

//omp:target device(smp)
//omp:task inout(x[lo:hi])
func hostileSpan(lo, hi int, x []int64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		x[i] += int64(i)
	}
}

//omp:target device(smp)
//omp:task in(at, x) inout(y)
func hostileGather(at, x, y []int64) {
	//omp:teams distribute parallel for
	for i := range at {
		y[i] = x[at[i]] + 1
	}
}

//omp:target device(smp)
//omp:task in(at) inout(x)
func hostileScatter(at []int32, x []int8) {
	//omp:teams distribute parallel for
	for i := range at {
		x[at[i]] = 1
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func hostileDivide(x, y []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = x[i]/y[i] + x[i]%y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x)
func hostileDivideByOne(x []int32, by int32) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] /= by
	}
}

//omp:target device(smp)
//omp:task inout(x) in(y)
func hostileShift(x []int64, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] <<= y[i]
	}
}

//omp:target device(smp)
//omp:task inout(x)
func hostileStride(n, m int, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i*m] = int64(i)
	}
}

//omp:target device(smp)
//omp:task inout(x)
func hostilePart(lo, hi int, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		part := x[lo:hi]
		x[i] = int64(len(part))
	}
}

//omp:target device(smp)
//omp:task inout(x)
func hostileSum(x []int64, step int) {
	s := int64(0)
	//omp:teams distribute parallel for reduction(+: s)
	for i := 0; i < len(x); i++ {
		s += x[i*step]
	}
	x[0] = s
}

//omp:target device(smp)
//omp:task inout(x)
func hostileSteps(n int, x []int64) {
	for t := 0; t < 3; t++ {
		//omp:teams distribute parallel for
		for i := 0; i < n; i++ {
			x[i] += int64(t)
		}
	}
}
