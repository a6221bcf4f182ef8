// Package cpu makes vectorised x86-64 machine code of kernels at run time: SPMD on the lanes of
// AVX-512 or AVX2.
//
// A kernel is prepared (package prepare: calls inlined, pointers and parts of slices made numbers,
// local arrays and structs cut into scalars or laid into scratch memory, every lane's own side by
// side: gen_array.go), split into stages (stage.go: parallel loops and what stands between them),
// selected over virtual registers (gen*.go), allocated by linear scan and linked (package mach) and
// encoded (package x86). Nests of two parallel loops around others run several rows at once
// (tile.go), which keeps sums in registers and each of them in its order. A statement that has no
// vector form runs lane by lane in the vector loop (gen_serial.go), and Code.Notes says so.
// Elements at constant distances, as the fields of structs, are loaded and stored as whole vectors
// that are permuted, or lane by lane where the distance is long: gathers and scatters take a cycle
// or more for an element (gen_apart.go). The fields of an element that only its own iteration
// touches are variables in that iteration (package prepare), and pieces of 16 bytes are moved as
// one (gen_rows.go): a field that the kernel does not set may then be stored with the value that it
// had. Bytes and 16-bit numbers, in lanes of 32 bits, are shuffled within vectors (gen_small.go).
// Loops whose iterations each walk a row of their own, look up tables or leave loops one by one run
// without lanes where these would cost more (single.go). Their code is tidied before registers are
// given out (mach.Code.Tidy): equal values, loads and checks of straight code are made once.
// Innermost loops check their rows before the first round (single_check.go), and short sides of
// branches are both computed (single_branch.go). Parallel loops inside sequential code are stages
// that this code calls by way of Go, where they are long enough to be shared (nest.go,
// exec/nest.go). A Runner runs the stages in short calls, and chooses vector width and kind of
// stores by where the slices lie (package exec).
//
// Invariants: generated code touches no stack but one word, keeps all state in the argument block,
// leaves the upper halves of vectors clean, and makes no access that it has not checked unless the
// kernel says so. It can yield to Go and go on (yield.go). A fault in it, at whatever address, is
// the error of the Call or Run that it happened in (package exec): the code is a leaf below a Go
// frame, so Go's unwinder finds its way.
//
// Functions keep the bounds of vecmath.Bound over their whole range, in units in the last place of
// the exact result, at every width: exp, exp2, log and pow 1.5, sin, cos, rsqrt and hypot 2, log2
// and log10 2.5, tanh 3, erf 3.5, tan 4; zeros, infinities, NaN and subnormal numbers are Go's.
package cpu
