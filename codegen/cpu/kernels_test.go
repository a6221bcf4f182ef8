package cpu_test

import (
	_ "embed"
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels of this file are run as Go functions and as vector code made from this very source.

//go:embed kernels_test.go
var kernelSource string

//omp:target fastmath
func Triad64(a, b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

//omp:target device(smp)
func TriadStrict32(a, b, c []float32, s float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

// ScaleBy makes a float32 of a wide integer that is the same in all lanes.
//
//omp:target device(smp)
func ScaleBy(a []float32, k int64, m uint64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = float32(k)*a[i] + float32(m)
	}
}

// RowScale carries numbers that were computed where fewer lanes are on into loops with twice as many.
//
//omp:target device(smp)
func RowScale(a, b []float32, m int) {
	//omp:loop
	for r := 0; r < len(a)/m; r++ {
		first, sum := a[r*m], float32(0)
		near := float32(1/math.Sqrt(1+float64(b[r]))) + float32(r)
		//omp:loop reduction(+: sum)
		for j := 0; j < m; j++ {
			sum += (b[r*m+j] + near) * first
		}
		scale := kernel.Rsqrt(sum*sum/float32(m) + 1)
		//omp:loop
		for j := 0; j < m; j++ {
			a[r*m+j] = (b[r*m+j] - first) * scale
		}
	}
}

func turned(x uint32, n uint) uint32 { return x>>n | x<<(32-n) }

// Turns shifts small numbers by wide counts that all lanes have, some of them past the width, and by constants of a helper.
//
//omp:target device(smp)
func Turns(a, b []uint32, c []int16, n uint64, k int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = turned(a[i], 7) ^ turned(b[i], uint(n%33))
		b[i] = b[i]>>n + b[i]<<k
		c[i] = c[i]>>n ^ c[i]<<k
	}
}

//omp:target device(smp)
func Move(a, b []int16) {
	//omp:teams distribute parallel for
	for i := 1; i < len(a); i++ {
		a[i] = b[i]
	}
}

//omp:target device(smp)
func Reverse(a, b []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[len(b)-1-i]
	}
}

//omp:target device(smp)
func Down(a, b []float64) {
	//omp:teams distribute parallel for
	for i := len(a) - 1; i >= 0; i-- {
		a[i] = 2 * b[i]
	}
}

//omp:target device(smp)
func Every3(a, b []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i += 3 {
		a[i] = b[i] - 1
	}
}

//omp:target device(smp)
func Forces(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		//omp:simd reduction(+: fx, fy, fz)
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-9)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

//omp:target device(smp) fastmath
func ForcesFast(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		//omp:simd reduction(+: fx, fy, fz)
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-9)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		vx[i] += dt * fx
		vy[i] += dt * fy
		vz[i] += dt * fz
	}
}

//omp:target device(smp)
func Jacobi(n, m int, a, b []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			b[i*m+j] = 0.25 * (a[(i-1)*m+j] + a[(i+1)*m+j] + a[i*m+j-1] + a[i*m+j+1])
		}
	}
}

//omp:target device(smp)
func RowSums(n, m int, a, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		sum := s[i]
		//omp:simd reduction(+: sum)
		for j := 0; j < m; j++ {
			sum += a[i*m+j]
		}
		s[i] = sum
	}
}

//omp:target device(smp)
func SpMV(rows []int32, cols []int32, vals, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		var sum float32
		//omp:simd reduction(+: sum)
		for k := int(rows[i]); k < int(rows[i+1]); k++ {
			sum += vals[k] * x[cols[k]]
		}
		y[i] = sum
	}
}

//omp:target device(smp)
func Clip(a []float32, lo, hi float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		v := a[i]
		if v < lo {
			v = lo
		} else if v > hi {
			v = hi
		}
		if v != 0 && a[i] > 0.5 || v < -0.25 {
			a[i] = v * 2
		}
	}
}

//omp:target device(smp)
func Mandel(w, h, limit int, out []int32) {
	//omp:teams distribute parallel for collapse(2)
	for y := 0; y < h; y++ {
		for x := 0; x < w; x++ {
			cr := 3*float64(x)/float64(w) - 2
			ci := 2*float64(y)/float64(h) - 1
			var zr, zi float64
			n := 0
			for n < limit {
				rr, ii := zr*zr, zi*zi
				if rr+ii > 4 {
					break
				}
				zi = 2*zr*zi + ci
				zr = rr - ii + cr
				n++
			}
			out[y*w+x] = int32(n)
		}
	}
}

//omp:target device(smp)
func Bits(a, b []uint32, c []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		x := a[i]*2654435761 ^ b[i]>>7
		x += x << 3
		x ^= x &^ 0xff00
		a[i] = x
		c[i] = (c[i] >> 2) - int32(i)
	}
}

//omp:target device(smp)
func Shorts(a []int16, b []uint8, c []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = a[i]*3 + int16(b[i])
		c[i] = float32(b[i]) + float32(a[i])
	}
}

//omp:target device(smp)
func Longs(a, b []int, f []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = a[i]*b[i] + i
		f[i] = float64(a[i]) * 0.5
	}
}

type point struct {
	x, y float32
	k    int32
}

//omp:target device(smp)
func Points(p []point, d []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		d[i] = p[i].x*p[i].x + p[i].y*p[i].y
		p[i].k = int32(i)
		p[i].x = 0
	}
}

//omp:target device(smp)
func MinMax(a, b, c []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		c[i] = min(a[i], b[i]) + math.Floor(max(a[i], b[i], 0.5)) + math.Abs(a[i]) - math.Sqrt(math.Abs(b[i]))
	}
}

//omp:target device(smp)
func Extremes(a, b, c, d []float64, x, y, u, v []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		c[i], d[i] = min(a[i], b[i]), max(a[i], b[i])
	}
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		u[i], v[i] = min(x[i], y[i]), max(x[i], y[i])
	}
}

//omp:target device(smp)
func MatMul(n int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var sum float32
			for k := 0; k < n; k++ {
				sum += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = sum
		}
	}
}

//omp:target device(smp)
func Gather(a []float64, ix []int, b []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[ix[i]]
	}
}

//omp:target device(smp)
func Guarded(a, b []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		if i > 0 && i < len(a)-1 {
			a[i] = b[i-1] + b[i+1]
		}
	}
}

//omp:target device(smp)
func RowExtremes(n, m int, a []float32, lo, hi []float32, count []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		least, most := a[i*m], a[i*m]
		var c int32
		//omp:simd reduction(min: least) reduction(max: most) reduction(+: c)
		for j := 0; j < m; j++ {
			least = min(least, a[i*m+j])
			most = max(most, a[i*m+j])
			c += int32(j)
		}
		lo[i], hi[i], count[i] = least, most, c
	}
}

//omp:target device(smp)
func FillBox(n, m, i0, i1, j0, j1 int, k uint32, d []uint32) {
	//omp:teams distribute parallel for collapse(2)
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			d[i*m+j] = uint32(i*m+j)*2246822519 + k
		}
	}
}

//omp:target device(smp)
func MixBox(n, m, i0, i1, j0, j1, a, b int, k uint32, d, s []uint32) {
	//omp:teams distribute parallel for collapse(2)
	for i := i0; i < i1; i++ {
		for j := j0; j < j1; j++ {
			d[i*m+j] = d[i*m+j]*31 + s[(i-i0+a)*m+j-j0+b] + k
		}
	}
}

//omp:target device(smp)
func Fill(lo, hi int, k uint32, d []uint32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		d[i] = uint32(i)*2654435761 + k
	}
}

//omp:target device(smp)
func Ladder(y []float32, k []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		if y[i] < -0.5 {
			y[i] = 1
		} else if i > 7 {
			if y[i] > 0.5 {
				y[i] = 2
			} else if k[i]&1 == 0 {
				y[i] = 3
			} else {
				y[i] = -y[i]
			}
		} else {
			y[i] = 4
		}
		switch {
		case y[i] == 1:
			k[i] = 7
		case y[i] > 2:
			k[i]++
		default:
			if k[i] > 0 && y[i] < 0 || k[i] < -100 {
				k[i] = 0
			}
		}
	}
}

//omp:target device(smp)
func Total(x, y, out []float32) {
	var sum, most float32
	//omp:teams distribute parallel for reduction(+: sum) reduction(max: most)
	for i := 0; i < len(x); i++ {
		sum += x[i] * y[i]
		most = max(most, x[i])
	}
	out[0] = sum
	out[1] = most
}

//omp:target device(smp)
func Odd(x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = kernel.Cbrt(y[i]) + kernel.Atan2(y[i], 0.75)
	}
}

//omp:target device(smp)
func Conjugate(rows, cols []int32, vals, p, q, pq []float64) {
	s := pq[0]
	//omp:teams distribute parallel for reduction(+: s)
	for i := 0; i < len(q); i++ {
		sum := 0.0
		for k := rows[i]; k < rows[i+1]; k++ {
			sum += vals[k] * p[cols[k]]
		}
		q[i] = sum
		s += sum * p[i]
	}
	pq[0] = s
}
