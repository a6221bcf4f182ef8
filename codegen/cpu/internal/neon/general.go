package neon

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// extensions are the moves into general registers, with the forms for memory and for a register.
var extensions = map[vcode.Op]struct {
	memory access
	op     arm64.Op
	last   int64 // bit that is copied
}{
	vcode.Load64: {load64, arm64.UBFM, 63}, vcode.LoadU32: {load32, arm64.UBFMW, 31}, vcode.LoadU8: {load8, arm64.UBFMW, 7}, vcode.LoadU16: {load16, arm64.UBFMW, 15},
	vcode.LoadI8: {signed8, arm64.SBFM, 7}, vcode.LoadI16: {signed16, arm64.SBFM, 15}, vcode.LoadI32: {signed32, arm64.SBFM, 31},
}

// generalStores are those of general registers.
var generalStores = map[vcode.Op]access{vcode.Store64: store64, vcode.Store32: store32, vcode.Store16: store16, vcode.Store8: store8}

// flagOps are the operations of two operands: the form that sets the flags, or, for a logical
// operation that has none, the plain one.
var flagOps = map[vcode.Op]struct {
	op    arm64.Op
	flags flagKind
}{
	vcode.Add: {arm64.ADDS, flagsSum}, vcode.AddImm: {arm64.ADDS, flagsSum}, vcode.AddImm8: {arm64.ADDS, flagsSum}, vcode.AddMem64: {arm64.ADDS, flagsSum},
	vcode.Sub: {arm64.SUBS, flagsCompare}, vcode.SubImm: {arm64.SUBS, flagsCompare}, vcode.SubMem64: {arm64.SUBS, flagsCompare},
	vcode.And: {arm64.ANDS, flagsSum}, vcode.AndImm: {arm64.ANDS, flagsSum}, vcode.AndImm8: {arm64.ANDS, flagsSum},
	vcode.Or: {arm64.ORR, flagsUnknown}, vcode.OrImm: {arm64.ORR, flagsUnknown}, vcode.Xor: {arm64.EOR, flagsUnknown}, vcode.XorImm: {arm64.EOR, flagsUnknown},
	vcode.Compare: {arm64.SUBS, flagsCompare}, vcode.CompareImm: {arm64.SUBS, flagsCompare}, vcode.CompareImm8: {arm64.SUBS, flagsCompare}, vcode.Test: {arm64.ANDS, flagsSum},
	vcode.AddMemImm32: {arm64.ADDW, flagsUnknown}, vcode.AddMem32: {arm64.ADDW, flagsUnknown}, vcode.SubMem32: {arm64.SUBW, flagsUnknown},
}

// compares are those that keep no result.
var compares = map[vcode.Op]bool{vcode.Compare: true, vcode.CompareImm: true, vcode.CompareImm8: true, vcode.Test: true}

// immediateForms are the forms with an immediate, and of sums the one for its negative.
var immediateForms = map[arm64.Op][2]arm64.Op{arm64.ADDS: {arm64.ADDSI, arm64.SUBSI}, arm64.SUBS: {arm64.SUBSI, arm64.ADDSI}, arm64.ANDS: {arm64.ANDSI}, arm64.ORR: {arm64.ORRI}, arm64.EOR: {arm64.EORI},
	arm64.ADDW: {arm64.ADDIW, arm64.SUBIW}}

// shiftOps are the shifts by a constant.
var shiftOps = map[vcode.Op]bool{vcode.ShiftLeftImm: true, vcode.ShiftRightImm: true, vcode.ShiftRightSignedImm: true}

// moveConditions are the conditions of conditional moves.
var moveConditions = map[vcode.Op]mach.Cond{vcode.MoveBelow: mach.CondB, vcode.MoveAboveEqual: mach.CondAE, vcode.MoveEqual: mach.CondE, vcode.MoveNotEqual: mach.CondNE, vcode.MoveBelowEqual: mach.CondBE,
	vcode.MoveAbove: mach.CondA, vcode.MoveLess: mach.CondL, vcode.MoveGreaterEqual: mach.CondGE, vcode.MoveLessEqual: mach.CondLE, vcode.MoveGreater: mach.CondG}

// generalOp encodes what works on general registers.
func (e *generals) generalOp(in *vcode.Inst) bool {
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
	if x, ok := extensions[in.Op]; ok && (in.Op != vcode.Load64 || in.Args[0].Kind == vcode.ArgReg) {
		d := e.general(in.Args[0].Reg)
		if in.Args[1].Kind == vcode.ArgMem {
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
func (e *generals) store(a access, in *vcode.Inst) {
	from := e.general(in.Args[1].Reg)
	if in.Args[0].Kind == vcode.ArgMem {
		e.memory(a, from, in.Args[0].Mem)
		return
	}
	switch in.Op {
	case vcode.Store64:
		e.move(e.general(in.Args[0].Reg), from)
	case vcode.Store32:
		e.put(arm64.Inst{Op: arm64.UBFMW, D: e.general(in.Args[0].Reg), N: from, Imm2: 31})
	default:
		e.fail("%s: no form on arm64", in)
	}
}

// shift shifts by a constant. Nothing looks at its flags.
func (e *generals) shift(in *vcode.Inst) {
	d, n := e.general(in.Args[0].Reg), in.Args[1].Imm&63
	x := e.first(d)
	switch in.Op {
	case vcode.ShiftLeftImm:
		e.put(arm64.Inst{Op: arm64.UBFM, D: d, N: x, Imm: (64 - n) & 63, Imm2: 63 - n})
	case vcode.ShiftRightImm:
		e.put(arm64.Inst{Op: arm64.UBFM, D: d, N: x, Imm: n, Imm2: 63})
	default:
		e.put(arm64.Inst{Op: arm64.SBFM, D: d, N: x, Imm: n, Imm2: 63})
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
func (e *generals) value(a vcode.Arg, t arm64.Reg) arm64.Reg {
	switch a.Kind {
	case vcode.ArgReg:
		return e.general(a.Reg)
	case vcode.ArgMem:
		e.memory(load64, t, a.Mem)
	default:
		e.set(t, a.Imm)
	}
	return t
}

// arithmetic encodes an operation of two operands, of which one may be in memory.
func (e *generals) arithmetic(in *vcode.Inst) {
	f := flagOps[in.Op]
	from, to := load64, store64
	if f.op == arm64.ADDW || f.op == arm64.SUBW {
		from, to = load32, store32
	}
	first := in.Args[0]
	d := tempValue
	if first.Kind == vcode.ArgMem {
		e.memory(from, tempValue, first.Mem)
	} else {
		d = e.general(first.Reg)
	}
	result := d
	x := e.first(d)
	if compares[in.Op] {
		result = arm64.ZR
	}
	e.binary(f.op, result, x, in.Args[1])
	if first.Kind == vcode.ArgMem && !compares[in.Op] {
		e.memory(to, tempValue, first.Mem)
	}
	e.flags = f.flags
	if f.flags == flagsUnknown && e.flagsWanted() {
		e.put(arm64.Inst{Op: arm64.ANDS, D: arm64.ZR, N: d, M: d})
		e.flags = flagsSum
	}
}

// binary is d = n op x.
func (e *generals) binary(op arm64.Op, d, n arm64.Reg, x vcode.Arg) {
	if x.Kind == vcode.ArgImm {
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
func (e *generals) otherGeneral(in *vcode.Inst) bool {
	d := arm64.ZR
	if in.Args[0].Kind == vcode.ArgReg && in.Args[0].Reg < vcode.V0 {
		d = e.general(in.Args[0].Reg)
	}
	switch in.Op {
	case vcode.SetImm:
		if in.Args[0].Kind == vcode.ArgMem {
			e.set(tempValue, in.Args[1].Imm)
			e.memory(store64, tempValue, in.Args[0].Mem)
			return true
		}
		e.set(d, in.Args[1].Imm)
	case vcode.Address:
		e.address(d, in.Args[1].Mem)
	case vcode.Mul:
		e.put(arm64.Inst{Op: arm64.MADD, D: d, N: e.first(d), M: e.value(in.Args[1], tempValue), A: arm64.ZR})
		e.noFlags()
	case vcode.MulImm:
		e.timesConst(d, e.value(in.Args[1], tempValue), in.Args[2].Imm)
		e.noFlags()
	case vcode.Negate:
		e.put(arm64.Inst{Op: arm64.SUBS, D: d, N: arm64.ZR, M: e.first(d)})
		e.flags = flagsCompare
	case vcode.Not:
		e.put(arm64.Inst{Op: arm64.ORN, D: d, N: arm64.ZR, M: e.first(d)})
	case vcode.ShiftLeft, vcode.ShiftRight, vcode.ShiftRightSigned:
		op := map[vcode.Op]arm64.Op{vcode.ShiftLeft: arm64.LSLV, vcode.ShiftRight: arm64.LSRV, vcode.ShiftRightSigned: arm64.ASRV}[in.Op]
		e.put(arm64.Inst{Op: op, D: d, N: e.value(in.Args[1], tempValue), M: e.general(in.Args[2].Reg)})
	case vcode.SetGreater: // of the lower byte
		e.put(arm64.Inst{Op: arm64.CSINC, D: tempValue, N: arm64.ZR, M: arm64.ZR, Cond: e.condition(mach.CondG).Not()})
		e.put(arm64.Inst{Op: arm64.BFM, D: d, N: tempValue, Imm2: 7})
	case vcode.OnesCount:
		e.put(arm64.Inst{Op: arm64.FMOVDX, D: temp0, N: e.value(in.Args[1], tempValue)})
		e.put(arm64.Inst{Op: arm64.VCNT, T: arm64.B8, D: temp0, N: temp0})
		e.put(arm64.Inst{Op: arm64.VADDV, T: arm64.B8, D: temp0, N: temp0})
		e.put(arm64.Inst{Op: arm64.FMOVWS, D: d, N: temp0})
		e.noFlags()
	case vcode.Prefetch, vcode.PrefetchOnce:
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
