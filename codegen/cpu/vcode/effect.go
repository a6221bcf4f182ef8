package vcode

// A Use says how an instruction uses its first operand where that is a register.
type Use uint8

// The uses.
const (
	Writes  Use = iota // defines it
	Updates            // reads and defines it
	Reads              // a store, a comparison, a test
)

// reading are the operations that only read their first operand.
var reading = set(Compare, CompareImm, CompareImm8, Test, MaskTestOr8, MaskTestOr16, MaskTest16, VTest, VTestSigns, Prefetch, PrefetchOnce)

// updating are those whose destination is a source, too.
var updating = set(
	VFusedScaleAddF32, VFusedScaleAddF64, VFusedAddF32, VFusedAddF64, VFusedReverseSubF32, VFusedReverseSubF64, VFusedNegScaleAddF32, VFusedNegScaleAddF64, VFusedSubF32, VFusedSubF64,
	VFusedNegSubF32, VFusedNegSubF64, VFixF32, VFixF64, VPermuteTwoF32, VPermuteTwoF64,
	VGatherI32F32, VGatherSignsI32F32, VGatherI64F32, VGatherSignsI64F32, VGatherI32F64, VGatherSignsI32F64, VGatherI64F64, VGatherSignsI64F64,
	Add, Sub, And, Or, Xor, AddMem64, SubMem64, AddImm, AddImm8, SubImm, AndImm, AndImm8, OrImm, XorImm, Mul, ShiftLeftImm, ShiftRightImm, ShiftRightSignedImm, Negate, Not,
	MoveBelow, MoveAboveEqual, MoveEqual, MoveNotEqual, MoveBelowEqual, MoveAbove, MoveLess, MoveGreaterEqual, MoveLessEqual, MoveGreater, SetGreater)

// toMask are those whose destination is a mask where masks are registers of their own.
var toMask = set(VCompareF32, VCompareF64, VCompareI32, VCompareI64, VCompareU32, VCompareU64, VTestMaskI32, VTestMaskI64)

// keepingFlags are the operations on general registers that leave the flags.
var keepingFlags = set(Load64, Store64, LoadU32, Store32, Store16, Store8, LoadU8, LoadI8, LoadU16, LoadI16, LoadI32, Address, SetImm, Not, Prefetch, PrefetchOnce, ShiftLeft, ShiftRight, ShiftRightSigned)

// changingFlags are the other operations that change them.
var changingFlags = set(LowBits, MaskTestOr8, MaskTestOr16, MaskTest16, VTest, VTestSigns)

func set(ops ...Op) (out [NumOps]bool) {
	for _, op := range ops {
		out[op] = true
	}
	return out
}

// FirstUse says how in uses its first operand.
func (in *Inst) FirstUse() Use {
	switch {
	case in.Args[0].Kind == ArgMem || reading[in.Op]:
		return Reads
	case in.Mask != NoReg && !in.Zero && !toMask[in.Op] || updating[in.Op]:
		return Updates
	}
	return Writes
}

// ClearsMask tells the gathers and scatters, which clear their mask.
func (in *Inst) ClearsMask() bool { return in.Op >= VGatherI32F32 && in.Op <= VScatterI64F64 }

// Exchanges tells the atomic instructions that leave in a register what was in memory.
func (in *Inst) Exchanges() bool {
	return in.Op >= AtomicFetchAdd32 && in.Op <= AtomicCompareExchange64
}

// ReadsFlags tells the conditional moves.
func (in *Inst) ReadsFlags() bool { return in.Op >= MoveBelow && in.Op <= SetGreater }

// SetsFlags is also true of what only may.
func (in *Inst) SetsFlags() bool {
	if changingFlags[in.Op] {
		return true
	}
	return in.Op >= Load64 && !keepingFlags[in.Op] && !in.ReadsFlags()
}
