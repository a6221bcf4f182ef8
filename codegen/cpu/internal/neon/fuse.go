package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Two steps of virtual code are often one instruction of arm64: an operation overwrites its first
// operand there, and so has a copy before it; and no comparison with 0 is needed before a branch.

// next is the step behind the one that is encoded, where nothing stands in between.
func (e *encoder) next() *mach.Step {
	if e.at+1 < len(e.steps) {
		return &e.steps[e.at+1]
	}
	return nil
}

// fused encodes the step together with the one behind it, if the two are one instruction.
func (e *emitter) fused(s *mach.Step) bool {
	n := e.next()
	switch {
	case n == nil:
		return false
	case n.Kind == mach.StepInst && isCopy(&s.Inst):
		return e.copyAnd(s.Args[0].Reg, s.Args[1].Reg, &n.Inst)
	case n.Kind == mach.StepInst && s.Op == vcode.VGetI32:
		return e.getAndExtend(s, &n.Inst)
	case n.Kind == mach.StepJump && (n.Cond == mach.CondE || n.Cond == mach.CondNE) && !e.flagsLater(e.at+2, 0) && !e.flagsLater(e.labels[n.Label], 0):
		return e.testAnd(&s.Inst, n)
	}
	return false
}

// isCopy tells a copy of a general register.
func isCopy(in *vcode.Inst) bool {
	return in.Op == vcode.Store64 && in.Args[0].Kind == vcode.ArgReg && in.Args[1].Kind == vcode.ArgReg
}

// copyAnd is d = from and in, where in changes d: only d is made.
func (e *emitter) copyAnd(d, from vcode.Reg, in *vcode.Inst) bool {
	f, arithmetic := flagOps[in.Op]
	switch {
	case in.Args[0].Kind != vcode.ArgReg || in.Args[0].Reg != d || uses(&in.Args[1], d):
		return false
	case arithmetic && (compares[in.Op] || f.op == arm64.ADDW || f.op == arm64.SUBW):
		return false
	case arithmetic, shiftOps[in.Op], in.Op == vcode.Mul, in.Op == vcode.Negate, in.Op == vcode.Not:
		e.at++
		e.source = from
		e.instruction(in)
		e.source = vcode.NoReg
		e.sums.changed(e.general(d))
		return true
	}
	return false
}

// uses reports whether a register is in an operand.
func uses(a *vcode.Arg, r vcode.Reg) bool {
	switch a.Kind {
	case vcode.ArgReg:
		return a.Reg == r
	case vcode.ArgMem:
		return a.Mem.Base == r || a.Mem.Index == r
	}
	return false
}

// getAndExtend is the sign extension of a lane.
func (e *emitter) getAndExtend(s *mach.Step, in *vcode.Inst) bool {
	if in.Op != vcode.LoadI32 || s.Args[0].Kind != vcode.ArgReg || in.Args[0].Reg != s.Args[0].Reg || in.Args[1] != s.Args[0] {
		return false
	}
	e.at++
	e.put(arm64.Inst{Op: arm64.VSMOV, T: arm64.S4, D: e.general(s.Args[0].Reg), N: e.vector(s.Args[1].Reg)})
	e.sums.changed(e.general(s.Args[0].Reg))
	return true
}

// testAnd is a comparison with 0 and a branch where it is equal, or not.
func (e *emitter) testAnd(in *vcode.Inst, n *mach.Step) bool {
	op := arm64.CBZ
	if n.Cond == mach.CondNE {
		op = arm64.CBNZ
	}
	x := in.Args[0]
	switch {
	case x.Kind != vcode.ArgReg:
		return false
	case in.Op == vcode.Test && in.Args[1] == x, in.Op == vcode.CompareImm && in.Args[1].Imm == 0:
		e.far(arm64.Inst{Op: op, D: e.general(x.Reg)}, n.Label)
	case in.Op == vcode.VTest:
		e.testVector(in, false)
		e.far(arm64.Inst{Op: op, D: tempValue}, n.Label)
	default:
		return false
	}
	e.at++
	e.flags = flagsUnknown
	return true
}

// flagsLater reports whether the flags may be looked at from a step on before they are set.
func (e *encoder) flagsLater(at, jumps int) bool {
	for ; at < len(e.steps); at++ {
		s := &e.steps[at]
		switch {
		case s.ReadsFlags():
			return true
		case s.SetsFlags(), s.Kind == mach.StepReturn, s.Kind == mach.StepResume, s.Kind == mach.StepCall:
			return false
		case s.Kind == mach.StepJump:
			return jumps > 8 || e.flagsLater(e.labels[s.Label], jumps+1)
		}
	}
	return false
}
