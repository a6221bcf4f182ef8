package vcode

// An Op is an operation. Names say what it does to what: Imm takes a constant, Mem works on memory,
// a name that begins with V works on all lanes of a vector, and I, U and F with a number are
// integers with and without a sign and floats of so many bits. Two of them are what is read and
// what is made.
type Op uint16

// The operations.
const (
	NoOp Op = iota
	VAddF32
	VAddF64
	AddF32
	AddF64
	VMulF32
	VMulF64
	VSubF32
	VSubF64
	SubF32
	SubF64
	VMinF32
	VMinF64
	VDivF32
	VDivF64
	VMaxF32
	VMaxF64
	VSqrtF32
	VSqrtF64
	VFusedScaleAddF32 // x*d + y
	VFusedScaleAddF64
	VFusedAddF32 // d + x*y
	VFusedAddF64
	VFusedReverseSubF32 // x*y - d
	VFusedReverseSubF64
	VFusedNegScaleAddF32 // y - x*d
	VFusedNegScaleAddF64
	VFusedSubF32 // d - x*y
	VFusedSubF64
	VFusedNegSubF32 // -x*y - d
	VFusedNegSubF64
	VRecipSqrtF32
	VRecipSqrtF64
	VRoughRecipSqrtF32 // 8 to 12 bits
	VInverseSqrtF32    // 1/sqrt(x) to 20 bits, with all special cases: where ISA.InverseRoots
	VLeastF32          // min and max with all special cases: where ISA.Extremes
	VLeastF64
	VGreatestF32
	VGreatestF64
	VRoundScaleF32
	VRoundScaleF64
	VRoundF32
	VRoundF64
	VScaleF32 // x * 2^floor(y)
	VScaleF64
	VExponentF32 // floor of the logarithm
	VExponentF64
	VMantissaF32
	VMantissaF64
	VFixF32 // special numbers by a table
	VFixF64
	VAndF32
	VAndF64
	VAndNotF32
	VOrF32
	VOrF64
	VXorF32
	VXorF64
	VAnd
	VAndNot
	VOr
	VOrI32
	VOrI64
	VXor
	VAddI8
	VAddI32
	VAddI64
	VSubI32
	VSubI64
	VMulWideU32 // the lower halves of lanes of 64 bits
	VMulI32
	VMulI64
	VMinI32
	VMinI64
	VMinU32
	VMinU64
	VMaxI32
	VMaxI64
	VMaxU32
	VMaxU64
	VShiftLeftEachI32
	VShiftLeftEachI64
	VShiftRightEachU32
	VShiftRightEachU64
	VShiftRightEachI32
	VShiftRightEachI64
	VPermuteF32
	VPermuteImmF64
	VPermuteTwoF32 // lanes of two vectors
	VPermuteTwoF64
	VShiftLeftI32
	VShiftLeftI64
	VShiftRightU32
	VShiftRightU64
	VShiftRightI32
	VShiftRightI64
	VCompareF32 // by a predicate, to a mask or to lanes
	VCompareF64
	VCompareI32
	VCompareI64
	VCompareU32
	VCompareU64
	VEqualI32 // all bits of a lane where it holds
	VEqualI64
	VGreaterI32
	VGreaterI64
	VTestMaskI32 // to a mask: lanes with a bit that both have
	VTestMaskI64
	VBlend // by the signs of bytes
	VLoadF32
	VStoreF32
	VLoadF64
	VStoreF64
	VStreamF32 // past the caches
	VStreamF64
	LoadF32
	StoreF32
	LoadF64
	StoreF64
	VSetI32 // lane 0 from a general register, and the reverse
	VGetI32
	VSetI64
	VGetI64
	VMaskedLoadF32 // as the signs of lanes say
	VMaskedStoreF32
	VMaskedLoadF64
	VMaskedStoreF64
	VBroadcastF32
	VBroadcastF64
	VBroadcastI32
	VBroadcastI64
	VBroadcastGeneral32
	VBroadcastGeneral64
	ConvertI64F32
	ConvertI64F64
	VConvertI32F32
	VTruncateF32I32
	VConvertI32F64
	VTruncateF64I32
	VConvertF32F64
	VConvertF64F32
	VConvertI64F64
	VConvertU64F64
	VTruncateF64I64
	VConvertI64F32
	VConvertU64F32
	VTruncateF32I64
	VConvertU32F32
	VConvertU32F64
	VWidenI8I32
	VWidenI16I32
	VWidenI32I64
	VWidenU8U32
	VWidenU16U32
	VWidenU32U64
	VNarrowI32I8
	VNarrowI32I16
	VNarrowI64I32
	VGatherI32F32
	VGatherSignsI32F32 // as the signs of lanes say
	VGatherI64F32
	VGatherSignsI64F32
	VGatherI32F64
	VGatherSignsI32F64
	VGatherI64F64
	VGatherSignsI64F64
	VScatterI32F32
	VScatterI64F32
	VScatterI32F64
	VScatterI64F64
	VExtract128Of256
	VExtract128Of512
	VExtract256Of512
	VInsert128Of256
	VInsert256Of512
	VInsert128Of512
	VBlendImmF32
	VBlendImmF64
	VShuffleF32 // two lanes of each
	VPermuteWithinF32
	VPermuteWithinF64
	VPermuteWithinI32
	VPermuteWithinI8 // within 128 bits
	VSumOfDifferencesU8
	VInsertI8
	VInsertI16
	VMulPairsU8I8
	VMulPairsI16
	VInterleaveLowF32
	VInterleaveHighF32
	VInterleaveLowF64
	VInterleaveHighF64
	VSignsF32 // to bits of a general register
	VSignsF64
	VTest // sets the flags of x and y
	VTestSigns
	MaskAnd
	MaskAndNot
	MaskOr
	MaskXor
	MaskMove
	MaskSet32
	MaskSet64
	MaskGet16
	MaskGet64
	MaskTestOr8 // sets the flags
	MaskTestOr16
	MaskTest16
	ShiftLeft
	ShiftRight
	ShiftRightSigned
	LowBits    // as many as a register says
	SpreadBits // to the bits of a mask

	// general registers
	Load64  // from memory, or of a register
	Store64 // to memory, or to a register
	LoadU32
	Store32
	Store16
	Store8
	LoadU8
	LoadI8
	LoadU16
	LoadI16
	LoadI32
	Address
	Add
	Sub
	And
	Or
	Xor
	Compare
	AddMem32 // of memory
	AddMem64
	SubMem32
	SubMem64
	AtomicAdd32 // of memory, indivisible, as those that follow
	AtomicAdd64
	AtomicSub32
	AtomicSub64
	AtomicAnd32
	AtomicAnd64
	AtomicOr32
	AtomicOr64
	AtomicXor32
	AtomicXor64
	AtomicFetchAdd32
	AtomicFetchAdd64
	AtomicExchange32
	AtomicExchange64
	AtomicCompareExchange8 // with Acc, as those that follow
	AtomicCompareExchange16
	AtomicCompareExchange32
	AtomicCompareExchange64
	AddMemImm32
	AddImm
	AddImm8 // a constant of 8 bits
	SubImm
	AndImm
	AndImm8
	OrImm
	XorImm
	CompareImm
	CompareImm8
	SetImm
	Mul
	MulImm
	ShiftLeftImm
	ShiftRightImm
	ShiftRightSignedImm
	Negate
	Not
	Test
	OnesCount
	MoveBelow // where the flags say so, as those that follow
	MoveAboveEqual
	MoveEqual
	MoveNotEqual
	MoveBelowEqual
	MoveAbove
	MoveLess
	MoveGreaterEqual
	MoveLessEqual
	MoveGreater
	SetGreater
	Prefetch
	PrefetchOnce

	NumOps
)
