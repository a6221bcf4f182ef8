package x86

// A layout says which operand goes to which field of the encoding: R is ModRM.reg, M ModRM.rm, V
// the extra register of VEX and EVEX, I an immediate byte, X a register in an immediate (is4).
type layout uint8

const (
	lRVM layout = iota
	lRM
	lMR
	LayoutRVMI
	LayoutRMI
	LayoutMRI
	LayoutVMI  // V, M, I and a digit in ModRM.reg
	LayoutRVMX // blends of AVX: the mask is the fourth register
	lRMV       // shifts of BMI2
	lMVR       // masked stores of AVX
	LayoutMI   // M, I and a digit
	lM         // M and a digit
)

// A tuple says how EVEX scales an 8-bit displacement.
type tuple uint8

const (
	tFull    tuple = iota // a vector, or one element when broadcast
	tFullMem              // a vector, no broadcast
	tHalf                 // half a vector, or one element when broadcast
	tHalfMem
	tQuarterMem
	tEighthMem
	tScalar // one element
	tQuad32 // 16 bytes
	tOct32  // 32 bytes
)

// Prefixes pp and opcode maps mm, as VEX and EVEX number them.
const (
	pNone uint8 = 0
	p66   uint8 = 1
	pF3   uint8 = 2
	pF2   uint8 = 3

	m00   uint8 = 0 // one-byte opcodes
	m0F   uint8 = 1
	m0F38 uint8 = 2
	m0F3A uint8 = 3
)

// flags of a form.
const (
	fVEX    uint16 = 1 << iota // has a VEX encoding
	fEVEX                      // has an EVEX encoding
	fVexW                      // VEX.W is set
	fNoLen                     // scalar: the length field is 0
	VSIB                       // the memory operand has a vector index
	ToMask                     // EVEX writes a mask register (VEX a vector)
	fLen256                    // the VEX length field is 256 whatever the operands
	Legacy                     // neither VEX nor EVEX: REX
	fLock                      // with a LOCK prefix: its first operand is memory
)

// A Form is one row of the table.
type Form struct {
	Name   string // as the Go assembler writes it
	Layout layout
	pp, mm uint8
	op     uint8
	digit  uint8 // ModRM.reg where there is no operand
	w      uint8 // EVEX.W
	tuple  tuple
	Elem   uint8 // bytes of one element, for broadcast and scalar displacement
	Flags  uint16
	widths string // length of each operand, see forms
}
