package simt_test

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels of this file are run as Go and as device IR. They use the language widely: who is parallel matters less.

type vec struct{ x, y, z float32 }

type node struct {
	at    vec
	count [3]int16
	next  int
	alive bool
}

//lint:ignore U1000 methods of the package must not disturb the front end
func (b *builder) unusedByKernels() {}

func addVec(a, b vec) vec { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }

func split(x int) (q int, r int8, odd bool) { return x / 7, int8(x % 7), x&1 == 1 }

func largest[T kernel.Integer | kernel.Float](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func bump(p *int, s []int16) {
	*p += len(s)
	for i := range s {
		s[i] += int16(i + 1)
	}
}

//omp:target
func Structs(nodes []node, shift vec, out []float32) {
	//omp:teams distribute parallel for
	for i := range nodes {
		n := nodes[i]
		n.at = addVec(n.at, shift)
		n.count[i%3]++
		n.count, n.next = [3]int16{n.count[2], n.count[0], n.count[1]}, n.next+int(n.count[1])
		if n.alive != (n.at.x > 0) {
			p := &nodes[i].at
			p.y, p.z = p.z, p.y
			nodes[i].alive = !n.alive
			out[i] = p.y
			continue
		}
		nodes[i] = n
		out[i] = n.at.x
	}
}

//omp:target
func Helpers(x []int, out []int64, f []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		q, r, odd := split(x[i])
		_, s, _ := split(q)
		var box [4]int16
		total := q
		bump(&total, box[1:])
		bump(&total, box[:2])
		if odd && r < 3 || !odd && s > 1 {
			total = -total
		}
		out[i] = int64(total) + int64(box[1])*100 + int64(box[3])*1000 + int64(largest(r, s))
		f[i] = largest(f[i], float64(r)/3)
	}
}

//omp:target
func Control(x []int, out []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v, steps := x[i], 0
	outer:
		for {
			for k := 0; k < 5; k++ {
				switch {
				case v == 0:
					break outer
				case v%(k+2) == 0:
					v /= k + 2
					steps += 10
					continue outer
				case k == 4 && v < 0:
					v = -v
				}
				steps++
			}
			switch v & 3 {
			case 0, 2:
				v >>= 1
			case 1:
				v--
				fallthrough
			default:
				v /= 3
			}
		}
		for range 3 {
			steps += 1000
		}
		for w := v + 10; w > 0; w -= 4 {
			if w == 6 {
				continue
			}
			steps += w << 20
		}
		out[i] = steps
	}
}

//omp:target
func Numbers(x []int, a []int32, b []uint16, c []uint64, f []float32, g []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		a[i] = int32(v)<<(uint(v)&40) ^ int32(int8(v))*int32(uint8(v)) + int32(bits.LeadingZeros32(uint32(v)))
		b[i] = uint16(v)*uint16(v) + ^uint16(v)>>3 | uint16(bits.Reverse8(uint8(v)))
		c[i] = uint64(v)*0x9e3779b97f4a7c15 + bits.RotateLeft64(uint64(v), v) + uint64(math.Float32bits(float32(v)))
		h := float32(v) * 0.1
		f[i] = float32(h*h) - h/3 + float32(math.Floor(float64(h))) + kernel.FMA(h, h, -h)
		g[i] = math.Sqrt(math.Abs(float64(v))) + float64(float64(h)*1e-3) + math.Max(float64(h), min(3, g[i])) + math.Hypot(float64(h), 2)
	}
}

//omp:target
func Windows(n int, x []int, out []int) {
	//omp:teams distribute
	for b := 0; b < n; b++ {
		part := x[b*8 : (b+1)*8 : (b+1)*8]
		var local [2][4]int
		//omp:parallel for
		for k := range part {
			local[k/4][k%4] = part[k]
		}
		//omp:parallel for
		for k := 0; k < 8; k++ {
			row := local[1-k/4]
			sum := 0
			for _, v := range row[:k%4+1] {
				sum += v
			}
			out[b*8+k] = sum*10 + len(part) + cap(part[k:])
		}
	}
}

//omp:target
func Literals(x []int, out []int) {
	//omp:teams distribute parallel for
	for i := range x {
		square := func(v int) int { return v * v }
		primes := [...]int{2, 3, 5, 7}
		s := 0
		for k, p := range primes {
			if x[i]%p == 0 {
				s += square(p) << k
			}
		}
		pair := struct{ a, b int }{s, x[i]}
		pair.a, pair.b = pair.b, pair.a
		if pair == (struct{ a, b int }{x[i], s}) {
			s++
		}
		out[i] = s + pair.a
	}
}
