package task_test

// The kernels of contract_test.go. This file is what codegen loads: it stands alone.

// First sets more than its region may hold.
//
//omp:target device(acc, smp)
//omp:task inout(x[0:10])
func First(x []int) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = 1
	}
}

// Shifted reads beside what it writes.
//
//omp:target device(acc, smp)
//omp:task in(y) inout(x)
func Shifted(n int, x, y []int) {
	x[0] = 7
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i] = y[i+1]
	}
}

// Inferred says nothing of its accesses.
//
//omp:target device(acc, smp)
func Inferred(n, step int, x []int) {
	x[0] = 7
	for i := n; i > 0; i -= 3 {
		x[i*step] = 1
	}
}

// Guarded stays inside by its conditions alone. All its iterations update x[lo], for which overlap(ok) lets them.
//
//omp:target device(acc, smp) overlap(ok)
//omp:task inout(x[lo:hi]) in(y)
func Guarded(lo, hi, n int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if i >= lo && i < hi {
			x[i] = i
		}
		if i < len(y) && y[i] > 0 {
			x[lo] = 3
		}
		if i >= len(y) {
			continue
		}
		x[lo] += y[i]
	}
}

// Search stops early.
//
//omp:target device(acc, smp)
//omp:task in(y) inout(x[0:1])
func Search(n int, x, y []int) {
	for i := 0; i < n; i++ {
		if y[i] == 3 {
			x[0] = i
			return
		}
	}
}

// Tile works on a tile of a matrix, and on one row too many where more is set.
//
//omp:target device(acc, smp)
//omp:task inout(a[r:r+b][c:c+b])
//omp:shape a [n][n]
func Tile(n, r, c, b, more int, a []int) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < b; i++ {
		for j := 0; j < b+more; j++ {
			a[(r+i)*n+c+j] = 1
		}
	}
}

// Lower works on a triangle: the loop inside makes no iteration where i is 0.
//
//omp:target device(acc, smp)
//omp:task inout(x[0:m])
func Lower(n, m int, x []int) {
	for i := 0; i < n; i++ {
		for j := 0; j < i; j++ {
			x[i+j] += helper(x[j:n], 0)
		}
	}
}

func helper(x []int, i int) int { return x[i] }

// Pointed writes what p points at.
//
//omp:target device(acc, smp)
//omp:task inout(*p)
func Pointed(p *int) { *p = 3 }

// Optional writes there if it may.
//
//omp:target device(acc, smp)
//omp:task inout(*p) inout(x)
func Optional(p *int, x []int) {
	if p != nil {
		*p = 3
	}
	x[0] = 1
}

// Gather reads where an index says, which the host cannot prove.
//
//omp:target device(acc, smp)
//omp:task in(at, y) inout(x)
func Gather(x, y, at []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = y[at[i]]
	}
}

// Quotients divides by what may be zero.
//
//omp:target device(acc, smp)
//omp:task in(y) inout(x)
func Quotients(x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = quotient(x[i], y[i])
	}
}

func quotient(x, y int) int {
	return x / y
}

// Halo reads one element beyond each end of its block, but for the ends of all; more of them where more is set.
//
//omp:target device(acc, smp)
//omp:task in(a[max(lo-1, 0):min(hi+1, n)]) inout(b[lo:hi])
func Halo(n, lo, hi, more int, a, b []int) {
	//omp:teams distribute parallel for
	for i := max(lo, 1); i < min(hi+more, n-1); i++ {
		b[i] = a[i-1] + a[i+1]
	}
}

// Gap declares two parts of x, and none between.
//
//omp:target device(acc, smp)
//omp:task in(x[0:a]) in(x[b:len(x)]) inout(y)
func Gap(a, b, step int, x, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		y[i] = x[i*step]
	}
}

// Halves declares a matrix by its left and right columns, and sets the columns from c on.
//
//omp:target device(acc, smp)
//omp:task inout(a[0:n][0:l], a[0:n][r:m])
//omp:shape a [n][m]
func Halves(n, m, l, r, c int, a []int) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := c; j < m; j++ {
			a[i*m+j] = 1
		}
	}
}
