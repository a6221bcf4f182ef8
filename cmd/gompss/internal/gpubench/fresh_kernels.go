package gpubench

import (
	_ "embed"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of fields that the other parts lack, written before the first of them was measured. The
// hand-written CUDA kernels of the same names are in fresh.cu.

//go:embed fresh_kernels.go
var freshSource string

// RadixFour is one pass of a Fourier transform of base 4.
//
//omp:target device(acc, smp) contract
//omp:task in(re, im, c, s) inout(outRe, outIm)
func RadixFour(n, quarter int, re, im, c, s, outRe, outIm []float32) {
	//omp:teams distribute parallel for
	for t := 0; t < n/4; t++ {
		k := t % quarter
		p0 := (t-k)*4 + k
		p1, p2, p3 := p0+quarter, p0+2*quarter, p0+3*quarter
		w := k * (n / 4 / quarter)
		ar, ai := re[p0], im[p0]
		br, bi := re[p1]*c[w]-im[p1]*s[w], re[p1]*s[w]+im[p1]*c[w]
		cr, ci := re[p2]*c[2*w]-im[p2]*s[2*w], re[p2]*s[2*w]+im[p2]*c[2*w]
		dr, di := re[p3]*c[3*w]-im[p3]*s[3*w], re[p3]*s[3*w]+im[p3]*c[3*w]
		outRe[p0], outIm[p0] = ar+br+cr+dr, ai+bi+ci+di
		outRe[p1], outIm[p1] = ar+bi-cr-di, ai-br-ci+dr
		outRe[p2], outIm[p2] = ar-br+cr-dr, ai-bi+ci-di
		outRe[p3], outIm[p3] = ar-bi-cr+di, ai+br-ci-dr
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, near) inout(y)
func Bilateral(n int, sharp float32, x, near, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 2; i < n-2; i++ {
		for j := 2; j < n-2; j++ {
			var sum, weight float32
			for a := -2; a <= 2; a++ {
				for b := -2; b <= 2; b++ {
					v := x[(i+a)*n+j+b]
					d := v - x[i*n+j]
					w := near[(a+2)*5+b+2] * kernel.Exp(-sharp*d*d)
					sum += w * v
					weight += w
				}
			}
			y[i*n+j] = sum / weight
		}
	}
}

// TridiagonalColumns solves m systems of n equations, an equation of all systems beside each other.
//
//omp:target device(acc, smp) contract
//omp:task in(a, b, c, d) inout(w, x)
func TridiagonalColumns(n, m int, a, b, c, d, w, x []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < m; q++ {
		w[q] = c[q] / b[q]
		x[q] = d[q] / b[q]
		for i := 1; i < n; i++ {
			inv := 1 / (b[i*m+q] - a[i*m+q]*w[(i-1)*m+q])
			w[i*m+q] = c[i*m+q] * inv
			x[i*m+q] = (d[i*m+q] - a[i*m+q]*x[(i-1)*m+q]) * inv
		}
		for i := n - 2; i >= 0; i-- {
			x[i*m+q] -= w[i*m+q] * x[(i+1)*m+q]
		}
	}
}

// TridiagonalRows solves m systems of n equations, a system after the other.
//
//omp:target device(acc, smp) contract
//omp:task in(a, b, c, d) inout(w, x)
func TridiagonalRows(n, m int, a, b, c, d, w, x []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < m; q++ {
		w[q*n] = c[q*n] / b[q*n]
		x[q*n] = d[q*n] / b[q*n]
		for i := 1; i < n; i++ {
			inv := 1 / (b[q*n+i] - a[q*n+i]*w[q*n+i-1])
			w[q*n+i] = c[q*n+i] * inv
			x[q*n+i] = (d[q*n+i] - a[q*n+i]*x[q*n+i-1]) * inv
		}
		for i := n - 2; i >= 0; i-- {
			x[q*n+i] -= w[q*n+i] * x[q*n+i+1]
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, mean, inv, scale, dy) inout(dx)
func NormBack(n, m int, x, mean, inv, scale, dy, dx []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var a, b float32
		//omp:simd reduction(+: a, b)
		for j := 0; j < m; j++ {
			g := dy[i*m+j] * scale[j]
			a += g
			b += g * (x[i*m+j] - mean[i]) * inv[i]
		}
		a /= float32(m)
		b /= float32(m)
		for j := 0; j < m; j++ {
			dx[i*m+j] = inv[i] * (dy[i*m+j]*scale[j] - a - (x[i*m+j]-mean[i])*inv[i]*b)
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Depthwise(planes, channels, h, w int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for p := 0; p < planes; p++ {
		for i := 0; i < h; i++ {
			for j := 0; j < w; j++ {
				var s float32
				for a := -1; a <= 1; a++ {
					for b := -1; b <= 1; b++ {
						if i+a >= 0 && i+a < h && j+b >= 0 && j+b < w {
							s += f[p%channels*9+(a+1)*3+b+1] * x[(p*h+i+a)*w+j+b]
						}
					}
				}
				y[(p*h+i)*w+j] = s
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func DepthwiseLoop(planes, channels, h, w int, x, f, y []float32) {
	//omp:loop
	for p := 0; p < planes; p++ {
		c := p % channels
		for i := 0; i < h; i++ {
			for j := 0; j < w; j++ {
				var s float32
				for a := 0; a < 3; a++ {
					for b := 0; b < 3; b++ {
						if k, l := i+a-1, j+b-1; k >= 0 && k < h && l >= 0 && l < w {
							s += f[c*9+a*3+b] * x[(p*h+k)*w+l]
						}
					}
				}
				y[(p*h+i)*w+j] = s
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(table, index) inout(y)
func BagSum(bags, each, d int, table []float32, index []int32, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < bags; i++ {
		for j := 0; j < d; j++ {
			var s float32
			for k := 0; k < each; k++ {
				s += table[int(index[i*each+k])*d+j]
			}
			y[i*d+j] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(table, index) inout(y)
func BagSumInPlace(bags, each, d int, table []float32, index []int32, y []float32) {
	//omp:teams distribute
	for i := 0; i < bags; i++ {
		//omp:parallel for
		for j := 0; j < d; j++ {
			y[i*d+j] = 0
			for k := 0; k < each; k++ {
				y[i*d+j] += table[int(index[i*each+k])*d+j]
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, label) inout(loss)
func CrossEntropy(n, m int, x []float32, label []int32, loss []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		most := x[i*m]
		//omp:simd reduction(max: most)
		for j := 1; j < m; j++ {
			most = max(most, x[i*m+j])
		}
		var s float32
		//omp:simd reduction(+: s)
		for j := 0; j < m; j++ {
			s += kernel.Exp(x[i*m+j] - most)
		}
		loss[i] = kernel.Log(s) + most - x[i*m+int(label[i])]
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, label) inout(loss)
func CrossEntropyTeams(n, m int, x []float32, label []int32, loss []float32) {
	//omp:teams distribute
	for i := 0; i < n; i++ {
		most := float32(-3e38)
		//omp:parallel for reduction(max: most)
		for j := 0; j < m; j++ {
			most = max(most, x[i*m+j])
		}
		var s float32
		//omp:parallel for reduction(+: s)
		for j := 0; j < m; j++ {
			s += kernel.Exp(x[i*m+j] - most)
		}
		loss[i] = kernel.Log(s) + most - x[i*m+int(label[i])]
	}
}

func sigmoid(x float32) float32 { return 1 / (1 + kernel.Exp(-x)) }

// Gates is the pointwise part of a gated recurrent unit.
//
//omp:target device(acc, smp) contract
//omp:task in(x, h, old) inout(y)
func Gates(n, m int, x, h, old, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			at := i*3*m + j
			r := sigmoid(x[at] + h[at])
			z := sigmoid(x[at+m] + h[at+m])
			c := kernel.Tanh(x[at+2*m] + r*h[at+2*m])
			y[i*m+j] = (1-z)*c + z*old[i*m+j]
		}
	}
}

func weno(a, b, c, d, e float32) float32 {
	p, q, r := (2*a-7*b+11*c)*(1.0/6), (5*c-b+2*d)*(1.0/6), (2*c+5*d-e)*(1.0/6)
	t, u := a-2*b+c, a-4*b+3*c
	s0 := 13.0/12*t*t + 0.25*u*u
	t, u = b-2*c+d, b-d
	s1 := 13.0/12*t*t + 0.25*u*u
	t, u = c-2*d+e, 3*c-4*d+e
	s2 := 13.0/12*t*t + 0.25*u*u
	w0 := 0.1 / ((1e-6 + s0) * (1e-6 + s0))
	w1 := 0.6 / ((1e-6 + s1) * (1e-6 + s1))
	w2 := 0.3 / ((1e-6 + s2) * (1e-6 + s2))
	return (w0*p + w1*q + w2*r) / (w0 + w1 + w2)
}

// Advection moves x along its rows, by differences of weighted fluxes of order 5.
//
//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func Advection(n int, dt float32, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 3; j < n-2; j++ {
			at := i*n + j
			right := weno(x[at-2], x[at-1], x[at], x[at+1], x[at+2])
			left := weno(x[at-3], x[at-2], x[at-1], x[at], x[at+1])
			y[at] = x[at] - dt*(right-left)
		}
	}
}

// Seismic is a step of the wave equation of order 8 in space.
//
//omp:target device(acc, smp) contract
//omp:task in(x, v, c) inout(y)
func Seismic(n int, x, v, c, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 4; i < n-4; i++ {
		for j := 4; j < n-4; j++ {
			for k := 4; k < n-4; k++ {
				at := (i*n+j)*n + k
				s := c[0] * x[at]
				for r := 1; r <= 4; r++ {
					s += c[r] * (x[at-r] + x[at+r] + x[at-r*n] + x[at+r*n] + x[at-r*n*n] + x[at+r*n*n])
				}
				y[at] = 2*x[at] - y[at] + v[at]*s
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, v, c) inout(y)
func SeismicLoop(n int, x, v, c, y []float32) {
	//omp:loop
	for i := 4; i < n-4; i++ {
		for j := 4; j < n-4; j++ {
			for k := 4; k < n-4; k++ {
				at := (i*n+j)*n + k
				s := c[0] * x[at]
				for r := 1; r <= 4; r++ {
					s += c[r] * (x[at-r] + x[at+r])
					s += c[r] * (x[at-r*n] + x[at+r*n])
					s += c[r] * (x[at-r*n*n] + x[at+r*n*n])
				}
				y[at] = 2*x[at] - y[at] + v[at]*s
			}
		}
	}
}

// Viterbi is the score of the likeliest path of 8 states for each of n sequences of m symbols.
//
//omp:target device(acc, smp)
//omp:task in(seen, move, emit) inout(best)
func Viterbi(n, m int, seen []int32, move, emit, best []float32) {
	//omp:teams distribute parallel for
	for q := 0; q < n; q++ {
		var score [8]float32
		for t := 0; t < m; t++ {
			var next [8]float32
			for s := 0; s < 8; s++ {
				v := score[0] + move[s]
				for r := 1; r < 8; r++ {
					v = max(v, score[r]+move[r*8+s])
				}
				next[s] = v + emit[int(seen[q*m+t])*8+s]
			}
			score = next
		}
		v := score[0]
		for s := 1; s < 8; s++ {
			v = max(v, score[s])
		}
		best[q] = v
	}
}

func quarterRound(a, b, c, d uint32) (uint32, uint32, uint32, uint32) {
	a += b
	d = bits.RotateLeft32(d^a, 16)
	c += d
	b = bits.RotateLeft32(b^c, 12)
	a += b
	d = bits.RotateLeft32(d^a, 8)
	c += d
	b = bits.RotateLeft32(b^c, 7)
	return a, b, c, d
}

// Cipher encrypts n blocks of 64 bytes with ChaCha20.
//
//omp:target device(acc, smp)
//omp:task in(key, text) inout(out)
func Cipher(n int, key, text, out []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var first, x [16]uint32
		first[0], first[1], first[2], first[3] = 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
		for k := 0; k < 8; k++ {
			first[4+k] = key[k]
		}
		first[12], first[13], first[14], first[15] = uint32(i), 0, 7, 11
		x = first
		for r := 0; r < 10; r++ {
			for k := 0; k < 4; k++ {
				x[k], x[4+k], x[8+k], x[12+k] = quarterRound(x[k], x[4+k], x[8+k], x[12+k])
			}
			for k := 0; k < 4; k++ {
				x[k], x[4+(k+1)%4], x[8+(k+2)%4], x[12+(k+3)%4] = quarterRound(x[k], x[4+(k+1)%4], x[8+(k+2)%4], x[12+(k+3)%4])
			}
		}
		for k := 0; k < 16; k++ {
			out[i*16+k] = text[i*16+k] ^ (x[k] + first[k])
		}
	}
}

// Digests has the SHA-256 compression of n blocks of 64 bytes.
//
//omp:target device(acc, smp)
//omp:task in(text, round, start) inout(digest)
func Digests(n int, text, round, start, digest []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var w [64]uint32
		for t := 0; t < 16; t++ {
			w[t] = bits.ReverseBytes32(text[i*16+t])
		}
		for t := 16; t < 64; t++ {
			a, b := w[t-15], w[t-2]
			a = bits.RotateLeft32(a, -7) ^ bits.RotateLeft32(a, -18) ^ a>>3
			b = bits.RotateLeft32(b, -17) ^ bits.RotateLeft32(b, -19) ^ b>>10
			w[t] = w[t-16] + a + w[t-7] + b
		}
		a, b, c, d, e, f, g, h := start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
		for t := 0; t < 64; t++ {
			u := h + (bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)) + (e&f ^ ^e&g) + round[t] + w[t]
			v := (bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)) + (a&b ^ a&c ^ b&c)
			h, g, f, e, d, c, b, a = g, f, e, d+u, c, b, a, u+v
		}
		digest[i*8], digest[i*8+1], digest[i*8+2], digest[i*8+3] = a+start[0], b+start[1], c+start[2], d+start[3]
		digest[i*8+4], digest[i*8+5], digest[i*8+6], digest[i*8+7] = e+start[4], f+start[5], g+start[6], h+start[7]
	}
}

// Neighbours has the Lennard-Jones forces of atoms, each with a list of its neighbours.
//
//omp:target device(acc, smp) contract
//omp:task in(list, x, y, z) inout(fx, fy, fz)
func Neighbours(n, most int, reach float32, list []int32, x, y, z, fx, fy, fz []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var ax, ay, az float32
		//omp:simd reduction(+: ax, ay, az)
		for k := 0; k < most; k++ {
			j := list[i*most+k]
			dx, dy, dz := x[i]-x[j], y[i]-y[j], z[i]-z[j]
			r := dx*dx + dy*dy + dz*dz
			if r < reach {
				q := 1 / (r + 0.01)
				s := q * q * q
				f := q * s * (s - 0.5)
				ax += f * dx
				ay += f * dy
				az += f * dz
			}
		}
		fx[i], fy[i], fz[i] = ax, ay, az
	}
}

// TwoBest has the greatest two elements of each row.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(best)
func TwoBest(n, m int, x, best []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		first, second := float32(-3e38), float32(-3e38)
		for j := 0; j < m; j++ {
			v := x[i*m+j]
			if v > first {
				first, second = v, first
			} else if v > second {
				second = v
			}
		}
		best[2*i], best[2*i+1] = first, second
	}
}

// RunningMost has the greatest element of each row up to each place.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func RunningMost(n, m int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		most := x[i*m]
		for j := 0; j < m; j++ {
			most = max(most, x[i*m+j])
			y[i*m+j] = most
		}
	}
}

// BlockProduct multiplies a sparse matrix of blocks of 4 by 4 with x.
//
//omp:target device(acc, smp) contract
//omp:task in(start, column, value, x) inout(y)
func BlockProduct(n int, start, column []int32, value, x, y []float32) {
	//omp:teams distribute parallel for
	for r := 0; r < n; r++ {
		var s [4]float32
		for k := start[r]; k < start[r+1]; k++ {
			for a := 0; a < 4; a++ {
				for b := 0; b < 4; b++ {
					s[a] += value[int(k)*16+a*4+b] * x[int(column[k])*4+b]
				}
			}
		}
		for a := 0; a < 4; a++ {
			y[r*4+a] = s[a]
		}
	}
}

// Rays has the distance to the nearest of m spheres for each ray, and its number.
//
//omp:target device(acc, smp) contract
//omp:task in(from, to, sphere) inout(hit, which)
func Rays(n, m int, from, to, sphere, hit []float32, which []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		near, at := float32(100), int32(-1)
		for k := 0; k < m; k++ {
			x, y, z := from[3*i]-sphere[4*k], from[3*i+1]-sphere[4*k+1], from[3*i+2]-sphere[4*k+2]
			b := x*to[3*i] + y*to[3*i+1] + z*to[3*i+2]
			c := x*x + y*y + z*z - sphere[4*k+3]*sphere[4*k+3]
			if d := b*b - c; d > 0 {
				if t := -b - kernel.Sqrt(d); t > 0 && t < near {
					near, at = t, int32(k)
				}
			}
		}
		hit[i], which[i] = near, at
	}
}

// RedBlack relaxes the points of one colour.
//
//omp:target device(acc, smp) contract
//omp:task in(f) inout(u)
func RedBlack(n, colour int, f, u []float32) {
	//omp:teams distribute parallel for
	for i := 1; i < n-1; i++ {
		for j := 1 + (i+colour)%2; j < n-1; j += 2 {
			u[i*n+j] += 0.3 * (u[(i-1)*n+j] + u[(i+1)*n+j] + u[i*n+j-1] + u[i*n+j+1] - 4*u[i*n+j] - f[i*n+j])
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(f) inout(u)
func RedBlackIf(n, colour int, f, u []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			if (i+j)%2 != colour {
				u[i*n+j] += 0.3 * (u[(i-1)*n+j] + u[(i+1)*n+j] + u[i*n+j-1] + u[i*n+j+1] - 4*u[i*n+j] - f[i*n+j])
			}
		}
	}
}

// Turns rotates each point by a quaternion of its own.
//
//omp:target device(acc, smp) contract
//omp:task in(q, p) inout(out)
func Turns(n int, q, p, out []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		w, x, y, z := q[4*i], q[4*i+1], q[4*i+2], q[4*i+3]
		a, b, c := p[3*i], p[3*i+1], p[3*i+2]
		u, v, t := 2*(y*c-z*b), 2*(z*a-x*c), 2*(x*b-y*a)
		out[3*i] = a + w*u + y*t - z*v
		out[3*i+1] = b + w*v + z*u - x*t
		out[3*i+2] = c + w*t + x*v - y*u
	}
}
