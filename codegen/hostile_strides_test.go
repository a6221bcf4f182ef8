package codegen_test

// Loops whose iterations are independent for most strides: not for 0, nor for those with which indices wrap, nor where rows overlap.

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideOnly(n, m int, x, y []int) {
	for i := 0; i < n; i++ {
		x[i*m] = x[i*m]*3 + y[i]
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideGuarded(n, m int, x, y []int) {
	for i := 0; i < n; i++ {
		if i&1 == 0 {
			x[i*m] = x[i*m]*3 + y[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideRows(n, m int, x, y []int) {
	for i := 0; i < n; i++ {
		if i&1 == 0 {
			for j := 0; j < 3; j++ {
				x[i*m+j] = x[i*m+j]*3 + y[i] + j
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideWidth(n, m, w int, x, y []int) {
	for i := 0; i < n; i++ {
		if i&1 == 0 {
			for j := 0; j < w; j++ {
				x[i*m+j+1] = x[i*m+j+1]*3 + y[i] + j
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideBroken(n, m int, x, y []int) {
	for i := 0; i < n; i++ {
		if i&1 == 0 {
			for j := 0; j < m; j++ {
				if j > 1 {
					break
				}
				x[i*m+j] = x[i*m+j]*3 + y[i]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideProduct(n, m, w int, x, y []int) {
	for i := n - 1; i >= 0; i-- {
		if i&1 == 0 {
			x[i*m*w] = x[i*m*w]*3 + y[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideColumn(n, m, w int, x, y []int) {
	for j := 0; j < w; j++ {
		for i := 0; i < n; i++ {
			if i&1 == 0 {
				x[i*m+j] = x[i*m+j]*3 + y[i]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x) in(y)
func StrideChanged(n, m int, x, y []int) {
	if m != 0 {
		m = y[0] & 1
		for i := 0; i < n; i++ {
			x[i*m] = x[i*m]*3 + y[i]
		}
	}
}
