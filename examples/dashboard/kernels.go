package main

import "github.com/gompss/gompss/codegen/kernel"

//go:generate go run github.com/gompss/gompss/cmd/gompss gen kernels.go

// Diffuse sets rows [lo, hi) of next, an n by m grid, to what heat does to those of now in one
// step.
//
//omp:target device(acc)
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

// Draw gives rows [lo, hi) of an n by m grid the colours that glow as they do: red first, then
// yellow, then white.
//
//omp:target device(smp)
//omp:task in(heat[lo:hi][0:m]) out(picture[lo:hi][0:m])
//omp:shape heat [n][m]
//omp:shape picture [n][m]
func Draw(n, m, lo, hi int, heat []float32, picture []int32) {
	//omp:parallel for
	for i := lo; i < hi; i++ {
		for j := 0; j < m; j++ {
			t := heat[i*m+j]
			red := int32(255 * (1 - kernel.Exp(-t/10)))
			green := int32(255 * (1 - kernel.Exp(-t/30)))
			blue := int32(255 * (1 - kernel.Exp(-t/90)))
			picture[i*m+j] = red<<16 | green<<8 | blue
		}
	}
}
