package mach

import (
	"iter"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A Step is one line of allocated code, for what encodes it.
type Step struct {
	vcode.Inst
	Kind  StepKind
	Cond  Cond  // of a jump
	Label Label // that stands here, or is the target of a jump or call
	At    ir.Pos
	Back  bool // the jump that closes a loop
	Short bool // a division of numbers of 32 bits
	Times bool // a division that is a multiplication instead
}

// Steps are the steps of allocated code.
func (c *Code) Steps() []Step {
	out := make([]Step, len(c.steps))
	for i := range c.steps {
		out[i] = c.steps[i].public()
	}
	return out
}

// All goes through the steps of allocated code; each is there until the next.
func (c *Code) All() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i := range c.steps {
			s := c.steps[i].public()
			if !yield(&s) {
				return
			}
		}
	}
}

func (s *step) public() Step {
	return Step{s.Inst, s.kind, s.cond, s.label, s.at, s.back, s.short, s.times}
}

// LoopTops are the labels that loops go back to.
func (c *Code) LoopTops() []bool {
	tops := make([]bool, c.labels)
	for i := range c.steps {
		if c.steps[i].back {
			tops[c.steps[i].label] = true
		}
	}
	return tops
}

// Pool is the constants, which stand behind the code.
func (c *Code) Pool() []byte { return c.pool }

// Labels is the number of labels.
func (c *Code) Labels() int { return c.labels }

// ResumeAt is where the block says, in bytes, where the code continues after a yield.
func (c *Code) ResumeAt() int { return c.layout.ResumeAt }

// SetsFlags reports whether a step may change the flags, and ReadsFlags whether it depends on them.
func (s *Step) SetsFlags() bool {
	switch s.Kind {
	case StepInst:
		return s.Inst.SetsFlags()
	case StepDivide, StepUDivide:
		return true
	}
	return false
}

// ReadsFlags reports whether what a step does depends on the flags.
func (s *Step) ReadsFlags() bool {
	switch s.Kind {
	case StepInst:
		return s.Inst.ReadsFlags()
	case StepJump:
		return s.Cond != Always
	}
	return false
}
