package task_test

// The kernels of part_test.go. This file is what codegen loads: it stands alone.

//omp:target device(acc, smp)
//omp:task in(x) inout(y, t)
func PartsOfFour(lo, n int, x, y, t []int64) {
	//omp:teams distribute dist_private([4]t)
	for i := lo; i < n; i++ {
		for j := 0; j < 4; j++ {
			t[i*4+j] = x[i] + int64(j)
		}
		y[i] = t[i*4] + t[i*4+3]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y, t)
func PartsBySize(n, size int, x, y, t []int64) {
	if n > 1 {
		//omp:teams distribute dist_firstlastprivate([size]t)
		for i := 0; i <= n-1; i += 2 {
			for j := 0; j < size; j++ {
				t[i*size+j] += x[i]
			}
			y[i] = t[i*size]
		}
	}
}

//omp:target device(acc, smp)
//omp:task
func PartsInferred(n int, x, t []int64) {
	//omp:teams distribute parallel for dist_lastprivate([2]t)
	for i := n - 1; i >= 0; i-- {
		t[i*2] = x[i]
		t[i*2+1] = 1
	}
}

//omp:target device(acc, smp)
//omp:task
func RegionInferred(lo, hi int, x, t []int64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		t[i] = x[i+1]
	}
}

//omp:target device(acc, smp)
//omp:task in(x[lo:hi/n]) inout(t)
func RegionDeclared(lo, hi, n int, x, t []int64) {
	//omp:teams distribute parallel for
	for i := lo; i < hi/n; i++ {
		t[i] = x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(t)
func PartsByData(n int, x, t []int64) {
	//omp:teams distribute dist_firstlastprivate([4]t)
	for i := 0; i < n; i++ {
		t[i*4+int(x[i])]++
	}
}
