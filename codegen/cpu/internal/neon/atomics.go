package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// Updates of memory that no other worker comes between are loops of a load and a store that know of
// each other, which every processor has; they acquire and release.

// exclusives are the pairs for elements of each size.
var exclusives = map[int64][2]arm64.Op{1: {arm64.LDAXRB, arm64.STLXRB}, 2: {arm64.LDAXRH, arm64.STLXRH}, 4: {arm64.LDAXRW, arm64.STLXRW}, 8: {arm64.LDAXR, arm64.STLXR}}

// lockedOps are the updates that leave no value.
var lockedOps = map[x86.Op]struct {
	op   arm64.Op
	size int64
}{x86.ADDLLock: {arm64.ADDW, 4}, x86.ADDQLock: {arm64.ADD, 8}, x86.SUBLLock: {arm64.SUBW, 4}, x86.SUBQLock: {arm64.SUB, 8}, x86.ANDLLock: {arm64.ANDW, 4}, x86.ANDQLock: {arm64.AND, 8},
	x86.ORLLock: {arm64.ORRW, 4}, x86.ORQLock: {arm64.ORR, 8}, x86.XORLLock: {arm64.EORW, 4}, x86.XORQLock: {arm64.EOR, 8}}

// keepingOps leave in their register what was in memory: sums, and exchanges, which have no
// operation.
var keepingOps = map[x86.Op]struct {
	op   arm64.Op
	size int64
}{x86.XADDLLock: {arm64.ADDW, 4}, x86.XADDQLock: {arm64.ADD, 8}, x86.XCHGL: {0, 4}, x86.XCHGQ: {0, 8}}

// compareSizes are the compare and exchange instructions.
var compareSizes = map[x86.Op]int64{x86.CMPXCHGBLock: 1, x86.CMPXCHGWLock: 2, x86.CMPXCHGLLock: 4, x86.CMPXCHGQLock: 8}

// atomicOp encodes updates of memory.
func (e *generals) atomicOp(in *x86.Inst) bool {
	if f, ok := lockedOps[in.Op]; ok {
		x := e.general(in.Args[1].Reg)
		e.exclusive(in.Args[0].Mem, f.size, func() arm64.Reg {
			e.put(arm64.Inst{Op: f.op, D: tempThird, N: tempValue, M: x})
			return tempThird
		})
		e.noFlags()
		return true
	}
	if f, ok := keepingOps[in.Op]; ok {
		x := e.general(in.Args[1].Reg)
		e.exclusive(in.Args[0].Mem, f.size, func() arm64.Reg {
			if in.Op == x86.XCHGL || in.Op == x86.XCHGQ {
				return x
			}
			e.put(arm64.Inst{Op: f.op, D: tempThird, N: tempValue, M: x})
			return tempThird
		})
		e.move(x, tempValue)
		e.sums.changed(x)
		e.noFlags()
		return true
	}
	if size, ok := compareSizes[in.Op]; ok {
		e.compareExchange(in.Args[0].Mem, e.general(in.Args[1].Reg), size)
		return true
	}
	return false
}

// exclusive loads into tempValue and stores what f returns, until no other update has come between.
func (e *generals) exclusive(m x86.Mem, size int64, f func() arm64.Reg) {
	e.address(tempAddress, m)
	top := len(e.words)
	e.put(arm64.Inst{Op: exclusives[size][0], D: tempValue, N: tempAddress})
	x := f()
	e.put(arm64.Inst{Op: exclusives[size][1], D: x, N: tempAddress, M: tempLast})
	e.back(arm64.Inst{Op: arm64.CBNZW, D: tempLast}, top)
}

// compareExchange stores x where memory has the value of AX, and else leaves in AX what it has; the
// flags say equal where it has stored.
func (e *generals) compareExchange(m x86.Mem, x arm64.Reg, size int64) {
	ax, old := e.general(x86.AX), e.general(x86.AX)
	if size < 4 { // the register may hold a sign above it
		old = tempThird
		e.put(arm64.Inst{Op: arm64.UBFM, D: old, N: ax, Imm2: 8*size - 1})
	}
	compare := arm64.SUBS
	if size <= 4 {
		compare = arm64.SUBSW
	}
	e.address(tempAddress, m)
	top := len(e.words)
	e.put(arm64.Inst{Op: exclusives[size][0], D: tempValue, N: tempAddress})
	e.put(arm64.Inst{Op: compare, D: arm64.ZR, N: tempValue, M: old})
	differs := e.hole(arm64.Inst{Op: arm64.BCOND, Cond: arm64.NE})
	e.put(arm64.Inst{Op: exclusives[size][1], D: x, N: tempAddress, M: tempLast})
	e.back(arm64.Inst{Op: arm64.CBNZW, D: tempLast}, top)
	differs()
	if size >= 4 {
		e.move(ax, tempValue)
	} else {
		e.put(arm64.Inst{Op: arm64.BFM, D: ax, N: tempValue, Imm2: 8*size - 1})
	}
	e.sums.changed(ax)
	e.flags = flagsZero
}
