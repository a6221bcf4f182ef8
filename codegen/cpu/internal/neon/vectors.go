package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// A laneForm is an operation of arm64 on vectors of an arrangement.
type laneForm struct {
	op arm64.Op
	t  arm64.Arrangement
}

// threeOps are d = x op y. Where swapped is set in twisted, the operands change places.
var threeOps = map[x86.Op]laneForm{
	x86.VADDPS: {arm64.VFADD, arm64.S4}, x86.VADDPD: {arm64.VFADD, arm64.D2}, x86.VSUBPS: {arm64.VFSUB, arm64.S4}, x86.VSUBPD: {arm64.VFSUB, arm64.D2},
	x86.VMULPS: {arm64.VFMUL, arm64.S4}, x86.VMULPD: {arm64.VFMUL, arm64.D2}, x86.VDIVPS: {arm64.VFDIV, arm64.S4}, x86.VDIVPD: {arm64.VFDIV, arm64.D2},
	x86.VANDPS: {arm64.VAND, arm64.B16}, x86.VANDPD: {arm64.VAND, arm64.B16}, x86.VPAND: {arm64.VAND, arm64.B16},
	x86.VORPS: {arm64.VORR, arm64.B16}, x86.VORPD: {arm64.VORR, arm64.B16}, x86.VPOR: {arm64.VORR, arm64.B16},
	x86.VXORPS: {arm64.VEOR, arm64.B16}, x86.VXORPD: {arm64.VEOR, arm64.B16}, x86.VPXOR: {arm64.VEOR, arm64.B16},
	x86.VANDNPS: {arm64.VBIC, arm64.B16}, x86.VPANDN: {arm64.VBIC, arm64.B16},
	x86.VPADDB: {arm64.VADD, arm64.B16}, x86.VPADDD: {arm64.VADD, arm64.S4}, x86.VPADDQ: {arm64.VADD, arm64.D2}, x86.VPSUBD: {arm64.VSUB, arm64.S4}, x86.VPSUBQ: {arm64.VSUB, arm64.D2},
	x86.VPMULLD: {arm64.VMUL, arm64.S4},
	x86.VPMINSD: {arm64.VSMIN, arm64.S4}, x86.VPMAXSD: {arm64.VSMAX, arm64.S4}, x86.VPMINUD: {arm64.VUMIN, arm64.S4}, x86.VPMAXUD: {arm64.VUMAX, arm64.S4},
	x86.VPCMPEQD: {arm64.VCMEQ, arm64.S4}, x86.VPCMPEQQ: {arm64.VCMEQ, arm64.D2}, x86.VPCMPGTD: {arm64.VCMGT, arm64.S4}, x86.VPCMPGTQ: {arm64.VCMGT, arm64.D2},
	x86.VUNPCKLPS: {arm64.VZIP1, arm64.S4}, x86.VUNPCKHPS: {arm64.VZIP2, arm64.S4}, x86.VUNPCKLPD: {arm64.VZIP1, arm64.D2}, x86.VUNPCKHPD: {arm64.VZIP2, arm64.D2},
	x86.VPSHUFB: {arm64.VTBL, arm64.B16},
}

// swapped are the operations whose operands change places: y and not x is BIC y, x.
var swapped = map[x86.Op]bool{x86.VANDNPS: true, x86.VPANDN: true}

// twoOps are d = op x.
var twoOps = map[x86.Op]laneForm{x86.VSQRTPS: {arm64.VFSQRT, arm64.S4}, x86.VSQRTPD: {arm64.VFSQRT, arm64.D2}, x86.VCVTDQ2PS: {arm64.VSCVTF, arm64.S4}}

// fusedOps are d = ±x*y ± d or ±x*d ± y.
var fusedOps = map[x86.Op]struct {
	laneForm
	negate bool // of what is added
	last   bool // y is added, and d a factor
}{
	x86.VFMADD231PS: {laneForm{arm64.VFMLA, arm64.S4}, false, false}, x86.VFMADD231PD: {laneForm{arm64.VFMLA, arm64.D2}, false, false},
	x86.VFNMADD231PS: {laneForm{arm64.VFMLS, arm64.S4}, false, false}, x86.VFNMADD231PD: {laneForm{arm64.VFMLS, arm64.D2}, false, false},
	x86.VFMSUB231PS: {laneForm{arm64.VFMLA, arm64.S4}, true, false}, x86.VFMSUB231PD: {laneForm{arm64.VFMLA, arm64.D2}, true, false},
	x86.VFNMSUB231PS: {laneForm{arm64.VFMLS, arm64.S4}, true, false}, x86.VFNMSUB231PD: {laneForm{arm64.VFMLS, arm64.D2}, true, false},
	x86.VFMADD213PS: {laneForm{arm64.VFMLA, arm64.S4}, false, true}, x86.VFMADD213PD: {laneForm{arm64.VFMLA, arm64.D2}, false, true},
	x86.VFNMADD213PS: {laneForm{arm64.VFMLS, arm64.S4}, false, true}, x86.VFNMADD213PD: {laneForm{arm64.VFMLS, arm64.D2}, false, true},
}

// scalarOps are those of single floats.
var scalarOps = map[x86.Op]arm64.Op{x86.VADDSS: arm64.FADDS, x86.VADDSD: arm64.FADDD, x86.VSUBSS: arm64.FSUBS, x86.VSUBSD: arm64.FSUBD}

// operand is a vector operand in a register: its own, or t, where it is loaded with a.
func (e *vectors) operand(x x86.Arg, t arm64.Reg, a access) arm64.Reg {
	if x.Kind == x86.ArgReg {
		return e.vector(x.Reg)
	}
	e.memory(a, t, x.Mem)
	return t
}

// whole is a vector operand of 16 bytes.
func (e *vectors) whole(x x86.Arg, t arm64.Reg) arm64.Reg { return e.operand(x, t, loadQ) }

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
func (e *vectors) threeOp(in *x86.Inst) bool {
	if f, ok := threeOps[in.Op]; ok {
		x, y := e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
		if swapped[in.Op] {
			x, y = y, x
		}
		e.three(f, e.vector(in.Args[0].Reg), x, y)
		return true
	}
	if f, ok := fusedOps[in.Op]; ok {
		d, x, y := e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), e.whole(in.Args[2], temp0)
		switch {
		case f.last:
			if y != temp0 {
				e.copyVector(temp0, y)
			}
			e.three(f.laneForm, temp0, x, d)
			e.copyVector(d, temp0)
			return true
		case f.negate:
			e.put(arm64.Inst{Op: arm64.VFNEG, T: f.t, D: temp1, N: d})
			e.three(f.laneForm, temp1, x, y)
			e.copyVector(d, temp1)
			return true
		}
		e.three(f.laneForm, d, x, y)
		return true
	}
	if op, ok := scalarOps[in.Op]; ok {
		a := loadS
		if in.Op == x86.VADDSD || in.Op == x86.VSUBSD {
			a = loadD
		}
		e.put(arm64.Inst{Op: op, D: e.vector(in.Args[0].Reg), N: e.vector(in.Args[1].Reg), M: e.operand(in.Args[2], temp0, a)})
		return true
	}
	return e.specialThree(in)
}

// specialThree encodes operations of two sources that take several instructions.
func (e *vectors) specialThree(in *x86.Inst) bool {
	switch in.Op {
	case x86.VCMPPS, x86.VCMPPD:
		e.compare(in)
	case x86.VMAXPS, x86.VMAXPD, x86.VMINPS, x86.VMINPD:
		e.extreme(in)
	case x86.VPBLENDVB:
		e.choose(e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), e.whole(in.Args[2], temp0), e.vector(in.Args[3].Reg))
	case x86.VPMULUDQ:
		e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp2, N: e.whole(in.Args[1], temp0)})
		e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp3, N: e.whole(in.Args[2], temp1)})
		e.three(laneForm{arm64.VUMULL, arm64.S2}, e.vector(in.Args[0].Reg), temp2, temp3)
	case x86.VPMULLQ:
		e.multiplyLong(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1))
	case x86.VPMADDWD:
		x, y := e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
		e.three(laneForm{arm64.VSMULL, arm64.H4}, temp2, x, y)
		e.three(laneForm{arm64.VSMULL2, arm64.H8}, temp3, x, y)
		e.three(laneForm{arm64.VADDP, arm64.S4}, e.vector(in.Args[0].Reg), temp2, temp3)
	case x86.VPMADDUBSW:
		e.bytePairs(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1))
	case x86.VPSADBW:
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

// comparisons are the predicates of VCMPPS.
var comparisons = map[int64]comparison{
	0x00: {arm64.VFCMEQ, false, false}, 0x04: {arm64.VFCMEQ, false, true}, 0x11: {arm64.VFCMGT, true, false}, 0x12: {arm64.VFCMGE, true, false},
	0x1D: {arm64.VFCMGE, false, false}, 0x1E: {arm64.VFCMGT, false, false}, 0x15: {arm64.VFCMGT, true, true}, 0x19: {arm64.VFCMGE, false, true},
}

// compare sets all bits of a lane where a predicate holds.
func (e *vectors) compare(in *x86.Inst) {
	f := laneForm{arm64.VFCMEQ, arm64.S4}
	if in.Op == x86.VCMPPD {
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

// extreme is the larger or the smaller one, and y where the two are equal or one is NaN.
func (e *vectors) extreme(in *x86.Inst) {
	f := laneForm{arm64.VFCMGT, arm64.S4}
	if in.Op == x86.VMAXPD || in.Op == x86.VMINPD {
		f.t = arm64.D2
	}
	d, x, y := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1)
	if in.Op == x86.VMAXPS || in.Op == x86.VMAXPD {
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
func (e *vectors) twoOp(in *x86.Inst) bool {
	if f, ok := twoOps[in.Op]; ok {
		e.put(arm64.Inst{Op: f.op, T: f.t, D: e.vector(in.Args[0].Reg), N: e.whole(in.Args[1], temp0)})
		return true
	}
	switch in.Op {
	case x86.VROUNDPS, x86.VROUNDPD:
		op := [4]arm64.Op{arm64.VFRINTN, arm64.VFRINTM, arm64.VFRINTP, arm64.VFRINTZ}[in.Args[2].Imm&3]
		t := arm64.S4
		if in.Op == x86.VROUNDPD {
			t = arm64.D2
		}
		e.put(arm64.Inst{Op: op, T: t, D: e.vector(in.Args[0].Reg), N: e.whole(in.Args[1], temp0)})
	case x86.VRSQRTPS: // 8 bits, and a step of Newton's: those of x86-64 are 12
		d, x := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0)
		e.put(arm64.Inst{Op: arm64.VFRSQRTE, T: arm64.S4, D: temp1, N: x})
		e.three(laneForm{arm64.VFMUL, arm64.S4}, temp2, temp1, temp1)
		e.three(laneForm{arm64.VFRSQRTS, arm64.S4}, temp2, x, temp2)
		e.three(laneForm{arm64.VFMUL, arm64.S4}, d, temp1, temp2)
	case x86.VPTEST:
		e.testVector(in)
	default:
		return false
	}
	return true
}

// testVector tells whether all bits that both have are 0.
func (e *vectors) testVector(in *x86.Inst) {
	x, y := e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp1)
	if x != y {
		e.three(laneForm{arm64.VAND, arm64.B16}, temp0, x, y)
		x = temp0
	}
	e.three(laneForm{arm64.VUMAXP, arm64.S4}, temp0, x, x)
	e.put(arm64.Inst{Op: arm64.FMOVXD, D: tempValue, N: temp0})
	e.put(arm64.Inst{Op: arm64.SUBSI, D: arm64.ZR, N: tempValue})
	e.flags = flagsZero
}

// vectorShifts are the shifts of lanes by a constant: left, or right.
var vectorShifts = map[x86.Op]laneForm{x86.VPSLLD: {arm64.VSHL, arm64.S4}, x86.VPSLLQ: {arm64.VSHL, arm64.D2}, x86.VPSRLD: {arm64.VUSHR, arm64.S4}, x86.VPSRLQ: {arm64.VUSHR, arm64.D2},
	x86.VPSRAD: {arm64.VSSHR, arm64.S4}}

// countShifts are the shifts of every lane by a count of its own.
var countShifts = map[x86.Op]struct {
	laneForm
	right bool
}{x86.VPSLLVD: {laneForm{arm64.VUSHL, arm64.S4}, false}, x86.VPSLLVQ: {laneForm{arm64.VUSHL, arm64.D2}, false}, x86.VPSRLVD: {laneForm{arm64.VUSHL, arm64.S4}, true},
	x86.VPSRLVQ: {laneForm{arm64.VUSHL, arm64.D2}, true}, x86.VPSRAVD: {laneForm{arm64.VSSHL, arm64.S4}, true}}

// shiftOp encodes shifts.
func (e *vectors) shiftOp(in *x86.Inst) bool {
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
