package mach

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A Line tells which Go source line the code from Offset on belongs to, and its text.
type Line struct {
	Offset int
	At     ir.Pos
	Text   string
}

type fixup struct {
	at     int // of the 32-bit field
	end    int // of the instruction
	label  Label
	pool   int // offset in the pool, when isPool
	isPool bool
}

// Link encodes allocated code: instructions, then the constant pool, with all distances filled in.
func (c *Code) Link() (code []byte, lines []Line, places []int, err error) {
	places = make([]int, c.labels)
	l := linking{c}
	tops := l.loopTops()
	var fixups []fixup
	for i := range c.steps {
		s := &c.steps[i]
		if s.kind == StepLabel && tops[s.label] {
			code = pad(code, 32) // a short loop is fetched as it is: in one piece
		}
		start := len(code)
		var fix *fixup
		code, fix, err = l.encode(code, s, places)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%w (%s, %s)", err, s.Inst, s.at)
		}
		if c.vex && len(code) > start && code[start] == 0x62 {
			panic(fmt.Sprintf("gompss: bug: cpu: code for AVX2 holds %s, which needs AVX-512", s.Inst))
		}
		if fix != nil {
			fixups = append(fixups, *fix)
		}
		if c.Listing && (len(code) > start || s.kind == StepLabel) {
			lines = append(lines, Line{Offset: start, At: s.at, Text: l.line(s)})
		}
	}
	for len(code)%64 != 0 {
		code = append(code, 0xCC)
	}
	base := len(code)
	code = append(code, c.pool...)
	for _, f := range fixups {
		target := base + f.pool
		if !f.isPool {
			target = places[f.label]
		}
		binary.LittleEndian.PutUint32(code[f.at:], uint32(int32(target-f.end)))
	}
	return code, lines, places, nil
}

// A linking writes the steps of a code as bytes.
type linking struct{ *Code }

// loopTops are the labels that loops go back to.
func (c *linking) loopTops() []bool {
	tops := make([]bool, c.labels)
	for i := range c.steps {
		if c.steps[i].back {
			tops[c.steps[i].label] = true
		}
	}
	return tops
}

// pad adds instructions that do nothing until the length is a multiple of size.
func pad(code []byte, size int) []byte {
	nops := [...][]byte{nil, {0x90}, {0x66, 0x90}, {0x0F, 0x1F, 0x00}, {0x0F, 0x1F, 0x40, 0}, {0x0F, 0x1F, 0x44, 0, 0}, {0x66, 0x0F, 0x1F, 0x44, 0, 0},
		{0x0F, 0x1F, 0x80, 0, 0, 0, 0}, {0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0}}
	for n := (size - len(code)%size) % size; n > 0; {
		k := min(n, len(nops)-1)
		code = append(code, nops[k]...)
		n -= k
	}
	return code
}

func (c *linking) encode(code []byte, s *step, places []int) ([]byte, *fixup, error) {
	switch s.kind {
	case StepLabel:
		places[s.label] = len(code)
		return code, nil, nil
	case StepReturn:
		return append(code, 0xC5, 0xF8, 0x77, 0xC3), nil, nil // VZEROUPPER, RET
	case StepJump:
		if s.cond == Always {
			code = append(code, 0xE9)
		} else {
			code = append(code, 0x0F, 0x80|byte(s.cond))
		}
		code = append(code, 0, 0, 0, 0)
		return code, &fixup{at: len(code) - 4, end: len(code), label: s.label}, nil
	case StepCall:
		code = append(code, 0xE8, 0, 0, 0, 0)
		return code, &fixup{at: len(code) - 4, end: len(code), label: s.label}, nil
	case StepPop:
		return append(code, 0x58), nil, nil // AX
	case StepFence:
		return append(code, 0x0F, 0xAE, 0xF8), nil, nil
	case StepResume:
		return binary.LittleEndian.AppendUint32(append(code, 0xFF, 0xA7), uint32(c.layout.ResumeAt)), nil, nil // JMP through the block in DI
	case StepDivide:
		if s.times {
			code, err := x86.Append(code, x86.I(x86.IMULHQ, x86.W128, s.Args[0]))
			return code, nil, err
		}
		code = append(code, 0x48, 0x99) // CQO
		code, err := x86.Append(code, x86.I(x86.IDIVQ, x86.W128, s.Args[0]))
		return code, nil, err
	case StepUDivide:
		op := x86.DIVQ
		if s.short {
			op = x86.DIVL
		}
		code, err := x86.Append(append(code, 0x31, 0xD2), x86.I(op, x86.W128, s.Args[0])) // XORL DX, DX
		return code, nil, err
	}
	code, err := x86.Append(code, s.Inst)
	if err != nil {
		return code, nil, err
	}
	for _, a := range s.Args {
		if a.Kind == x86.ArgMem && a.Mem.Base == x86.RIP {
			at := len(code) - 4 - s.immBytes()
			return code, &fixup{at: at, end: len(code), pool: int(a.Mem.Disp), isPool: true}, nil
		}
	}
	return code, nil, nil
}

// immBytes is the number of immediate bytes that follow the displacement.
func (s *step) immBytes() int {
	switch x86.Forms[s.Op].Layout {
	case x86.LayoutRVMI, x86.LayoutRMI, x86.LayoutMRI, x86.LayoutVMI, x86.LayoutRVMX:
		return 1
	case x86.LayoutMI:
		return int(x86.Forms[s.Op].Elem)
	}
	return 0
}

var condNames = map[Cond]string{CondB: "JCS", CondAE: "JCC", CondE: "JEQ", CondNE: "JNE", CondBE: "JLS", CondA: "JHI", CondS: "JMI",
	CondL: "JLT", CondGE: "JGE", CondLE: "JLE", CondG: "JGT", Always: "JMP"}

// line is the text of a step.
func (c *linking) line(s *step) string {
	switch s.kind {
	case StepLabel:
		return fmt.Sprintf("L%d:", s.label)
	case StepJump:
		return fmt.Sprintf("\t%s L%d", condNames[s.cond], s.label)
	case StepReturn:
		return "\tVZEROUPPER; RET"
	case StepCall:
		return fmt.Sprintf("\tCALL L%d", s.label)
	case StepPop:
		return "\tPOPQ AX"
	case StepFence:
		return "\tSFENCE"
	case StepResume:
		return fmt.Sprintf("\tJMP %d(DI)", c.layout.ResumeAt)
	case StepDivide:
		if s.times {
			return "\tIMULQ " + s.Args[0].Reg.Name(x86.W128)
		}
		return "\tCQO; IDIVQ " + s.Args[0].Reg.Name(x86.W128)
	case StepUDivide:
		if s.short {
			return "\tXORL DX, DX; DIVL " + s.Args[0].Reg.Name(x86.W128)
		}
		return "\tXORL DX, DX; DIVQ " + s.Args[0].Reg.Name(x86.W128)
	}
	return "\t" + s.Inst.String()
}

// String lists the code as it stands, virtual or not.
func (c *Code) String() string {
	var b strings.Builder
	for i := range c.steps {
		b.WriteString((&linking{c}).line(&c.steps[i]))
		b.WriteByte('\n')
	}
	return b.String()
}
