package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// vectorLoads and vectorStores are the moves between memory and vectors.
var (
	vectorLoads  = map[vcode.Op]access{vcode.VLoadF32: loadQ, vcode.VLoadF64: loadQ, vcode.LoadF32: loadS, vcode.LoadF64: loadD}
	vectorStores = map[vcode.Op]access{vcode.VStoreF32: storeQ, vcode.VStoreF64: storeQ, vcode.VStreamF32: storeQ, vcode.VStreamF64: storeQ, vcode.StoreF32: storeS, vcode.StoreF64: storeD}
)

// crossings are the moves between general registers and vectors, with the forms for memory.
var crossings = map[vcode.Op]struct {
	op     arm64.Op
	memory access
	out    bool // from a vector
}{vcode.VSetI32: {arm64.FMOVSW, loadS, false}, vcode.VSetI64: {arm64.FMOVDX, loadD, false}, vcode.VGetI32: {arm64.FMOVWS, storeS, true}, vcode.VGetI64: {arm64.FMOVXD, storeD, true}}

// moveOp encodes moves of vectors, and of one element to all lanes.
func (e *vectors) moveOp(in *vcode.Inst) bool {
	to, from := in.Args[0], in.Args[1]
	if a, ok := vectorLoads[in.Op]; ok {
		if from.Kind == vcode.ArgReg && a == loadQ {
			e.copyVector(e.vector(to.Reg), e.vector(from.Reg))
			return true
		}
		e.memory(a, e.vector(to.Reg), from.Mem)
		return true
	}
	if a, ok := vectorStores[in.Op]; ok {
		if to.Kind == vcode.ArgReg && a == storeQ {
			e.copyVector(e.vector(to.Reg), e.vector(from.Reg))
			return true
		}
		e.memory(a, e.vector(from.Reg), to.Mem)
		return true
	}
	if c, ok := crossings[in.Op]; ok {
		switch {
		case c.out && to.Kind == vcode.ArgMem:
			e.memory(c.memory, e.vector(from.Reg), to.Mem)
		case c.out:
			e.put(arm64.Inst{Op: c.op, D: e.general(to.Reg), N: e.vector(from.Reg)})
		case from.Kind == vcode.ArgMem:
			e.memory(c.memory, e.vector(to.Reg), from.Mem)
		default:
			e.put(arm64.Inst{Op: c.op, D: e.vector(to.Reg), N: e.general(from.Reg)})
		}
		return true
	}
	switch in.Op {
	case vcode.VBroadcastF32, vcode.VBroadcastI32:
		e.broadcast(arm64.S4, loadS, in)
	case vcode.VBroadcastF64, vcode.VBroadcastI64:
		e.broadcast(arm64.D2, loadD, in)
	default:
		return false
	}
	return true
}

// broadcast fills a vector with lane 0 of another, or with an element of memory.
func (e *vectors) broadcast(t arm64.Arrangement, a access, in *vcode.Inst) {
	d, from := e.vector(in.Args[0].Reg), in.Args[1]
	if m := from.Mem; from.Kind == vcode.ArgMem && m.Base != vcode.PoolBase && m.Index == vcode.NoReg && m.Disp == 0 {
		e.put(arm64.Inst{Op: arm64.LD1R, T: t, D: d, N: e.general(m.Base)})
		return
	}
	e.put(arm64.Inst{Op: arm64.VDUPE, T: t, D: d, N: e.operand(from, d, a)})
}

// permuteOp encodes permutations.
func (e *vectors) permuteOp(in *vcode.Inst) bool {
	switch in.Op {
	case vcode.VPermuteWithinI32, vcode.VPermuteWithinF32:
		e.permute(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), in.Args[2].Imm)
	case vcode.VPermuteWithinF64:
		e.permutePair(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), in.Args[2].Imm)
	case vcode.VShuffleF32:
		e.shuffle(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1), in.Args[3].Imm)
	case vcode.VBlendImmF32, vcode.VBlendImmF64:
		t, lanes := arm64.S4, 4
		if in.Op == vcode.VBlendImmF64 {
			t, lanes = arm64.D2, 2
		}
		y := e.whole(in.Args[2], temp1)
		e.copyVector(temp0, e.vector(in.Args[1].Reg))
		for i := range lanes {
			if in.Args[3].Imm>>i&1 != 0 {
				e.put(arm64.Inst{Op: arm64.VINSE, T: t, D: temp0, N: y, Imm: int64(i), Imm2: int64(i)})
			}
		}
		e.copyVector(e.vector(in.Args[0].Reg), temp0)
	default:
		return false
	}
	return true
}

// permute takes lane imm>>2i of x to lane i.
func (e *vectors) permute(d, x arm64.Reg, imm int64) {
	var from [4]int64
	for i := range from {
		from[i] = imm >> (2 * i) & 3
	}
	switch imm {
	case 0xE4:
		e.copyVector(d, x)
		return
	case 0x4E:
		e.put(arm64.Inst{Op: arm64.VEXT, T: arm64.B16, D: d, N: x, M: x, Imm: 8})
		return
	case 0xB1:
		e.put(arm64.Inst{Op: arm64.VREV64, T: arm64.S4, D: d, N: x})
		return
	}
	e.put(arm64.Inst{Op: arm64.VDUPE, T: arm64.S4, D: temp2, N: x, Imm: from[3]})
	for i := range from[:3] {
		if from[i] != from[3] {
			e.put(arm64.Inst{Op: arm64.VINSE, T: arm64.S4, D: temp2, N: x, Imm: int64(i), Imm2: from[i]})
		}
	}
	e.copyVector(d, temp2)
}

// permutePair is permute for two lanes.
func (e *vectors) permutePair(d, x arm64.Reg, imm int64) {
	switch imm & 3 {
	case 2:
		e.copyVector(d, x)
	case 1:
		e.put(arm64.Inst{Op: arm64.VEXT, T: arm64.B16, D: d, N: x, M: x, Imm: 8})
	default:
		e.put(arm64.Inst{Op: arm64.VDUPE, T: arm64.D2, D: d, N: x, Imm: imm & 1})
	}
}

// shuffle takes two lanes of x and two of y.
func (e *vectors) shuffle(d, x, y arm64.Reg, imm int64) {
	switch imm {
	case 0x88:
		e.three(laneForm{arm64.VUZP1, arm64.S4}, d, x, y)
		return
	case 0xDD:
		e.three(laneForm{arm64.VUZP2, arm64.S4}, d, x, y)
		return
	}
	for i, from := range [4]arm64.Reg{x, x, y, y} {
		e.put(arm64.Inst{Op: arm64.VINSE, T: arm64.S4, D: temp2, N: from, Imm: int64(i), Imm2: imm >> (2 * i) & 3})
	}
	e.copyVector(d, temp2)
}
