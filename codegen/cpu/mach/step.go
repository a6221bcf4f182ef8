package mach

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A StepKind says what a step is.
type StepKind uint8

// The kinds of steps.
const (
	StepInst    StepKind = iota
	StepLabel            // the label stands here
	StepJump             // to the label, on cond
	StepDivide           // Acc / Args[0], signed: Acc and High are not allocated then
	StepUDivide          // unsigned
	StepReturn
	StepCall   // of the yield routine: leaves every register but Acc and Count
	StepPop    // the return address, into Acc
	StepResume // continues after a yield
	StepFence  // stores past the caches are seen before what follows
)

// A step is one line of code over virtual registers.
type step struct {
	vcode.Inst
	kind  StepKind
	cond  Cond
	label Label
	back  bool // the jump that closes a loop
	short bool // a division of numbers of 32 bits
	times bool // StepDivide: the product instead, its upper half in High
	at    ir.Pos
}

// visit calls f for every register that the step reads (use) or writes (def), virtual or not.
func (s *step) visit(f func(r *vcode.Reg, use, def bool)) {
	use := vcode.Writes
	switch s.kind {
	case StepInst:
		use = s.FirstUse()
	case StepDivide, StepUDivide:
		use = vcode.Reads
	default:
		return
	}
	clears := s.kind == StepInst && s.ClearsMask()
	for i := range s.Args {
		a := &s.Args[i]
		switch a.Kind {
		case vcode.ArgReg:
			def := i == 0 && use != vcode.Reads || clears && i == 2
			f(&a.Reg, i != 0 || use != vcode.Writes, def)
		case vcode.ArgMem:
			if a.Mem.Base != vcode.NoReg && a.Mem.Base != vcode.PoolBase {
				f(&a.Mem.Base, true, false)
			}
			if a.Mem.Index != vcode.NoReg {
				f(&a.Mem.Index, true, false)
			}
		}
	}
	if s.Mask != vcode.NoReg {
		f(&s.Mask, true, clears)
	}
}
