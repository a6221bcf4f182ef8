package gpubench

import (
	_ "embed"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels that are measured: plain Go, which runs here as what their results are compared with.

//go:embed kernels.go
var kernelSource string

//omp:target device(acc, smp)
//omp:task in(a) out(c)
func Copy(c, a []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(c) out(b)
func Scale(b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(b); i++ {
		b[i] = s * c[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) out(c)
func Add(c, a, b []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i] + b[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(b, c) out(a)
func Triad(a, b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func Forces(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-3)
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

//omp:target device(acc, smp) fastmath
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func ForcesFast(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		var fx, fy, fz float32
		for j := range px {
			dx, dy, dz := px[j]-px[i], py[j]-py[i], pz[j]-pz[i]
			inv := kernel.Rsqrt(dx*dx + dy*dy + dz*dz + 1e-3)
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

//omp:target device(acc, smp)
//omp:task in(vx[lo:hi], vy[lo:hi], vz[lo:hi]) inout(px[lo:hi], py[lo:hi], pz[lo:hi])
func Move(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		px[i] += dt * vx[i]
		py[i] += dt * vy[i]
		pz[i] += dt * vz[i]
	}
}

// Jacobi makes rows lo to hi of b from a, which is n x m.
//
//omp:target device(acc, smp)
//omp:task in(a[(lo-1)*m:(hi+1)*m]) inout(b[lo*m:hi*m])
func Jacobi(lo, hi, m int, b, a []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := lo; i < hi; i++ {
		for j := 1; j < m-1; j++ {
			b[i*m+j] = 0.25 * (a[(i-1)*m+j] + a[(i+1)*m+j] + a[i*m+j-1] + a[i*m+j+1])
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func Sum(x, out []float64) {
	var s float64
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i]
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(hist)
func Histogram(x []int32, hist []int32) {
	//omp:teams
	{
		var part [256]int32
		//omp:parallel
		{
			//omp:for
			for b := 0; b < 256; b++ {
				part[b] = 0
			}
			first := kernel.TeamNum()*kernel.NumThreads() + kernel.ThreadNum()
			stride := kernel.NumTeams() * kernel.NumThreads()
			for i := first; i < len(x); i += stride {
				//omp:atomic
				part[x[i]&255]++
			}
			kernel.Barrier()
			//omp:for
			for b := 0; b < 256; b++ {
				//omp:atomic
				hist[b] += part[b]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) out(y)
func SpMV(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		//omp:simd reduction(+: s)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func MatMul(n int, c, a, b []float32) {
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

// Tile adds the product of tiles a and b to tile c, each of bs x bs elements in a row.
//
//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func Tile(bs int, c, a, b []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < bs; i++ {
		for j := 0; j < bs; j++ {
			s := c[i*bs+j]
			for k := 0; k < bs; k++ {
				s += a[i*bs+k] * b[k*bs+j]
			}
			c[i*bs+j] = s
		}
	}
}

// Fill makes tile (row, column) of a positive definite matrix of n x n: the diagonal is larger than
// its row.
//
//omp:target device(acc, smp)
//omp:task out(a)
func Fill(row, column, bs, n int, a []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < bs; i++ {
		for j := 0; j < bs; j++ {
			r, c := row*bs+i, column*bs+j
			v := 1 / float64(1+(r+c)%7)
			if r == c {
				v = float64(n)
			}
			a[i*bs+j] = v
		}
	}
}

// Potrf makes the Cholesky factor of tile a in place, below the diagonal: a column after the other,
// from the dot products of its rows with that of the diagonal.
//
//omp:target device(acc, smp)
//omp:task inout(a)
func Potrf(bs int, a []float64) {
	for j := 0; j < bs; j++ {
		//omp:teams distribute parallel for
		for i := j; i < bs; i++ {
			s := 0.0
			//omp:simd reduction(+: s)
			for k := 0; k < j; k++ {
				s += a[i*bs+k] * a[j*bs+k]
			}
			a[i*bs+j] -= s
		}
		d := kernel.Sqrt(a[j*bs+j])
		a[j*bs+j] = d
		//omp:teams distribute parallel for
		for i := j + 1; i < bs; i++ {
			a[i*bs+j] /= d
		}
	}
}

// Trsm solves x * transpose(l) = a for tile x, in place of a: a team for each row.
//
//omp:target device(acc, smp)
//omp:task in(l) inout(a)
func Trsm(bs int, l, a []float64) {
	//omp:teams distribute
	for i := 0; i < bs; i++ {
		for j := 0; j < bs; j++ {
			s := 0.0
			//omp:parallel for reduction(+: s)
			for k := 0; k < j; k++ {
				s += a[i*bs+k] * l[j*bs+k]
			}
			a[i*bs+j] = (a[i*bs+j] - s) / l[j*bs+j]
		}
	}
}

// Update takes the product of tile a and the transpose of tile b from tile c.
//
//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func Update(bs int, a, b, c []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < bs; i++ {
		for j := 0; j < bs; j++ {
			s := c[i*bs+j]
			for k := 0; k < bs; k++ {
				s -= a[i*bs+k] * b[j*bs+k]
			}
			c[i*bs+j] = s
		}
	}
}

// UpdateDiagonal takes the product of tile a and its transpose from tile c.
//
//omp:target device(acc, smp)
//omp:task in(a) inout(c)
func UpdateDiagonal(bs int, a, c []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < bs; i++ {
		for j := 0; j < bs; j++ {
			s := c[i*bs+j]
			for k := 0; k < bs; k++ {
				s -= a[i*bs+k] * a[j*bs+k]
			}
			c[i*bs+j] = s
		}
	}
}

// Count is the smallest kernel that can be checked.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Count(x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = x[i] + 1
	}
}

// Tick adds to x, and does nothing at all where that is 0: the kernel of an empty task.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Tick(x []int64, more int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		if more != 0 {
			x[i] = x[i] + more
		}
	}
}

// Three touches three buffers.
//
//omp:target device(acc, smp)
//omp:task in(a) in(b) inout(c)
func Three(a, b, c []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = c[i] + a[i] + b[i]
	}
}

// Stage is the kernel of the pipeline.
//
//omp:target device(acc, smp)
//omp:task in(x) out(y)
func Stage(x, y []float64, times int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(y); i++ {
		s := x[i]
		for k := 0; k < times; k++ {
			s = s*0.5 + 1
		}
		y[i] = s
	}
}
