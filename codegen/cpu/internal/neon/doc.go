// Package neon encodes allocated virtual code for arm64, with vectors of 16 bytes.
//
// Virtual code for it is that for AVX2, in vectors of 16 bytes. Each step becomes one
// or a few instructions of arm64 that do the same to registers, memory and flags: most operations
// on vectors have one that does just that, a memory operand is loaded first, and what NEON lacks,
// masked moves and gathers, goes lane by lane. An operation without a form here is an error.
//
// The general registers of virtual code are R0 to R15; R16, R17, R26, R27 and V28 to V31 are
// temporary within a step, R19 to R25 keep computed addresses. R18, R28, R29, R30 and the stack
// pointer belong to Go: generated code is a leaf, also where it yields.
package neon
