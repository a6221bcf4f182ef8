package gpubench

import (
	_ "embed"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels that the compiler has not been tuned for. The hand-written CUDA kernels of the same names
// are in others.cu.

//go:embed others_kernels.go
var othersSource string

//omp:target device(acc, smp)
//omp:task inout(count)
func Mandelbrot(n, most int, count []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			cr, ci := float32(j)*3/float32(n)-2, float32(i)*3/float32(n)-1.5
			var x, y float32
			k := 0
			for k < most && x*x+y*y < 4 {
				x, y = x*x-y*y+cr, 2*x*y+ci
				k++
			}
			count[i*n+j] = int32(k)
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a, b) inout(h)
func Alignment(n int, a, b, h []int32) {
	m := n + 1
	for d := 2; d <= 2*n; d++ {
		//omp:teams distribute parallel for
		for i := max(1, d-n); i <= min(n, d-1); i++ {
			j := d - i
			match := int32(-1)
			if a[i-1] == b[j-1] {
				match = 2
			}
			h[i*m+j] = max(h[(i-1)*m+j-1]+match, h[(i-1)*m+j]-1, h[i*m+j-1]-1)
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Bitonic(n int, x []int32) {
	for k := 2; k <= n; k *= 2 {
		for j := k / 2; j > 0; j /= 2 {
			//omp:teams distribute parallel for
			for i := 0; i < n; i++ {
				if o := i ^ j; o > i {
					if (x[i] > x[o]) == (i&k == 0) {
						x[i], x[o] = x[o], x[i]
					}
				}
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(text, table) inout(sum)
func Checksums(n, m int, text, table, sum []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		c := ^uint32(0)
		for j := 0; j < m; j++ {
			w := text[i*m+j]
			for b := 0; b < 4; b++ {
				c = table[(c^w)&255] ^ c>>8
				w >>= 8
			}
		}
		sum[i] = ^c
	}
}

//omp:target device(acc, smp) contract
//omp:task inout(payoff)
func AsianOption(steps int, start, drift, vol float32, payoff []float32) {
	//omp:teams distribute parallel for
	for i := range payoff {
		s, sum, seed := start, float32(0), uint32(i)*747796405+2891336453
		for t := 0; t < steps; t++ {
			var z float32
			for q := 0; q < 4; q++ {
				seed ^= seed << 13
				seed ^= seed >> 17
				seed ^= seed << 5
				z += float32(seed>>8)*(1.0/16777216) - 0.5
			}
			s *= kernel.Exp(drift + vol*z*1.7320508)
			sum += s
		}
		payoff[i] = max(sum/float32(steps)-start, 0)
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(y)
func Turned(n int, c, s float32, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			h := float32(n) / 2
			u, v := c*(float32(j)-h)-s*(float32(i)-h)+h, s*(float32(j)-h)+c*(float32(i)-h)+h
			var out float32
			if u >= 0 && v >= 0 && u < float32(n-1) && v < float32(n-1) {
				a, b := int(u), int(v)
				p, q := u-float32(a), v-float32(b)
				top := x[b*n+a]*(1-p) + x[b*n+a+1]*p
				low := x[(b+1)*n+a]*(1-p) + x[(b+1)*n+a+1]*p
				out = top*(1-q) + low*q
			}
			y[i*n+j] = out
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x, y) inout(a)
func RankOne(n int, x, y, a []float64) {
	//omp:loop
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			a[i*n+j] += x[i] * y[j]
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, x) inout(y)
func ManyProducts(n int, a, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for q := 0; q < n; q++ {
		for i := 0; i < 64; i++ {
			var s float32
			//omp:simd reduction(+: s)
			for k := 0; k < 64; k++ {
				s += a[q*4096+i*64+k] * x[q*64+k]
			}
			y[q*64+i] = s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x, g) inout(y)
func RootMeanRows(n, m int, x, g, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for j := 0; j < m; j++ {
			s += x[i*m+j] * x[i*m+j]
		}
		inv := 1 / kernel.Sqrt(s/float32(m)+1e-6)
		for j := 0; j < m; j++ {
			y[i*m+j] = x[i*m+j] * inv * g[j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Life(n int, x, y []int32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			up, down, left, right := (i+n-1)%n, (i+1)%n, (j+n-1)%n, (j+1)%n
			c := x[up*n+left] + x[up*n+j] + x[up*n+right] + x[i*n+left] + x[i*n+right] + x[down*n+left] + x[down*n+j] + x[down*n+right]
			if c == 3 || c == 2 && x[i*n+j] == 1 {
				y[i*n+j] = 1
			} else {
				y[i*n+j] = 0
			}
		}
	}
}

//omp:target device(acc, smp) contract
//omp:task in(c, x) inout(y)
func Polynomial(degree int, c, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range y {
		s := c[degree]
		for k := degree - 1; k >= 0; k-- {
			s = s*x[i] + c[k]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x, p) inout(y)
func Gathered(x []float32, p []int32, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = x[p[i]]
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func Moments(x, out []float32) {
	var s, q float32
	//omp:teams distribute parallel for reduction(+: s, q)
	for i := range x {
		s += x[i]
		q += x[i] * x[i]
	}
	out[0], out[1] = s, q
}

//omp:target device(acc, smp)
//omp:task in(a) inout(most)
func ColumnMost(n, m int, a, most []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		var v float32
		for i := 0; i < n; i++ {
			v = max(v, a[i*m+j], -a[i*m+j])
		}
		most[j] = v
	}
}

//omp:target device(acc, smp) contract
//omp:task in(u, v, x) inout(y)
func Upwind(n int, dt float32, u, v, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			at := i*n + j
			var dx, dy float32
			if u[at] > 0 {
				dx = x[at] - x[at-1]
			} else {
				dx = x[at+1] - x[at]
			}
			if v[at] > 0 {
				dy = x[at] - x[at-n]
			} else {
				dy = x[at+n] - x[at]
			}
			y[at] = x[at] - dt*(u[at]*dx+v[at]*dy)
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(score) inout(class)
func Classes(n, m int, score []float32, class []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		best, at := score[i*m], 0
		for j := 1; j < m; j++ {
			if score[i*m+j] > best {
				best, at = score[i*m+j], j
			}
		}
		class[i] = int32(at)
	}
}

//omp:target device(acc, smp)
//omp:task in(level) inout(when)
func FloodCrests(hours, gauges int, level []float32, when []int32) {
	//omp:teams distribute parallel for
	for g := 0; g < gauges; g++ {
		crest, at := float32(-1e30), int32(-1)
		for h := 0; h < hours; h++ {
			if v := level[h*gauges+g]; crest < v {
				crest = v
				at = int32(h)
			}
		}
		when[g] = at
	}
}

//omp:target device(acc, smp) contract
//omp:task in(a, x) inout(y)
func BandProduct(n, half int, a, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for j := max(0, i-half); j <= min(n-1, i+half); j++ {
			s += a[i*(2*half+1)+j-i+half] * x[j]
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(text, next) inout(last)
func Automaton(n, m int, text, next []uint32, last []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		state, found := uint32(0), uint32(0)
		for j := 0; j < m; j++ {
			w := text[i*m+j]
			for b := 0; b < 8; b++ {
				state = next[(state&31)<<4|w&15]
				found += state >> 31
				w >>= 4
			}
		}
		last[i] = state&31 | found<<5
	}
}

//omp:target device(acc, smp)
//omp:task in(print, query) inout(common)
func Fingerprints(n, words int, print, query, common []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		both := uint32(0)
		for k := 0; k < words; k++ {
			v := print[i*words+k] & query[k]
			v -= v >> 1 & 0x55555555
			v = v&0x33333333 + v>>2&0x33333333
			both += (v + v>>4) & 0x0f0f0f0f * 0x01010101 >> 24
		}
		common[i] = both
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(power)
func SignalPowers(signals, n int, x, power []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < signals; i++ {
		var s float32
		//omp:simd reduction(+: s)
		for t := 0; t < n; t++ {
			s += x[i*n+t] * x[i*n+t]
		}
		power[i] = s / float32(n)
	}
}

//omp:target device(acc, smp) contract
//omp:task in(x) inout(mean, square)
func FeatureMoments(n, m int, x, mean, square []float32) {
	//omp:teams distribute parallel for
	for j := 0; j < m; j++ {
		var s, q float32
		//omp:simd reduction(+: s, q)
		for i := 0; i < n; i++ {
			s += x[i*m+j]
			q += x[i*m+j] * x[i*m+j]
		}
		mean[j], square[j] = s/float32(n), q/float32(n)
	}
}
