//go:build linux

#include "textflag.h"

// func trampoline()
//
// It has the calling convention of C: DI is the address of a frame. Frame: function, 8 arguments,
// result. BX keeps that address over the call; the last two arguments are on the stack, whose
// pointer is a multiple of 16 at the call.
TEXT ·trampoline(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	PUSHQ BX
	SUBQ  $24, SP
	MOVQ  DI, BX
	MOVQ  56(BX), AX
	MOVQ  AX, 0(SP)
	MOVQ  64(BX), AX
	MOVQ  AX, 8(SP)
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	MOVQ  0(BX), R11
	XORL  AX, AX
	CALL  R11
	MOVQ  AX, 72(BX)
	ADDQ  $24, SP
	POPQ  BX
	POPQ  BP
	RET

DATA ·trampolineAt(SB)/8, $·trampoline(SB)
GLOBL ·trampolineAt(SB), NOPTR|RODATA, $8
