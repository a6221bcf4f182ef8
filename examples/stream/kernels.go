package main

// Copy is c = a, the first of STREAM's four operations.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(a) out(c) label("copy")
func Copy(c, a []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i]
	}
}

// Scale is b = s*c.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(c) out(b) label("scale")
func Scale(b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(b); i++ {
		b[i] = s * c[i]
	}
}

// Add is c = a + b.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(a, b) out(c) label("add")
func Add(c, a, b []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i] + b[i]
	}
}

// Triad is a = b + s*c.
//
//omp:target device(acc, smp) resources(acc: 1, smp: 40)
//omp:task in(b, c) out(a) label("triad")
func Triad(a, b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}
