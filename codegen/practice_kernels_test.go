package codegen_test

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

//omp:target device(smp)
//omp:task in(src, k) out(dst)
func PracticeConvolve(w, h int, dst, src []uint8, k []int16) {
	//omp:teams distribute parallel for collapse(2)
	for y := 0; y < h; y++ {
		for x := 0; x < w; x++ {
			s := int32(0)
			for dy := -2; dy <= 2; dy++ {
				for dx := -2; dx <= 2; dx++ {
					yy, xx := min(max(y+dy, 0), h-1), min(max(x+dx, 0), w-1)
					s += int32(src[yy*w+xx]) * int32(k[(dy+2)*5+dx+2])
				}
			}
			s = (s + 128) >> 8
			dst[y*w+x] = uint8(min(max(s, 0), 255))
		}
	}
}

//omp:target device(smp)
//omp:task in(x) out(sums, y)
func PracticePrefix(n, bs int, sums, x, y []int64) {
	blocks := (n + bs - 1) / bs
	//omp:teams distribute parallel for
	for b := 0; b < blocks; b++ {
		s := int64(0)
		for i := b * bs; i < min(n, (b+1)*bs); i++ {
			s += x[i]
			y[i] = s
		}
		sums[b] = s
	}
	s := int64(0)
	for b := 0; b < blocks; b++ {
		t := sums[b]
		sums[b] = s
		s += t
	}
	//omp:teams distribute parallel for
	for b := 0; b < blocks; b++ {
		for i := b * bs; i < min(n, (b+1)*bs); i++ {
			y[i] += sums[b]
		}
	}
}

//omp:target device(smp)
//omp:task inout(x)
func PracticeSort8(n int, x []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var t [8]int32
		for j := range t {
			t[j] = x[i*8+j]
		}
		for p := 0; p < 8; p++ {
			for j := p & 1; j+1 < 8; j += 2 {
				if t[j] > t[j+1] {
					t[j], t[j+1] = t[j+1], t[j]
				}
			}
		}
		for j := range t {
			x[i*8+j] = t[j]
		}
	}
}

//omp:target device(smp)
//omp:task in(x, val, col, start, active) out(y)
func PracticeMaskedCSR(y, x, val []float64, col, start []int32, active []bool) {
	//omp:teams distribute parallel for
	for r := 0; r < len(y); r++ {
		if !active[r] {
			y[r] = 0
			continue
		}
		s := 0.0
		for k := start[r]; k < start[r+1]; k++ {
			c := col[k]
			if !active[c] {
				continue
			}
			s += val[k] * x[c]
		}
		y[r] = s
	}
}

//omp:target device(smp)
//omp:task in(text, start) out(hash)
func PracticeHash(n int, hash []uint64, text []byte, start []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		h := uint64(14695981039346656037)
		for _, c := range text[start[i]:start[i+1]] {
			h ^= uint64(c)
			h *= 1099511628211
		}
		hash[i] = h
	}
}

//omp:target device(smp)
//omp:task inout(hits)
func PracticePi(n, tries int, hits []int64) {
	total := int64(0)
	//omp:teams distribute parallel for reduction(+: total)
	for i := 0; i < n; i++ {
		s := uint32(i)*2654435761 + 1
		in := int64(0)
		for t := 0; t < tries; t++ {
			s ^= s << 13
			s ^= s >> 17
			s ^= s << 5
			x := float32(s>>8) * (1.0 / 16777216)
			s ^= s << 13
			s ^= s >> 17
			s ^= s << 5
			y := float32(s>>8) * (1.0 / 16777216)
			if x*x+y*y <= 1 {
				in++
			}
		}
		total += in
	}
	hits[0] = total
}

type practiceComplex struct{ re, im float64 }

func practiceMul(a, b practiceComplex) practiceComplex {
	return practiceComplex{a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re}
}

//omp:target device(smp)
//omp:task in(x, y) out(z)
func PracticeComplex(z, x, y []practiceComplex) {
	//omp:teams distribute parallel for
	for i := 0; i < len(z); i++ {
		z[i] = practiceMul(x[i], y[i])
	}
}

type practiceParticle struct {
	pos, vel [3]float32
	mass     float32
	cell     int32
}

//omp:target device(smp)
//omp:task inout(p)
func PracticeParticles(p []practiceParticle, dt, side float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(p); i++ {
		q := &p[i]
		for d := range 3 {
			q.pos[d] += dt * q.vel[d]
			if q.pos[d] < 0 {
				q.pos[d], q.vel[d] = -q.pos[d], -q.vel[d]
			} else if q.pos[d] > side {
				q.pos[d], q.vel[d] = 2*side-q.pos[d], -q.vel[d]
			}
		}
		q.cell = int32(q.pos[0])*64 + int32(q.pos[1])*8 + int32(q.pos[2])
	}
}

//omp:target device(smp)
//omp:task in(b, val, col, start, diag) inout(x)
func PracticeTriangular(n int, x, b, val, diag []float64, col, start []int32) {
	for r := 0; r < n; r++ {
		s := b[r]
		for k := start[r]; k < start[r+1]; k++ {
			s -= val[k] * x[col[k]]
		}
		x[r] = s / diag[r]
	}
}

//omp:target device(smp)
//omp:task in(a, b, c) inout(d) out(t)
func PracticeThomas(systems, n int, a, b, c, d, t []float64) {
	//omp:teams distribute parallel for
	for s := 0; s < systems; s++ {
		t[s] = c[s] / b[s]
		d[s] = d[s] / b[s]
		for i := 1; i < n; i++ {
			k, o := i*systems+s, (i-1)*systems+s
			m := 1 / (b[k] - a[k]*t[o])
			t[k] = c[k] * m
			d[k] = (d[k] - a[k]*d[o]) * m
		}
		for i := n - 2; i >= 0; i-- {
			k := i*systems + s
			d[k] -= t[k] * d[k+systems]
		}
	}
}

//omp:target device(smp)
//omp:task inout(re, im) in(wr, wi)
func PracticeFFT(logn int, re, im, wr, wi []float64) {
	n := 1 << logn
	for s := 1; s <= logn; s++ {
		half := 1 << (s - 1)
		//omp:teams distribute parallel for
		for k := 0; k < n/2; k++ {
			j := k & (half - 1)
			i := (k>>(s-1))<<s + j
			o := i + half
			c, d := wr[j<<(logn-s)], wi[j<<(logn-s)]
			tr, ti := re[o]*c-im[o]*d, re[o]*d+im[o]*c
			re[o], im[o] = re[i]-tr, im[i]-ti
			re[i], im[i] = re[i]+tr, im[i]+ti
		}
	}
}

//omp:target device(smp)
//omp:task in(x, y, cx, cy) out(which) inout(count)
func PracticeKMeans(k int, x, y, cx, cy []float32, which []int32, count []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		best, at := float32(1e30), int32(-1)
		for c := 0; c < k; c++ {
			dx, dy := x[i]-cx[c], y[i]-cy[c]
			if d := dx*dx + dy*dy; d < best {
				best, at = d, int32(c)
			}
		}
		which[i] = at
		if at >= 0 {
			//omp:atomic
			count[at]++
		}
	}
}

//omp:target device(smp)
//omp:task in(img) inout(bins)
func PracticeHistogram(img []uint8, bins []uint32) {
	var local [256]uint32
	//omp:teams distribute parallel for reduction(+: local)
	for i := 0; i < len(img); i++ {
		local[img[i]]++
	}
	for i := range local {
		bins[i] += local[i]
	}
}

//omp:target device(smp)
//omp:task in(x, y) inout(out)
func PracticeHamming(x, y []uint64, out []int64) {
	n := 0
	//omp:teams distribute parallel for reduction(+: n)
	for i := 0; i < len(x); i++ {
		n += bits.OnesCount64(x[i] ^ y[i])
	}
	out[0] = int64(n)
}

//omp:target device(smp)
//omp:task in(perm, x) out(y, z)
func PracticeGatherScatter(perm []int32, x, y, z []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(perm); i++ {
		y[i] = x[perm[i]]
		z[perm[i]] = x[i] * 2
	}
}

//omp:target device(smp)
//omp:task in(table, keys) out(at)
func PracticeSearch(table, keys []int32, at []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(keys); i++ {
		lo, hi := 0, len(table)
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if table[mid] < keys[i] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		at[i] = int32(lo)
	}
}

func practiceFind(row []byte, c byte) int {
	for i, x := range row {
		if x == c {
			return i
		}
	}
	return -1
}

//omp:target device(smp)
//omp:task in(text) out(at)
func PracticeFind(w int, text []byte, c byte, at []int32) {
	//omp:teams distribute parallel for
	for r := 0; r < len(at); r++ {
		at[r] = int32(practiceFind(text[r*w:(r+1)*w], c))
	}
}

//omp:target device(smp)
//omp:task in(x) out(best, where)
func PracticeMaxIndex(x []float32, best []float32, where []int64) {
	m, at := float32(-1e30), 0
	//omp:teams distribute parallel for reduction(maxloc: m, at)
	for i := 0; i < len(x); i++ {
		if x[i] > m {
			m, at = x[i], i
		}
	}
	best[0], where[0] = m, int64(at)
}

//omp:target device(smp)
//omp:task in(x) out(y)
func PracticeMean(n, w int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		lo, hi := max(0, i-w), min(n, i+w+1)
		s := float32(0)
		for j := lo; j < hi; j++ {
			s += x[j]
		}
		y[i] = s / float32(hi-lo)
	}
}

//omp:target device(smp)
//omp:task out(img)
func PracticeMandelbrot(w, h, limit int, img []uint16) {
	//omp:teams distribute parallel for collapse(2)
	for py := 0; py < h; py++ {
		for px := 0; px < w; px++ {
			cr, ci := float64(px)*3/float64(w)-2, float64(py)*2/float64(h)-1
			zr, zi := 0.0, 0.0
			n := 0
			for ; n < limit; n++ {
				zr, zi = zr*zr-zi*zi+cr, 2*zr*zi+ci
				if zr*zr+zi*zi > 4 {
					break
				}
			}
			img[py*w+px] = uint16(n)
		}
	}
}

//omp:target device(smp)
//omp:task in(img, lut) out(out)
func PracticeLUT(img []uint16, lut []uint8, out []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < len(img); i++ {
		out[i] = lut[img[i]>>6]
	}
}

//omp:target device(smp)
//omp:task in(rgb) out(grey)
func PracticeGrey(n int, rgb, grey []uint8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		r, g, b := uint32(rgb[3*i]), uint32(rgb[3*i+1]), uint32(rgb[3*i+2])
		grey[i] = uint8((77*r + 150*g + 29*b) >> 8)
	}
}

//omp:target device(smp)
//omp:task in(a) out(b)
func PracticeTranspose(n, m int, b, a []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			b[j*n+i] = a[i*m+j]
		}
	}
}

//omp:target device(smp)
//omp:task inout(grid) out(next)
func PracticeLife(w, h, steps int, grid, next []uint8) {
	for s := 0; s < steps; s++ {
		//omp:teams distribute parallel for
		for y := 0; y < h; y++ {
			for x := 0; x < w; x++ {
				alive := 0
				for dy := -1; dy <= 1; dy++ {
					for dx := -1; dx <= 1; dx++ {
						if dx != 0 || dy != 0 {
							alive += int(grid[(y+dy+h)%h*w+(x+dx+w)%w])
						}
					}
				}
				c := uint8(0)
				if alive == 3 || alive == 2 && grid[y*w+x] == 1 {
					c = 1
				}
				next[y*w+x] = c
			}
		}
		//omp:teams distribute parallel for
		for i := 0; i < w*h; i++ {
			grid[i] = next[i]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func PracticeMedian(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 1; i < n-1; i++ {
		a, b, c := x[i-1], x[i], x[i+1]
		y[i] = max(min(a, b), min(max(a, b), c))
	}
}

//omp:target device(smp)
//omp:task in(x) out(y)
func PracticeSoftmax(rows, w int, x, y []float32) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		m := x[r*w]
		for j := 1; j < w; j++ {
			m = max(m, x[r*w+j])
		}
		s := float32(0)
		for j := 0; j < w; j++ {
			e := kernel.Exp(x[r*w+j] - m)
			y[r*w+j] = e
			s += e
		}
		for j := 0; j < w; j++ {
			y[r*w+j] /= s
		}
	}
}

//omp:target device(smp)
//omp:task in(lo, hi) out(gcd)
func PracticeGCD(lo, hi, gcd []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(gcd); i++ {
		a, b := lo[i], hi[i]
		for b != 0 {
			a, b = b, a%b
		}
		gcd[i] = a
	}
}

//omp:target device(smp)
//omp:task in(x) out(y)
func PracticeCollatz(x []uint64, y []int32) {
	//omp:teams distribute parallel for schedule(dynamic, 64)
	for i := 0; i < len(x); i++ {
		n, v := int32(0), x[i]
		for v > 1 && n < 500 {
			if v&1 == 0 {
				v >>= 1
			} else {
				v = 3*v + 1
			}
			n++
		}
		y[i] = n
	}
}

//omp:target device(smp)
//omp:task in(x) out(y) inout(state)
func PracticeFilter(channels, n int, x, y, state []float32) {
	//omp:teams distribute parallel for
	for c := 0; c < channels; c++ {
		z1, z2 := state[2*c], state[2*c+1]
		for i := 0; i < n; i++ {
			v := x[c*n+i]
			o := 0.2*v + z1
			z1 = 0.4*v - 0.3*o + z2
			z2 = 0.2*v - 0.1*o
			y[c*n+i] = o
		}
		state[2*c], state[2*c+1] = z1, z2
	}
}
