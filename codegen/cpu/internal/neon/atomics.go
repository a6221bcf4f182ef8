package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Updates of memory that no other worker comes between are loops of a load and a store that know of
// each other, which every processor has; they acquire and release.

// exclusives are the pairs for elements of each size.
var exclusives = map[int64][2]arm64.Op{1: {arm64.LDAXRB, arm64.STLXRB}, 2: {arm64.LDAXRH, arm64.STLXRH}, 4: {arm64.LDAXRW, arm64.STLXRW}, 8: {arm64.LDAXR, arm64.STLXR}}

// lockedOps are the updates that leave no value.
var lockedOps = map[vcode.Op]struct {
	op   arm64.Op
	size int64
}{vcode.AtomicAdd32: {arm64.ADDW, 4}, vcode.AtomicAdd64: {arm64.ADD, 8}, vcode.AtomicSub32: {arm64.SUBW, 4}, vcode.AtomicSub64: {arm64.SUB, 8}, vcode.AtomicAnd32: {arm64.ANDW, 4}, vcode.AtomicAnd64: {arm64.AND, 8},
	vcode.AtomicOr32: {arm64.ORRW, 4}, vcode.AtomicOr64: {arm64.ORR, 8}, vcode.AtomicXor32: {arm64.EORW, 4}, vcode.AtomicXor64: {arm64.EOR, 8}}

// keepingOps leave in their register what was in memory: sums, and exchanges, which have no
// operation.
var keepingOps = map[vcode.Op]struct {
	op   arm64.Op
	size int64
}{vcode.AtomicFetchAdd32: {arm64.ADDW, 4}, vcode.AtomicFetchAdd64: {arm64.ADD, 8}, vcode.AtomicExchange32: {0, 4}, vcode.AtomicExchange64: {0, 8}}

// compareSizes are the compare and exchange instructions.
var compareSizes = map[vcode.Op]int64{vcode.AtomicCompareExchange8: 1, vcode.AtomicCompareExchange16: 2, vcode.AtomicCompareExchange32: 4, vcode.AtomicCompareExchange64: 8}

// atomicOp encodes updates of memory.
func (e *generals) atomicOp(in *vcode.Inst) bool {
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
			if in.Op == vcode.AtomicExchange32 || in.Op == vcode.AtomicExchange64 {
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
func (e *generals) exclusive(m vcode.Mem, size int64, f func() arm64.Reg) {
	e.address(tempAddress, m)
	top := len(e.words)
	e.put(arm64.Inst{Op: exclusives[size][0], D: tempValue, N: tempAddress})
	x := f()
	e.put(arm64.Inst{Op: exclusives[size][1], D: x, N: tempAddress, M: tempLast})
	e.back(arm64.Inst{Op: arm64.CBNZW, D: tempLast}, top)
}

// compareExchange stores x where memory has the value of Acc, and else leaves in Acc what it has;
// the flags say equal where it has stored.
func (e *generals) compareExchange(m vcode.Mem, x arm64.Reg, size int64) {
	ax, old := e.general(vcode.Acc), e.general(vcode.Acc)
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
