package mach

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A Step is one line of allocated code, for what encodes it for another machine than x86-64.
type Step struct {
	x86.Inst
	Kind  StepKind
	Cond  Cond  // of a jump
	Label Label // that stands here, or is the target of a jump or call
	At    ir.Pos
	Short bool // a division of numbers of 32 bits
	Times bool // a division that is a multiplication instead
}

// Steps are the steps of allocated code.
func (c *Code) Steps() []Step {
	out := make([]Step, len(c.steps))
	for i := range c.steps {
		s := &c.steps[i]
		out[i] = Step{s.Inst, s.kind, s.cond, s.label, s.at, s.short, s.times}
	}
	return out
}

// Pool is the constants, which stand behind the code.
func (c *Code) Pool() []byte { return c.pool }

// Labels is the number of labels.
func (c *Code) Labels() int { return c.labels }

// ResumeAt is where the block says, in bytes, where the code continues after a yield.
func (c *Code) ResumeAt() int { return c.layout.ResumeAt }

// SetsFlags tells whether a step may change the flags, and ReadsFlags whether it depends on them.
func (s *Step) SetsFlags() bool {
	switch s.Kind {
	case StepInst:
		return (&step{Inst: s.Inst, kind: StepInst}).setsFlags()
	case StepDivide, StepUDivide:
		return true
	}
	return false
}

// ReadsFlags tells whether what a step does depends on the flags.
func (s *Step) ReadsFlags() bool {
	switch s.Kind {
	case StepInst:
		return (&step{Inst: s.Inst, kind: StepInst}).readsFlags()
	case StepJump:
		return s.Cond != Always
	}
	return false
}
