// Package cpu makes vectorised machine code of kernels at run time: SPMD on the lanes of AVX-512,
// AVX2 or NEON.
//
// Compile lists its passes: a kernel is prepared (package prepare), cut into stages
// (internal/stages), and each stage is selected over virtual registers (internal/selection),
// allocated and linked (package mach) and encoded (package x86, or internal/neon). The README has a
// map of the packages. A Runner runs the stages in short calls, and chooses vector width and kind
// of stores by where the slices lie (package exec).
//
// Invariants: generated code touches no stack but one word, keeps all state in the argument block,
// leaves the upper halves of vectors clean, and makes no unchecked access unless the kernel asks
// for that. It can yield to Go and continue (internal/protocol). A fault in it, at whatever
// address, is the error of the Call or Run that it happened in (package exec): the code is a leaf
// below a Go frame, so Go's unwinder finds its way.
//
// Functions keep the bounds of vecmath.Bound over their whole range, in units in the last place of
// the exact result, at every width: exp, exp2, log and pow 1.5, sin, cos, rsqrt and hypot 2, log2
// and log10 2.5, tanh 3, erf 3.5, tan 4; zeros, infinities, NaN and subnormal numbers are Go's.
package cpu
