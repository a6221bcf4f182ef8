package amd64

import (
	"encoding/binary"
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// A fixup is a distance that is filled in at the end.
type fixup struct {
	at     int // of the 32-bit field
	end    int // of the instruction
	label  mach.Label
	pool   int // offset in the pool, when isPool
	isPool bool
}

// A linking writes the steps of a code as bytes.
type linking struct {
	code   *mach.Code
	places []int // of labels
	bytes  []byte
	fixups []fixup
}

// Link encodes allocated code: instructions, then the constant pool, with all distances filled in.
// Places are the offsets of labels. Without avx512 nothing may need AVX-512.
//
// Errors: operands that an instruction does not have.
func Link(c *mach.Code, avx512 bool) (code []byte, lines []mach.Line, places []int, err error) {
	l := &linking{code: c, places: make([]int, c.Labels())}
	tops := c.LoopTops()
	for s := range c.All() {
		if s.Kind == mach.StepLabel && tops[s.Label] {
			l.pad(32) // a short loop is fetched as it is: in one piece
		}
		start := len(l.bytes)
		in := translate(&s.Inst)
		if err := l.encode(s, in); err != nil {
			return nil, nil, nil, fmt.Errorf("%w (%s, %s)", err, in, s.At)
		}
		if !avx512 && len(l.bytes) > start && l.bytes[start] == 0x62 {
			panic(fmt.Sprintf("gompss: bug: cpu: code for AVX2 holds %s, which needs AVX-512", in))
		}
		if c.Listing && (len(l.bytes) > start || s.Kind == mach.StepLabel) {
			lines = append(lines, mach.Line{Offset: start, At: s.At, Text: l.line(s, in)})
		}
	}
	return l.finish(), lines, l.places, nil
}

// translate is in as an instruction of x86-64.
func translate(in *vcode.Inst) x86.Inst {
	out := x86.Inst{Op: forms[in.Op], Width: x86.Width(in.Width), Mask: x86.Reg(in.Mask), Zero: in.Zero}
	for i := range in.Args {
		a := &in.Args[i]
		if a.Kind == vcode.ArgNone {
			break
		}
		m := &a.Mem
		out.Args[i] = x86.Arg{Kind: x86.ArgKind(a.Kind), Reg: x86.Reg(a.Reg), Imm: a.Imm,
			Mem: x86.Mem{Base: x86.Reg(m.Base), Index: x86.Reg(m.Index), Scale: m.Scale, Disp: m.Disp, Broadcast: m.Broadcast}}
	}
	return out
}

// finish fills in the distances and appends the pool.
func (l *linking) finish() []byte {
	code := l.bytes
	for len(code)%64 != 0 {
		code = append(code, 0xCC)
	}
	base := len(code)
	code = append(code, l.code.Pool()...)
	for _, f := range l.fixups {
		target := base + f.pool
		if !f.isPool {
			target = l.places[f.label]
		}
		binary.LittleEndian.PutUint32(code[f.at:], uint32(int32(target-f.end)))
	}
	return code
}

// pad adds instructions that do nothing until the length is a multiple of size.
func (l *linking) pad(size int) {
	nops := [...][]byte{nil, {0x90}, {0x66, 0x90}, {0x0F, 0x1F, 0x00}, {0x0F, 0x1F, 0x40, 0}, {0x0F, 0x1F, 0x44, 0, 0}, {0x66, 0x0F, 0x1F, 0x44, 0, 0},
		{0x0F, 0x1F, 0x80, 0, 0, 0, 0}, {0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0}}
	for n := (size - len(l.bytes)%size) % size; n > 0; {
		k := min(n, len(nops)-1)
		l.put(nops[k]...)
		n -= k
	}
}

func (l *linking) put(b ...byte) { l.bytes = append(l.bytes, b...) }

func (l *linking) inst(in x86.Inst) (err error) {
	l.bytes, err = x86.Append(l.bytes, in)
	return err
}

// conditions are the low halves of the opcodes of jumps.
var conditions = map[mach.Cond]byte{mach.CondB: 2, mach.CondAE: 3, mach.CondE: 4, mach.CondNE: 5, mach.CondBE: 6, mach.CondA: 7, mach.CondS: 8, mach.CondL: 12, mach.CondGE: 13, mach.CondLE: 14, mach.CondG: 15}

func (l *linking) encode(s *mach.Step, in x86.Inst) error {
	switch s.Kind {
	case mach.StepLabel:
		l.places[s.Label] = len(l.bytes)
	case mach.StepReturn:
		l.put(0xC5, 0xF8, 0x77, 0xC3) // VZEROUPPER, RET
	case mach.StepJump:
		if s.Cond == mach.Always {
			l.far(s.Label, 0xE9)
		} else {
			l.far(s.Label, 0x0F, 0x80|conditions[s.Cond])
		}
	case mach.StepCall:
		l.far(s.Label, 0xE8)
	case mach.StepPop:
		l.put(0x58) // AX
	case mach.StepFence:
		l.put(0x0F, 0xAE, 0xF8)
	case mach.StepResume: // JMP through the block in DI
		l.bytes = binary.LittleEndian.AppendUint32(append(l.bytes, 0xFF, 0xA7), uint32(l.code.ResumeAt()))
	case mach.StepDivide, mach.StepUDivide:
		return l.divide(s, in.Args[0])
	default:
		return l.plain(in)
	}
	return nil
}

// far adds an opcode and the distance to a label.
func (l *linking) far(to mach.Label, opcode ...byte) {
	l.put(opcode...)
	l.put(0, 0, 0, 0)
	l.fixups = append(l.fixups, fixup{at: len(l.bytes) - 4, end: len(l.bytes), label: to})
}

func (l *linking) divide(s *mach.Step, by x86.Arg) error {
	switch {
	case s.Times:
		return l.inst(x86.I(x86.IMULHQ, x86.W128, by))
	case s.Kind == mach.StepDivide:
		l.put(0x48, 0x99) // CQO
		return l.inst(x86.I(x86.IDIVQ, x86.W128, by))
	}
	op := x86.DIVQ
	if s.Short {
		op = x86.DIVL
	}
	l.put(0x31, 0xD2) // XORL DX, DX
	return l.inst(x86.I(op, x86.W128, by))
}

func (l *linking) plain(in x86.Inst) error {
	if err := l.inst(in); err != nil {
		return err
	}
	for _, a := range in.Args {
		if a.Kind == x86.ArgMem && a.Mem.Base == x86.RIP {
			l.fixups = append(l.fixups, fixup{at: len(l.bytes) - 4 - immBytes(in.Op), end: len(l.bytes), pool: int(a.Mem.Disp), isPool: true})
			return nil
		}
	}
	return nil
}

// immBytes is the number of immediate bytes that follow the displacement.
func immBytes(op x86.Op) int {
	switch x86.Forms[op].Layout {
	case x86.LayoutRVMI, x86.LayoutRMI, x86.LayoutMRI, x86.LayoutVMI, x86.LayoutRVMX:
		return 1
	case x86.LayoutMI:
		return int(x86.Forms[op].Elem)
	}
	return 0
}

// jumps are the jumps as the Go assembler writes them.
var jumps = map[mach.Cond]string{mach.CondB: "JCS", mach.CondAE: "JCC", mach.CondE: "JEQ", mach.CondNE: "JNE", mach.CondBE: "JLS", mach.CondA: "JHI", mach.CondS: "JMI",
	mach.CondL: "JLT", mach.CondGE: "JGE", mach.CondLE: "JLE", mach.CondG: "JGT", mach.Always: "JMP"}

// line is the text of a step.
func (l *linking) line(s *mach.Step, in x86.Inst) string {
	by := func() string { return in.Args[0].Reg.Name(x86.W128) }
	switch s.Kind {
	case mach.StepLabel:
		return fmt.Sprintf("L%d:", s.Label)
	case mach.StepJump:
		return fmt.Sprintf("\t%s L%d", jumps[s.Cond], s.Label)
	case mach.StepReturn:
		return "\tVZEROUPPER; RET"
	case mach.StepCall:
		return fmt.Sprintf("\tCALL L%d", s.Label)
	case mach.StepPop:
		return "\tPOPQ AX"
	case mach.StepFence:
		return "\tSFENCE"
	case mach.StepResume:
		return fmt.Sprintf("\tJMP %d(DI)", l.code.ResumeAt())
	case mach.StepDivide:
		if s.Times {
			return "\tIMULQ " + by()
		}
		return "\tCQO; IDIVQ " + by()
	case mach.StepUDivide:
		if s.Short {
			return "\tXORL DX, DX; DIVL " + by()
		}
		return "\tXORL DX, DX; DIVQ " + by()
	}
	return "\t" + in.String()
}
