//go:build linux

#include "textflag.h"

// func trampoline()
//
// It has the calling convention of C: R0 is the address of a frame. Frame: function, 8 arguments,
// result. R19 keeps that address over the call.
TEXT ·trampoline(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	STP  (R29, R30), 0(RSP)
	MOVD R19, 16(RSP)
	MOVD RSP, R29
	MOVD R0, R19
	MOVD 0(R19), R9
	LDP  8(R19), (R0, R1)
	LDP  24(R19), (R2, R3)
	LDP  40(R19), (R4, R5)
	LDP  56(R19), (R6, R7)
	BL   (R9)
	MOVD R0, 72(R19)
	MOVD 16(RSP), R19
	LDP  0(RSP), (R29, R30)
	ADD  $32, RSP
	RET

DATA ·trampolineAt(SB)/8, $·trampoline(SB)
GLOBL ·trampolineAt(SB), NOPTR|RODATA, $8
