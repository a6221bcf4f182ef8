#include "textflag.h"

// func Of() uintptr
TEXT ·Of(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
