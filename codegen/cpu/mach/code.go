package mach

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A Class is a register class.
type Class uint8

const (
	General Class = iota // 64 bits: integers and addresses
	Vector
	Mask // where masks are registers of their own
)

// A Cond is the condition of a jump; the opposite differs in the lowest bit.
type Cond uint8

const (
	CondB  Cond = 2  // unsigned below
	CondAE Cond = 3  // unsigned above or equal
	CondE  Cond = 4  // equal
	CondNE Cond = 5  // not equal
	CondBE Cond = 6  // unsigned below or equal
	CondA  Cond = 7  // unsigned above
	CondS  Cond = 8  // negative
	CondL  Cond = 12 // signed less
	CondGE Cond = 13 // signed greater or equal
	CondLE Cond = 14 // signed less or equal
	CondG  Cond = 15 // signed greater
	Always Cond = 16 // an unconditional jump
)

// Not is the opposite condition.
func (c Cond) Not() Cond { return c ^ 1 }

// A Label is a place in the code that jumps go to.
type Label int

// A Code is code over virtual registers, before register allocation.
type Code struct {
	steps      []step
	classes    []Class // of virtual register i
	labels     int
	pool       []byte             // constants, behind the code
	cold       int                // the first step of what is seldom run; 0: nothing is
	near       bool               // the code works on single numbers
	order      []int              // the steps in the order in which registers are given out
	yields     map[vcode.Reg]bool // registers that are given up before others: their values are as good in memory
	SpillBytes int                // bytes of spilled values
	At         ir.Pos             // of the steps that are added
	entry      []step             // in front of all others, when the code is finished
	deepest    int                // loops around a step, up to two
	layout     Layout
	Listing    bool // link writes lines of text
}

// A Layout says where code finds what it keeps in the block of memory that register Block points
// to.
type Layout struct {
	SpillAt   int // bytes before spilled values
	MostSpill int // bytes that these may take
	ResumeAt  int // bytes before the address to continue at after a yield
}

// New is empty code; steps is how many it may have.
func New(l Layout, steps int) Code {
	return Code{layout: l, steps: make([]step, 0, steps)}
}

// ErrRegisters is what code panics with where it asks for more virtual registers than have numbers.
var ErrRegisters = fmt.Errorf("it needs more than %d virtual registers", mostRegisters)

const mostRegisters = int(vcode.NoReg - vcode.FirstVirtual)

func (c *Code) reg(k Class) vcode.Reg {
	if len(c.classes) == mostRegisters {
		panic(ErrRegisters)
	}
	c.classes = append(c.classes, k)
	return vcode.FirstVirtual + vcode.Reg(len(c.classes)-1)
}

// NewGeneral returns a fresh virtual register for an integer or an address.
func (c *Code) NewGeneral() vcode.Reg { return c.reg(General) }

// NewVector returns a fresh virtual vector register.
func (c *Code) NewVector() vcode.Reg { return c.reg(Vector) }

// NewMask returns a fresh virtual mask register.
func (c *Code) NewMask() vcode.Reg { return c.reg(Mask) }

// NewLabel returns a label that stands nowhere yet.
func (c *Code) NewLabel() Label {
	c.labels++
	return Label(c.labels - 1)
}

// Emit adds an instruction.
func (c *Code) Emit(in vcode.Inst) { c.steps = append(c.steps, step{Inst: in, at: c.At}) }

// Op adds an instruction on whole general registers, or a vector instruction of width w.
func (c *Code) Op(op vcode.Op, w vcode.Width, args ...vcode.Arg) { c.Emit(vcode.I(op, w, args...)) }

// Place lets the label stand here.
func (c *Code) Place(l Label) {
	c.steps = append(c.steps, step{Inst: vcode.Inst{Mask: vcode.NoReg}, kind: StepLabel, label: l, at: c.At})
}

// JumpBack jumps back to where a loop begins: what is in between counts more when registers are
// short.
func (c *Code) JumpBack(k Cond, l Label) {
	c.Jump(k, l)
	c.steps[len(c.steps)-1].back = true
}

// Jump jumps to l on condition k.
func (c *Code) Jump(k Cond, l Label) {
	c.steps = append(c.steps, step{Inst: vcode.Inst{Mask: vcode.NoReg}, kind: StepJump, cond: k, label: l, at: c.At})
}

// Return leaves the code.
func (c *Code) Return() {
	c.steps = append(c.steps, step{Inst: vcode.Inst{Mask: vcode.NoReg}, kind: StepReturn, at: c.At})
}

// Call calls a routine of this code, which leaves every register but Acc and Count.
func (c *Code) Call(l Label) {
	c.steps = append(c.steps, step{Inst: vcode.Inst{Mask: vcode.NoReg}, kind: StepCall, label: l, at: c.At})
}

// plain adds a step that has no operands and belongs to no line.
func (c *Code) plain(k StepKind) {
	c.steps = append(c.steps, step{Inst: vcode.Inst{Mask: vcode.NoReg}, kind: k})
}

// PopReturn leaves the return address in Acc.
func (c *Code) PopReturn() { c.plain(StepPop) }

// Resume jumps to where the block says that the code continues.
func (c *Code) Resume() { c.plain(StepResume) }

// Fence makes stores past the caches seen before what follows.
func (c *Code) Fence() { c.plain(StepFence) }

// DivideSigned divides Acc by r: the quotient is in Acc, the remainder in High.
func (c *Code) DivideSigned(r vcode.Reg) {
	c.steps = append(c.steps, step{Inst: vcode.I(vcode.NoOp, vcode.W128, vcode.RegArg(r)), kind: StepDivide, at: c.At})
}

// MultiplyHigh multiplies Acc by r, both with signs: the upper half of the product is in High.
func (c *Code) MultiplyHigh(r vcode.Reg) {
	c.DivideSigned(r)
	c.steps[len(c.steps)-1].times = true
}

// DivideUnsigned divides Acc by r; short says that both are numbers of 32 bits.
func (c *Code) DivideUnsigned(r vcode.Reg, short bool) {
	c.steps = append(c.steps, step{Inst: vcode.I(vcode.NoOp, vcode.W128, vcode.RegArg(r)), kind: StepUDivide, short: short, at: c.At})
}

// Divides reports whether the code uses Acc and High for divisions.
func (c *Code) Divides() bool {
	for i := range c.steps {
		if k := c.steps[i].kind; k == StepDivide || k == StepUDivide {
			return true
		}
	}
	return false
}

// Len is the number of steps.
func (c *Code) Len() int { return len(c.steps) }

// Kept reports whether step made r of another register, and the code behind it is straight and
// changes neither of the two.
func Kept(c *Code, step int, r, of vcode.Reg) bool {
	if step >= len(c.steps) || c.steps[step].kind != StepInst || c.steps[step].Args[0].Reg != r {
		return false
	}
	for i := step + 1; i < len(c.steps); i++ {
		s := &c.steps[i]
		if s.kind == StepLabel || s.kind == StepCall {
			return false
		}
		changed := false
		s.visit(func(x *vcode.Reg, _, def bool) { changed = changed || def && (*x == r || *x == of) })
		if changed {
			return false
		}
	}
	return true
}

// Truncate takes back all steps from the n-th on.
func (c *Code) Truncate(n int) { c.steps = c.steps[:n] }

// AtEntry adds the steps that f adds to the entry instead: they run once, before all others.
func (c *Code) AtEntry(f func()) {
	steps := c.steps
	c.steps = c.entry
	f()
	c.entry, c.steps = c.steps, steps
}

// LoadAtEntry sets r from the pool once, at the entry.
func (c *Code) LoadAtEntry(op vcode.Op, w vcode.Width, r vcode.Reg, offset int) {
	c.entry = append(c.entry, step{Inst: vcode.I(op, w, vcode.RegArg(r), PoolAt(offset))})
}

// SeldomFromHere says that what follows is seldom run: reports of failed checks, routines.
func (c *Code) SeldomFromHere() { c.cold = len(c.steps) }

// JoinEntry puts the entry in front of all else; it returns how many steps the code has without it.
func (c *Code) JoinEntry() (size int) {
	size = len(c.steps)
	c.cold += len(c.entry)
	c.steps, c.entry = append(c.entry, c.steps...), nil
	return size
}

// ClassOf is the class of a virtual register.
func (c *Code) ClassOf(r vcode.Reg) Class { return c.classes[r-vcode.FirstVirtual] }

// SpillFirst marks a register whose value is better in memory than that of a register which changes
// in each round: it is loaded as fast as it is made.
func (c *Code) SpillFirst(r vcode.Reg) vcode.Reg {
	if c.yields == nil {
		c.yields = map[vcode.Reg]bool{}
	}
	c.yields[r] = true
	return r
}

// PoolWord adds a constant to the pool and returns its offset.
func (c *Code) PoolWord(bits uint64, size int) int {
	c.AlignPool(size)
	at := len(c.pool)
	for i := range size {
		c.pool = append(c.pool, byte(bits>>(8*i)))
	}
	return at
}

// AlignPool lets the next constant begin at a multiple of size bytes, and returns its offset.
func (c *Code) AlignPool(size int) int {
	for len(c.pool)%size != 0 {
		c.pool = append(c.pool, 0)
	}
	return len(c.pool)
}

// PoolAt is the constant at an offset of the pool.
func PoolAt(offset int) vcode.Arg {
	return vcode.MemArg(vcode.Mem{Base: vcode.PoolBase, Index: vcode.NoReg, Disp: int32(offset)})
}
