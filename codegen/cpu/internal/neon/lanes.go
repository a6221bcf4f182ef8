package neon

import (
	"encoding/binary"
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// What NEON lacks goes lane by lane: moves under a mask, gathers, and the bits of a mask.

// laneOp encodes it.
func (e *vectors) laneOp(in *vcode.Inst) bool {
	switch in.Op {
	case vcode.VSignsF32:
		e.laneBits(e.general(in.Args[0].Reg), e.vector(in.Args[1].Reg), 4)
	case vcode.VSignsF64:
		e.laneBits(e.general(in.Args[0].Reg), e.vector(in.Args[1].Reg), 8)
	case vcode.VMaskedLoadF32:
		e.maskedLoad(e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), in.Args[2].Mem, arm64.S4)
	case vcode.VMaskedLoadF64:
		e.maskedLoad(e.vector(in.Args[0].Reg), e.vector(in.Args[1].Reg), in.Args[2].Mem, arm64.D2)
	case vcode.VMaskedStoreF32:
		e.maskedStore(in.Args[0].Mem, e.vector(in.Args[1].Reg), e.vector(in.Args[2].Reg), arm64.S4)
	case vcode.VMaskedStoreF64:
		e.maskedStore(in.Args[0].Mem, e.vector(in.Args[1].Reg), e.vector(in.Args[2].Reg), arm64.D2)
	case vcode.VGatherSignsI32F32:
		e.gather(in, arm64.S4, arm64.S4, 4)
	case vcode.VGatherSignsI32F64:
		e.gather(in, arm64.D2, arm64.S4, 2)
	case vcode.VGatherSignsI64F32:
		e.gather(in, arm64.S4, arm64.D2, 2)
	case vcode.VGatherSignsI64F64:
		e.gather(in, arm64.D2, arm64.D2, 2)
	case vcode.VInsertI8:
		e.insert(in, arm64.B16, load8)
	case vcode.VInsertI16:
		e.insert(in, arm64.H8, load16)
	default:
		return false
	}
	return true
}

// insert puts an integer into one lane.
func (e *vectors) insert(in *vcode.Inst, t arm64.Arrangement, a access) {
	d := e.vector(in.Args[0].Reg)
	if in.Args[2].Kind == vcode.ArgMem {
		e.memory(a, tempValue, in.Args[2].Mem)
	} else {
		e.move(tempValue, e.general(in.Args[2].Reg))
	}
	e.copyVector(d, e.vector(in.Args[1].Reg))
	e.put(arm64.Inst{Op: arm64.VINS, T: t, D: d, N: tempValue, Imm: in.Args[3].Imm})
}

// laneBits puts the sign of every lane into a general register: the sum of the weights of the lanes
// that have one.
func (e *vectors) laneBits(d, m arm64.Reg, size int) {
	at, ok := e.weights[size]
	if !ok {
		for len(e.pool)%16 != 0 {
			e.pool = append(e.pool, 0)
		}
		at = len(e.pool)
		for lane := range 16 / size {
			if size == 4 {
				e.pool = binary.LittleEndian.AppendUint32(e.pool, 1<<lane)
			} else {
				e.pool = binary.LittleEndian.AppendUint64(e.pool, 1<<lane)
			}
		}
		e.weights[size] = at
	}
	t := arm64.S4
	if size == 8 {
		t = arm64.D2
	}
	e.pooled(arm64.Inst{Op: arm64.LDRFQL, D: temp0}, at)
	e.put(arm64.Inst{Op: arm64.VCMLTZ, T: t, D: temp1, N: m})
	e.three(laneForm{arm64.VAND, arm64.B16}, temp0, temp0, temp1)
	if size == 4 {
		e.put(arm64.Inst{Op: arm64.VADDV, T: arm64.S4, D: temp0, N: temp0})
	} else {
		e.put(arm64.Inst{Op: arm64.ADDPD, T: arm64.D2, D: temp0, N: temp0})
	}
	e.put(arm64.Inst{Op: arm64.FMOVXD, D: d, N: temp0})
}

// maskWord puts a mask into tempValue, which has 64 bits: 16 or 32 a lane.
func (e *vectors) maskWord(m arm64.Reg, t arm64.Arrangement) {
	narrow := arm64.H4
	if t == arm64.D2 {
		narrow = arm64.S2
	}
	e.put(arm64.Inst{Op: arm64.VXTN, T: narrow, D: temp1, N: m})
	e.put(arm64.Inst{Op: arm64.FMOVXD, D: tempValue, N: temp1})
}

// laneCount is the lanes of an arrangement that is a whole vector.
func laneCount(t arm64.Arrangement) int64 {
	if t == arm64.D2 {
		return 2
	}
	return 4
}

// masked runs f for each lane that is on, of the mask in tempValue, with the address of its element
// in tempThird; whole, where all lanes are on, with the address of the first. It is one branch
// where none or all are on.
func (e *vectors) masked(m vcode.Mem, mask arm64.Reg, t arm64.Arrangement, whole func(base arm64.Reg), lane func(i int64)) {
	n := laneCount(t)
	e.address(tempAddress, m)
	e.maskWord(mask, t)
	none := e.hole(arm64.Inst{Op: arm64.CBZ, D: tempValue})
	e.put(arm64.Inst{Op: arm64.ORN, D: tempThird, N: arm64.ZR, M: tempValue})
	some := e.hole(arm64.Inst{Op: arm64.CBNZ, D: tempThird})
	whole(tempAddress)
	end := e.hole(arm64.Inst{Op: arm64.B})
	some()
	for i := range n {
		off := e.hole(arm64.Inst{Op: arm64.TBZ, D: tempValue, Imm2: i * 64 / n})
		e.addConst(tempThird, tempAddress, i*16/n)
		lane(i)
		off()
	}
	end()
	none()
}

// maskedLoad loads the lanes that are on and makes the others 0.
func (e *vectors) maskedLoad(d, mask arm64.Reg, m vcode.Mem, t arm64.Arrangement) {
	e.put(arm64.Inst{Op: arm64.VMOVIZ, T: arm64.D2, D: temp0})
	e.masked(m, mask, t, func(base arm64.Reg) {
		e.put(arm64.Inst{Op: arm64.LDRFQ, D: temp0, N: base})
	}, func(i int64) {
		e.put(arm64.Inst{Op: arm64.LD1L, T: t, D: temp0, N: tempThird, Imm: i})
	})
	e.copyVector(d, temp0)
}

// maskedStore stores the lanes that are on.
func (e *vectors) maskedStore(m vcode.Mem, mask, v arm64.Reg, t arm64.Arrangement) {
	e.masked(m, mask, t, func(base arm64.Reg) {
		e.put(arm64.Inst{Op: arm64.STRFQ, D: v, N: base})
	}, func(i int64) {
		e.put(arm64.Inst{Op: arm64.ST1L, T: t, D: v, N: tempThird, Imm: i})
	})
}

// gather loads elements of arrangement t from indices of arrangement at, in n lanes, those that are
// on; the others keep what they have.
func (e *vectors) gather(in *vcode.Inst, t, at arm64.Arrangement, n int64) {
	d, m, mask := e.vector(in.Args[0].Reg), in.Args[1].Mem, e.vector(in.Args[2].Reg)
	index, shift := e.vector(m.Index), int64(bits.TrailingZeros8(m.Scale))
	e.maskWord(mask, t)
	none := e.hole(arm64.Inst{Op: arm64.CBZ, D: tempValue})
	e.addConst(tempAddress, e.general(m.Base), int64(m.Disp))
	for i := range n {
		off := e.hole(arm64.Inst{Op: arm64.TBZ, D: tempValue, Imm2: i * 64 / laneCount(t)})
		if at == arm64.S4 {
			e.put(arm64.Inst{Op: arm64.VUMOV, T: at, D: tempThird, N: index, Imm: i})
			e.put(arm64.Inst{Op: arm64.ADDSXTW, D: tempThird, N: tempAddress, M: tempThird, Imm2: shift})
		} else {
			e.put(arm64.Inst{Op: arm64.VUMOV, T: at, D: tempThird, N: index, Imm: i})
			e.put(arm64.Inst{Op: arm64.ADD, D: tempThird, N: tempAddress, M: tempThird, Imm2: shift})
		}
		e.put(arm64.Inst{Op: arm64.LD1L, T: t, D: d, N: tempThird, Imm: i})
		off()
	}
	none()
}
