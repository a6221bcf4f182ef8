// Package vector is what selection asks of a machine: virtual registers and constants, vectors of
// numbers and masks of lanes, in so many unrolled copies.
//
// It has three layers, each of which knows the ones below. Registers depend on no lane. Vectors
// know how many lanes there are and which are on. Arithmetic converts, compares and combines. None
// of them evaluates an expression or knows where a variable lives: the operands are registers.
//
// Masks are mask registers with AVX-512 and vectors with AVX2, there in one canonical lane size,
// the bytes of a vector by the number of lanes. Integers of one and two bytes lie in 32 bits.
package vector
