package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// A laneForm is an operation of arm64 on vectors of an arrangement.
type laneForm struct {
	op arm64.Op
	t  arm64.Arrangement
}

// threeOps are d = x op y. Where swapped is set in twisted, the operands change places.
var threeOps = map[vcode.Op]laneForm{
	vcode.VAddF32: {arm64.VFADD, arm64.S4}, vcode.VAddF64: {arm64.VFADD, arm64.D2}, vcode.VSubF32: {arm64.VFSUB, arm64.S4}, vcode.VSubF64: {arm64.VFSUB, arm64.D2},
	vcode.VMulF32: {arm64.VFMUL, arm64.S4}, vcode.VMulF64: {arm64.VFMUL, arm64.D2}, vcode.VDivF32: {arm64.VFDIV, arm64.S4}, vcode.VDivF64: {arm64.VFDIV, arm64.D2},
	vcode.VLeastF32: {arm64.VFMIN, arm64.S4}, vcode.VLeastF64: {arm64.VFMIN, arm64.D2}, vcode.VGreatestF32: {arm64.VFMAX, arm64.S4}, vcode.VGreatestF64: {arm64.VFMAX, arm64.D2},
	vcode.VAndF32: {arm64.VAND, arm64.B16}, vcode.VAndF64: {arm64.VAND, arm64.B16}, vcode.VAnd: {arm64.VAND, arm64.B16},
	vcode.VOrF32: {arm64.VORR, arm64.B16}, vcode.VOrF64: {arm64.VORR, arm64.B16}, vcode.VOr: {arm64.VORR, arm64.B16},
	vcode.VXorF32: {arm64.VEOR, arm64.B16}, vcode.VXorF64: {arm64.VEOR, arm64.B16}, vcode.VXor: {arm64.VEOR, arm64.B16},
	vcode.VAndNotF32: {arm64.VBIC, arm64.B16}, vcode.VAndNot: {arm64.VBIC, arm64.B16},
	vcode.VAddI8: {arm64.VADD, arm64.B16}, vcode.VAddI32: {arm64.VADD, arm64.S4}, vcode.VAddI64: {arm64.VADD, arm64.D2}, vcode.VSubI32: {arm64.VSUB, arm64.S4}, vcode.VSubI64: {arm64.VSUB, arm64.D2},
	vcode.VMulI32: {arm64.VMUL, arm64.S4},
	vcode.VMinI32: {arm64.VSMIN, arm64.S4}, vcode.VMaxI32: {arm64.VSMAX, arm64.S4}, vcode.VMinU32: {arm64.VUMIN, arm64.S4}, vcode.VMaxU32: {arm64.VUMAX, arm64.S4},
	vcode.VEqualI32: {arm64.VCMEQ, arm64.S4}, vcode.VEqualI64: {arm64.VCMEQ, arm64.D2}, vcode.VGreaterI32: {arm64.VCMGT, arm64.S4}, vcode.VGreaterI64: {arm64.VCMGT, arm64.D2},
	vcode.VInterleaveLowF32: {arm64.VZIP1, arm64.S4}, vcode.VInterleaveHighF32: {arm64.VZIP2, arm64.S4}, vcode.VInterleaveLowF64: {arm64.VZIP1, arm64.D2}, vcode.VInterleaveHighF64: {arm64.VZIP2, arm64.D2},
	vcode.VPermuteWithinI8: {arm64.VTBL, arm64.B16},
}

// swapped are the operations whose operands change places: y and not x is BIC y, x.
var swapped = map[vcode.Op]bool{vcode.VAndNotF32: true, vcode.VAndNot: true}

// twoOps are d = op x.
var twoOps = map[vcode.Op]laneForm{vcode.VSqrtF32: {arm64.VFSQRT, arm64.S4}, vcode.VSqrtF64: {arm64.VFSQRT, arm64.D2}, vcode.VConvertI32F32: {arm64.VSCVTF, arm64.S4},
	vcode.VConvertU32F32: {arm64.VUCVTF, arm64.S4}, vcode.VConvertI64F64: {arm64.VSCVTF, arm64.D2}, vcode.VConvertU64F64: {arm64.VUCVTF, arm64.D2}}

// fusedOps are d = ±x*y ± d or ±x*d ± y.
var fusedOps = map[vcode.Op]struct {
	laneForm
	negate bool // of what is added
	last   bool // y is added, and d a factor
}{
	vcode.VFusedAddF32: {laneForm{arm64.VFMLA, arm64.S4}, false, false}, vcode.VFusedAddF64: {laneForm{arm64.VFMLA, arm64.D2}, false, false},
	vcode.VFusedSubF32: {laneForm{arm64.VFMLS, arm64.S4}, false, false}, vcode.VFusedSubF64: {laneForm{arm64.VFMLS, arm64.D2}, false, false},
	vcode.VFusedReverseSubF32: {laneForm{arm64.VFMLA, arm64.S4}, true, false}, vcode.VFusedReverseSubF64: {laneForm{arm64.VFMLA, arm64.D2}, true, false},
	vcode.VFusedNegSubF32: {laneForm{arm64.VFMLS, arm64.S4}, true, false}, vcode.VFusedNegSubF64: {laneForm{arm64.VFMLS, arm64.D2}, true, false},
	vcode.VFusedScaleAddF32: {laneForm{arm64.VFMLA, arm64.S4}, false, true}, vcode.VFusedScaleAddF64: {laneForm{arm64.VFMLA, arm64.D2}, false, true},
	vcode.VFusedNegScaleAddF32: {laneForm{arm64.VFMLS, arm64.S4}, false, true}, vcode.VFusedNegScaleAddF64: {laneForm{arm64.VFMLS, arm64.D2}, false, true},
}

// scalarOps are those of single floats.
var scalarOps = map[vcode.Op]arm64.Op{vcode.AddF32: arm64.FADDS, vcode.AddF64: arm64.FADDD, vcode.SubF32: arm64.FSUBS, vcode.SubF64: arm64.FSUBD}

// operand is a vector operand in a register: its own, or t, where it is loaded with a.
func (e *vectors) operand(x vcode.Arg, t arm64.Reg, a access) arm64.Reg {
	if x.Kind == vcode.ArgReg {
		return e.vector(x.Reg)
	}
	e.memory(a, t, x.Mem)
	return t
}

// single is the only operand of an operation that may be in memory: it is loaded into one of the
// temporary registers by turns, so that neighbours can be loaded at once.
func (e *vectors) single(x vcode.Arg) arm64.Reg {
	e.temp = temp0 + (e.temp+1-temp0)%4
	return e.operand(x, e.temp, loadQ)
}

// whole is a vector operand of 16 bytes.
func (e *vectors) whole(x vcode.Arg, t arm64.Reg) arm64.Reg { return e.operand(x, t, loadQ) }

func (e *vectors) three(f laneForm, d, n, m arm64.Reg) {
	e.put(arm64.Inst{Op: f.op, T: f.t, D: d, N: n, M: m})
}

// copyVector is d = n.
func (e *vectors) copyVector(d, n arm64.Reg) {
	if d != n {
		e.put(arm64.Inst{Op: arm64.VORR, T: arm64.B16, D: d, N: n, M: n})
	}
}

// threeOp encodes operations of two sources.
func (e *vectors) threeOp(in *vcode.Inst) bool {
	if f, ok := threeOps[in.Op]; ok {
		if f.op == arm64.VEOR && in.Args[1] == in.Args[2] {
			e.put(arm64.Inst{Op: arm64.VMOVIZ, T: arm64.D2, D: e.vector(in.Args[0].Reg)})
			return true
		}
		x, y := e.vector(in.Args[1].Reg), e.single(in.Args[2])
		if swapped[in.Op] {
			x, y = y, x
		}
		e.three(f, e.vector(in.Args[0].Reg), x, y)
		return true
	}
	if f, ok := fusedOps[in.Op]; ok {
		d, x, y := e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), e.single(in.Args[2])
		switch {
		case f.last:
			t := y
			if y < temp0 {
				t = temp0
				e.copyVector(t, y)
			}
			e.three(f.laneForm, t, x, d)
			e.copyVector(d, t)
			return true
		case f.negate && (d == x || d == y):
			spare := temp0 + (e.temp+2-temp0)%4
			e.put(arm64.Inst{Op: arm64.VFNEG, T: f.t, D: spare, N: d})
			e.three(f.laneForm, spare, x, y)
			e.copyVector(d, spare)
			return true
		case f.negate:
			e.put(arm64.Inst{Op: arm64.VFNEG, T: f.t, D: d, N: d})
		}
		e.three(f.laneForm, d, x, y)
		return true
	}
	if op, ok := scalarOps[in.Op]; ok {
		a := loadS
		if in.Op == vcode.AddF64 || in.Op == vcode.SubF64 {
			a = loadD
		}
		e.put(arm64.Inst{Op: op, D: e.vector(in.Args[0].Reg), N: e.vector(in.Args[1].Reg), M: e.operand(in.Args[2], temp0, a)})
		return true
	}
	return e.specialThree(in)
}

// specialThree encodes operations of two sources that take several instructions.
func (e *vectors) specialThree(in *vcode.Inst) bool {
	switch in.Op {
	case vcode.VCompareF32, vcode.VCompareF64:
		e.compare(in)
	case vcode.VCompareI32:
		e.compareInts(in, arm64.S4, arm64.VCMGT, arm64.VCMGE)
	case vcode.VCompareI64:
		e.compareInts(in, arm64.D2, arm64.VCMGT, arm64.VCMGE)
	case vcode.VCompareU32:
		e.compareInts(in, arm64.S4, arm64.VCMHI, arm64.VCMHS)
	case vcode.VCompareU64:
		e.compareInts(in, arm64.D2, arm64.VCMHI, arm64.VCMHS)
	case vcode.VMaxF32, vcode.VMaxF64, vcode.VMinF32, vcode.VMinF64:
		e.extreme(in)
	case vcode.VBlend:
		e.choose(e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), e.whole(in.Args[2], temp0), e.vector(in.Args[3].Reg))
	case vcode.VMulWideU32:
		e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp2, N: e.whole(in.Args[1], temp0)})
		e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp3, N: e.whole(in.Args[2], temp1)})
		e.three(laneForm{arm64.VUMULL, arm64.S2}, e.vector(in.Args[0].Reg), temp2, temp3)
	case vcode.VMulI64:
		e.multiplyLong(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1))
	case vcode.VMulPairsI16:
		x, y := e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
		e.three(laneForm{arm64.VSMULL, arm64.H4}, temp2, x, y)
		e.three(laneForm{arm64.VSMULL2, arm64.H8}, temp3, x, y)
		e.three(laneForm{arm64.VADDP, arm64.S4}, e.vector(in.Args[0].Reg), temp2, temp3)
	case vcode.VMulPairsU8I8:
		e.bytePairs(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1))
	case vcode.VSumOfDifferencesU8:
		e.three(laneForm{arm64.VUABD, arm64.B16}, temp2, e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1))
		d := e.vector(in.Args[0].Reg)
		e.put(arm64.Inst{Op: arm64.VUADDLP, T: arm64.B16, D: temp2, N: temp2})
		e.put(arm64.Inst{Op: arm64.VUADDLP, T: arm64.H8, D: temp2, N: temp2})
		e.put(arm64.Inst{Op: arm64.VUADDLP, T: arm64.S4, D: d, N: temp2})
	default:
		return false
	}
	return true
}

// choose is d = y where m is set, else x.
func (e *vectors) choose(d, x, y, m arm64.Reg) {
	switch d {
	case y:
		if x != y {
			e.three(laneForm{arm64.VBIF, arm64.B16}, d, x, m)
		}
	case m:
		e.three(laneForm{arm64.VBSL, arm64.B16}, d, y, x)
	default:
		e.copyVector(d, x)
		e.three(laneForm{arm64.VBIT, arm64.B16}, d, y, m)
	}
}

// A comparison of floats: the form, whether the operands change places, and whether the answer is
// turned round.
type comparison struct {
	op           arm64.Op
	swap, invert bool
}

// comparisons are the predicates of VCompareF32.
var comparisons = map[int64]comparison{
	0x00: {arm64.VFCMEQ, false, false}, 0x04: {arm64.VFCMEQ, false, true}, 0x11: {arm64.VFCMGT, true, false}, 0x12: {arm64.VFCMGE, true, false},
	0x1D: {arm64.VFCMGE, false, false}, 0x1E: {arm64.VFCMGT, false, false}, 0x15: {arm64.VFCMGT, true, true}, 0x19: {arm64.VFCMGE, false, true},
}

// compare sets all bits of a lane where a predicate holds.
func (e *vectors) compare(in *vcode.Inst) {
	f := laneForm{arm64.VFCMEQ, arm64.S4}
	if in.Op == vcode.VCompareF64 {
		f.t = arm64.D2
	}
	d, x, y := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
	const unordered = 3
	if in.Args[3].Imm == unordered {
		e.three(f, temp2, x, x)
		e.three(f, temp3, y, y)
		e.three(laneForm{arm64.VAND, arm64.B16}, d, temp2, temp3)
		e.put(arm64.Inst{Op: arm64.VNOT, T: arm64.B16, D: d, N: d})
		return
	}
	c, ok := comparisons[in.Args[3].Imm]
	if !ok {
		e.fail("%s: no such predicate on arm64", in)
	}
	f.op = c.op
	if c.swap {
		x, y = y, x
	}
	e.three(f, d, x, y)
	if c.invert {
		e.put(arm64.Inst{Op: arm64.VNOT, T: arm64.B16, D: d, N: d})
	}
}

// compareInts compares by the predicates of x86-64: equal, less, less or equal, and their
// opposites.
func (e *vectors) compareInts(in *vcode.Inst, t arm64.Arrangement, gt, ge arm64.Op) {
	d, x, y := e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), e.single(in.Args[2])
	switch in.Args[3].Imm {
	case 0, 4:
		e.three(laneForm{arm64.VCMEQ, t}, d, x, y)
	case 1:
		e.three(laneForm{gt, t}, d, y, x)
	case 2:
		e.three(laneForm{ge, t}, d, y, x)
	case 5:
		e.three(laneForm{ge, t}, d, x, y)
	case 6:
		e.three(laneForm{gt, t}, d, x, y)
	default:
		e.fail("%s: no such predicate on arm64", in)
	}
	if in.Args[3].Imm == 4 {
		e.put(arm64.Inst{Op: arm64.VNOT, T: arm64.B16, D: d, N: d})
	}
}

// extreme is the larger or the smaller one, and y where the two are equal or one is NaN.
func (e *vectors) extreme(in *vcode.Inst) {
	f := laneForm{arm64.VFCMGT, arm64.S4}
	if in.Op == vcode.VMaxF64 || in.Op == vcode.VMinF64 {
		f.t = arm64.D2
	}
	d, x, y := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
	if in.Op == vcode.VMaxF32 || in.Op == vcode.VMaxF64 {
		e.three(f, temp2, x, y)
	} else {
		e.three(f, temp2, y, x)
	}
	e.choose(temp2, y, x, temp2)
	e.copyVector(d, temp2)
}

// multiplyLong multiplies lanes of 64 bits: the sum of the crossed products of halves, in the upper
// half, plus the product of the lower ones.
func (e *vectors) multiplyLong(d, x, y arm64.Reg) {
	e.put(arm64.Inst{Op: arm64.VREV64, T: arm64.S4, D: temp2, N: y})
	e.three(laneForm{arm64.VMUL, arm64.S4}, temp2, temp2, x)
	e.put(arm64.Inst{Op: arm64.VUADDLP, T: arm64.S4, D: temp2, N: temp2})
	e.put(arm64.Inst{Op: arm64.VSHL, T: arm64.D2, D: temp2, N: temp2, Imm: 32})
	e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp0, N: x})
	e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp1, N: y})
	e.three(laneForm{arm64.VUMLAL, arm64.S2}, temp2, temp0, temp1)
	e.copyVector(d, temp2)
}

// bytePairs multiplies bytes of x without sign by those of y with one, and adds neighbours; sums
// beyond 16 bits, which x86-64 cuts off at the ends, do not come up: factors are at most 8 and 1.
func (e *vectors) bytePairs(d, x, y arm64.Reg) {
	e.put(arm64.Inst{Op: arm64.VUSHLL, T: arm64.B8, D: temp2, N: x})
	e.put(arm64.Inst{Op: arm64.VSSHLL, T: arm64.B8, D: temp3, N: y})
	e.three(laneForm{arm64.VMUL, arm64.H8}, temp2, temp2, temp3)
	e.put(arm64.Inst{Op: arm64.VUSHLL2, T: arm64.B16, D: temp3, N: x})
	e.put(arm64.Inst{Op: arm64.VSSHLL2, T: arm64.B16, D: temp1, N: y})
	e.three(laneForm{arm64.VMUL, arm64.H8}, temp3, temp3, temp1)
	e.three(laneForm{arm64.VADDP, arm64.H8}, d, temp2, temp3)
}

// twoOp encodes operations of one source.
func (e *vectors) twoOp(in *vcode.Inst) bool {
	if f, ok := twoOps[in.Op]; ok {
		e.put(arm64.Inst{Op: f.op, T: f.t, D: e.vector(in.Args[0].Reg), N: e.single(in.Args[1])})
		return true
	}
	switch in.Op {
	case vcode.VRoundF32, vcode.VRoundF64:
		op := [4]arm64.Op{arm64.VFRINTN, arm64.VFRINTM, arm64.VFRINTP, arm64.VFRINTZ}[in.Args[2].Imm&3]
		t := arm64.S4
		if in.Op == vcode.VRoundF64 {
			t = arm64.D2
		}
		e.put(arm64.Inst{Op: op, T: t, D: e.vector(in.Args[0].Reg), N: e.whole(in.Args[1], temp0)})
	case vcode.VRoughRecipSqrtF32: // 8 bits, and a step of Newton's: those of x86-64 are 12
		d, x := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0)
		e.put(arm64.Inst{Op: arm64.VFRSQRTE, T: arm64.S4, D: temp1, N: x})
		e.three(laneForm{arm64.VFMUL, arm64.S4}, temp2, temp1, temp1)
		e.three(laneForm{arm64.VFRSQRTS, arm64.S4}, temp2, x, temp2)
		e.three(laneForm{arm64.VFMUL, arm64.S4}, d, temp1, temp2)
	case vcode.VInverseSqrtF32:
		e.inverseSqrt(e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg))
	case vcode.VTest:
		e.testVector(in, true)
	default:
		return false
	}
	return true
}

// inverseSqrt is 1/sqrt(x) of floats of 32 bits: an estimate of 8 bits and two steps of Newton's,
// the first of which gives NaN where the estimate is the answer already: for zeros and infinities,
// and where that is NaN.
func (e *vectors) inverseSqrt(d, x arm64.Reg) {
	mul, step := laneForm{arm64.VFMUL, arm64.S4}, laneForm{arm64.VFRSQRTS, arm64.S4}
	e.put(arm64.Inst{Op: arm64.VFRSQRTE, T: arm64.S4, D: temp0, N: x})
	e.three(mul, temp1, x, temp0)
	e.three(step, temp2, temp1, temp0)
	e.three(laneForm{arm64.VFCMEQ, arm64.S4}, temp1, temp1, temp1)
	e.three(mul, temp2, temp0, temp2)
	e.three(mul, temp3, x, temp2)
	e.three(step, temp3, temp3, temp2)
	e.three(mul, d, temp2, temp3)
	e.three(laneForm{arm64.VBIF, arm64.B16}, d, temp0, temp1)
}

// testVector puts bits into tempValue, all 0 where all bits are that both operands have, and may
// set the flags by them.
func (e *vectors) testVector(in *vcode.Inst, flags bool) {
	x, y := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp1)
	if x != y {
		e.three(laneForm{arm64.VAND, arm64.B16}, temp0, x, y)
		x = temp0
	}
	e.three(laneForm{arm64.VUMAXP, arm64.S4}, temp0, x, x)
	e.put(arm64.Inst{Op: arm64.FMOVXD, D: tempValue, N: temp0})
	if flags {
		e.put(arm64.Inst{Op: arm64.SUBSI, D: arm64.ZR, N: tempValue})
		e.flags = flagsZero
	}
}

// vectorShifts are the shifts of lanes by a constant: left, or right.
var vectorShifts = map[vcode.Op]laneForm{vcode.VShiftLeftI32: {arm64.VSHL, arm64.S4}, vcode.VShiftLeftI64: {arm64.VSHL, arm64.D2}, vcode.VShiftRightU32: {arm64.VUSHR, arm64.S4}, vcode.VShiftRightU64: {arm64.VUSHR, arm64.D2},
	vcode.VShiftRightI32: {arm64.VSSHR, arm64.S4}}

// countShifts are the shifts of every lane by a count of its own.
var countShifts = map[vcode.Op]struct {
	laneForm
	right bool
}{vcode.VShiftLeftEachI32: {laneForm{arm64.VUSHL, arm64.S4}, false}, vcode.VShiftLeftEachI64: {laneForm{arm64.VUSHL, arm64.D2}, false}, vcode.VShiftRightEachU32: {laneForm{arm64.VUSHL, arm64.S4}, true},
	vcode.VShiftRightEachU64: {laneForm{arm64.VUSHL, arm64.D2}, true}, vcode.VShiftRightEachI32: {laneForm{arm64.VSSHL, arm64.S4}, true}}

// shiftOp encodes shifts.
func (e *vectors) shiftOp(in *vcode.Inst) bool {
	if f, ok := vectorShifts[in.Op]; ok {
		e.shiftConst(f, e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), in.Args[2].Imm)
		return true
	}
	f, ok := countShifts[in.Op]
	if !ok {
		return false
	}
	d, x, n := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
	if f.op == arm64.VSSHL { // no count is more than 31
		e.put(arm64.Inst{Op: arm64.VMOVIS, T: arm64.S4, D: temp2, Imm: 31})
		e.three(laneForm{arm64.VUMIN, arm64.S4}, temp2, temp2, n)
		e.put(arm64.Inst{Op: arm64.VNEG, T: arm64.S4, D: temp2, N: temp2})
		e.three(f.laneForm, d, x, temp2)
		return true
	}
	if f.t == arm64.S4 {
		e.put(arm64.Inst{Op: arm64.VMOVIS, T: arm64.S4, D: temp2, Imm: 32})
	} else {
		e.set(tempValue, 64)
		e.put(arm64.Inst{Op: arm64.VDUP, T: arm64.D2, D: temp2, N: tempValue})
	}
	e.three(laneForm{arm64.VCMHI, f.t}, temp2, temp2, n) // the lanes that keep something
	if f.right {
		e.put(arm64.Inst{Op: arm64.VNEG, T: f.t, D: temp3, N: n})
		n = temp3
	}
	e.three(f.laneForm, temp3, x, n)
	e.three(laneForm{arm64.VAND, arm64.B16}, d, temp3, temp2)
	return true
}

// shiftConst shifts lanes by a constant; more than a lane has leaves nothing, or the sign.
func (e *vectors) shiftConst(f laneForm, d, x arm64.Reg, n int64) {
	width := int64(32)
	if f.t == arm64.D2 {
		width = 64
	}
	switch {
	case n == 0:
		e.copyVector(d, x)
	case n >= width && f.op == arm64.VSHL:
		e.put(arm64.Inst{Op: arm64.VMOVIZ, T: arm64.D2, D: d})
	default:
		e.put(arm64.Inst{Op: f.op, T: f.t, D: d, N: x, Imm: min(n, width)})
	}
}
