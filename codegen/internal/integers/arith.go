// Package integers computes with whole numbers, reports where 64 bits do not hold a result, and
// decides whether systems of linear equations and inequalities have a solution in whole numbers.
package integers

import "math/bits"

func Add(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func Mul(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(Magnitude(a), Magnitude(b))
	return a * b, hi == 0 && lo < 1<<63
}

func Magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// AddUpToMax adds, up to the largest number.
func AddUpToMax(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 1<<64 - 1
	}
	return sum
}
