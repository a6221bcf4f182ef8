package gpubench

import (
	_ "embed"
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of many application fields, in several usual forms. The hand-written CUDA kernels of the
// same names are in suite.cu.

//go:embed suite_kernels.go
var suiteSource string

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Conv7(n int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 3; i < n-3; i++ {
		for j := 3; j < n-3; j++ {
			var s float32
			for a := 0; a < 7; a++ {
				for b := 0; b < 7; b++ {
					s += f[a*7+b] * x[(i+a-3)*n+j+b-3]
				}
			}
			y[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Conv7Rows(n int, x, f, y []float32) {
	//omp:teams distribute parallel for
	for i := 3; i < n-3; i++ {
		for j := 3; j < n-3; j++ {
			y[i*n+j] = 0
			for a := -3; a <= 3; a++ {
				for b := -3; b <= 3; b++ {
					y[i*n+j] += f[(a+3)*7+b+3] * x[(i+a)*n+j+b]
				}
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Conv5Rim(n int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for a := -2; a <= 2; a++ {
				for b := -2; b <= 2; b++ {
					if i+a >= 0 && i+a < n && j+b >= 0 && j+b < n {
						s += f[(a+2)*5+b+2] * x[(i+a)*n+j+b]
					}
				}
			}
			y[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func Products32(m int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(3)
	for q := 0; q < m; q++ {
		for i := 0; i < 32; i++ {
			for j := 0; j < 32; j++ {
				var s float32
				for k := 0; k < 32; k++ {
					s += a[q*1024+i*32+k] * b[q*1024+k*32+j]
				}
				c[q*1024+i*32+j] = s
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func Products32Each(m int, a, b, c []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < m; q++ {
		for i := 0; i < 32; i++ {
			for j := 0; j < 32; j++ {
				c[q*1024+i*32+j] = 0
				for k := 0; k < 32; k++ {
					c[q*1024+i*32+j] += a[q*1024+i*32+k] * b[q*1024+k*32+j]
				}
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Transposed(n int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			y[j*n+i] = x[i*n+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func TransposedLoop(n int, x, y []float32) {
	//omp:loop
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			y[i*n+j] = x[j*n+i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, z) inout(y)
func AddTransposed(n int, x, z, y []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			y[i*n+j] = 0.5*x[i*n+j] + z[j*n+i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func ColumnDot(n int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < n; j++ {
		var s float32
		//omp:simd reduction(+: s)
		for i := 0; i < n; i++ {
			s += a[i*n+j] * x[i]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func ColumnDotInOrder(n int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i < n; i++ {
			s += a[i*n+j] * x[i]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func RowDot(n int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		//omp:simd reduction(+: s)
		for j := 0; j < n; j++ {
			s += a[i*n+j] * x[j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a, x) inout(y)
func RowDotInOrder(n int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for j := 0; j < n; j++ {
			s += a[i*n+j] * x[j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func Gemm(n int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := c[i*n+j]
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func GemmInPlace(n int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			for k := 0; k < n; k++ {
				c[i*n+j] += a[i*n+k] * b[k*n+j]
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func GemmRowByRow(n int, a, b, c []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for k := 0; k < n; k++ {
			for j := 0; j < n; j++ {
				c[i*n+j] += a[i*n+k] * b[k*n+j]
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, b) inout(c)
func GemmTeams(n int, a, b, c []float32) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		//omp:parallel for
		for j := 0; j < n; j++ {
			s := c[i*n+j]
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a) inout(c)
func Gram(n, m int, a, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for k := 0; k < m; k++ {
				s += a[i*m+k] * a[j*m+k]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(z)
func Distances(n, m int, x, y, z []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for k := 0; k < m; k++ {
				d := x[i*m+k] - y[j*m+k]
				s += d * d
			}
			z[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Heat3D(n int, x, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			for k := 1; k < n-1; k++ {
				y[(i*n+j)*n+k] = 0.4*x[(i*n+j)*n+k] + 0.1*(x[((i-1)*n+j)*n+k]+x[((i+1)*n+j)*n+k]+
					x[(i*n+j-1)*n+k]+x[(i*n+j+1)*n+k]+x[(i*n+j)*n+k-1]+x[(i*n+j)*n+k+1])
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Heat3DPlanes(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			for k := 1; k < n-1; k++ {
				at := (i*n+j)*n + k
				y[at] = 0.4*x[at] + 0.1*(x[at-n*n]+x[at+n*n]+x[at-n]+x[at+n]+x[at-1]+x[at+1])
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(u) inout(v)
func Wave(n int, c float64, u, v []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			lap := u[(i-1)*n+j] + u[(i+1)*n+j] + u[i*n+j-1] + u[i*n+j+1] - 4*u[i*n+j]
			v[i*n+j] = 2*u[i*n+j] - v[i*n+j] + c*lap
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Softmax(n, m int, x, y []float32) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		most, sum := x[i*m], float32(0)
		//omp:parallel for reduction(max: most)
		for j := 0; j < m; j++ {
			most = max(most, x[i*m+j])
		}
		//omp:parallel for reduction(+: sum)
		for j := 0; j < m; j++ {
			sum += kernel.Exp(x[i*m+j] - most)
		}
		//omp:parallel for
		for j := 0; j < m; j++ {
			y[i*m+j] = kernel.Exp(x[i*m+j]-most) / sum
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func SoftmaxEach(n, m int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		most, sum := x[i*m], float32(0)
		for j := 0; j < m; j++ {
			most = max(most, x[i*m+j])
		}
		for j := 0; j < m; j++ {
			sum += kernel.Exp(x[i*m+j] - most)
		}
		for j := 0; j < m; j++ {
			y[i*m+j] = kernel.Exp(x[i*m+j]-most) / sum
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(s, k, t) inout(call)
func OptionPrices(r, vol float32, s, k, t, call []float32) {
	//omp:teams distribute parallel for
	for i := range s {
		q := kernel.Sqrt(t[i])
		d1 := (kernel.Log(s[i]/k[i]) + (r+vol*vol/2)*t[i]) / (vol * q)
		d2 := d1 - vol*q
		n1 := 0.5 * float32(math.Erfc(float64(-d1*0.70710678)))
		n2 := 0.5 * float32(math.Erfc(float64(-d2*0.70710678)))
		call[i] = s[i]*n1 - k[i]*kernel.Exp(-r*t[i])*n2
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, centre) inout(nearest)
func Nearest(n, d, c int, x, centre []float32, nearest []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, at := float32(math.MaxFloat32), 0
		for k := 0; k < c; k++ {
			var s float32
			for j := 0; j < d; j++ {
				e := x[j*n+i] - centre[k*d+j]
				s += e * e
			}
			if s < best {
				best, at = s, k
			}
		}
		nearest[i] = int32(at)
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Filter33(n int, x, f, y []float32) {
	//omp:teams distribute parallel for
	for i := 16; i < n-16; i++ {
		var s float32
		for k := 0; k < 33; k++ {
			s += f[k] * x[i+k-16]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Hash(rounds int, x []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		for r := 0; r < rounds; r++ {
			v ^= v << 13
			v ^= v >> 17
			v ^= v << 5
			v = v*2654435761 + uint32(r)
		}
		x[i] = v
	}
}

// Shortest computes the lengths of all shortest paths. In step k the iterations on row and column k
// store unchanged values, so that the other iterations may read them.
//
//omp:target device(acc, smp) overlap(ok)
//omp:task inout(d)
func Shortest(n int, d []float32) {
	for k := 0; k < n; k++ {
		//omp:teams distribute parallel for collapse(2)
		for i := 0; i < n; i++ {
			for j := 0; j < n; j++ {
				d[i*n+j] = min(d[i*n+j], d[i*n+k]+d[k*n+j])
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func Factors(n int, a []float64) {
	for k := 0; k < n; k++ {
		//omp:teams distribute parallel for
		for i := k + 1; i < n; i++ {
			a[i*n+k] /= a[k*n+k]
		}
		//omp:teams distribute parallel for collapse(2)
		for i := k + 1; i < n; i++ {
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= a[i*n+k] * a[k*n+j]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a, b)
func HeatSteps(n, steps int, a, b []float64) {
	x, y := a, b
	for range steps {
		//omp:teams distribute parallel for collapse(2)
		for i := 1; i < n-1; i++ {
			for j := 1; j < n-1; j++ {
				y[i*n+j] = 0.25 * (x[(i-1)*n+j] + x[(i+1)*n+j] + x[i*n+j-1] + x[i*n+j+1])
			}
		}
		x, y = y, x
	}
}

//omp:target device(acc, smp)
//omp:task inout(a, b, left)
func Converge(n, most int, eps float64, a, b, left []float64) {
	d := eps + 1
	for k := 0; k < most && d > eps; k++ {
		d = 0
		//omp:teams distribute parallel for reduction(max: d)
		for i := 1; i < n-1; i++ {
			b[i] = 0.5 * (a[i-1] + a[i+1])
			d = max(d, b[i]-a[i], a[i]-b[i])
		}
		//omp:teams distribute parallel for
		for i := 1; i < n-1; i++ {
			a[i] = b[i]
		}
	}
	left[0] = d
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Upscale(n int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < 2*n-2; i++ {
		for j := 0; j < 2*n-2; j++ {
			u, v := i/2, j/2
			p, q := float32(i%2)*0.5, float32(j%2)*0.5
			top := x[u*n+v]*(1-q) + x[u*n+v+1]*q
			low := x[(u+1)*n+v]*(1-q) + x[(u+1)*n+v+1]*q
			y[i*(2*n-2)+j] = top*(1-p) + low*p
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(mean, variance)
func ColumnMoments(n, m int, x, mean, variance []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		var s, q float32
		//omp:simd reduction(+: s, q)
		for i := 0; i < n; i++ {
			s += x[i*m+j]
			q += x[i*m+j] * x[i*m+j]
		}
		mean[j] = s / float32(n)
		variance[j] = q/float32(n) - s/float32(n)*(s/float32(n))
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyStatic(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(static)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleStatic(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(static)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyDynamic(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(dynamic)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleDynamic(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(dynamic)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyGuided(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(guided)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleGuided(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(guided)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyCounter(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(counter)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleCounter(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(counter)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyCyclic(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(cyclic)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleCyclic(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(cyclic)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func AxpyOneToOne(a float64, x, y []float64) {
	//omp:teams distribute parallel for schedule(onetoone)
	for i := range y {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(y)
func TriangleOneToOne(n int, a, y []float32) {
	//omp:teams distribute parallel for schedule(onetoone)
	for j := 0; j < n; j++ {
		var s float32
		for i := 0; i <= j; i++ {
			s += a[i*n+j]
		}
		y[j] = s
	}
}
