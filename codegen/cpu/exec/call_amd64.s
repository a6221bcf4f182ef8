#include "textflag.h"
#include "funcdata.h"

// func call(code uintptr, block unsafe.Pointer)
//
// Not NOSPLIT: as it calls, its prologue checks the stack, and a goroutine that waits here can be preempted before the call. The code gets
// block in DI, may use every register but BP, and one word of stack; it returns with the upper halves of the vectors clean.
TEXT ·call(SB), 0, $0-16
	NO_LOCAL_POINTERS
	MOVQ code+0(FP), AX
	MOVQ block+8(FP), DI
	CALL AX
	RET

// func tidy()
TEXT ·tidy(SB), NOSPLIT, $0-0
	VZEROUPPER
	RET
