// Package amd64 encodes allocated virtual code for x86-64, with AVX2 or AVX-512.
//
// Every operation has one instruction ([forms]); registers and operands keep their numbers. What is
// left is what only this processor has: the registers that may be handed out, divisions in DX:AX,
// the upper halves of vectors, and distances relative to the next instruction.
package amd64
