package codegen_test

import (
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels in this file are Go functions that tests call, and Go source that tests compile: what the two compute is
// compared. It imports nothing but what kernels may import.

//omp:target device(acc, smp)
//omp:task in(a) out(c)
func StreamCopy(c, a []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(c); i++ {
		c[i] = a[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(c) out(b)
func StreamScale(b, c []float64, s float64) {
	//omp:teams distribute parallel for
	for i := range b {
		b[i] = s * c[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) out(c)
func StreamAdd(c, a, b []float64) {
	//omp:teams distribute parallel for simd
	for i := 0; i < len(c); i++ {
		c[i] = a[i] + b[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(b, c) out(a)
func StreamTriad(a, b, c []float64, s float64) {
	//omp:teams distribute parallel for schedule(static)
	for i := 0; i < len(a); i++ {
		a[i] = b[i] + s*c[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x[:n]) inout(y[:n])
func Saxpy(n int, a float32, x, y []float32) {
	//omp:teams distribute parallel for num_teams(64) thread_limit(128)
	for i := 0; i < n; i++ {
		y[i] += a * x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(x, y) inout(out)
func Dot(x, y, out []float64) {
	var s float64
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(*p)
func SumInto(x []int, p *int) {
	//omp:teams distribute parallel for reduction(+: *p)
	for i := range x {
		*p += x[i]
	}
}

//omp:target device(acc, smp)
//omp:task in(px, py, pz) inout(vx[lo:hi], vy[lo:hi], vz[lo:hi])
func NBodyForces(lo, hi int, dt float32, px, py, pz, vx, vy, vz []float32) {
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

//omp:target device(acc, smp)
//omp:task in(a) out(b)
func Jacobi2D(n, m int, b, a []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			b[i*m+j] = 0.25 * (a[(i-1)*m+j] + a[(i+1)*m+j] + a[i*m+j-1] + a[i*m+j+1])
		}
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

const tile = 8

//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func MatMulTiled(n int, c, a, b []float32) {
	//omp:teams distribute collapse(2)
	for ti := 0; ti < n; ti += tile {
		for tj := 0; tj < n; tj += tile {
			var ta, tb, tc [tile * tile]float32
			for tk := 0; tk < n; tk += tile {
				//omp:parallel for collapse(2)
				for i := 0; i < tile; i++ {
					for j := 0; j < tile; j++ {
						ta[i*tile+j], tb[i*tile+j] = 0, 0
						if ti+i < n && tk+j < n {
							ta[i*tile+j] = a[(ti+i)*n+tk+j]
						}
						if tk+i < n && tj+j < n {
							tb[i*tile+j] = b[(tk+i)*n+tj+j]
						}
					}
				}
				//omp:parallel for
				for e := 0; e < tile*tile; e++ {
					s := tc[e]
					for k := 0; k < tile; k++ {
						s += ta[e/tile*tile+k] * tb[k*tile+e%tile]
					}
					tc[e] = s
				}
			}
			//omp:parallel for
			for e := 0; e < tile*tile; e++ {
				i, j := ti+e/tile, tj+e%tile
				if i < n && j < n {
					c[i*n+j] += tc[e]
				}
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(hist)
func Histogram(x []int32, hist []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		b := int(x[i]) % len(hist)
		//omp:atomic
		hist[b]++
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(hist)
func HistogramTeams(x []int32, hist []int32) {
	//omp:teams
	{
		var part [16]int32
		//omp:parallel
		{
			//omp:for
			for b := 0; b < 16; b++ {
				part[b] = 0
			}
			first := kernel.TeamNum()*kernel.NumThreads() + kernel.ThreadNum()
			stride := kernel.NumTeams() * kernel.NumThreads()
			for i := first; i < len(x); i += stride {
				//omp:atomic
				part[x[i]&15]++
			}
			kernel.Barrier()
			//omp:for
			for b := 0; b < 16; b++ {
				//omp:atomic
				hist[b] += part[b]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out, at)
func ArgMin(x []float32, out []float32, at []int) {
	best, where := float32(math.Inf(1)), -1
	//omp:teams distribute parallel for reduction(minloc: (best, where))
	for i := range x {
		if x[i] < best {
			best, where = x[i], i
		}
	}
	out[0], at[0] = best, where
}

const block = 32

//omp:target device(acc, smp)
//omp:task inout(x)
func ReverseBlocks(x []int32) {
	//omp:teams distribute
	for b := 0; b < len(x)/block; b++ {
		var buf [block]int32
		//omp:parallel
		{
			//omp:for
			for i := 0; i < block; i++ {
				buf[i] = x[b*block+i]
			}
			//omp:for
			for i := 0; i < block; i++ {
				x[b*block+i] = buf[block-1-i]
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func ScanBlocks(x []int32) {
	//omp:teams distribute
	for b := 0; b < len(x)/block; b++ {
		var cur, next [block]int32
		//omp:parallel for
		for i := 0; i < block; i++ {
			cur[i] = x[b*block+i]
		}
		for d := 1; d < block; d *= 2 {
			//omp:parallel for
			for i := 0; i < block; i++ {
				next[i] = cur[i]
				if i >= d {
					next[i] += cur[i-d]
				}
			}
			//omp:parallel for
			for i := 0; i < block; i++ {
				cur[i] = next[i]
			}
		}
		//omp:parallel for
		for i := 0; i < block; i++ {
			x[b*block+i] = cur[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func TeamAlpha(x, y []float32) {
	//omp:teams
	{
		var alpha float32 = 2
		if len(x) > 10 {
			alpha *= 1.5
		}
		//omp:distribute parallel for
		for i := range y {
			y[i] += alpha * x[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(q, x, y, z) out(out)
func RowSums(n, m int, out, q, x, y, z []float64) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		t1, t2 := y[i], z[i]
		sum := 0.0
		//omp:parallel for reduction(+: sum)
		for k := 0; k < m; k++ {
			sum += q[i*m+k] + x[k]*(t1+t2)
		}
		out[i] = sum
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, s)
func SeqParSeq(x []float64, s []float64) {
	scale := s[0] + 1
	s[1] = scale
	//omp:teams distribute parallel for
	for i := range x {
		x[i] *= scale
	}
	total := 0.0
	for i := range x {
		total += x[i]
	}
	s[2] = total
	//omp:teams distribute parallel for
	for i := range x {
		x[i] -= total
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
//omp:task in(start, col, val, x) out(y)
func SpMVTeams(start, col []int32, val, x, y []float64) {
	//omp:teams distribute
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		//omp:parallel for reduction(+: s)
		for k := int(start[r]); k < int(start[r+1]); k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) out(y)
func SpMVLoop(start, col []int32, val, x, y []float64) {
	//omp:loop
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		//omp:loop reduction(+: s)
		for k := int(start[r]); k < int(start[r+1]); k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a) out(b)
func Transpose(n, m int, b, a []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			b[j*n+i] = a[i*m+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func ColumnLoop(n, m int, a []float32) {
	//omp:loop
	for j := 0; j < m; j++ {
		//omp:loop
		for i := 0; i < n; i++ {
			a[i*m+j] = a[i*m+j]*2 + 1
		}
	}
}

type Particle struct {
	Pos, Vel [3]float32
	Mass     float32
	Kind     int8
}

//omp:target device(acc, smp)
//omp:task inout(p)
func MoveParticles(p []Particle, dt float32) {
	//omp:teams distribute parallel for
	for i := range p {
		for d := 0; d < 3; d++ {
			p[i].Pos[d] += dt * p[i].Vel[d]
		}
		if p[i].Kind == 1 {
			p[i].Mass *= 0.5
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, y)
func Strides(x, y []int32, n int) {
	//omp:teams distribute parallel for
	for i := n - 1; i >= 0; i -= 3 {
		x[i] += int32(i)
	}
	//omp:teams distribute parallel for
	for i := 0; i <= n-1; i += 4 {
		y[i] -= int32(i)
	}
	//omp:teams distribute parallel for
	for i := n - 1; i > n/2; i-- {
		y[i] *= 2
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func NarrowIndex(x []int32, lim uint8) {
	//omp:teams distribute parallel for
	for i := uint8(0); i < lim; i++ {
		x[i] += 5
	}
	//omp:teams distribute parallel for collapse(2)
	for i := int32(0); i < 3; i++ {
		for j := uint16(0); j < 5; j++ {
			x[i*5+int32(j)] *= 3
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func VariableStep(x []int32, step int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i += step {
		x[i] = int32(i)
	}
}

//omp:target device(acc, smp)
//omp:task in(x, f) inout(outi, outf)
func MinMax(x []int16, f []float32, outi []int16, outf []float32) {
	lo, hi := outi[0], outi[1]
	//omp:teams distribute parallel for reduction(min: lo) reduction(max: hi)
	for i := range x {
		lo = min(lo, x[i])
		if x[i] > hi {
			hi = x[i]
		}
	}
	outi[0], outi[1] = lo, hi
	least, most := outf[0], outf[1]
	//omp:teams distribute parallel for reduction(min: least) reduction(max: most)
	for i := range f {
		least = min(least, f[i])
		most = max(most, f[i])
	}
	outf[0], outf[1] = least, most
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func AllAny(x []int32, out []bool) {
	all, some := true, false
	//omp:teams distribute parallel for reduction(&&: all) reduction(||: some)
	for i := range x {
		all = all && x[i] >= 0
		some = some || x[i] == 3
	}
	out[0], out[1] = all, some
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func BitReduce(x []uint32, out []uint32) {
	a, o, e := out[0], out[1], out[2]
	//omp:teams distribute parallel for reduction(&: a) reduction(|: o) reduction(^: e)
	for i := range x {
		a &= x[i]
		o |= x[i]
		e ^= x[i]
	}
	out[0], out[1], out[2] = a, o, e
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func Product(x []uint8, out []uint8) {
	p := out[0]
	//omp:teams distribute parallel for reduction(*: p)
	for i := range x {
		p *= x[i] | 1
	}
	out[0] = p
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func ArrayReduce(x []int32, out []int64) {
	var sums [6]int64
	//omp:teams distribute parallel for reduction(+: sums)
	for i := range x {
		sums[i%6] += int64(x[i])
	}
	for k := 0; k < 6; k++ {
		out[k] += sums[k]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func TeamArrayReduce(x []int32, out []int64) {
	//omp:teams distribute
	for r := 0; r < len(out)/4; r++ {
		var sums [4]int64
		//omp:parallel for reduction(+: sums)
		for i := range x {
			sums[i%4] += int64(x[i]) * int64(r)
		}
		for k := 0; k < 4; k++ {
			out[r*4+k] = sums[k]
		}
	}
}

//omp:target device(acc, smp)
//omp:task out(out)
func Mandelbrot(w, h, limit int, out []int32) {
	//omp:teams distribute parallel for collapse(2)
	for py := 0; py < h; py++ {
		for px := 0; px < w; px++ {
			cx, cy := 3*float64(px)/float64(w)-2, 2*float64(py)/float64(h)-1
			var x, y float64
			n := 0
			for ; n < limit; n++ {
				x, y = x*x-y*y+cx, 2*x*y+cy
				if x*x+y*y > 4 {
					break
				}
			}
			out[py*w+px] = int32(n)
		}
	}
}

func normal(x float64) float64 { return 0.5 * (1 + math.Erf(x/math.Sqrt2)) }

//omp:target device(acc, smp)
//omp:task in(s, k, t) out(call, put)
func BlackScholes(s, k, t, call, put []float64, r, sigma float64) {
	//omp:teams distribute parallel for
	for i := range s {
		root := sigma * math.Sqrt(t[i])
		d1 := (math.Log(s[i]/k[i]) + (r+0.5*sigma*sigma)*t[i]) / root
		d2 := d1 - root
		disc := k[i] * math.Exp(-r*t[i])
		n1, n2 := normal(d1), normal(d2)
		call[i] = s[i]*n1 - disc*n2
		put[i] = disc*(1-n2) - s[i]*(1-n1)
	}
}

//omp:target device(acc, smp)
//omp:task inout(d)
func FloydStep(n, k int, d []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			if i == k || j == k {
				continue
			}
			if via := d[i*n+k] + d[k*n+j]; via < d[i*n+j] {
				d[i*n+j] = via
			}
		}
	}
}
