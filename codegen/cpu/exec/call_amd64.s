#include "textflag.h"
#include "funcdata.h"

// func call(code uintptr, block unsafe.Pointer)
//
// Not NOSPLIT: as it calls, its prologue checks the stack, and a goroutine that waits here can be preempted before the call. The code gets
// block in DI, may use every register but BP, and one word of stack; it returns with the upper halves of the vectors clean.
// Word 24 of the block, image.WordStop, gets the address of the goroutine's stack guard, by which the runtime asks it to stop.
TEXT ·call(SB), 0, $0-16
	NO_LOCAL_POINTERS
	MOVQ code+0(FP), AX
	MOVQ block+8(FP), DI
	MOVQ (TLS), CX
	ADDQ $16, CX
	MOVQ CX, 192(DI)
	CALL AX
	RET

// func ownStack() (lo, hi, guard, pointer uintptr)
TEXT ·ownStack(SB), NOSPLIT, $0-32
	MOVQ (TLS), CX
	MOVQ 0(CX), AX
	MOVQ AX, lo+0(FP)
	MOVQ 8(CX), AX
	MOVQ AX, hi+8(FP)
	MOVQ 16(CX), AX
	MOVQ AX, guard+16(FP)
	MOVQ SP, pointer+24(FP)
	RET

// func tidy()
TEXT ·tidy(SB), NOSPLIT, $0-0
	VZEROUPPER
	RET
