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

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapTriangle(n int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j <= i; j++ {
			y[i*n+j] += x[i*n+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapUpperFromLower(n int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := i + 1; j < n; j++ {
			y[i*n+j] = x[j*n+i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapTwoNests(n, m int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := int64(0)
		for k := 0; k < m; k++ {
			s += x[i*m+k]
		}
		for j := m - 1; j >= 0; j -= 2 {
			y[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapBackwards(n int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := n - 1; i >= 0; i-- {
		y[i] += x[n-1-i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapCollapsed(n, m, w int, x, y []int64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			y[(i*m+j)*w] = x[(i*m+j)*w+1]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapUnder(n, lo int, x, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if i >= lo {
			y[i] = x[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapNarrow(lo uint8, x, y []int64) {
	//omp:teams distribute
	for k := 0; k < 2; k++ {
		for i := lo; i < 250; i += 10 {
			y[256*k+int(i)] = x[i]
		}
	}
}

// An OverlapPair has two numbers.
type OverlapPair struct{ A, B int64 }

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapFields(x, y []OverlapPair) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		y[i].A = 2*x[i].B + 1
	}
}

//omp:target device(acc, smp)
//omp:task in(*p) inout(y)
func OverlapPointer(n int, p *int64, y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] += *p
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func OverlapEither(n, from int, x, y []int64) {
	z := x
	if from > 0 {
		z = y
	}
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = z[i+from]
	}
}

var overlapTable []int64

//omp:target device(acc, smp)
//omp:task inout(y)
func OverlapVariable(y []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		y[i] += overlapTable[i]
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func OverlapWithin(d int, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x)-max(d, 0); i++ {
		x[i] = x[i+d] + 1
	}
}

//omp:target device(acc, smp) overlap(ok)
//omp:task inout(x)
func OverlapWithinAllowed(d int, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x)-d; i++ {
		x[i] = x[i+d] + 1
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func OverlapEliminate(k, n int, a []int64) {
	//omp:teams distribute parallel for collapse(2)
	for i := k + 1; i < n; i++ {
		for j := k + 1; j < n; j++ {
			a[i*n+j] -= a[i*n+k] * a[k*n+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func OverlapTranspose(n int, a []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := i + 1; j < n; j++ {
			a[i*n+j], a[j*n+i] = a[j*n+i], a[i*n+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func OverlapHalves(n, m int, a []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a[i] = a[i+m] + a[i+2*m]
	}
}
