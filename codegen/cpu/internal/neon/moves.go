package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// vectorLoads and vectorStores are the moves between memory and vectors.
var (
	vectorLoads  = map[x86.Op]access{x86.VMOVUPS: loadQ, x86.VMOVUPD: loadQ, x86.VMOVSSLoad: loadS, x86.VMOVSDLoad: loadD}
	vectorStores = map[x86.Op]access{x86.VMOVUPSStore: storeQ, x86.VMOVUPDStore: storeQ, x86.VMOVNTPSStore: storeQ, x86.VMOVNTPDStore: storeQ, x86.VMOVSSStore: storeS, x86.VMOVSDStore: storeD}
)

// crossings are the moves between general registers and vectors, with the forms for memory.
var crossings = map[x86.Op]struct {
	op     arm64.Op
	memory access
	out    bool // from a vector
}{x86.VMOVD: {arm64.FMOVSW, loadS, false}, x86.VMOVQ: {arm64.FMOVDX, loadD, false}, x86.VMOVDStore: {arm64.FMOVWS, storeS, true}, x86.VMOVQStore: {arm64.FMOVXD, storeD, true}}

// moveOp encodes moves of vectors, and of one element to all lanes.
func (e *vectors) moveOp(in *x86.Inst) bool {
	to, from := in.Args[0], in.Args[1]
	if a, ok := vectorLoads[in.Op]; ok {
		if from.Kind == x86.ArgReg && a == loadQ {
			e.copyVector(e.vector(to.Reg), e.vector(from.Reg))
			return true
		}
		e.memory(a, e.vector(to.Reg), from.Mem)
		return true
	}
	if a, ok := vectorStores[in.Op]; ok {
		if to.Kind == x86.ArgReg && a == storeQ {
			e.copyVector(e.vector(to.Reg), e.vector(from.Reg))
			return true
		}
		e.memory(a, e.vector(from.Reg), to.Mem)
		return true
	}
	if c, ok := crossings[in.Op]; ok {
		switch {
		case c.out && to.Kind == x86.ArgMem:
			e.memory(c.memory, e.vector(from.Reg), to.Mem)
		case c.out:
			e.put(arm64.Inst{Op: c.op, D: e.general(to.Reg), N: e.vector(from.Reg)})
		case from.Kind == x86.ArgMem:
			e.memory(c.memory, e.vector(to.Reg), from.Mem)
		default:
			e.put(arm64.Inst{Op: c.op, D: e.vector(to.Reg), N: e.general(from.Reg)})
		}
		return true
	}
	switch in.Op {
	case x86.VBROADCASTSS, x86.VPBROADCASTD:
		e.broadcast(arm64.S4, loadS, in)
	case x86.VBROADCASTSD, x86.VPBROADCASTQ:
		e.broadcast(arm64.D2, loadD, in)
	default:
		return false
	}
	return true
}

// broadcast fills a vector with lane 0 of another, or with an element of memory.
func (e *vectors) broadcast(t arm64.Arrangement, a access, in *x86.Inst) {
	d, from := e.vector(in.Args[0].Reg), in.Args[1]
	if m := from.Mem; from.Kind == x86.ArgMem && m.Base != x86.RIP && m.Index == x86.NoReg && m.Disp == 0 {
		e.put(arm64.Inst{Op: arm64.LD1R, T: t, D: d, N: e.general(m.Base)})
		return
	}
	e.put(arm64.Inst{Op: arm64.VDUPE, T: t, D: d, N: e.operand(from, d, a)})
}

// permuteOp encodes permutations.
func (e *vectors) permuteOp(in *x86.Inst) bool {
	switch in.Op {
	case x86.VPSHUFD, x86.VPERMILPS:
		e.permute(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), in.Args[2].Imm)
	case x86.VPERMILPD:
		e.permutePair(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), in.Args[2].Imm)
	case x86.VSHUFPS:
		e.shuffle(e.vector(in.Args[0].Reg), e.whole(in.Args[1], temp0), e.whole(in.Args[2], temp1), in.Args[3].Imm)
	case x86.VBLENDPS, x86.VBLENDPD:
		t, lanes := arm64.S4, 4
		if in.Op == x86.VBLENDPD {
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
