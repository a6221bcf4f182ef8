#include "textflag.h"

// func flush(write, exec unsafe.Pointer, size uintptr)
//
// Source: Arm Architecture Reference Manual for A-profile, B2.4.4: what is written reaches the point of unification by the view that was
// written, and the instruction caches forget the view that is run.
TEXT ·flush(SB), NOSPLIT, $0-24
	MOVD write+0(FP), R0
	MOVD exec+8(FP), R1
	MOVD size+16(FP), R2
	WORD $0xd53b0023 // MRS CTR_EL0, R3
	UBFX $16, R3, $4, R4
	AND  $15, R3, R5
	MOVD $4, R6
	LSL  R4, R6, R4 // bytes of a line of the data cache
	LSL  R5, R6, R5 // and of the instruction cache
	ADD  R0, R2, R7
	SUB  $1, R4, R8
	BIC  R8, R0, R0

data:
	WORD $0xd50b7b20 // DC CVAU, R0
	ADD  R4, R0, R0
	CMP  R7, R0
	BLO  data
	WORD $0xd5033b9f // DSB ISH
	ADD  R1, R2, R7
	SUB  $1, R5, R8
	BIC  R8, R1, R1

instructions:
	WORD $0xd50b7521 // IC IVAU, R1
	ADD  R5, R1, R1
	CMP  R7, R1
	BLO  instructions
	WORD $0xd5033b9f // DSB ISH
	WORD $0xd5033fdf // ISB
	RET
