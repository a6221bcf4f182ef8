// Package random has a counter-based random number generator for kernels. The random number of an
// iteration depends only on the seed and on the number of the iteration. So there is no state, and
// a kernel gives the same numbers on every device, with any number of teams, threads and workers.
//
// Source: John Salmon, Mark Moraes, Ron Dror, David Shaw, Parallel random numbers: as easy as 1, 2,
// 3, SC 2011, sections 3 and 4.
package random

import (
	"math"
	"math/bits"
)

// The multipliers and the key increments of Philox4x32.
const (
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
	increment0  = 0x9E3779B9
	increment1  = 0xBB67AE85
)

// Philox returns four independent words of 32 bits: block (c0, c1, c2, c3) of the generator
// Philox4x32 with 10 rounds and the key (k0, k1).
func Philox(k0, k1, c0, c1, c2, c3 uint32) (w0, w1, w2, w3 uint32) {
	for range 10 {
		hi0, lo0 := bits.Mul32(multiplier0, c0)
		hi1, lo1 := bits.Mul32(multiplier1, c2)
		c0, c1, c2, c3 = hi1^c1^k0, lo1, hi0^c3^k1, lo0
		k0 += increment0
		k1 += increment1
	}
	return c0, c1, c2, c3
}

// Uint64 returns number i of the stream of seed, uniform over all values.
func Uint64(seed, i uint64) uint64 {
	w0, w1, _, _ := Philox(uint32(seed), uint32(seed>>32), uint32(i), uint32(i>>32), 0, 0)
	return uint64(w0) | uint64(w1)<<32
}

// Float64 returns number i of the stream of seed, uniform over the multiples of 2^-53 in [0, 1).
func Float64(seed, i uint64) float64 {
	return float64(Uint64(seed, i)>>11) * 0x1p-53
}

// Float32 returns number i of the stream of seed, uniform over the multiples of 2^-24 in [0, 1).
func Float32(seed, i uint64) float32 {
	return float32(Uint64(seed, i)>>40) * 0x1p-24
}

// Normal returns pair i of the stream of seed: two independent numbers of the normal distribution
// with mean 0 and variance 1, by the method of Box and Muller. Their last places may differ between
// devices, as those of the functions of package math do.
func Normal(seed, i uint64) (x, y float64) {
	w0, w1, w2, w3 := Philox(uint32(seed), uint32(seed>>32), uint32(i), uint32(i>>32), 0, 0)
	u := float64((uint64(w0)|uint64(w1)<<32)>>11+1) * 0x1p-53 // above 0, for the logarithm
	v := float64((uint64(w2)|uint64(w3)<<32)>>11) * 0x1p-53
	r := math.Sqrt(-2 * math.Log(u))
	return r * math.Cos(2*math.Pi*v), r * math.Sin(2*math.Pi*v)
}
