package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

// Kernels whose loops the compiler has to find a place for.

type Body struct {
	Pos  [3]float32
	Mass float32
}

// AllPairs reads the fields of all bodies in every iteration.
//
//omp:target device(acc, smp)
//omp:task in(b) inout(acc[:3*n])
func AllPairs(n int, eps float32, b []Body, acc []float32) {
	count := len(b)
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		me := b[i%count]
		var ax, ay, az float32
		for j := 0; j < count; j++ {
			dx, dy := b[j].Pos[0]-me.Pos[0], b[j].Pos[1]-me.Pos[1]
			dz, mass := b[j].Pos[2]-me.Pos[2], b[j].Mass
			d := dx*dx + dy*dy + dz*dz + eps
			if d > 2 {
				continue
			}
			s := mass * kernel.Rsqrt(d) / d
			ax += dx * s
			ay += dy * s
			az += dz * s
		}
		acc[3*i] += ax
		acc[3*i+1] += ay
		acc[3*i+2] += az
	}
}

// Nearest has two tiled loops, one of which needs the number of the iteration, in the iterations of two loops.
//
//omp:target device(acc, smp)
//omp:task in(x, y) out(best, far)
func Nearest(n, m int, x []float64, y []int32, best []int32, far []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for k := 0; k < m; k++ {
			want, least := float64(i*m+k)/7, 1e30
			if k%3 == 1 {
				want = -want
			}
			at := int32(-1)
			last := len(x) - 1
			for j := 1; j < last; j++ {
				d := (x[j-1]+x[j]+x[j+1])/3 - want
				if d*d < least {
					least, at = d*d, int32(j)
				}
			}
			sum := 0.0
			for j := range y {
				if at != y[j] {
					sum += float64(y[j]) * want
				}
			}
			best[i*m+k], far[i*m+k] = at, sum
		}
	}
}

// TeamPairs has its tiles in a loop of each team, which changes what they hold between the rounds.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func TeamPairs(rows, n int, x []float32) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		row := x[r*n : r*n+n]
		for round := 0; round < 2; round++ {
			var sum float32
			//omp:parallel for reduction(+: sum)
			for i := 0; i < 9; i++ {
				var s float32
				for j := 0; j < n; j++ {
					s += row[j] * float32(i-j%3)
				}
				sum += s
			}
			if n > 0 {
				row[round%n] = sum / 64
			}
		}
	}
}
