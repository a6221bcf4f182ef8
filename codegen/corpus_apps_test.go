package codegen_test

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of whole applications, for what they put together.

// LayerNorm carries float32 numbers that are computed once a row into the loops over the row.
//
//omp:target device(acc, smp)
//omp:task in(gain, shift) inout(x)
func LayerNorm(m int, eps float32, gain, shift, x []float32) {
	//omp:loop
	for r := 0; r < len(x)/m; r++ {
		var mean, sq float32
		//omp:loop reduction(+: mean)
		for j := 0; j < m; j++ {
			mean += x[r*m+j]
		}
		mean /= float32(m)
		//omp:loop reduction(+: sq)
		for j := 0; j < m; j++ {
			d := x[r*m+j] - mean
			sq += d * d
		}
		inv := kernel.Rsqrt(sq/float32(m) + eps)
		//omp:loop
		for j := 0; j < m; j++ {
			x[r*m+j] = (x[r*m+j]-mean)*inv*gain[j] + shift[j]
		}
	}
}

type Digest [8]uint32

func rightTurned(x uint32, n uint) uint32 { return x>>n | x<<(32-n) }

// SHA256 hashes one block a thread: small arrays, shifts by what a helper is given, and eight values that move on together.
//
//omp:target device(acc, smp)
//omp:task in(k, blocks) inout(out)
func SHA256(k []uint32, blocks [][16]uint32, out []Digest) {
	//omp:teams distribute parallel for
	for m := range out {
		var w [64]uint32
		for i, v := range blocks[m] {
			w[i] = v
		}
		for t := 16; t < 64; t++ {
			s0 := rightTurned(w[t-15], 7) ^ rightTurned(w[t-15], 18) ^ w[t-15]>>3
			s1 := bits.RotateLeft32(w[t-2], -17) ^ bits.RotateLeft32(w[t-2], -19) ^ w[t-2]>>10
			w[t] = w[t-16] + s0 + w[t-7] + s1
		}
		h := Digest{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
		a, b, c, d, e, f, g, last := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
		for t, kt := range k {
			t1 := last + (rightTurned(e, 6) ^ rightTurned(e, 11) ^ rightTurned(e, 25)) + (e&f ^ ^e&g) + kt + w[t]
			t2 := (rightTurned(a, 2) ^ rightTurned(a, 13) ^ rightTurned(a, 22)) + (a&b ^ a&c ^ b&c)
			last, g, f, e, d, c, b, a = g, f, e, d+t1, c, b, a, t1+t2
		}
		for i, v := range [8]uint32{a, b, c, d, e, f, g, last} {
			h[i] += v
		}
		out[m] = h
	}
}

type Complex struct{ Re, Im float64 }

func times(a, b Complex) Complex {
	return Complex{a.Re*b.Re - a.Im*b.Im, a.Re*b.Im + a.Im*b.Re}
}

func sumAndDifference(a, b Complex) (s, d Complex) {
	s = Complex{Re: a.Re + b.Re, Im: a.Im + b.Im}
	d = Complex{Re: a.Re - b.Re, Im: a.Im - b.Im}
	return
}

// FFTStage is one stage of Stockham's transform, over structs, with helpers that return several.
//
//omp:target device(acc, smp)
//omp:task in(w, x) inout(y)
func FFTStage(half int, w, x, y []Complex) {
	n := len(x)
	//omp:teams distribute parallel for
	for k := 0; k < n/2; k++ {
		p, q := k/half, k%half
		s, d := sumAndDifference(x[k], x[k+n/2])
		y[2*p*half+q] = s
		y[2*p*half+q+half] = times(d, w[p*half])
	}
}

// TriangularSolve solves by levels: constructs in a loop whose bounds are data.
//
//omp:target device(acc, smp)
//omp:task in(level, rows, start, col, val, b) inout(x)
func TriangularSolve(level, rows, start, col []int32, val, b, x []float64) {
	for l := 0; l+1 < len(level); l++ {
		//omp:teams distribute parallel for
		for k := level[l]; k < level[l+1]; k++ {
			r := rows[k]
			s := b[r]
			var d float64
			for e := start[r]; e < start[r+1]; e++ {
				if c := col[e]; c == r {
					d = val[e]
				} else {
					s -= val[e] * x[c]
				}
			}
			x[r] = s / d
		}
	}
}

// Queens counts placements with a stack in arrays of a thread.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func Queens(n int, out []int64) {
	var total int64
	//omp:teams distribute parallel for collapse(2) reduction(+: total)
	for a := 0; a < n; a++ {
		for b := 0; b < n; b++ {
			if a-b <= 1 && b-a <= 1 {
				continue
			}
			var cols, up, down, free [16]uint32
			all, depth := uint32(1)<<n-1, 0
			cols[0] = 1<<a | 1<<b
			up[0] = (1<<a<<1 | 1<<b) << 1
			down[0] = (1<<a>>1 | 1<<b) >> 1
			free[0] = all &^ (cols[0] | up[0] | down[0])
			for depth >= 0 {
				if depth == n-2 {
					total++
					depth--
					continue
				}
				f := free[depth]
				if f == 0 {
					depth--
					continue
				}
				bit := f & -f
				free[depth] ^= bit
				depth++
				cols[depth] = cols[depth-1] | bit
				up[depth] = (up[depth-1] | bit) << 1
				down[depth] = (down[depth-1] | bit) >> 1
				free[depth] = all &^ (cols[depth] | up[depth] | down[depth])
			}
		}
	}
	out[0] += total
}

func fullAdder(a, b, c uint64) (sum, carry uint64) { return a ^ b ^ c, a&b | c&(a^b) }

// Life is the game on a torus of words, 64 cells each, with a literal that captures.
//
//omp:target device(acc, smp)
//omp:shape old [h][w]
//omp:shape now [h][w]
//omp:task in(old) out(now)
func Life(h, w int, old, now []uint64) {
	row := func(y int) int { return (y + h) % h * w }
	//omp:teams distribute parallel for collapse(2)
	for y := 0; y < h; y++ {
		for x := 0; x < w; x++ {
			l, r := (x+w-1)%w, (x+1)%w
			var s, c [3]uint64
			for k := range 3 {
				base := row(y + k - 1)
				m := old[base+x]
				west, east := m<<1|old[base+l]>>63, m>>1|old[base+r]<<63
				if k == 1 {
					s[k], c[k] = west^east, west&east
				} else {
					s[k], c[k] = fullAdder(west, m, east)
				}
			}
			ones, c1 := fullAdder(s[0], s[1], s[2])
			t1, f1 := fullAdder(c[0], c[1], c[2])
			twos, f2 := t1^c1, t1&c1
			fours := f1 ^ f2 | f1&f2
			now[y*w+x] = twos &^ fours & (ones | old[y*w+x])
		}
	}
}

//lint:file-ignore S1001 kernels have no copy
