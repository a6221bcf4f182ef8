package gpubench

import (
	_ "embed"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of further fields and with elements of one byte, written before the first of them was
// measured. The hand-written CUDA kernels of the same names are in survey.cu.

//go:embed survey_kernels.go
var surveySource string

// Gray makes gray pixels of pixels with three colours.
//
//omp:target device(acc, smp)
//omp:task in(rgb) inout(y)
func Gray(n int, rgb, y []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		r, g, b := int32(rgb[3*i]), int32(rgb[3*i+1]), int32(rgb[3*i+2])
		y[i] = uint8((77*r + 150*g + 29*b) >> 8)
	}
}

// Dilate takes the greatest of 5 by 5 pixels.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Dilate(n int, x, y []uint8) {
	//omp:teams distribute parallel for collapse(2)
	for i := 2; i < n-2; i++ {
		for j := 2; j < n-2; j++ {
			m := x[i*n+j]
			for a := -2; a <= 2; a++ {
				for b := -2; b <= 2; b++ {
					m = max(m, x[(i+a)*n+j+b])
				}
			}
			y[i*n+j] = m
		}
	}
}

// Census compares each pixel with the 24 around it.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Census(n int, x []uint8, y []uint32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 2; i < n-2; i++ {
		for j := 2; j < n-2; j++ {
			var bits uint32
			for a := -2; a <= 2; a++ {
				for b := -2; b <= 2; b++ {
					bits <<= 1
					if x[(i+a)*n+j+b] < x[i*n+j] {
						bits |= 1
					}
				}
			}
			y[i*n+j] = bits
		}
	}
}

// Warped reads an image at places that an affine map gives, between pixels.
//
//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func Warped(n int, a, b, c, d float32, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			u := min(max(a*float32(j)+b*float32(i), 0), float32(n-2))
			v := min(max(c*float32(j)+d*float32(i), 0), float32(n-2))
			p, q := int(u), int(v)
			fu, fv := u-float32(p), v-float32(q)
			top := x[q*n+p]*(1-fu) + x[q*n+p+1]*fu
			bottom := x[(q+1)*n+p]*(1-fu) + x[(q+1)*n+p+1]*fu
			y[i*n+j] = top*(1-fv) + bottom*fv
		}
	}
}

// GemmBias is a dense layer: relu(a b + bias).
//
//omp:target device(acc, smp) contract
//omp:task in(a, b, bias) inout(c)
func GemmBias(n int, a, b, bias, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := bias[j]
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = max(s, 0)
		}
	}
}

// MaxPlus is a product of matrices of the tropical algebra.
//
//omp:target device(acc, smp)
//omp:task in(a, b) inout(c)
func MaxPlus(n int, a, b, c []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := a[i*n] + b[j]
			for k := 1; k < n; k++ {
				s = max(s, a[i*n+k]+b[k*n+j])
			}
			c[i*n+j] = s
		}
	}
}

// ConvChannels is a convolution of 3 by 3 with several channels in and out, planes one by one.
//
//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func ConvChannels(in, out, n int, x, f, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for o := 0; o < out; o++ {
		for i := 1; i < n-1; i++ {
			for j := 1; j < n-1; j++ {
				var s float32
				for c := 0; c < in; c++ {
					for a := 0; a < 3; a++ {
						for b := 0; b < 3; b++ {
							s += x[(c*n+i+a-1)*n+j+b-1] * f[((o*in+c)*3+a)*3+b]
						}
					}
				}
				y[(o*n+i)*n+j] = s
			}
		}
	}
}

// ChannelStats sums each channel of a batch of images, and its squares.
//
//omp:target device(acc, smp) contract
//omp:task in(x) inout(mean, square)
func ChannelStats(batch, channels, size int, x, mean, square []float32) {
	//omp:teams distribute parallel for
	for c := 0; c < channels; c++ {
		var s, q float32
		for b := 0; b < batch; b++ {
			//omp:simd reduction(+: s, q)
			for p := 0; p < size; p++ {
				v := x[(b*channels+c)*size+p]
				s += v
				q += v * v
			}
		}
		mean[c] = s / float32(batch*size)
		square[c] = q / float32(batch*size)
	}
}

// ChannelsFirst moves the channels of a batch of images from the last place to the second.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func ChannelsFirst(batch, channels, size int, x, y []float32) {
	//omp:teams distribute parallel for collapse(3)
	for b := 0; b < batch; b++ {
		for p := 0; p < size; p++ {
			for c := 0; c < channels; c++ {
				y[(b*channels+c)*size+p] = x[(b*size+p)*channels+c]
			}
		}
	}
}

// Adam is a step of the optimiser of that name.
//
//omp:target device(acc, smp) contract
//omp:task in(g) inout(w, m, v)
func Adam(rate, b1, b2, eps float32, g, w, m, v []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(w); i++ {
		m[i] = b1*m[i] + (1-b1)*g[i]
		v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
		w[i] -= rate * m[i] / (kernel.Sqrt(v[i]) + eps)
	}
}

// QuantiseRows gives each row a scale, and its elements one byte each.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(scale, y)
func QuantiseRows(n, m int, x, scale []float32, y []int8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var most float32
		//omp:simd reduction(max: most)
		for j := 0; j < m; j++ {
			most = max(most, kernel.Abs(x[i*m+j]))
		}
		s := 127 / max(most, 1e-20)
		for j := 0; j < m; j++ {
			y[i*m+j] = int8(kernel.Round(x[i*m+j] * s))
		}
		scale[i] = 1 / s
	}
}

// ByteGemv multiplies a matrix of bytes, each row with a scale, by a vector.
//
//omp:target device(acc, smp) contract
//omp:task in(w, scale, x) inout(y)
func ByteGemv(n, m int, w []int8, scale, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		//omp:simd reduction(+: s)
		for j := 0; j < m; j++ {
			s += float32(w[i*m+j]) * x[j]
		}
		y[i] = scale[i] * s
	}
}

// BatchGemv multiplies each of a batch of 32 by 32 matrices by a vector of its own.
//
//omp:target device(acc, smp) contract
//omp:task in(a, x) inout(y)
func BatchGemv(batch int, a, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for b := 0; b < batch; b++ {
		for i := 0; i < 32; i++ {
			var s float32
			for j := 0; j < 32; j++ {
				s += a[(b*32+i)*32+j] * x[b*32+j]
			}
			y[b*32+i] = s
		}
	}
}

// AttendOne is the attention of one new token: a head of 128 over t kept tokens.
//
//omp:target device(acc, smp) contract
//omp:task in(q, key, value) inout(score, out)
func AttendOne(heads, t int, q, key, value, score, out []float32) {
	//omp:teams distribute
	for h := 0; h < heads; h++ {
		most := float32(-1e30)
		//omp:parallel for reduction(max: most)
		for k := 0; k < t; k++ {
			var s float32
			for d := 0; d < 128; d++ {
				s += q[h*128+d] * key[(h*t+k)*128+d]
			}
			score[h*t+k] = s
			most = max(most, s)
		}
		var total float32
		//omp:parallel for reduction(+: total)
		for k := 0; k < t; k++ {
			e := kernel.Exp(score[h*t+k] - most)
			score[h*t+k] = e
			total += e
		}
		//omp:parallel for
		for d := 0; d < 128; d++ {
			var s float32
			for k := 0; k < t; k++ {
				s += score[h*t+k] * value[(h*t+k)*128+d]
			}
			out[h*128+d] = s / total
		}
	}
}

// Density is a sum of bells around samples, at n places.
//
//omp:target device(acc, smp) contract
//omp:task in(at, sample) inout(y)
func Density(n, m int, width float32, at, sample, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for j := 0; j < m; j++ {
			d := (at[i] - sample[j]) * width
			s += kernel.Exp(-0.5 * d * d)
		}
		y[i] = s / float32(m)
	}
}

// Coulomb is the potential of charges in a plane of n by n points.
//
//omp:target device(acc, smp) contract
//omp:task in(atom) inout(y)
func Coulomb(n, m int, step, z float32, atom, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for k := 0; k < m; k++ {
				dx, dy, dz := atom[4*k]-float32(j)*step, atom[4*k+1]-float32(i)*step, atom[4*k+2]-z
				s += atom[4*k+3] / kernel.Sqrt(dx*dx+dy*dy+dz*dz)
			}
			y[i*n+j] = s
		}
	}
}

// CoulombFast is Coulomb with approximations.
//
//omp:target device(acc, smp) fastmath
//omp:task in(atom) inout(y)
func CoulombFast(n, m int, step, z float32, atom, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for k := 0; k < m; k++ {
				dx, dy, dz := atom[4*k]-float32(j)*step, atom[4*k+1]-float32(i)*step, atom[4*k+2]-z
				s += atom[4*k+3] / kernel.Sqrt(dx*dx+dy*dy+dz*dz)
			}
			y[i*n+j] = s
		}
	}
}

// PairDistances counts the pairs of points by their distance, in 64 classes.
//
//omp:target device(acc, smp)
//omp:task in(x, y, z) inout(count)
func PairDistances(n int, scale float32, x, y, z []float32, count []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			dx, dy, dz := x[i]-x[j], y[i]-y[j], z[i]-z[j]
			c := int(kernel.Sqrt(dx*dx+dy*dy+dz*dz) * scale)
			if c < 64 {
				//omp:atomic
				count[c]++
			}
		}
	}
}

// Ewma smooths each of n series of m values.
//
//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func Ewma(n, m int, alpha float32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := x[i*m]
		for t := 0; t < m; t++ {
			s = alpha*x[i*m+t] + (1-alpha)*s
			y[i*m+t] = s
		}
	}
}

// Faraday is a step of the magnetic field in a box of n points a side.
//
//omp:target device(acc, smp) contract
//omp:task in(ex, ey, ez) inout(hx, hy, hz)
func Faraday(n int, c float32, ex, ey, ez, hx, hy, hz []float32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 0; i < n-1; i++ {
		for j := 0; j < n-1; j++ {
			for k := 0; k < n-1; k++ {
				p := (i*n+j)*n + k
				hx[p] += c * (ey[p+1] - ey[p] - ez[p+n] + ez[p])
				hy[p] += c * (ez[p+n*n] - ez[p] - ex[p+1] + ex[p])
				hz[p] += c * (ex[p+n] - ex[p] - ey[p+n*n] + ey[p])
			}
		}
	}
}

// Shallow is a step of water on a torus: heights by the differences of flows.
//
//omp:target device(acc, smp) contract
//omp:task in(h, u, v) inout(out)
func Shallow(n int, dt float32, h, u, v, out []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			up, down, left, right := (i+n-1)%n, (i+1)%n, (j+n-1)%n, (j+1)%n
			flowX := h[i*n+right]*u[i*n+right] - h[i*n+left]*u[i*n+left]
			flowY := h[down*n+j]*v[down*n+j] - h[up*n+j]*v[up*n+j]
			out[i*n+j] = h[i*n+j] - dt*(flowX+flowY)
		}
	}
}

// Ising turns the spins of one colour of a torus, by a hash of place and time.
//
//omp:target device(acc, smp)
//omp:task in(limit) inout(spin)
func Ising(n int, colour, time uint32, limit []uint32, spin []int8) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			if uint32(i+j)&1 == colour {
				up, down, left, right := i-1, i+1, j-1, j+1
				if up < 0 {
					up = n - 1
				}
				if down == n {
					down = 0
				}
				if left < 0 {
					left = n - 1
				}
				if right == n {
					right = 0
				}
				s := spin[i*n+j]
				sum := int32(s) * (int32(spin[up*n+j]) + int32(spin[down*n+j]) + int32(spin[i*n+left]) + int32(spin[i*n+right]))
				r := (uint32(i*n+j) ^ time*0x9e3779b9) * 0x85ebca6b
				r ^= r >> 13
				r *= 0xc2b2ae35
				r ^= r >> 16
				if r < limit[(sum+4)&7] {
					spin[i*n+j] = -s
				}
			}
		}
	}
}

// Base64 writes three bytes as four characters.
//
//omp:target device(acc, smp)
//omp:task in(text, letter) inout(out)
func Base64(n int, text, letter, out []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		w := uint32(text[3*i])<<16 | uint32(text[3*i+1])<<8 | uint32(text[3*i+2])
		out[4*i] = letter[w>>18&63]
		out[4*i+1] = letter[w>>12&63]
		out[4*i+2] = letter[w>>6&63]
		out[4*i+3] = letter[w&63]
	}
}

// Matches counts the places of a text where a pattern begins.
//
//omp:target device(acc, smp)
//omp:task in(text, pattern) inout(count)
func Matches(n, m int, text, pattern []uint8, count []int32) {
	var found int32
	//omp:teams distribute parallel for reduction(+: found)
	for i := 0; i <= n-m; i++ {
		k := 0
		for k < m && text[i+k] == pattern[k] {
			k++
		}
		if k == m {
			found++
		}
	}
	count[0] = found
}

// Xtea enciphers blocks of two words.
//
//omp:target device(acc, smp)
//omp:task in(key) inout(text)
func Xtea(n int, key, text []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		a, b, sum := text[2*i], text[2*i+1], uint32(0)
		for r := 0; r < 32; r++ {
			a += (b<<4 ^ b>>5) + b ^ (sum + key[sum&3])
			sum += 0x9e3779b9
			b += (a<<4 ^ a>>5) + a ^ (sum + key[sum>>11&3])
		}
		text[2*i], text[2*i+1] = a, b
	}
}

// Fir filters a signal with m taps.
//
//omp:target device(acc, smp) contract
//omp:task in(x, f) inout(y)
func Fir(n, m int, x, f, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for k := 0; k < m; k++ {
			s += f[k] * x[i+k]
		}
		y[i] = s
	}
}

// Elements computes the matrix of each tetrahedron of a mesh.
//
//omp:target device(acc, smp) contract
//omp:task in(node, x) inout(out)
func Elements(n int, node []int32, x, out []float32) {
	//omp:teams distribute parallel for
	for e := 0; e < n; e++ {
		var g [12]float32
		o := int(node[4*e]) * 3
		for a := 0; a < 3; a++ {
			p := int(node[4*e+a+1]) * 3
			for d := 0; d < 3; d++ {
				g[3*a+d] = x[p+d] - x[o+d]
			}
		}
		det := g[0]*(g[4]*g[8]-g[5]*g[7]) - g[1]*(g[3]*g[8]-g[5]*g[6]) + g[2]*(g[3]*g[7]-g[4]*g[6])
		g[9], g[10], g[11] = -g[0]-g[3]-g[6], -g[1]-g[4]-g[7], -g[2]-g[5]-g[8]
		for a := 0; a < 4; a++ {
			for b := 0; b < 4; b++ {
				out[16*e+4*a+b] = det * (g[3*a]*g[3*b] + g[3*a+1]*g[3*b+1] + g[3*a+2]*g[3*b+2])
			}
		}
	}
}

// ApplyDot applies the five-point operator to p, and multiplies the result by p.
//
//omp:target device(acc, smp) contract
//omp:task in(p) inout(y, dot)
func ApplyDot(n int, p, y, dot []float64) {
	var s float64
	//omp:teams distribute parallel for collapse(2) reduction(+: s)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			k := i*n + j
			v := 4*p[k] - p[k-1] - p[k+1] - p[k-n] - p[k+n]
			y[k] = v
			s += v * p[k]
		}
	}
	dot[0] = s
}

// Mahalanobis measures points of 16 coordinates by one matrix.
//
//omp:target device(acc, smp) contract
//omp:task in(x, s) inout(y)
func Mahalanobis(n int, x, s, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var total float32
		for a := 0; a < 16; a++ {
			var t float32
			for b := 0; b < 16; b++ {
				t += s[a*16+b] * x[i*16+b]
			}
			total += t * x[i*16+a]
		}
		y[i] = total
	}
}

// Rotary turns pairs of coordinates of each head by the angle of its token.
//
//omp:target device(acc, smp) contract
//omp:task in(c, s) inout(q)
func Rotary(tokens, heads, half int, c, s, q []float32) {
	//omp:teams distribute parallel for collapse(3)
	for t := 0; t < tokens; t++ {
		for h := 0; h < heads; h++ {
			for d := 0; d < half; d++ {
				k := (t*heads+h)*2*half + d
				a, b := q[k], q[k+half]
				q[k] = a*c[t*half+d] - b*s[t*half+d]
				q[k+half] = a*s[t*half+d] + b*c[t*half+d]
			}
		}
	}
}
