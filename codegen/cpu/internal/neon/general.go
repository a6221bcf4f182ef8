package neon

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// extensions are the moves into general registers, with the forms for memory and for a register.
var extensions = map[x86.Op]struct {
	memory access
	op     arm64.Op
	last   int64 // bit that is copied
}{
	x86.MOVQ: {load64, arm64.UBFM, 63}, x86.MOVL: {load32, arm64.UBFMW, 31}, x86.MOVBLZX: {load8, arm64.UBFMW, 7}, x86.MOVWLZX: {load16, arm64.UBFMW, 15},
	x86.MOVBQSX: {signed8, arm64.SBFM, 7}, x86.MOVWQSX: {signed16, arm64.SBFM, 15}, x86.MOVLQSX: {signed32, arm64.SBFM, 31},
}

// generalStores are those of general registers.
var generalStores = map[x86.Op]access{x86.MOVQStore: store64, x86.MOVLStore: store32, x86.MOVWStore: store16, x86.MOVBStore: store8}

// flagOps are the operations of two operands: the form that sets the flags, or, for a logical
// operation that has none, the plain one.
var flagOps = map[x86.Op]struct {
	op    arm64.Op
	flags flagKind
}{
	x86.ADDQ: {arm64.ADDS, flagsSum}, x86.ADDQImm: {arm64.ADDS, flagsSum}, x86.ADDQImm8: {arm64.ADDS, flagsSum}, x86.ADDQMem: {arm64.ADDS, flagsSum},
	x86.SUBQ: {arm64.SUBS, flagsCompare}, x86.SUBQImm: {arm64.SUBS, flagsCompare}, x86.SUBQMem: {arm64.SUBS, flagsCompare},
	x86.ANDQ: {arm64.ANDS, flagsSum}, x86.ANDQImm: {arm64.ANDS, flagsSum}, x86.ANDQImm8: {arm64.ANDS, flagsSum},
	x86.ORQ: {arm64.ORR, flagsUnknown}, x86.ORQImm: {arm64.ORR, flagsUnknown}, x86.XORQ: {arm64.EOR, flagsUnknown}, x86.XORQImm: {arm64.EOR, flagsUnknown},
	x86.CMPQ: {arm64.SUBS, flagsCompare}, x86.CMPQImm: {arm64.SUBS, flagsCompare}, x86.CMPQImm8: {arm64.SUBS, flagsCompare}, x86.TESTQ: {arm64.ANDS, flagsSum},
	x86.ADDLImm: {arm64.ADDW, flagsUnknown}, x86.ADDLMem: {arm64.ADDW, flagsUnknown}, x86.SUBLMem: {arm64.SUBW, flagsUnknown},
}

// compares are those that keep no result.
var compares = map[x86.Op]bool{x86.CMPQ: true, x86.CMPQImm: true, x86.CMPQImm8: true, x86.TESTQ: true}

// immediateForms are the forms with an immediate, and of sums the one for its negative.
var immediateForms = map[arm64.Op][2]arm64.Op{arm64.ADDS: {arm64.ADDSI, arm64.SUBSI}, arm64.SUBS: {arm64.SUBSI, arm64.ADDSI}, arm64.ANDS: {arm64.ANDSI}, arm64.ORR: {arm64.ORRI}, arm64.EOR: {arm64.EORI},
	arm64.ADDW: {arm64.ADDIW, arm64.SUBIW}}

// shiftOps are the shifts by a constant.
var shiftOps = map[x86.Op]bool{x86.SHLQ: true, x86.SHRQ: true, x86.SARQ: true}

// moveConditions are the conditions of conditional moves.
var moveConditions = map[x86.Op]mach.Cond{x86.CMOVQCS: mach.CondB, x86.CMOVQCC: mach.CondAE, x86.CMOVQEQ: mach.CondE, x86.CMOVQNE: mach.CondNE, x86.CMOVQLS: mach.CondBE,
	x86.CMOVQHI: mach.CondA, x86.CMOVQLT: mach.CondL, x86.CMOVQGE: mach.CondGE, x86.CMOVQLE: mach.CondLE, x86.CMOVQGT: mach.CondG}

// generalOp encodes what works on general registers.
func (e *generals) generalOp(in *x86.Inst) bool {
	if _, ok := flagOps[in.Op]; ok {
		e.arithmetic(in)
		return true
	}
	if k, ok := moveConditions[in.Op]; ok {
		from := e.value(in.Args[1], tempValue)
		d := e.general(in.Args[0].Reg)
		e.put(arm64.Inst{Op: arm64.CSEL, D: d, N: from, M: d, Cond: e.condition(k)})
		return true
	}
	if x, ok := extensions[in.Op]; ok && (in.Op != x86.MOVQ || in.Args[0].Kind == x86.ArgReg) {
		d := e.general(in.Args[0].Reg)
		if in.Args[1].Kind == x86.ArgMem {
			e.memory(x.memory, d, in.Args[1].Mem)
			return true
		}
		e.put(arm64.Inst{Op: x.op, D: d, N: e.general(in.Args[1].Reg), Imm2: x.last})
		return true
	}
	if a, ok := generalStores[in.Op]; ok {
		e.store(a, in)
		return true
	}
	if shiftOps[in.Op] {
		e.shift(in)
		return true
	}
	return e.otherGeneral(in)
}

// store is a store, or a copy between general registers.
func (e *generals) store(a access, in *x86.Inst) {
	from := e.general(in.Args[1].Reg)
	if in.Args[0].Kind == x86.ArgMem {
		e.memory(a, from, in.Args[0].Mem)
		return
	}
	switch in.Op {
	case x86.MOVQStore:
		e.move(e.general(in.Args[0].Reg), from)
	case x86.MOVLStore:
		e.put(arm64.Inst{Op: arm64.UBFMW, D: e.general(in.Args[0].Reg), N: from, Imm2: 31})
	default:
		e.fail("%s: no form on arm64", in)
	}
}

// shift shifts by a constant. Nothing looks at its flags.
func (e *generals) shift(in *x86.Inst) {
	d, n := e.general(in.Args[0].Reg), in.Args[1].Imm&63
	switch in.Op {
	case x86.SHLQ:
		e.put(arm64.Inst{Op: arm64.UBFM, D: d, N: d, Imm: (64 - n) & 63, Imm2: 63 - n})
	case x86.SHRQ:
		e.put(arm64.Inst{Op: arm64.UBFM, D: d, N: d, Imm: n, Imm2: 63})
	default:
		e.put(arm64.Inst{Op: arm64.SBFM, D: d, N: d, Imm: n, Imm2: 63})
	}
	e.noFlags()
}

// noFlags is for operations that change the flags on x86-64, to what nothing may look at here.
func (e *generals) noFlags() {
	if e.flagsWanted() {
		e.fail("%s: its flags are looked at", e.steps[e.at].Inst)
	}
	e.flags = flagsUnknown
}

// value is an operand in a register: its own, or t.
func (e *generals) value(a x86.Arg, t arm64.Reg) arm64.Reg {
	switch a.Kind {
	case x86.ArgReg:
		return e.general(a.Reg)
	case x86.ArgMem:
		e.memory(load64, t, a.Mem)
	default:
		e.set(t, a.Imm)
	}
	return t
}

// arithmetic encodes an operation of two operands, of which one may be in memory.
func (e *generals) arithmetic(in *x86.Inst) {
	f := flagOps[in.Op]
	from, to := load64, store64
	if f.op == arm64.ADDW || f.op == arm64.SUBW {
		from, to = load32, store32
	}
	first := in.Args[0]
	d := tempValue
	if first.Kind == x86.ArgMem {
		e.memory(from, tempValue, first.Mem)
	} else {
		d = e.general(first.Reg)
	}
	result := d
	if compares[in.Op] {
		result = arm64.ZR
	}
	e.binary(f.op, result, d, in.Args[1])
	if first.Kind == x86.ArgMem && !compares[in.Op] {
		e.memory(to, tempValue, first.Mem)
	}
	e.flags = f.flags
	if f.flags == flagsUnknown && e.flagsWanted() {
		e.put(arm64.Inst{Op: arm64.ANDS, D: arm64.ZR, N: d, M: d})
		e.flags = flagsSum
	}
}

// binary is d = n op x.
func (e *generals) binary(op arm64.Op, d, n arm64.Reg, x x86.Arg) {
	if x.Kind == x86.ArgImm {
		forms := immediateForms[op]
		in := arm64.Inst{Op: forms[0], D: d, N: n, Imm: x.Imm}
		if sum := op == arm64.ADDS || op == arm64.SUBS || op == arm64.ADDW; sum && x.Imm < 0 {
			in.Op, in.Imm = forms[1], -x.Imm
		}
		if _, err := arm64.Encode(in); err == nil && in.Op != 0 {
			e.put(in)
			return
		}
	}
	e.put(arm64.Inst{Op: op, D: d, N: n, M: e.value(x, tempThird)})
}

// otherGeneral encodes the rest.
func (e *generals) otherGeneral(in *x86.Inst) bool {
	d := arm64.ZR
	if in.Args[0].Kind == x86.ArgReg && in.Args[0].Reg < x86.V0 {
		d = e.general(in.Args[0].Reg)
	}
	switch in.Op {
	case x86.MOVQImm:
		if in.Args[0].Kind == x86.ArgMem {
			e.set(tempValue, in.Args[1].Imm)
			e.memory(store64, tempValue, in.Args[0].Mem)
			return true
		}
		e.set(d, in.Args[1].Imm)
	case x86.LEAQ:
		e.address(d, in.Args[1].Mem)
	case x86.IMULQ:
		e.put(arm64.Inst{Op: arm64.MADD, D: d, N: d, M: e.value(in.Args[1], tempValue), A: arm64.ZR})
		e.noFlags()
	case x86.IMUL3Q:
		e.timesConst(d, e.value(in.Args[1], tempValue), in.Args[2].Imm)
		e.noFlags()
	case x86.NEGQ:
		e.put(arm64.Inst{Op: arm64.SUBS, D: d, N: arm64.ZR, M: d})
		e.flags = flagsCompare
	case x86.NOTQ:
		e.put(arm64.Inst{Op: arm64.ORN, D: d, N: arm64.ZR, M: d})
	case x86.SHLXQ, x86.SHRXQ, x86.SARXQ:
		op := map[x86.Op]arm64.Op{x86.SHLXQ: arm64.LSLV, x86.SHRXQ: arm64.LSRV, x86.SARXQ: arm64.ASRV}[in.Op]
		e.put(arm64.Inst{Op: op, D: d, N: e.value(in.Args[1], tempValue), M: e.general(in.Args[2].Reg)})
	case x86.SETGT: // of the lower byte
		e.put(arm64.Inst{Op: arm64.CSINC, D: tempValue, N: arm64.ZR, M: arm64.ZR, Cond: e.condition(mach.CondG).Not()})
		e.put(arm64.Inst{Op: arm64.BFM, D: d, N: tempValue, Imm2: 7})
	case x86.POPCNTQ:
		e.put(arm64.Inst{Op: arm64.FMOVDX, D: temp0, N: e.value(in.Args[1], tempValue)})
		e.put(arm64.Inst{Op: arm64.VCNT, T: arm64.B8, D: temp0, N: temp0})
		e.put(arm64.Inst{Op: arm64.VADDV, T: arm64.B8, D: temp0, N: temp0})
		e.put(arm64.Inst{Op: arm64.FMOVWS, D: d, N: temp0})
		e.noFlags()
	case x86.PREFETCHT0, x86.PREFETCHNTA:
		e.address(tempAddress, in.Args[0].Mem)
		e.put(arm64.Inst{Op: arm64.PRFM, N: tempAddress})
	default:
		return false
	}
	return true
}

// timesConst is d = n * c.
func (e *generals) timesConst(d, n arm64.Reg, c int64) {
	if c > 0 && c&(c-1) == 0 {
		s := int64(bits.TrailingZeros64(uint64(c)))
		e.put(arm64.Inst{Op: arm64.UBFM, D: d, N: n, Imm: (64 - s) & 63, Imm2: 63 - s})
		return
	}
	e.set(tempThird, c)
	e.put(arm64.Inst{Op: arm64.MADD, D: d, N: n, M: tempThird, A: arm64.ZR})
}
