package neon

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// sums are the addresses base + index*2^shift that registers hold, in straight code.
type sums struct {
	held [7]sum
	next int
}

// firstSum is the first of the registers that hold them.
const firstSum arm64.Reg = 19

type sum struct {
	base, index arm64.Reg
	shift       int64
	used        bool
}

func (s *sums) forget() { *s = sums{} }

// changed forgets what was computed from a register.
func (s *sums) changed(r arm64.Reg) {
	for i := range s.held {
		if s.held[i].base == r || s.held[i].index == r {
			s.held[i].used = false
		}
	}
}

// sum returns a register that holds base + index*2^shift.
func (e *addressing) sum(base, index arm64.Reg, shift int64) arm64.Reg {
	want := sum{base, index, shift, true}
	for i := range e.sums.held {
		if e.sums.held[i] == want {
			return firstSum + arm64.Reg(i)
		}
	}
	i := e.sums.next
	e.sums.next = (i + 1) % len(e.sums.held)
	e.sums.held[i] = want
	r := firstSum + arm64.Reg(i)
	e.put(arm64.Inst{Op: arm64.ADD, D: r, N: base, M: index, Imm2: shift})
	return r
}

// An access is the forms of a load or a store: with an offset of whole elements, of bytes, and an
// index; literal is that of a constant, where there is one.
type access struct {
	scaled, unscaled, indexed, literal arm64.Op
	size                               int64
}

// The loads and stores.
var (
	load64   = access{arm64.LDR, arm64.LDRU, arm64.LDRX, arm64.LDRL, 8}
	load32   = access{arm64.LDRW, arm64.LDRWU, arm64.LDRWX, 0, 4}
	load16   = access{arm64.LDRH, arm64.LDRHU, arm64.LDRHX, 0, 2}
	load8    = access{arm64.LDRB, arm64.LDRBU, arm64.LDRBX, 0, 1}
	signed32 = access{arm64.LDRSW, arm64.LDRSWU, arm64.LDRSWX, 0, 4}
	signed16 = access{arm64.LDRSH, arm64.LDRSHU, arm64.LDRSHX, 0, 2}
	signed8  = access{arm64.LDRSB, arm64.LDRSBU, arm64.LDRSBX, 0, 1}
	store64  = access{arm64.STR, arm64.STRU, arm64.STRX, 0, 8}
	store32  = access{arm64.STRW, arm64.STRWU, arm64.STRWX, 0, 4}
	store16  = access{arm64.STRH, arm64.STRHU, arm64.STRHX, 0, 2}
	store8   = access{arm64.STRB, arm64.STRBU, arm64.STRBX, 0, 1}
	loadQ    = access{arm64.LDRFQ, arm64.LDRFQU, arm64.LDRFQX, arm64.LDRFQL, 16}
	loadD    = access{arm64.LDRFD, arm64.LDRFDU, arm64.LDRFDX, arm64.LDRFDL, 8}
	loadS    = access{arm64.LDRFS, arm64.LDRFSU, arm64.LDRFSX, arm64.LDRFSL, 4}
	storeQ   = access{arm64.STRFQ, arm64.STRFQU, arm64.STRFQX, 0, 16}
	storeD   = access{arm64.STRFD, arm64.STRFDU, arm64.STRFDX, 0, 8}
	storeS   = access{arm64.STRFS, arm64.STRFSU, arm64.STRFSX, 0, 4}
)

// memory moves r from or to memory.
func (e *addressing) memory(a access, r arm64.Reg, m vcode.Mem) {
	if m.Base == vcode.PoolBase {
		if a.literal != 0 {
			e.pooled(arm64.Inst{Op: a.literal, D: r}, int(m.Disp))
			return
		}
		e.pooled(arm64.Inst{Op: arm64.ADR, D: tempAddress}, int(m.Disp))
		e.put(arm64.Inst{Op: a.scaled, D: r, N: tempAddress})
		return
	}
	base := e.general(m.Base)
	if m.Index != vcode.NoReg {
		shift := int64(bits.TrailingZeros8(m.Scale))
		if m.Disp == 0 && (shift == 0 || 1<<shift == a.size) && a.size < 16 {
			e.put(arm64.Inst{Op: a.indexed, D: r, N: base, M: e.general(m.Index), Imm: shift})
			return
		}
		base = e.sum(base, e.general(m.Index), shift)
	}
	e.at16(a, r, base, int64(m.Disp))
}

// at16 moves r from or to base + offset.
func (e *addressing) at16(a access, r, base arm64.Reg, offset int64) {
	switch {
	case offset >= 0 && offset%a.size == 0 && offset/a.size < 4096:
		e.put(arm64.Inst{Op: a.scaled, D: r, N: base, Imm: offset})
	case offset >= -256 && offset < 256:
		e.put(arm64.Inst{Op: a.unscaled, D: r, N: base, Imm: offset})
	default:
		e.addConst(tempAddress, base, offset)
		e.put(arm64.Inst{Op: a.scaled, D: r, N: tempAddress})
	}
}

// address puts the address of m into d.
func (e *addressing) address(d arm64.Reg, m vcode.Mem) {
	if m.Base == vcode.PoolBase {
		e.pooled(arm64.Inst{Op: arm64.ADR, D: d}, int(m.Disp))
		return
	}
	base := e.general(m.Base)
	if m.Index != vcode.NoReg {
		if shift := int64(bits.TrailingZeros8(m.Scale)); m.Disp == 0 {
			e.put(arm64.Inst{Op: arm64.ADD, D: d, N: base, M: e.general(m.Index), Imm2: shift})
			return
		} else {
			base = e.sum(base, e.general(m.Index), shift)
		}
	}
	e.addConst(d, base, int64(m.Disp))
}

// addConst is d = n + c, without the flags.
func (e *addressing) addConst(d, n arm64.Reg, c int64) {
	op, by := arm64.ADDI, c
	if c < 0 {
		op, by = arm64.SUBI, -c
	}
	switch {
	case c == 0:
		e.move(d, n)
	case by < 1<<12:
		e.put(arm64.Inst{Op: op, D: d, N: n, Imm: by})
	case by < 1<<24:
		e.put(arm64.Inst{Op: op, D: d, N: n, Imm: by >> 12, Imm2: 12})
		if by&(1<<12-1) != 0 {
			e.put(arm64.Inst{Op: op, D: d, N: d, Imm: by & (1<<12 - 1)})
		}
	default:
		e.set(tempLast, c)
		e.put(arm64.Inst{Op: arm64.ADD, D: d, N: n, M: tempLast})
	}
}

// move copies a general register.
func (e *addressing) move(d, n arm64.Reg) {
	if d != n {
		e.put(arm64.Inst{Op: arm64.ORR, D: d, N: arm64.ZR, M: n})
	}
}

// set makes a constant, of as few instructions as it takes: a move of 16 bits or of their
// complement and insertions, or a pattern of bits.
func (e *addressing) set(d arm64.Reg, c int64) {
	if _, err := arm64.Encode(arm64.Inst{Op: arm64.ORRI, D: d, N: arm64.ZR, Imm: c}); err == nil && bits.OnesCount64(uint64(c)) > 1 && !short(c) {
		e.put(arm64.Inst{Op: arm64.ORRI, D: d, N: arm64.ZR, Imm: c})
		return
	}
	first, rest := arm64.MOVZ, uint64(0)
	if c < 0 {
		first, rest = arm64.MOVN, 0xFFFF
	}
	began := false
	for shift := int64(0); shift < 64; shift += 16 {
		part := uint64(c) >> shift & 0xFFFF
		switch {
		case part == rest:
		case !began:
			e.put(arm64.Inst{Op: first, D: d, Imm: int64(part ^ rest), Imm2: shift})
			began = true
		default:
			e.put(arm64.Inst{Op: arm64.MOVK, D: d, Imm: int64(part), Imm2: shift})
		}
	}
	if !began {
		e.put(arm64.Inst{Op: first, D: d})
	}
}

// short tells the constants that one move makes.
func short(c int64) bool {
	for shift := 0; shift < 64; shift += 16 {
		if c&^(0xFFFF<<shift) == 0 || ^c&^(0xFFFF<<shift) == 0 {
			return true
		}
	}
	return false
}
