#include "textflag.h"

// func Of() uintptr
TEXT ·Of(SB), NOSPLIT, $0-8
	MOVD g, ret+0(FP)
	RET
