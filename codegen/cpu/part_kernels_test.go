package cpu_test

// Kernels whose slices have room behind their length.

//omp:target device(smp)
func Behind(x, out []int, n, m int) {
	y := x[:n]
	//omp:teams distribute parallel for
	for i := 0; i < len(out); i++ {
		z := x[i&1 : m]
		out[i] = y[i%n] + 10*z[i%2] + 1000*cap(x) + 100000*len(z) + 10000000*cap(z)
		y[i%n] += 0
	}
}

//omp:target device(smp)
func Onwards(x, out []int, n, m int) {
	x = x[1:n]
	//omp:teams distribute parallel for
	for i := 0; i < len(out); i++ {
		out[i] = len(x) + 100*cap(x)
	}
	x = x[:m]
	//omp:teams distribute parallel for
	for i := range x {
		x[i]++
	}
}

//omp:target device(smp)
func Limited(x, out []int, n, m int) {
	y := x[:n:m]
	//omp:teams distribute parallel for
	for i := 0; i < len(out); i++ {
		out[i] = cap(y) + cap(y[1:])
	}
}
