// Package vecmath computes functions of package math and math/bits in the lanes of a vector, as
// virtual code.
//
// A [Series] is arithmetic on vectors of one type and width. It hands every instruction to an
// [Emitter] and knows nothing of registers, loops or kernels. Elementary functions are polynomials
// and rationals after a reduction of the argument; [Bound] says how exact they are. Functions of
// integers, conversions and exact functions of floats give what Go gives.
//
// Invariants: a result is a fresh register, unless the method says that it overwrites one; no
// method reads a lane other than its own, and none branches. Zeros of both signs, infinities, NaN
// and subnormal numbers give what Go's functions give; arguments beyond [CircularLimit] and
// [PowerLimit] are left to the caller.
package vecmath
