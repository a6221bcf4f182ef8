package mach

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Line tells which Go source line the code from Offset on belongs to, and its text.
type Line struct {
	Offset int
	At     ir.Pos
	Text   string
}

var condNames = map[Cond]string{CondB: "below", CondAE: "above or equal", CondE: "equal", CondNE: "not equal", CondBE: "below or equal", CondA: "above", CondS: "negative",
	CondL: "less", CondGE: "greater or equal", CondLE: "less or equal", CondG: "greater", Always: "always"}

var kindNames = map[StepKind]string{StepDivide: "Divide", StepUDivide: "DivideUnsigned", StepReturn: "Return", StepPop: "PopReturn", StepResume: "Resume", StepFence: "Fence"}

// line is the text of a step.
func (s *step) line() string {
	switch s.kind {
	case StepInst:
		return "\t" + s.Inst.String()
	case StepLabel:
		return fmt.Sprintf("L%d:", s.label)
	case StepJump:
		return fmt.Sprintf("\tJump L%d if %s", s.label, condNames[s.cond])
	case StepCall:
		return fmt.Sprintf("\tCall L%d", s.label)
	case StepDivide, StepUDivide:
		if s.times {
			return "\tMultiplyHigh " + s.Args[0].String()
		}
		return "\t" + kindNames[s.kind] + " " + s.Args[0].String()
	}
	return "\t" + kindNames[s.kind]
}

// String lists the code as it stands, virtual or not.
func (c *Code) String() string {
	var b strings.Builder
	for i := range c.steps {
		b.WriteString(c.steps[i].line())
		b.WriteByte('\n')
	}
	return b.String()
}
