package codegen_test

import "math"

// More kernels of language_test.go: arrays that are converted slices, and the functions of package
// math that are compiled from their bodies.

type quad [4]int

func quadSum(a [4]int) (s int) {
	for k, v := range a {
		s += (k + 1) * v
	}
	return s
}

// LangArraysOfSlices converts slices to arrays. x is four times as long as y.
//
//omp:target
//omp:task in(x) inout(y)
func LangArraysOfSlices(x, y []int) {
	first := [1]int(x[:1])
	//omp:teams distribute parallel for
	for i := range y {
		row := [4]int(x[4*i:])
		q := quad(x[4*i : 4*i+4])
		row[i&3]++ // a copy
		pair := [2][2]int{[2]int(row[:2]), [2]int(row[2:])}
		y[i] += quadSum(row) + quadSum([4]int(x[:4])) + q[y[i]&3] + first[0] + pair[i&1][1]
		if [2]int(x) == [2]int(row[:]) {
			y[i]++
		}
	}
	if len(x) >= 200 {
		long := [200]int(x)
		long[0]++
		for i := range y {
			y[i] += long[i%len(long)]
		}
	}
}

// LangSpecialFunctions is what package math computes from other functions of it.
//
//omp:target
//omp:task in(x) inout(y)
func LangSpecialFunctions(x []float64, y [][13]float64) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		s := 0
		y[i][0], s = math.Lgamma(v * 12)
		y[i][1] = float64(s)
		y[i][2] = math.Erfinv(v)
		y[i][3] = math.Erfcinv(v + 1)
		y[i][4] = math.J0(v * 30)
		y[i][5] = math.J1(v * 30)
		y[i][6] = math.Jn(i%9-3, v*20)
		y[i][7] = math.Y0(v * 30)
		y[i][8] = math.Y1(v*20 + 21)
		y[i][9] = math.Yn(i%5-2, v*15+17)
		y[i][10] = math.Pow10(i%700 - 340)
		y[i][11], _ = math.Lgamma(math.Abs(v) * 1e6)
		y[i][12] = math.J0(v*1e-3) - math.J1(v*1e9)
	}
}

// LangAcceptedSteps exchanges its slices only after steps that change enough,
// in a branch that another one ends, with a parallel loop behind it.
//
//omp:target
//omp:task inout(a, b, out)
func LangAcceptedSteps(n int, a, b []int64, out []int64) {
	src, dst := a, b
	for t := 0; t < n%7; t++ {
		most := int64(0)
		//omp:teams distribute parallel for reduction(max: most)
		for i := 1; i < len(a); i++ {
			dst[i] = (src[i-1] + 3*src[i]) & 1023
			most = max(most, dst[i])
		}
		if most > 700 {
			src[0]++
			was := src
			src = dst
			dst = was
			dst[0] ^= 5
			if src[0]&63 == 9 {
				break
			}
		} else if most > 200 {
			dst[0] += most
			continue
		}
		//omp:teams distribute parallel for
		for i := 1; i < len(a); i++ {
			dst[i] += src[i] >> 1
		}
	}
	//omp:teams distribute parallel for
	for i := range out {
		out[i] = src[i] - dst[i+1]
	}
}
