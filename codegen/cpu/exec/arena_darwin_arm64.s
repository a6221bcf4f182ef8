#include "textflag.h"

TEXT libc_jit_trampoline<>(SB), NOSPLIT, $0-0
	JMP libc_jit(SB)

GLOBL ·jitWriteProtectAddr(SB), RODATA, $8
DATA ·jitWriteProtectAddr(SB)/8, $libc_jit_trampoline<>(SB)

TEXT libc_icache_trampoline<>(SB), NOSPLIT, $0-0
	JMP libc_icache(SB)

GLOBL ·icacheInvalidateAddr(SB), RODATA, $8
DATA ·icacheInvalidateAddr(SB)/8, $libc_icache_trampoline<>(SB)
