package main

//go:generate go run github.com/gompss/gompss/cmd/gompss gen kernels.go

// Diffuse sets rows [lo, hi) of next, an n by m grid, to what heat does to those of now in one step.
//
//omp:target device(acc, smp)
//omp:task in(now[lo-1:hi+1][0:m]) out(next[lo:hi][1:m-1])
//omp:shape now [n][m]
//omp:shape next [n][m]
func Diffuse(n, m, lo, hi int, rate float32, now, next []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		for j := 1; j < m-1; j++ { // the columns at the sides stay as cold as they are
			here := now[i*m+j]
			next[i*m+j] = here + rate*(now[(i-1)*m+j]+now[(i+1)*m+j]+now[i*m+j-1]+now[i*m+j+1]-4*here)
		}
	}
}
