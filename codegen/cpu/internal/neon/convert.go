package neon

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// widenings make lanes of 32 or 64 bits of shorter ones: by one step or two.
var widenings = map[vcode.Op]struct {
	op    arm64.Op
	steps []arm64.Arrangement
	from  access
}{
	vcode.VWidenI32I64: {arm64.VSSHLL, []arm64.Arrangement{arm64.S2}, loadD}, vcode.VWidenU32U64: {arm64.VUSHLL, []arm64.Arrangement{arm64.S2}, loadD},
	vcode.VWidenI16I32: {arm64.VSSHLL, []arm64.Arrangement{arm64.H4}, loadD}, vcode.VWidenU16U32: {arm64.VUSHLL, []arm64.Arrangement{arm64.H4}, loadD},
	vcode.VWidenI8I32: {arm64.VSSHLL, []arm64.Arrangement{arm64.B8, arm64.H4}, loadS}, vcode.VWidenU8U32: {arm64.VUSHLL, []arm64.Arrangement{arm64.B8, arm64.H4}, loadS},
}

// convertOp encodes conversions.
func (e *vectors) convertOp(in *vcode.Inst) bool {
	if w, ok := widenings[in.Op]; ok {
		d, x := e.vector(in.Args[0].Reg), e.operand(in.Args[1], temp0, w.from)
		for _, t := range w.steps {
			e.put(arm64.Inst{Op: w.op, T: t, D: d, N: x})
			x = d
		}
		return true
	}
	d := arm64.Reg(0)
	if in.Args[0].Kind == vcode.ArgReg && in.Args[0].Reg >= vcode.V0 {
		d = e.vector(in.Args[0].Reg)
	}
	switch in.Op {
	case vcode.VConvertI32F64:
		e.put(arm64.Inst{Op: arm64.VSSHLL, T: arm64.S2, D: d, N: e.operand(in.Args[1], temp0, loadD)})
		e.put(arm64.Inst{Op: arm64.VSCVTF, T: arm64.D2, D: d, N: d})
	case vcode.VConvertU32F64:
		e.put(arm64.Inst{Op: arm64.VUSHLL, T: arm64.S2, D: d, N: e.operand(in.Args[1], temp0, loadD)})
		e.put(arm64.Inst{Op: arm64.VUCVTF, T: arm64.D2, D: d, N: d})
	case vcode.VConvertI64F32:
		e.longToSingle(arm64.SCVTFSX, d, e.whole(in.Args[1], temp0))
	case vcode.VConvertU64F32:
		e.longToSingle(arm64.UCVTFSX, d, e.whole(in.Args[1], temp0))
	case vcode.VConvertF32F64:
		e.put(arm64.Inst{Op: arm64.VFCVTL, T: arm64.S2, D: d, N: e.operand(in.Args[1], temp0, loadD)})
	case vcode.VConvertF64F32:
		e.put(arm64.Inst{Op: arm64.VFCVTN, T: arm64.S2, D: d, N: e.whole(in.Args[1], temp0)})
	case vcode.VTruncateF32I32:
		e.cutSingles(d, e.whole(in.Args[1], temp0))
	case vcode.VTruncateF64I32:
		e.cutDoubles(d, e.whole(in.Args[1], temp0))
	case vcode.VTruncateF64I64:
		e.cutToLongs(d, e.whole(in.Args[1], temp0))
	case vcode.VTruncateF32I64:
		e.put(arm64.Inst{Op: arm64.VFCVTL, T: arm64.S2, D: temp0, N: e.operand(in.Args[1], temp0, loadD)})
		e.cutToLongs(d, temp0)
	case vcode.ConvertI64F32:
		e.put(arm64.Inst{Op: arm64.SCVTFSX, D: d, N: e.value(in.Args[2], tempValue)})
	case vcode.ConvertI64F64:
		e.put(arm64.Inst{Op: arm64.SCVTFDX, D: d, N: e.value(in.Args[2], tempValue)})
	default:
		return false
	}
	return true
}

// longToSingle converts lane by lane, as going by way of float64 rounds twice.
func (e *vectors) longToSingle(op arm64.Op, d, x arm64.Reg) {
	e.put(arm64.Inst{Op: arm64.VUMOV, T: arm64.D2, D: tempValue, N: x, Imm: 1})
	e.put(arm64.Inst{Op: op, D: temp1, N: tempValue})
	e.put(arm64.Inst{Op: arm64.FMOVXD, D: tempValue, N: x})
	e.put(arm64.Inst{Op: op, D: d, N: tempValue})
	e.put(arm64.Inst{Op: arm64.VINSE, T: arm64.S4, D: d, N: temp1, Imm: 1})
}

// Floats are cut to integers as on x86-64: what does not fit, and NaN, gives the upper bit alone.
// The instruction of arm64 gives the least or the largest integer, and 0 for NaN: lanes that are
// not below the upper end are overwritten.

// leastLanes are vectors of the upper bit alone.
func (e *vectors) leastLanes(d arm64.Reg) {
	e.put(arm64.Inst{Op: arm64.VMOVIS, T: arm64.S4, D: d, Imm: 0x80, Imm2: 24})
}

func (e *vectors) cutSingles(d, x arm64.Reg) {
	e.put(arm64.Inst{Op: arm64.VMOVIS, T: arm64.S4, D: temp1, Imm: int64(math.Float32bits(1<<31) >> 24), Imm2: 24})
	e.three(laneForm{arm64.VFCMGT, arm64.S4}, temp1, temp1, x)
	e.leastLanes(temp2)
	e.put(arm64.Inst{Op: arm64.VFCVTZS, T: arm64.S4, D: d, N: x})
	e.three(laneForm{arm64.VBIF, arm64.B16}, d, temp2, temp1)
}

// cutDoubles leaves its integers in the lower half, and 0 in the upper one.
func (e *vectors) cutDoubles(d, x arm64.Reg) {
	e.set(tempValue, int64(math.Float64bits(1<<31)))
	e.put(arm64.Inst{Op: arm64.VDUP, T: arm64.D2, D: temp1, N: tempValue})
	e.three(laneForm{arm64.VFCMGT, arm64.D2}, temp1, temp1, x)
	e.put(arm64.Inst{Op: arm64.VXTN, T: arm64.S2, D: temp1, N: temp1})
	e.leastLanes(temp2)
	e.put(arm64.Inst{Op: arm64.VFCVTZS, T: arm64.D2, D: d, N: x})
	e.put(arm64.Inst{Op: arm64.VSQXTN, T: arm64.S2, D: d, N: d})
	e.three(laneForm{arm64.VBIF, arm64.B8}, d, temp2, temp1)
}

// cutToLongs leaves integers of 64 bits.
func (e *vectors) cutToLongs(d, x arm64.Reg) {
	e.set(tempValue, int64(math.Float64bits(1<<63)))
	e.put(arm64.Inst{Op: arm64.VDUP, T: arm64.D2, D: temp1, N: tempValue})
	e.three(laneForm{arm64.VFCMGT, arm64.D2}, temp1, temp1, x)
	e.put(arm64.Inst{Op: arm64.VFCVTZS, T: arm64.D2, D: d, N: x})
	e.set(tempValue, math.MinInt64)
	e.put(arm64.Inst{Op: arm64.VDUP, T: arm64.D2, D: temp2, N: tempValue})
	e.three(laneForm{arm64.VBIF, arm64.B16}, d, temp2, temp1)
}
