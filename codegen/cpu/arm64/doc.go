// Package arm64 is an assembler for 64-bit Arm: the general registers, scalar floats, NEON, atomics
// and what executable memory needs. An instruction is a word; Encode makes it, and Text gives it in
// the syntax of the GNU assembler, with which the tests compare every form.
//
// No selection uses it yet: kernels run as Go functions on arm64 (docs/status.md).
package arm64
