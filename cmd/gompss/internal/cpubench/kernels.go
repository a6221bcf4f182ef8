package cpubench

import "github.com/gompss/gompss/codegen/kernel"

// The kernels that are measured. c/rows.c has the same loops in C.

//omp:target device(smp) fastmath
func Copy[T kernel.Float](a, b []T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i]
	}
}

//omp:target device(smp) fastmath
func Scale[T kernel.Float](a, b []T, s T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = s * b[i]
	}
}

//omp:target device(smp) fastmath
func Add[T kernel.Float](a, b, c []T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + c[i]
	}
}

//omp:target device(smp) fastmath
func Triad[T kernel.Float](a, b, c []T, s T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

//omp:target device(smp) fastmath
func Saxpy[T kernel.Float](y, x []T, s T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		y[i] += s * x[i]
	}
}

//omp:target device(smp) fastmath
func Dot[T kernel.Float](out, x, y []T) {
	var sum T
	//omp:teams distribute parallel for reduction(+: sum)
	for i := 0; i < len(x); i++ {
		sum += x[i] * y[i]
	}
	out[0] = sum
}

//omp:target device(smp) fastmath
func NBody[T kernel.Float](px, py, pz, ax, ay, az []T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(ax); i++ {
		var fx, fy, fz T
		//omp:simd reduction(+: fx, fy, fz)
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-4)
			inv3 := inv * inv * inv
			fx += dx * inv3
			fy += dy * inv3
			fz += dz * inv3
		}
		ax[i], ay[i], az[i] = fx, fy, fz
	}
}

//omp:target device(smp) fastmath
func Jacobi[T kernel.Float](n, m int, b, a []T) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			b[i*m+j] = 0.25 * (a[(i-1)*m+j] + a[(i+1)*m+j] + a[i*m+j-1] + a[i*m+j+1])
		}
	}
}

//omp:target device(smp) fastmath
func SpMV[T kernel.Float](y, x, val []T, col, start []int32) {
	//omp:teams distribute parallel for
	for r := 0; r < len(y); r++ {
		var s T
		//omp:simd reduction(+: s)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

//omp:target device(smp) fastmath
func Exp[T kernel.Float](a, b []T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = kernel.Exp(b[i])
	}
}

func normal[T kernel.Float](d T) T {
	k := 1 / (1 + 0.2316419*kernel.Abs(d))
	p := k * (0.31938153 + k*(-0.356563782+k*(1.781477937+k*(-1.821255978+k*1.330274429))))
	p *= 0.39894228040143267794 * kernel.Exp(-0.5*d*d)
	if d > 0 {
		return 1 - p
	}
	return p
}

//omp:target device(smp) fastmath
func BlackScholes[T kernel.Float](call, put, price, strike, years []T, rate, vol T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(call); i++ {
		root := kernel.Sqrt(years[i])
		d1 := (kernel.Log(price[i]/strike[i]) + (rate+0.5*vol*vol)*years[i]) / (vol * root)
		n1, n2 := normal(d1), normal(d1-vol*root)
		now := strike[i] * kernel.Exp(-rate*years[i])
		call[i] = price[i]*n1 - now*n2
		put[i] = now*(1-n2) - price[i]*(1-n1)
	}
}

//omp:target device(smp) fastmath
func MatMul[T kernel.Float](n int, c, a, b []T) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s T
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(smp) fastmath
func Mandelbrot[T kernel.Float](w, h, limit int, dx, dy T, out []int32) {
	//omp:teams distribute parallel for collapse(2)
	for y := 0; y < h; y++ {
		for x := 0; x < w; x++ {
			cr, ci := T(x)*dx-2, T(y)*dy-1
			var zr, zi T
			n := int32(0)
			for n < int32(limit) {
				rr, ii := zr*zr, zi*zi
				if rr+ii > 4 {
					break
				}
				zi = 2*zr*zi + ci
				zr = rr - ii + cr
				n++
			}
			out[y*w+x] = n
		}
	}
}

//omp:target device(smp) fastmath
func Histogram[T kernel.Float](bins []int32, x []T) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		b := int32(x[i] * 256)
		//omp:atomic
		bins[b]++
	}
}
