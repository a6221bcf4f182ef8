package task_test

// The kernels of overlap_test.go. This file is what codegen loads: it stands alone.

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapSaxpy(a int64, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp) overlap(ok)
//omp:task in(x) inout(y)
func OverlapAllowed(a int64, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapLoop(a int64, x, y []int64) {
	//omp:loop
	for i := 0; i < len(x); i++ {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapStride(n, step int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i*step] += x[i*step]
	}
}

//omp:target device(acc, smp)
//omp:task in(x, idx) inout(y)
func OverlapGather(x, y []int64, idx []int32) {
	//omp:teams distribute parallel for
	for i := range idx {
		y[i] += x[idx[i]]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapRows(n, m int, x, y []int64) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		//omp:parallel for
		for j := 0; j < m; j++ {
			y[i*m+j] += x[i*m+j]
		}
	}
}
