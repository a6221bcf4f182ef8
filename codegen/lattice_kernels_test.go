package codegen_test

// The kernels in this file are Go functions that lattice_test.go calls, and Go source that it
// compiles.

//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticeColours(n, c int, f, u []int) {
	//omp:teams distribute parallel for
	for i := 1; i < n-1; i++ {
		for j := 1 + (i+c)%2; j < n-1; j += 2 {
			u[i*n+j] += 3*(u[(i-1)*n+j]+u[(i+1)*n+j]+u[i*n+j-1]+u[i*n+j+1]) - f[i*n+j]
		}
	}
}

//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticeColoursLoop(n, c int, f, u []int) {
	//omp:loop
	for i := 1; i < n-1; i++ {
		first := 2 - (i^c)&1
		for j := first; j < n-1; j += 2 {
			u[i*n+j] += 3*(u[(i-1)*n+j]+u[(i+1)*n+j]) - f[i*n+j]
		}
	}
}

//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticeDown(n, c int, f, u []int) {
	//omp:teams distribute parallel for
	for i := 1; i < n-1; i++ {
		for j := n - 2 - (i+c)&1; j > 0; j -= 2 {
			u[i*n+j] -= u[i*n+j-1] + u[i*n+j+1] + f[i*n+j]
		}
	}
}

// LatticePlanes has declarations between its loops, of which one fails where c is 0.
//
//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticePlanes(n, c int, f, u []int) {
	//omp:loop
	for p := 0; p < n; p++ {
		k := p % c
		for i := 0; i < 5; i++ {
			at := (p*5 + i) * 6
			for j := 0; j < 6; j++ {
				s := k
				for a := 0; a < 3; a++ {
					if l := j + a - 1; l >= 0 && l < 6 {
						s += f[k*k+a] * f[at+l]
					}
				}
				u[at+j] = s
			}
		}
	}
}

// LatticeRows has rows of any length, and none where n is less than 5.
//
//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticeRows(n, c int, f, u []int) {
	//omp:loop
	for i := 0; i < 5; i++ {
		k := i / c
		for j := 4; j < n; j++ {
			u[i*n+j] = f[i*n+j] * k
		}
	}
}

// LatticeAcross has its neighbours in the outermost loop.
//
//omp:target device(acc)
//omp:task in(f) inout(u)
func LatticeAcross(n, c int, f, u []int) {
	//omp:loop
	for j := 0; j < n; j++ {
		d := j * c
		for i := 0; i < n; i++ {
			u[i*n+j] = f[i*n+j] + d
		}
	}
}
