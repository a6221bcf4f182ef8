#include "textflag.h"

// Four pages at once, so that four rows of memory are open and the prefetchers of all see a stream; stores past the caches.
#define PIECE(at) \
	PREFETCHT0 (at+256)(SI)(CX*1) \
	VMOVDQU (at)(SI)(CX*1), Y0 \
	VMOVDQU (at+32)(SI)(CX*1), Y1 \
	VMOVNTDQ Y0, (at)(DI)(CX*1) \
	VMOVNTDQ Y1, (at+32)(DI)(CX*1)

// func movePages(dst, src unsafe.Pointer, quads int64)
TEXT ·movePages(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ quads+16(FP), DX
quad:
	TESTQ DX, DX
	JLE   done
	XORQ  CX, CX
line:
	PIECE(0)
	PIECE(4096)
	PIECE(8192)
	PIECE(12288)
	ADDQ $64, CX
	CMPQ CX, $4096
	JLT  line
	ADDQ $16384, SI
	ADDQ $16384, DI
	DECQ DX
	JMP  quad
done:
	SFENCE
	VZEROUPPER
	RET
