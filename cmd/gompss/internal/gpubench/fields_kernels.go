package gpubench

import (
	_ "embed"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of further fields. The hand-written CUDA kernels of the same names are in fields.cu.

//go:embed fields_kernels.go
var fieldsSource string

//omp:target device(acc, smp) contract
//omp:task in(f) inout(g)
func Lattice(n int, omega float32, f, g []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			m, at := n*n, i*n+j
			f0, f1, f2, f3, f4 := f[at], f[m+at-1], f[2*m+at-n], f[3*m+at+1], f[4*m+at+n]
			f5, f6, f7, f8 := f[5*m+at-n-1], f[6*m+at-n+1], f[7*m+at+n+1], f[8*m+at+n-1]
			rho := f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8
			u := (f1 + f5 + f8 - f3 - f6 - f7) / rho
			v := (f2 + f5 + f6 - f4 - f7 - f8) / rho
			base := 1 - 1.5*(u*u+v*v)
			a, b := omega*rho/9, omega*rho/36
			keep := 1 - omega
			g[at] = keep*f0 + 4*a*base
			g[m+at] = keep*f1 + a*(base+3*u+4.5*u*u)
			g[2*m+at] = keep*f2 + a*(base+3*v+4.5*v*v)
			g[3*m+at] = keep*f3 + a*(base-3*u+4.5*u*u)
			g[4*m+at] = keep*f4 + a*(base-3*v+4.5*v*v)
			g[5*m+at] = keep*f5 + b*(base+3*(u+v)+4.5*(u+v)*(u+v))
			g[6*m+at] = keep*f6 + b*(base+3*(v-u)+4.5*(v-u)*(v-u))
			g[7*m+at] = keep*f7 + b*(base-3*(u+v)+4.5*(u+v)*(u+v))
			g[8*m+at] = keep*f8 + b*(base+3*(u-v)+4.5*(u-v)*(u-v))
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, scale, shift) inout(y)
func NormRows(n, m int, x, scale, shift, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var sum, squares float32
		//omp:simd reduction(+: sum, squares)
		for j := 0; j < m; j++ {
			sum += x[i*m+j]
			squares += x[i*m+j] * x[i*m+j]
		}
		mean := sum / float32(m)
		inv := 1 / kernel.Sqrt(squares/float32(m)-mean*mean+1e-5)
		for j := 0; j < m; j++ {
			y[i*m+j] = (x[i*m+j]-mean)*inv*scale[j] + shift[j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, scale, shift) inout(y)
func NormTeams(n, m int, x, scale, shift, y []float32) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		var sum, squares float32
		//omp:parallel for reduction(+: sum, squares)
		for j := 0; j < m; j++ {
			sum += x[i*m+j]
			squares += x[i*m+j] * x[i*m+j]
		}
		mean := sum / float32(m)
		inv := 1 / kernel.Sqrt(squares/float32(m)-mean*mean+1e-5)
		//omp:parallel for
		for j := 0; j < m; j++ {
			y[i*m+j] = (x[i*m+j]-mean)*inv*scale[j] + shift[j]
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, mean) inout(c)
func Covariance(n, m int, x, mean, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < m; i++ {
		for j := 0; j < m; j++ {
			var s float32
			for k := 0; k < n; k++ {
				s += (x[k*m+i] - mean[i]) * (x[k*m+j] - mean[j])
			}
			c[i*m+j] = s / float32(n-1)
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func MaxPool(n int, x, y []float32) {
	m := (n - 1) / 2
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < m; i++ {
		for j := 0; j < m; j++ {
			most := x[2*i*n+2*j]
			for a := 0; a < 3; a++ {
				for b := 0; b < 3; b++ {
					most = max(most, x[(2*i+a)*n+2*j+b])
				}
			}
			y[i*m+j] = most
		}
	}
}

func ordered2(a, b float32) (float32, float32) { return min(a, b), max(a, b) }

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Median(n int, x, y []float32) {
	//omp:loop
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			a, b, c := x[(i-1)*n+j-1], x[(i-1)*n+j], x[(i-1)*n+j+1]
			d, e, f := x[i*n+j-1], x[i*n+j], x[i*n+j+1]
			g, h, k := x[(i+1)*n+j-1], x[(i+1)*n+j], x[(i+1)*n+j+1]
			a, b = ordered2(a, b)
			b, c = ordered2(b, c)
			a, b = ordered2(a, b)
			d, e = ordered2(d, e)
			e, f = ordered2(e, f)
			d, e = ordered2(d, e)
			g, h = ordered2(g, h)
			h, k = ordered2(h, k)
			g, h = ordered2(g, h)
			low, high := max(a, d, g), min(c, f, k)
			b, e = ordered2(b, e)
			middle := max(b, min(e, h))
			low, middle = ordered2(low, middle)
			y[i*n+j] = max(low, min(middle, high))
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, centre) inout(label)
func NearestOfRows(n, d, c int, x, centre []float32, label []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, at := float32(3e38), int32(0)
		for k := 0; k < c; k++ {
			var s float32
			for j := 0; j < d; j++ {
				s += (x[i*d+j] - centre[k*d+j]) * (x[i*d+j] - centre[k*d+j])
			}
			if s < best {
				best, at = s, int32(k)
			}
		}
		label[i] = at
	}
}

//omp:target device(acc, smp)
//omp:task in(value, column, x) inout(y)
func EllProduct(n, width int, value []float32, column []int32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for k := 0; k < width; k++ {
			s += value[k*n+i] * x[column[k*n+i]]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x, c) inout(y)
func Diffusion(n int, x, c, y []float32) {
	//omp:teams distribute parallel for
	for p := 0; p < n*n*n; p++ {
		i, j, k := p/(n*n), p/n%n, p%n
		if i > 0 && i < n-1 && j > 0 && j < n-1 && k > 0 && k < n-1 {
			y[p] = x[p] + c[p]*(x[p-1]+x[p+1]+x[p-n]+x[p+n]+x[p-n*n]+x[p+n*n]-6*x[p])
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y, z) inout(energy)
func Cutoff(n int, reach float32, x, y, z, energy []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var e float32
		for j := 0; j < n; j++ {
			dx, dy, dz := x[j]-x[i], y[j]-y[i], z[j]-z[i]
			r := dx*dx + dy*dy + dz*dz
			if j != i && r < reach {
				q := 1 / (r + 0.01)
				q = q * q * q
				e += q * (q - 1)
			}
		}
		energy[i] = e
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, w) inout(y)
func BlurColumns(n int, x, w, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 8; i < n-8; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for a := -8; a <= 8; a++ {
				s += w[a+8] * x[(i+a)*n+j]
			}
			y[i*n+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(re, im, c, s) inout(outRe, outIm)
func Butterflies(n, half int, re, im, c, s, outRe, outIm []float32) {
	//omp:teams distribute parallel for
	for t := 0; t < n/2; t++ {
		group, k := t/half, t%half
		w := k * (n / 2 / half)
		a, b := group*2*half+k, group*2*half+k+half
		tr, ti := re[b]*c[w]-im[b]*s[w], re[b]*s[w]+im[b]*c[w]
		outRe[a], outIm[a] = re[a]+tr, im[a]+ti
		outRe[b], outIm[b] = re[a]-tr, im[a]-ti
	}
}

//omp:target device(acc, smp)
//omp:task in(x, y) inout(table)
func JointTable(x, y, table []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		table[x[i]*64+y[i]]++
	}
}

//omp:target device(acc, smp) contract
//omp:task inout(a)
func SmallFactors(n int, a []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < n; q++ {
		for k := 0; k < 8; k++ {
			inv := 1 / a[q*64+k*8+k]
			for i := k + 1; i < 8; i++ {
				a[q*64+i*8+k] *= inv
				for j := k + 1; j < 8; j++ {
					a[q*64+i*8+j] -= a[q*64+i*8+k] * a[q*64+k*8+j]
				}
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(r) inout(p)
func Rotated(n int, r, p []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x, y, z := p[3*i], p[3*i+1], p[3*i+2]
		p[3*i] = r[0]*x + r[1]*y + r[2]*z
		p[3*i+1] = r[3]*x + r[4]*y + r[5]*z
		p[3*i+2] = r[6]*x + r[7]*y + r[8]*z
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(r)
func Lags(n, m int, x, r []float32) {
	//omp:teams distribute parallel for
	for k := 0; k < m; k++ {
		var s float32
		//omp:simd reduction(+: s)
		for i := 0; i < n-m; i++ {
			s += x[i] * x[i+k]
		}
		r[k] = s
	}
}

//omp:target device(acc, smp) contract
//omp:task in(u, v) inout(p, q)
func GrayScott(n int, feed, kill float32, u, v, p, q []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			up, down, left, right := (i+n-1)%n, (i+1)%n, (j+n-1)%n, (j+1)%n
			a, b := u[i*n+j], v[i*n+j]
			da := u[up*n+j] + u[down*n+j] + u[i*n+left] + u[i*n+right] - 4*a
			db := v[up*n+j] + v[down*n+j] + v[i*n+left] + v[i*n+right] - 4*b
			r := a * b * b
			p[i*n+j] = a + 0.16*da - r + feed*(1-a)
			q[i*n+j] = b + 0.08*db + r - (feed+kill)*b
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func Edges(n, m int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			a, b, l, r := max(i-1, 0), min(i+1, n-1), max(j-1, 0), min(j+1, m-1)
			gx := x[a*m+r] + 2*x[i*m+r] + x[b*m+r] - x[a*m+l] - 2*x[i*m+l] - x[b*m+l]
			gy := x[b*m+l] + 2*x[b*m+j] + x[b*m+r] - x[a*m+l] - 2*x[a*m+j] - x[a*m+r]
			y[i*m+j] = kernel.Sqrt(gx*gx + gy*gy)
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func EdgesOver(n, m int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			a, b, l, r := max(i-1, 0), min(i+1, n-1), max(j-1, 0), min(j+1, m-1)
			gx := x[a*m+r] + 2*x[i*m+r] + x[b*m+r] - x[a*m+l] - 2*x[i*m+l] - x[b*m+l]
			gy := x[b*m+l] + 2*x[b*m+j] + x[b*m+r] - x[a*m+l] - 2*x[a*m+j] - x[a*m+r]
			y[i*m+j] = kernel.Sqrt(gx*gx + gy*gy)
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(query, key) inout(score)
func Scores(heads, tokens int, query, key, score []float32) {
	//omp:teams distribute parallel for collapse(2)
	for h := 0; h < heads; h++ {
		for t := 0; t < tokens; t++ {
			var s float32
			for k := 0; k < 128; k++ {
				s += query[h*128+k] * key[(h*tokens+t)*128+k]
			}
			score[h*tokens+t] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, w, centre) inout(a)
func NormalMatrix(n, m int, x, w, centre, a []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < m; i++ {
		for j := 0; j < m; j++ {
			ci, cj := centre[i], centre[j]
			var s float32
			for k := 0; k < n; k++ {
				s += w[k] * (x[k*m+i] - ci) * (x[k*m+j] - cj)
			}
			a[i*m+j] = s
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task inout(a)
func Inverses(n int, a []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < n; q++ {
		for k := 0; k < 4; k++ {
			inv := 1 / a[q*16+k*5]
			a[q*16+k*5] = 1
			for j := 0; j < 4; j++ {
				a[q*16+k*4+j] *= inv
			}
			for i := 0; i < 4; i++ {
				if i != k {
					f := a[q*16+i*4+k]
					a[q*16+i*4+k] = 0
					for j := 0; j < 4; j++ {
						a[q*16+i*4+j] -= f * a[q*16+k*4+j]
					}
				}
			}
		}
	}
}
