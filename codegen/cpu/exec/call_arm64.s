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
