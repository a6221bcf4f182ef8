package codegen_test

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// The kernels in this file are Go functions that tests call, and Go source that tests compile: what the two compute is
// compared. Each exercises a part of the Go subset where a wrong order or a missing copy would show. x has at least 64
// elements from 0 to 9, f as many from -1 to 1.

type point struct {
	at    [2]int
	value float32
}

type pair[A, B any] struct {
	first  A
	second B
}

func minMaxAt(x []int) (at, least, most int) {
	least, most = x[0], x[0]
	for i, v := range x {
		if v < least {
			at, least = i, v
		}
		most = max(most, v)
	}
	return
}

func count(x []int, at int) int {
	x[at]++
	return x[at]
}

func both(a, b bool) bool { return a && b }

func flip(p *point, by float32) {
	p.at[0], p.at[1] = p.at[1], p.at[0]
	p.value *= by
}

func fold[T any](x []T, start T, f func(a, b T) T) T {
	for _, v := range x {
		start = f(start, v)
	}
	return start
}

func total(list ...int) (sum int) {
	for _, v := range list {
		sum += v
	}
	return sum
}

//omp:target
//omp:task inout(x)
func SubsetTuples(x []int, f []float32) {
	a, b, c := 1, 2, 3
	a, b, c = c, a, b
	x[0], x[1], x[2] = a, b, c
	i := x[3]
	i, x[i+10] = i+1, i
	x[i+20], i = i, 0
	x[30], x[31], x[32] = x[31], x[32], x[30]
	s := x[33:40]
	s, s[0] = x[40:44], len(s)
	s[0], s[1] = s[1], s[0]
	x[50], x[51], x[52] = minMaxAt(x[5:25])
	_, b = a, x[53]
	x[53], _ = b+1, a
}

//omp:target
//omp:task inout(x)
func SubsetCalls(x []int, f []float32) {
	if both(count(x, 0) > 3, count(x, 1) > 3) || count(x, 2) > 5 && count(x, 3) > 5 || count(x, 4) > 0 {
		x[5] = count(x, 6) - count(x, 6)*count(x, 7)
	}
	for i := 0; count(x, 8) < 30 && i < 100; i += 1 + count(x, 9)%2 {
		if i%3 == 0 {
			continue
		}
		x[10] += i
	}
	x[11] = total() + total(1) + total(x[12], count(x, 12), x[12]) + total(x[13:16]...)
	switch v := count(x, 17); {
	case count(x, 18) < 4:
		x[19] = v
	case count(x, 18) < 8, count(x, 20) > 2:
		x[21] = v
	}
	for x[22] = 0; x[22] < 5; x[22]++ {
		x[23] += x[22]
	}
}

//omp:target
//omp:task inout(x, f)
func SubsetStructs(x []int, f []float32) {
	p := point{at: [2]int{x[0], x[1]}, value: f[0]}
	q := p
	q.at[1]++
	flip(&p, 2)
	list := [3]point{2: p, 0: q}
	copied := list
	for i, v := range list {
		list[(i+1)%3].at[0] += v.at[1] + 1
		x[2+i] = v.at[0]
	}
	for i := range list {
		x[5+i] = list[i].at[0] - copied[i].at[0]
	}
	if p == q || list[0] != copied[0] {
		x[9] = 1
	}
	nested := pair[int, pair[point, bool]]{first: x[10], second: pair[point, bool]{p, p.value > 0}}
	r := &nested.second.first
	r.value += 1
	if nested.second.second {
		f[1] = nested.second.first.value
	}
	small := []int{5: x[11], 1: 3, x[12]}
	x[13], x[14] = len(small), small[2]+small[5]
	made := make([]float32, 4, 8)
	made[3] = f[2]
	made = made[2:7]
	f[3], x[15] = made[1]+*new(float32), cap(made)
	var zero [20]point
	zero[x[16]].value = 1
	f[4] = fold([]float32{f[5], f[6], zero[x[16]].value}, 0, func(a, b float32) float32 { return a*2 + b })
}

//omp:target
//omp:task inout(x)
func SubsetFlow(x []int, f []float32) {
	n := 0
outer:
	for i := range 20 {
		switch v := x[i]; v {
		case 0:
			continue outer
		case 1, 2:
			n += 1
			fallthrough
		case 3:
			n += 10
			if n > 25 {
				break
			}
			n += 100
		case 9:
			break outer
		default:
			n += 1000
			for j := v; j > 0; j-- {
				if j == 5 {
					continue outer
				}
				if n > 3000 {
					break
				}
				n++
			}
		}
		n *= 2
	}
	x[20] = n
	for i := range x[21:25] {
		i *= 2
		x[30+i] = i
	}
	k, limit := 0, 5
	for k = range limit {
		limit--
		x[40]++
	}
	x[41] = k
	s := x[42:46]
	for i, v := range s {
		s = s[:1]
		x[50+i] = v + len(s)
	}
	for i := 0; i < 10; i++ {
		i += x[i] % 2
		x[54] += i
	}
	for i := uint8(3); i < 4; i-- {
		x[55]++
	}
	for {
		x[56]++
		if x[56] > 12 {
			return
		}
	}
}

//omp:target
//omp:task inout(x, f)
func SubsetLiterals(x []int, f []float32) {
	scale, scaled := x[0], 0
	sum := 0
	add := func(v int) (old int) {
		old = sum
		sum += v * scale
		if sum%2 == 0 {
			return
		}
		return old + 1
	}
	x[1] = add(1) + add(x[2])*add(3)
	twice := func(g func(int) int, v int) int { return g(g(v)) }
	x[3] = twice(add, 2)
	x[4] = twice(func(v int) int { return twice(func(w int) int { return w*2 + v }, v) }, x[5])
	x[6] = fold(x[7:12], 1, func(a, b int) int {
		if b > 5 {
			return a
		}
		return a*3 + b
	})
	f[0] = fold(f[1:9], f[0], func(a, b float32) float32 { return max(a, b) })
	for i := range 3 {
		at := func(j int) *int { return &x[20+i*3+j] }
		*at(0) += i
		*at(1), *at(2) = *at(2), *at(1)
	}
	x[41] = fold(x[41:45], 0, func(a, b int) int {
		return a + fold(x[45:47], b, func(c, d int) int { return c*a + d })
	})
	bump := func() int { scaled++; return 3 }
	switch scaled {
	case bump(), 4:
		x[48] = 1
	case 0:
		x[48] = 2
	}
	x[40] = func() int { return len(x) - sum }()
}

//omp:target
//omp:task inout(x, f)
func SubsetArithmetic(x []int, f []float32) {
	var a int8 = 127
	a++
	var u uint16 = 3
	u -= 5
	b := int32(x[0]) - 5
	x[1], x[2], x[3] = int(a), int(u), int(b/2)*10+int(b%3)
	x[4] = -7>>1 + -7/2 + x[5]<<uint(x[6]) + 1<<(x[7]+60)>>60
	x[8] = int(^uint8(x[9])) &^ 5
	hi, lo := bits.Mul64(uint64(x[10])<<60+7, 1<<40+3)
	sum, carry := bits.Add64(hi, ^uint64(0), 1)
	diff, borrow := bits.Sub32(uint32(x[11]), uint32(x[12]), 1)
	x[13], x[14], x[15] = int(lo), int(sum^carry), int(diff)+int(borrow)
	x[16] = bits.OnesCount16(u) + bits.Len(uint(x[17])) + bits.TrailingZeros8(uint8(x[18]))
	f[0] = float32(math.Sqrt(float64(f[1]*f[1]))) + kernel.Abs(f[2]) + kernel.FMA(f[3], f[4], f[5])
	f[6] = float32(math.Floor(float64(f[7])*3)) + float32(math.Max(float64(f[8]), 0.25)) + float32(min(x[19], 4))
	f[9] = math.Float32frombits(math.Float32bits(f[10])^1<<31) + float32(uint8(x[20]))/3
	x[21] = int(f[11]*100) + int(uint8(int(f[12]*100)))
	if math.IsNaN(float64(f[13])) || math.IsInf(float64(f[14])/0.0000000001, 0) || f[15] != f[15] {
		x[22] = 1
	}
	const big = 1 << 40
	x[23] = big>>x[24] + 'a' + len("abc")
}

// subsetKernels are all kernels of this file.
var subsetKernels = []any{SubsetTuples, SubsetCalls, SubsetStructs, SubsetFlow, SubsetLiterals, SubsetArithmetic}
