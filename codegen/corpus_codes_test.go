package codegen_test

import (
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of the benchmarks and codes that practitioners compare compilers with.

// Jacobi3D is the 7-point stencil.
//
//omp:target device(acc, smp)
//omp:task in(a) inout(b)
func Jacobi3D(n int, b, a []float64) {
	//omp:teams distribute parallel for collapse(3)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			for k := 1; k < n-1; k++ {
				c := (i*n+j)*n + k
				b[c] = a[c]/2 + (a[c-n*n]+a[c+n*n]+a[c-n]+a[c+n]+a[c-1]+a[c+1])/12
			}
		}
	}
}

// TwoMM is d = beta d + alpha a b c, the product of two in tmp.
//
//omp:target device(acc, smp)
//omp:task in(a, b, c) inout(d, tmp)
func TwoMM(n int, alpha, beta float64, a, b, c, d, tmp []float64) {
	//omp:teams loop collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := 0.0
			for k := 0; k < n; k++ {
				s += alpha * a[i*n+k] * b[k*n+j]
			}
			tmp[i*n+j] = s
		}
	}
	//omp:teams loop collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := d[i*n+j] * beta
			for k := 0; k < n; k++ {
				s += tmp[i*n+k] * c[k*n+j]
			}
			d[i*n+j] = s
		}
	}
}

func product(n int, a, b []float32, i, j int) float32 {
	var s float32
	for k := 0; k < n; k++ {
		s += a[i*n+k] * b[k*n+j]
	}
	return s
}

// ThreeMM is g = (a b)(c d), by a function.
//
//omp:target device(acc, smp)
//omp:task in(a, b, c, d) inout(e, f, g)
func ThreeMM(n int, a, b, c, d, e, f, g []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			e[i*n+j] = product(n, a, b, i, j)
			f[i*n+j] = product(n, c, d, i, j)
		}
	}
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			g[i*n+j] = product(n, e, f, i, j)
		}
	}
}

// Atax is y = A^T (A x).
//
//omp:target device(acc, smp)
//omp:task in(a, x) inout(y, tmp)
func Atax(n, m int, a, x, y, tmp []float64) {
	//omp:teams loop
	for i := 0; i < n; i++ {
		s := 0.0
		for j := 0; j < m; j++ {
			s += a[i*m+j] * x[j]
		}
		tmp[i] = s
	}
	//omp:teams loop
	for j := 0; j < m; j++ {
		s := 0.0
		for i := 0; i < n; i++ {
			s += a[i*m+j] * tmp[i]
		}
		y[j] = s
	}
}

// Bicg is q = A p and s = A^T r, of rows by teams with a reduction and of columns by threads.
//
//omp:target device(acc, smp)
//omp:task in(a, p, r) inout(q, s)
func Bicg(n, m int, a, p, r, q, s []float64) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		sum := 0.0
		//omp:parallel for reduction(+: sum)
		for j := 0; j < m; j++ {
			sum += a[i*m+j] * p[j]
		}
		q[i] = sum
	}
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		sum := 0.0
		for i := 0; i < n; i++ {
			sum += r[i] * a[i*m+j]
		}
		s[j] = sum
	}
}

// Mvt is x1 += A y1 and x2 += A^T y2.
//
//omp:target device(acc, smp)
//omp:task in(a, y1, y2) inout(x1, x2)
func Mvt(n int, a, x1, x2, y1, y2 []float32) {
	//omp:loop
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			x1[i] += a[i*n+j] * y1[j]
		}
	}
	//omp:loop
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			x2[i] += a[j*n+i] * y2[j]
		}
	}
}

// Gemver is the vector multiplication and matrix addition of BLAS.
//
//omp:target device(acc, smp)
//omp:task in(u1, v1, u2, v2, y, z) inout(a, x, w)
func Gemver(n int, alpha, beta float64, a, u1, v1, u2, v2, x, y, z, w []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			a[i*n+j] += u1[i]*v1[j] + u2[i]*v2[j]
		}
	}
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := x[i]
		for j := 0; j < n; j++ {
			s += beta * a[j*n+i] * y[j]
		}
		x[i] = s + z[i]
	}
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := w[i]
		for j := 0; j < n; j++ {
			s += alpha * a[i*n+j] * x[j]
		}
		w[i] = s
	}
}

// Syrk updates the lower triangle of c with a a^T.
//
//omp:target device(acc, smp)
//omp:task in(a) inout(c)
func Syrk(n, m int, alpha, beta float64, a, c []float64) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		//omp:parallel for
		for j := 0; j <= i; j++ {
			s := beta * c[i*n+j]
			for k := 0; k < m; k++ {
				s += alpha * a[i*m+k] * a[j*m+k]
			}
			c[i*n+j] = s
		}
	}
}

// Correlation of the m columns of x: means and deviations first, then every pair of columns.
//
//omp:target device(acc, smp)
//omp:task inout(x, mean, dev, corr)
func Correlation(n, m int, x, mean, dev, corr []float64) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		s := 0.0
		for i := 0; i < n; i++ {
			s += x[i*m+j]
		}
		s /= float64(n)
		d := 0.0
		for i := 0; i < n; i++ {
			e := x[i*m+j] - s
			d += e * e
		}
		d = math.Sqrt(d / float64(n))
		if d <= 0.1 {
			d = 1
		}
		mean[j], dev[j] = s, d
	}
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			x[i*m+j] = (x[i*m+j] - mean[j]) / (math.Sqrt(float64(n)) * dev[j])
		}
	}
	//omp:teams distribute
	for k := 0; k < m; k++ {
		//omp:parallel for
		for j := k; j < m; j++ {
			s := 0.0
			for i := 0; i < n; i++ {
				s += x[i*m+k] * x[i*m+j]
			}
			if j == k {
				s = 1
			}
			corr[k*m+j] = s
			corr[j*m+k] = s
		}
	}
}

// GramSchmidtStep takes column k of q out of the columns behind it.
//
//omp:target device(acc, smp)
//omp:task inout(a, q, r)
func GramSchmidtStep(n, m, k int, a, q, r []float64) {
	norm := 0.0
	//omp:teams distribute parallel for reduction(+: norm)
	for i := 0; i < n; i++ {
		norm += a[i*m+k] * a[i*m+k]
	}
	r[k*m+k] = math.Sqrt(norm)
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		q[i*m+k] = a[i*m+k] / r[k*m+k]
	}
	//omp:teams distribute
	for j := k + 1; j < m; j++ {
		s := 0.0
		//omp:parallel for reduction(+: s)
		for i := 0; i < n; i++ {
			s += q[i*m+k] * a[i*m+j]
		}
		r[k*m+j] = s
		//omp:parallel for
		for i := 0; i < n; i++ {
			a[i*m+j] -= q[i*m+k] * s
		}
	}
}

// FDTD2D is one time step of the finite-difference time-domain method.
//
//omp:target device(acc, smp)
//omp:task inout(ex, ey, hz)
func FDTD2D(n, m int, source float64, ex, ey, hz []float64) {
	//omp:loop
	for j := 0; j < m; j++ {
		ey[j] = source
	}
	//omp:loop collapse(2)
	for i := 1; i < n; i++ {
		for j := 0; j < m; j++ {
			ey[i*m+j] -= 0.5 * (hz[i*m+j] - hz[(i-1)*m+j])
		}
	}
	//omp:loop collapse(2)
	for i := 0; i < n; i++ {
		for j := 1; j < m; j++ {
			ex[i*m+j] -= 0.5 * (hz[i*m+j] - hz[i*m+j-1])
		}
	}
	//omp:loop collapse(2)
	for i := 0; i < n-1; i++ {
		for j := 0; j < m-1; j++ {
			hz[i*m+j] -= 0.7 * (ex[i*m+j+1] - ex[i*m+j] + ey[(i+1)*m+j] - ey[i*m+j])
		}
	}
}

// PrefixStep is one step of the scan of Hillis and Steele.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func PrefixStep(d int, x, y []int64) {
	//omp:loop
	for i := range y {
		if i >= d {
			y[i] = x[i] + x[i-d]
		} else {
			y[i] = x[i]
		}
	}
}

// KMeans gives each point its nearest centre, and sums up the members.
//
//omp:target device(acc, smp)
//omp:task in(points, centres) inout(member, count, sum, moved)
func KMeans(dims int, points, centres []float32, member []int32, count []int32, sum []int64, moved []int32) {
	k, n := len(count), len(member)
	changed := int32(0)
	//omp:teams distribute parallel for reduction(+: changed)
	for i := 0; i < n; i++ {
		best, least := int32(0), float32(math.MaxFloat32)
		for c := 0; c < k; c++ {
			var d float32
			for x := 0; x < dims; x++ {
				e := points[i*dims+x] - centres[c*dims+x]
				d += e * e
			}
			if d < least {
				best, least = int32(c), d
			}
		}
		if member[i] != best {
			changed++
			member[i] = best
		}
		//omp:atomic
		count[best]++
		for x := 0; x < dims; x++ {
			//omp:atomic
			sum[int(best)*dims+x] += int64(points[i*dims+x] * 1000)
		}
	}
	moved[0] = changed
}

// SpMVELL has the same number of places in every row, column by column; -1 is an empty one.
//
//omp:target device(acc, smp)
//omp:task in(col, val, x) inout(y)
func SpMVELL(width int, col []int32, val, x, y []float64) {
	n := len(y)
	//omp:teams distribute parallel for
	for r := 0; r < n; r++ {
		s := 0.0
		for k := 0; k < width; k++ {
			if c := col[k*n+r]; c >= 0 {
				s += val[k*n+r] * x[c]
			}
		}
		y[r] = s
	}
}

// BFSLevel visits the neighbours of what was reached at a level.
//
//omp:target device(acc, smp)
//omp:task in(start, edges) inout(depth, more)
func BFSLevel(level int32, start, edges, depth, more []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		var mine int32
		//omp:atomic read
		mine = depth[v]
		if mine != level {
			continue
		}
		for e := start[v]; e < start[v+1]; e++ {
			var old int32
			//omp:atomic compare capture
			{
				old = depth[edges[e]]
				if depth[edges[e]] == -1 {
					depth[edges[e]] = level + 1
				}
			}
			if old == -1 {
				//omp:atomic write
				more[0] = 1
			}
		}
	}
}

// random is a counter-based generator: the number of a draw and a key make the draw.
func random(key, n uint64) float64 {
	z := key + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// MonteCarloPi counts the points of a square that lie in the circle.
//
//omp:target device(acc, smp)
//omp:task inout(hits)
func MonteCarloPi(n int, key uint64, hits []int64) {
	in := int64(0)
	//omp:teams distribute parallel for reduction(+: in)
	for i := 0; i < n; i++ {
		x, y := random(key, uint64(2*i)), random(key, uint64(2*i+1))
		if x*x+y*y < 1 {
			in++
		}
	}
	hits[0] += in
}

// EP makes pairs of Gaussian deviates and counts them by size, as the NAS benchmark does.
//
//omp:target device(acc, smp)
//omp:task inout(counts, sums)
func EP(n int, key uint64, counts []int64, sums []float64) {
	var sx, sy float64
	var q [10]int64
	//omp:teams distribute parallel for reduction(+: sx, sy, q)
	for i := 0; i < n; i++ {
		x, y := 2*random(key, uint64(2*i))-1, 2*random(key, uint64(2*i+1))-1
		t := x*x + y*y
		if t > 1 || t == 0 {
			continue
		}
		f := math.Sqrt(-2 * math.Log(t) / t)
		x, y = x*f, y*f
		q[min(int(max(math.Abs(x), math.Abs(y))), 9)]++
		sx += x
		sy += y
	}
	sums[0], sums[1] = sums[0]+sx, sums[1]+sy
	for b := range q {
		counts[b] += q[b]
	}
}

// CGStep is one step of conjugate gradients: products, dot products and vector updates in order.
//
//omp:target device(acc, smp)
//omp:task in(start, col, val) inout(x, r, p, q, rho)
func CGStep(start, col []int32, val, x, r, p, q, rho []float64) {
	n := len(x)
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := 0.0
		for k := start[i]; k < start[i+1]; k++ {
			s += val[k] * p[col[k]]
		}
		q[i] = s
	}
	pq := 0.0
	//omp:teams distribute parallel for reduction(+: pq)
	for i := 0; i < n; i++ {
		pq += q[i] * p[i]
	}
	old := rho[0]
	alpha := old / (pq + 1)
	next := 0.0
	//omp:teams distribute parallel for reduction(+: next)
	for i := 0; i < n; i++ {
		x[i] += alpha * p[i]
		r[i] -= alpha * q[i]
		next += r[i] * r[i]
	}
	beta := next / (old + 1)
	rho[0] = next
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		p[i] = r[i] + beta*p[i]
	}
}

type Particle4 struct{ X, Y, Z, Q float64 }

// CellLists sums over the particles of the boxes around a box, as LavaMD does: a box is a team's, a particle a thread's.
//
//omp:target device(acc, smp)
//omp:task in(first, near, p) inout(f)
func CellLists(first, near []int32, p []Particle4, f []Particle4) {
	boxes := len(first) - 1
	//omp:teams distribute
	for b := 0; b < boxes; b++ {
		//omp:parallel for
		for i := int(first[b]); i < int(first[b+1]); i++ {
			me, sum := p[i], f[i]
			for n := 0; n < 3; n++ {
				other := near[3*b+n]
				for j := int(first[other]); j < int(first[other+1]); j++ {
					d := p[j]
					dx, dy, dz := me.X-d.X, me.Y-d.Y, me.Z-d.Z
					w := math.Exp(-(dx*dx+dy*dy+dz*dz)/2) * d.Q
					sum.Q += w
					sum.X += w * dx
					sum.Y += w * dy
					sum.Z += w * dz
				}
			}
			f[i] = sum
		}
	}
}

// Tracks looks, for each point of a heart's wall, for the best match of its template in a window, as heartwall does:
// points by teams, places of the window by threads, the template by each of them.
//
//omp:target device(acc, smp)
//omp:task in(frame, row, col, template) inout(bestAt, bestValue)
func Tracks(width, size, window int, frame []float32, row, col []int32, template []float32, bestAt []int32, bestValue []float32) {
	//omp:teams distribute
	for t := 0; t < len(row); t++ {
		best, at := float32(math.Inf(-1)), 0
		//omp:parallel for reduction(maxloc: (best, at))
		for w := 0; w < window*window; w++ {
			y, x := int(row[t])+w/window, int(col[t])+w%window
			var s float32
			for i := 0; i < size; i++ {
				for j := 0; j < size; j++ {
					s += frame[(y+i)*width+x+j] * template[(t*size+i)*size+j]
				}
			}
			if s > best {
				best, at = s, w
			}
		}
		bestAt[t], bestValue[t] = int32(at), best
	}
}

// LUFactor eliminates all columns in order, in one kernel of one team.
//
//omp:target device(acc, smp)
//omp:task inout(a)
func LUFactor(n int, a []float64) {
	//omp:teams num_teams(1)
	{
		for k := 0; k < n; k++ {
			//omp:parallel for
			for i := k + 1; i < n; i++ {
				a[i*n+k] /= a[k*n+k]
				for j := k + 1; j < n; j++ {
					a[i*n+j] -= a[i*n+k] * a[k*n+j]
				}
			}
		}
	}
}

// WeightedSum keeps shared parts small: kernel.Rsqrt of a helper with two results.
//
//omp:target device(acc, smp)
//omp:task in(x, y) inout(out)
func WeightedSum(x, y, out []float32) {
	//omp:loop
	for i := range out {
		a, b := unit(x[i], y[i])
		out[i] = a*3 + b
	}
}

func unit(x, y float32) (a, b float32) {
	s := kernel.Rsqrt(x*x + y*y + 1)
	return x * s, y * s
}

// CGProduct is the product of CGStep and its dot product in one loop: a sum of the row inside a sum of all rows.
//
//omp:target device(acc, smp)
//omp:task in(start, col, val, p) out(q) inout(*pq)
func CGProduct(start, col []int32, val, p, q []float64, pq *float64) {
	//omp:teams distribute parallel for reduction(+: *pq)
	for i := 0; i < len(q); i++ {
		s := 0.0
		for k := start[i]; k < start[i+1]; k++ {
			s += val[k] * p[col[k]]
		}
		q[i] = s
		*pq += s * p[i]
	}
}

//lint:file-ignore S1021 an atomic read governs an assignment, so that the declaration stands by itself
