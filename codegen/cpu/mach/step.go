package mach

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A StepKind says what a step is.
type StepKind uint8

// The kinds of steps.
const (
	StepInst    StepKind = iota
	StepLabel            // the label stands here
	StepJump             // to the label, on cond
	StepDivide           // DX:AX / Args[0], signed: AX and DX are never allocated
	StepUDivide          // unsigned
	StepReturn
	StepCall   // of the yield routine: leaves every register but AX and CX
	StepPop    // AX
	StepResume // continues after a yield
	StepFence  // SFENCE: stores past the caches are seen before what follows
)

// A step is one line of code over virtual registers.
type step struct {
	x86.Inst
	kind  StepKind
	cond  Cond
	label Label
	back  bool // the jump that closes a loop
	short bool // a division of numbers of 32 bits
	times bool // StepDivide: DX:AX becomes AX * Args[0] instead
	at    ir.Pos
}

// effect says how an instruction uses its first operand and what else it changes.
type effect uint8

const (
	writesFirst  effect = iota // defines Args[0]
	updatesFirst               // reads and defines Args[0]
	readsAll                   // a store, a compare, a test
)

// effect says what the instruction of s does with its first operand.
func (s *step) effect() effect {
	f := &x86.Forms[s.Op]
	if s.Args[0].Kind == x86.ArgMem {
		return readsAll
	}
	switch s.Op {
	case x86.CMPQ, x86.CMPQImm, x86.CMPQImm8, x86.TESTQ, x86.KORTESTB, x86.KORTESTW, x86.KTESTW, x86.VPTEST, x86.VTESTPS, x86.PREFETCHT0, x86.PREFETCHNTA, x86.IDIVQ, x86.DIVQ, x86.DIVL:
		return readsAll
	}
	if s.Mask != x86.NoReg && !s.Zero && f.Flags&x86.ToMask == 0 || updating[s.Op] {
		return updatesFirst
	}
	return writesFirst
}

// updating are the answers of updates.
var updating = func() (out [x86.NumForms]bool) {
	for i := range x86.Forms {
		out[i] = updates(&x86.Forms[i])
	}
	return out
}()

// updates tells the forms whose destination is a source too.
func updates(f *x86.Form) bool {
	n := f.Name
	has := func(p string) bool { return len(n) >= len(p) && n[:len(p)] == p }
	switch {
	case has("VFMADD"), has("VFMSUB"), has("VFNM"), has("VPERMT2"), has("VPTERNLOG"), has("VFIXUP"), has("VGATHER"), has("VPGATHER"):
		return true
	case f.Flags&x86.Legacy != 0:
		return has("ADDQ") || has("SUBQ") || has("ANDQ") || has("ORQ") || has("XORQ") || n == "IMULQ" || has("SHLQ") || has("SHRQ") ||
			has("SARQ") || has("NEGQ") || has("NOTQ") || has("CMOVQ") || has("SET")
	}
	return false
}

// isGather tells whether the mask of the instruction is cleared by it.
func (s *step) isGather() bool {
	f := &x86.Forms[s.Op]
	return f.Flags&x86.VSIB != 0
}

// visit calls f for every register that the step reads (use) or writes (def), virtual or not.
func (s *step) visit(f func(r *x86.Reg, use, def bool)) {
	eff := writesFirst
	switch s.kind {
	case StepInst:
		eff = s.effect()
	case StepDivide, StepUDivide:
		eff = readsAll
	default:
		return
	}
	clears := s.kind == StepInst && s.isGather()
	for i := range s.Args {
		a := &s.Args[i]
		switch a.Kind {
		case x86.ArgReg:
			def := i == 0 && eff != readsAll || clears && i == 2
			f(&a.Reg, i != 0 || eff != writesFirst, def)
		case x86.ArgMem:
			if a.Mem.Base != x86.NoReg && a.Mem.Base != x86.RIP {
				f(&a.Mem.Base, true, false)
			}
			if a.Mem.Index != x86.NoReg {
				f(&a.Mem.Index, true, false)
			}
		}
	}
	if s.Mask != x86.NoReg {
		f(&s.Mask, true, clears)
	}
}
