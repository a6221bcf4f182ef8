// Package cpu makes vectorised x86-64 machine code of kernels at run time: SPMD on the lanes of AVX-512 or AVX2.
//
// Its lowest part is the assembler: a table of instruction forms (table.go) and an encoder of VEX, EVEX and the few plain instructions that loops need. Every form is tested
// against the bytes of the Go assembler.
package cpu
