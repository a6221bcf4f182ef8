package simt

// op is an operation of the register code. In the comments a, b and c are registers and imm is a
// constant.
type op uint16

const (
	opMove  op = iota // a = b
	opMove3           // three registers from a = those from b

	// integers of 64 bits
	opAdd
	opSub
	opMul
	opDivS
	opRemS
	opDivU
	opRemU
	opAnd
	opOr
	opXor
	opAndNot
	opShl
	opShrS
	opShrU
	opNeg
	opCom
	opMinS
	opMaxS
	opMulAdd // a = b*c + imm's register

	// narrow integers: a = b, cut and extended
	opExtS8
	opExtS16
	opExtS32
	opExtU8
	opExtU16
	opExtU32
	opNegative // fails if b is below zero: the count of a shift

	// comparisons: a is 0 or 1
	opEq
	opNe
	opLtS
	opLeS
	opLtU
	opLeU

	opAddF32
	opSubF32
	opMulF32
	opDivF32
	opEqF32
	opNeF32
	opLtF32
	opLeF32
	opSqrtF32
	opRsqrtF32
	opAddF64
	opSubF64
	opMulF64
	opDivF64
	opEqF64
	opNeF64
	opLtF64
	opLeF64
	opSqrtF64
	opRsqrtF64

	opS64ToF32
	opS64ToF64
	opF32ToF64
	opF64ToF32
	opF32ToS64
	opF64ToS64
	opConvert // a = b, as conversions[imm] says
	opMath    // a = functions[imm](the three registers from b)

	// control: imm is the target
	opJump
	opJumpIf  // if b
	opJumpNot // if !b
	opJumpEq  // if b == c, and so on
	opJumpNe
	opJumpLtS
	opJumpLeS
	opJumpLtU
	opJumpLeU
	opLoopLt // a += b; if a < c
	opCall   // a = return address
	opReturn // to a
	opExit

	// memory through a slice (b: address, length), index c; imm: element size and offset. In the
	// order of sizes.
	opLoadIndexU8
	opLoadIndexU16
	opLoadIndexU32
	opLoadIndex64
	opLoadIndexS8
	opLoadIndexS16
	opLoadIndexS32
	opStoreIndex8 // of a
	opStoreIndex16
	opStoreIndex32
	opStoreIndex64

	// memory at the address b plus imm
	opLoadU8
	opLoadU16
	opLoadU32
	opLoad64
	opLoadS8
	opLoadS16
	opLoadS32
	opStore8 // of a
	opStore16
	opStore32
	opStore64

	opElemSlice // a = the address of element c of slice b; imm: element size and offset
	opElemArray // a = the address of element c of the array at b, as arrays[imm] says
	opOffset    // a = b + imm
	opNil       // fails if b is nil
	opCopy      // imm bytes from address b to address a
	opZero      // imm bytes at address a
	opSlice     // a, a+1, a+2 = the part of a slice, as slices[imm] says

	opStep    // fails unless step b suits relation imm
	opAtomic  // as atomics[imm] says
	opLater   // a is written to address b at the next barrier of the team, by store operation imm; a = ^a
	opBarrier // as barriers[imm] says
	opShuffle // a = b exchanged by c, kind imm
)

// An instr is one operation.
type instr struct {
	op      op
	a, b, c int32
	imm     int64
}

// scaled packs an element size and an offset in it.
func scaled(size, off int64) int64 { return size<<32 | off }
