package neon

import (
	"encoding/binary"
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Temporary registers of a step.
const (
	tempAddress arm64.Reg = 16
	tempValue   arm64.Reg = 17
	tempThird   arm64.Reg = 26
	tempLast    arm64.Reg = 27

	temp0 arm64.Reg = 28 // of vectors
	temp1 arm64.Reg = 29
	temp2 arm64.Reg = 30
	temp3 arm64.Reg = 31
)

// A flagKind says what has set the flags, and so which conditions they answer.
type flagKind uint8

const (
	flagsUnknown flagKind = iota
	flagsCompare          // a subtraction: every condition
	flagsSum              // an addition or a logical operation: equal and signed conditions
	flagsZero             // equal and not equal alone
)

// A fixup is an instruction whose distance is filled in at the end.
type fixup struct {
	at    int // of its word
	inst  arm64.Inst
	label mach.Label // its target, or
	pool  int        // an offset in the pool where label is negative
}

// An encoder writes instructions of arm64 for the steps of a code.
type encoder struct {
	code    *mach.Code
	steps   []mach.Step
	at      int // the step that is encoded
	words   []uint32
	fixups  []fixup
	places  []int // of labels, in words
	pool    []byte
	long    bool        // targets may be out of reach: see reach
	copies  []poolCopy  // in long code
	weights map[int]int // offsets of the constants of laneBits, by the bytes of a lane
	flags   flagKind
	lines   []mach.Line
	recent  []recent  // what a load may pass
	temp    arm64.Reg // of the last operand that was loaded
	labels  []int     // the steps where labels stand
	source  vcode.Reg // where it is set: read in place of the operand that is overwritten
}

// The groups of operations, each of which builds on the one before.
type (
	// addressing has memory operands and constants.
	addressing struct {
		encoder
		sums sums
	}
	// generals has operations on general registers, and atomic ones.
	generals struct{ addressing }
	// vectors has operations on vectors.
	vectors struct{ generals }
	// An emitter encodes steps.
	emitter struct{ vectors }
)

// An encodeError leaves the emitter as a panic; Link returns it.
type encodeError struct{ error }

// Link encodes allocated code for arm64: instructions, then the constant pool, with all distances
// filled in. Places are the offsets of labels.
//
// Errors: an operation without a form on arm64, or code too long for its branches.
func Link(c *mach.Code) (code []byte, lines []mach.Line, places []int, err error) {
	e := &emitter{}
	for _, long := range []bool{false, true} {
		if err = e.link(c, long); err != nil || 4*len(e.words)+len(e.pool) < reach {
			break
		}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	code, err = e.finish()
	return code, e.lines, e.offsets(), err
}

// link encodes the steps of c, but for distances.
func (e *emitter) link(c *mach.Code, long bool) (err error) {
	defer caught(&err)
	*e = emitter{}
	e.encoder = encoder{long: long, code: c, steps: c.Steps(), places: make([]int, c.Labels()), pool: append([]byte(nil), c.Pool()...), weights: map[int]int{}, temp: temp0, source: vcode.NoReg, labels: make([]int, c.Labels())}
	for i := range e.steps {
		if e.steps[i].Kind == mach.StepLabel {
			e.labels[e.steps[i].Label] = i
		}
	}
	for ; e.at < len(e.steps); e.at++ {
		e.island()
		e.step(&e.steps[e.at])
	}
	return nil
}

// caught makes the panic of fail an error.
func caught(err *error) {
	if r := recover(); r != nil {
		failed, ok := r.(encodeError)
		if !ok {
			panic(r)
		}
		*err = failed.error
	}
}

// offsets are the places of labels in bytes.
func (e *encoder) offsets() []int {
	out := make([]int, len(e.places))
	for i, p := range e.places {
		out[i] = 4 * p
	}
	return out
}

func (e *encoder) fail(format string, args ...any) {
	panic(encodeError{fmt.Errorf("cpu: neon: "+format, args...)})
}

// finish fills in the distances and appends the pool.
func (e *encoder) finish() (code []byte, err error) {
	defer caught(&err)
	base := (4*len(e.words) + 63) &^ 63
	for _, f := range e.fixups {
		to := 0
		if f.label >= 0 {
			to = 4 * e.places[f.label]
		} else {
			to = e.constant(f.pool, 4*f.at, base)
		}
		f.inst.Imm = int64(to - 4*f.at)
		e.words[f.at] = e.encode(f.inst)
	}
	code = make([]byte, base, base+len(e.pool))
	for i := range base / 4 {
		w := uint32(0) // no instruction
		if i < len(e.words) {
			w = e.words[i]
		}
		binary.LittleEndian.PutUint32(code[4*i:], w)
	}
	for _, c := range e.copies {
		copy(code[c.at:], e.pool[:c.size])
	}
	return append(code, e.pool...), nil
}

func (e *encoder) encode(i arm64.Inst) uint32 {
	w, err := arm64.Encode(i)
	if err != nil {
		e.fail("%s at %s: %w", e.steps[min(e.at, len(e.steps)-1)].Inst, e.steps[min(e.at, len(e.steps)-1)].At, err)
	}
	return w
}

// put adds an instruction.
func (e *encoder) put(i arm64.Inst) {
	if e.joins(i) {
		return
	}
	e.note(i.Text())
	e.words = append(e.words, e.encode(i))
	e.remember(i)
}

// note adds a line to the listing.
func (e *encoder) note(text string) {
	if e.code.Listing {
		e.lines = append(e.lines, mach.Line{Offset: 4 * len(e.words), At: e.steps[e.at].At, Text: "\t" + text})
	}
}

// far adds an instruction whose target is a label.
func (e *encoder) far(i arm64.Inst, l mach.Label) {
	if e.long {
		e.farther(i, l)
		return
	}
	e.fix(fixup{inst: i, label: l})
}

// pooled adds an instruction whose target is a constant.
func (e *encoder) pooled(i arm64.Inst, offset int) {
	e.fix(fixup{inst: i, label: -1, pool: offset})
}

// fix adds an instruction whose distance is filled in at the end.
func (e *encoder) fix(f fixup) {
	f.at = len(e.words)
	e.fixups = append(e.fixups, f)
	if e.code.Listing {
		to := fmt.Sprintf("L%d", f.label)
		if f.label < 0 {
			to = fmt.Sprintf("pool+%d", f.pool)
		}
		e.note(f.inst.Text() + " -> " + to)
	}
	e.words = append(e.words, 0)
	e.remember(f.inst)
}

// hole adds a branch forward within a step; fill lets it end here.
func (e *encoder) hole(i arm64.Inst) (fill func()) {
	at := len(e.words)
	e.note(i.Text())
	e.words = append(e.words, 0)
	e.recent = e.recent[:0]
	return func() {
		e.recent = e.recent[:0]
		i.Imm = int64(4 * (len(e.words) - at))
		e.words[at] = e.encode(i)
	}
}

// back adds a branch to a word of the same step.
func (e *encoder) back(i arm64.Inst, to int) {
	i.Imm = int64(4 * (to - len(e.words)))
	e.put(i)
}

// general is the register of arm64 for a general register of virtual code.
func (e *encoder) general(r vcode.Reg) arm64.Reg {
	switch {
	case r == vcode.Block:
		return 0
	case r == vcode.Acc:
		return 1
	case r == vcode.Count:
		return 2
	case r == vcode.High:
		return 3
	case r == vcode.R(3):
		return 4
	case r == vcode.R(4):
		return 5
	case r == vcode.R(5):
		return 6
	case r == vcode.R(6):
		return 7
	case r >= vcode.R(8) && r < vcode.V0:
		return arm64.Reg(r)
	}
	e.fail("%s is no general register: %s", r, e.steps[e.at].Inst)
	return 0
}

// first is the register of arm64 that an operation reads whose first operand d is overwritten.
func (e *encoder) first(d arm64.Reg) arm64.Reg {
	if e.source != vcode.NoReg {
		return e.general(e.source)
	}
	return d
}

// vector is the register of arm64 for a vector of virtual code.
func (e *encoder) vector(r vcode.Reg) arm64.Reg {
	if r < vcode.V0 || r >= vcode.V(28) {
		e.fail("%s is no vector: %s", r, e.steps[e.at].Inst)
	}
	return arm64.Reg(r - vcode.V0)
}

// flagsWanted reports whether a later step looks at the flags of the one that is encoded.
func (e *encoder) flagsWanted() bool {
	for i := e.at + 1; i < len(e.steps); i++ {
		s := &e.steps[i]
		switch {
		case s.ReadsFlags():
			return true
		case s.SetsFlags(), s.Kind == mach.StepJump, s.Kind == mach.StepReturn, s.Kind == mach.StepResume:
			return false
		}
	}
	return false
}

// conditions are those of arm64 for what a subtraction has compared.
var conditions = map[mach.Cond]arm64.Cond{mach.CondB: arm64.LO, mach.CondAE: arm64.HS, mach.CondE: arm64.EQ, mach.CondNE: arm64.NE, mach.CondBE: arm64.LS, mach.CondA: arm64.HI,
	mach.CondS: arm64.MI, mach.CondL: arm64.LT, mach.CondGE: arm64.GE, mach.CondLE: arm64.LE, mach.CondG: arm64.GT}

// condition is that of arm64, which the flags must be able to answer.
func (e *encoder) condition(k mach.Cond) arm64.Cond {
	ok := e.flags == flagsCompare
	switch k {
	case mach.CondE, mach.CondNE:
		ok = e.flags != flagsUnknown
	case mach.CondS, mach.CondL, mach.CondGE, mach.CondLE, mach.CondG:
		ok = ok || e.flags == flagsSum
	}
	if !ok {
		e.fail("condition %d after flags of kind %d", k, e.flags)
	}
	return conditions[k]
}

// step encodes one step.
func (e *emitter) step(s *mach.Step) {
	switch s.Kind {
	case mach.StepLabel:
		e.places[s.Label] = len(e.words)
		e.sums.forget()
		e.recent = e.recent[:0]
		if e.code.Listing {
			e.lines = append(e.lines, mach.Line{Offset: 4 * len(e.words), At: s.At, Text: fmt.Sprintf("L%d:", s.Label)})
		}
	case mach.StepJump:
		e.jump(s)
	case mach.StepDivide, mach.StepUDivide:
		e.divide(s)
	case mach.StepReturn:
		e.put(arm64.Inst{Op: arm64.RET, N: 30})
		e.flags = flagsUnknown
	case mach.StepCall: // the return address in Acc, not in R30, which is Go's
		e.put(arm64.Inst{Op: arm64.ADR, D: e.general(vcode.Acc), Imm: 8})
		e.far(arm64.Inst{Op: arm64.B}, s.Label)
		e.sums.forget()
		e.flags = flagsUnknown
	case mach.StepPop: // it is there already
	case mach.StepResume:
		e.put(arm64.Inst{Op: arm64.LDR, D: tempAddress, N: 0, Imm: int64(e.code.ResumeAt())})
		e.put(arm64.Inst{Op: arm64.BR, N: tempAddress})
		e.flags = flagsUnknown
	case mach.StepFence:
		e.put(arm64.Inst{Op: arm64.DMBISH})
	case mach.StepInst:
		if e.fused(s) {
			return
		}
		e.instruction(&s.Inst)
		if s.Args[0].Kind == vcode.ArgReg && s.Args[0].Reg < vcode.V0 {
			e.sums.changed(e.general(s.Args[0].Reg))
		}
	default:
		e.fail("step of kind %d", s.Kind)
	}
}

func (e *emitter) jump(s *mach.Step) {
	if s.Cond == mach.Always {
		e.far(arm64.Inst{Op: arm64.B}, s.Label)
		e.flags = flagsUnknown
		return
	}
	e.far(arm64.Inst{Op: arm64.BCOND, Cond: e.condition(s.Cond)}, s.Label)
}

// divide is Acc / r: the quotient in Acc, the rest in High; or the product, its upper half in High.
func (e *emitter) divide(s *mach.Step) {
	ax, dx, r := e.general(vcode.Acc), e.general(vcode.High), e.general(s.Args[0].Reg)
	op, times := arm64.SDIV, arm64.MSUB
	switch {
	case s.Times:
		e.put(arm64.Inst{Op: arm64.SMULH, D: tempValue, N: ax, M: r})
		e.put(arm64.Inst{Op: arm64.MADD, D: ax, N: ax, M: r, A: arm64.ZR})
		e.move(dx, tempValue)
		e.sums.forget()
		return
	case s.Kind == mach.StepUDivide && s.Short:
		op, times = arm64.UDIVW, arm64.MSUBW
	case s.Kind == mach.StepUDivide:
		op = arm64.UDIV
	}
	e.put(arm64.Inst{Op: op, D: tempValue, N: ax, M: r})
	e.put(arm64.Inst{Op: times, D: dx, N: tempValue, M: r, A: ax})
	e.move(ax, tempValue)
	e.sums.forget()
	e.flags = flagsUnknown
}

// instruction encodes an instruction by the group that it belongs to.
func (e *emitter) instruction(in *vcode.Inst) {
	if in.Mask != vcode.NoReg {
		e.fail("%s: no form under a mask", in)
	}
	for _, group := range []func(*vcode.Inst) bool{e.generalOp, e.atomicOp, e.moveOp, e.threeOp, e.twoOp, e.shiftOp, e.permuteOp, e.convertOp, e.laneOp} {
		if group(in) {
			return
		}
	}
	e.fail("%s: no form on arm64", in)
}
