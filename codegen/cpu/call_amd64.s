#include "textflag.h"
#include "funcdata.h"

// func call(code uintptr, block unsafe.Pointer)
//
// Not NOSPLIT: the prologue checks the stack, so that a goroutine that waits here can be preempted before the call and
// the generated code finds its frame below it. The code gets block in DI, may use every register but SP and BP, and the
// frame's bytes above its return address to spill into; it returns with the upper halves of the vectors clean.
TEXT ·call(SB), 0, $4096-16
	NO_LOCAL_POINTERS
	MOVQ code+0(FP), AX
	MOVQ block+8(FP), DI
	CALL AX
	RET
