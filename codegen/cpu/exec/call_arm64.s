#include "textflag.h"
#include "funcdata.h"

// func call(code uintptr, block unsafe.Pointer)
//
// Not NOSPLIT, as on amd64: its prologue checks the stack, and a goroutine that waits here can be preempted before the call. The frame holds
// the return address, so that the code, which is a leaf, leaves R30 alone. The code gets block in R0 and may use R0 to R17, R19 to R27 and all
// vectors. Word 24 of the block, image.WordStop, gets the address of the goroutine's stack guard. The barrier lets this core see code that
// another one has written.
TEXT ·call(SB), 0, $16-16
	NO_LOCAL_POINTERS
	MOVD code+0(FP), R16
	MOVD block+8(FP), R0
	ADD  $16, g, R1
	MOVD R1, 192(R0)
	ISB  $15
	CALL (R16)
	RET

// func ownStack() (lo, hi, guard, pointer uintptr)
TEXT ·ownStack(SB), NOSPLIT, $0-32
	MOVD 0(g), R0
	MOVD R0, lo+0(FP)
	MOVD 8(g), R0
	MOVD R0, hi+8(FP)
	MOVD 16(g), R0
	MOVD R0, guard+16(FP)
	MOVD RSP, R0
	MOVD R0, pointer+24(FP)
	RET

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
