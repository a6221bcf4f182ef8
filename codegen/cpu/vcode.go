package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A class is a register class.
type class uint8

const (
	general class = iota
	vector
	mask
)

// A cond is the condition code of a jump, as the low half of its opcode; always is an unconditional jump.
type cond uint8

const (
	condB  cond = 2 // unsigned below
	condAE cond = 3
	condE  cond = 4
	condNE cond = 5
	condBE cond = 6
	condA  cond = 7
	condS  cond = 8 // negative
	condL  cond = 12
	condGE cond = 13
	condLE cond = 14
	condG  cond = 15
	always cond = 16
)

// not is the opposite condition.
func (c cond) not() cond { return c ^ 1 }

// A label is a place in the code that jumps go to.
type label int

type stepKind uint8

const (
	stepInst    stepKind = iota
	stepLabel            // the label stands here
	stepJump             // to the label, on cond
	stepDivide           // DX:AX / Args[0], signed: AX and DX are never allocated
	stepUDivide          // unsigned
	stepReturn
	stepCall   // of the yield routine: leaves every register but AX and CX
	stepPop    // AX
	stepResume // goes on after a yield
	stepFence  // SFENCE: stores past the caches are seen before what follows
)

// A step is one line of code over virtual registers.
type step struct {
	x86.Inst
	kind  stepKind
	cond  cond
	label label
	back  bool // the jump that closes a loop
	short bool // a division of numbers of 32 bits
	at    ir.Pos
}

// A vcode is code over virtual registers, before register allocation.
type vcode struct {
	steps   []step
	classes []class // of virtual register i
	labels  int
	pool    []byte           // constants, behind the code
	vex     bool             // nothing may need AVX-512
	cold    int              // the first step of what is seldom run; 0: nothing is
	near    bool             // registers are given out as if what is seldom run stood behind the jumps to it
	order   []int            // then, the steps in that order
	yields  map[x86.Reg]bool // registers that are given up before others: their values are as good in memory
	spill   int              // bytes of spilled values
	at      ir.Pos           // of the steps that are added
	entry   []step           // in front of all others, when the code is finished
	layout  layout
	text    bool // link writes lines of text
}

// A layout says where code finds what it keeps in the block of memory that DI points to.
type layout struct {
	spill     int // bytes before spilled values
	mostSpill int // bytes that these may take
	resume    int // bytes before the address to go on at after a yield
}

// newCode is empty code for a processor with AVX-512 or, with vex, without; steps is how many it may have.
func newCode(l layout, vex bool, steps int) vcode {
	return vcode{layout: l, vex: vex, steps: make([]step, 0, steps)}
}

func (c *vcode) reg(k class) x86.Reg {
	c.classes = append(c.classes, k)
	return x86.FirstVirtual + x86.Reg(len(c.classes)-1)
}

func (c *vcode) general() x86.Reg { return c.reg(general) }
func (c *vcode) vector() x86.Reg  { return c.reg(vector) }
func (c *vcode) mask() x86.Reg    { return c.reg(mask) }

func (c *vcode) newLabel() label {
	c.labels++
	return label(c.labels - 1)
}

func (c *vcode) emit(in x86.Inst) { c.steps = append(c.steps, step{Inst: in, at: c.at}) }

// op adds an instruction on whole general registers, or a vector instruction of width w.
func (c *vcode) op(op x86.Op, w x86.Width, args ...x86.Arg) { c.emit(x86.I(op, w, args...)) }

func (c *vcode) place(l label) {
	c.steps = append(c.steps, step{Inst: x86.Inst{Mask: x86.NoReg}, kind: stepLabel, label: l, at: c.at})
}

// again jumps back to where a loop begins: what is in between counts more when registers are short.
func (c *vcode) again(k cond, l label) {
	c.jump(k, l)
	c.steps[len(c.steps)-1].back = true
}

func (c *vcode) jump(k cond, l label) {
	c.steps = append(c.steps, step{Inst: x86.Inst{Mask: x86.NoReg}, kind: stepJump, cond: k, label: l, at: c.at})
}

func (c *vcode) ret() {
	c.steps = append(c.steps, step{Inst: x86.Inst{Mask: x86.NoReg}, kind: stepReturn, at: c.at})
}

// call calls a routine of this code, which leaves every register but AX and CX.
func (c *vcode) call(l label) {
	c.steps = append(c.steps, step{Inst: x86.Inst{Mask: x86.NoReg}, kind: stepCall, label: l, at: c.at})
}

// plain adds a step that has no operands and belongs to no line.
func (c *vcode) plain(k stepKind) {
	c.steps = append(c.steps, step{Inst: x86.Inst{Mask: x86.NoReg}, kind: k})
}

// popAX takes the return address off the stack.
func (c *vcode) popAX() { c.plain(stepPop) }

// resume jumps to where the block says that the code goes on.
func (c *vcode) resume() { c.plain(stepResume) }

// fence makes stores past the caches seen before what follows.
func (c *vcode) fence() { c.plain(stepFence) }

// divideSigned divides AX by r: the quotient is in AX, the remainder in DX.
func (c *vcode) divideSigned(r x86.Reg) {
	c.steps = append(c.steps, step{Inst: x86.I(x86.NoOp, x86.W128, x86.RegArg(r)), kind: stepDivide, at: c.at})
}

// divideUnsigned divides AX by r; short says that both are numbers of 32 bits.
func (c *vcode) divideUnsigned(r x86.Reg, short bool) {
	c.steps = append(c.steps, step{Inst: x86.I(x86.NoOp, x86.W128, x86.RegArg(r)), kind: stepUDivide, short: short, at: c.at})
}

// divides tells whether the code uses AX and DX for divisions.
func (c *vcode) divides() bool {
	for i := range c.steps {
		if k := c.steps[i].kind; k == stepDivide || k == stepUDivide {
			return true
		}
	}
	return false
}

// size is the number of steps.
func (c *vcode) size() int { return len(c.steps) }

// truncate takes back all steps from the n-th on.
func (c *vcode) truncate(n int) { c.steps = c.steps[:n] }

// atEntry adds the steps that f adds to the entry instead: they run once, before all others.
func (c *vcode) atEntry(f func()) {
	steps := c.steps
	c.steps = c.entry
	f()
	c.entry, c.steps = c.steps, steps
}

// loadAtEntry sets r from the pool once, at the entry.
func (c *vcode) loadAtEntry(op x86.Op, w x86.Width, r x86.Reg, offset int) {
	c.entry = append(c.entry, step{Inst: x86.I(op, w, x86.RegArg(r), poolAt(offset))})
}

// seldom says that what follows is seldom run: reports of failed checks, routines.
func (c *vcode) seldom() { c.cold = len(c.steps) }

// joinEntry puts the entry in front of all else; it returns how many steps the code has without it.
func (c *vcode) joinEntry() (size int) {
	size = len(c.steps)
	c.cold += len(c.entry)
	c.steps, c.entry = append(c.entry, c.steps...), nil
	return size
}

// classOf is the class of a virtual register.
func (c *vcode) classOf(r x86.Reg) class { return c.classes[r-x86.FirstVirtual] }

// spillFirst marks a register whose value is better in memory than that of a register which changes in each round: it is loaded as fast as it
// is made.
func (c *vcode) spillFirst(r x86.Reg) x86.Reg {
	if c.yields == nil {
		c.yields = map[x86.Reg]bool{}
	}
	c.yields[r] = true
	return r
}

// poolWord adds a constant to the pool and returns its offset.
func (c *vcode) poolWord(bits uint64, size int) int {
	c.alignPool(size)
	at := len(c.pool)
	for i := range size {
		c.pool = append(c.pool, byte(bits>>(8*i)))
	}
	return at
}

// alignPool lets the next constant begin at a multiple of size bytes, and returns its offset.
func (c *vcode) alignPool(size int) int {
	for len(c.pool)%size != 0 {
		c.pool = append(c.pool, 0)
	}
	return len(c.pool)
}

// poolAt is the constant at an offset of the pool.
func poolAt(offset int) x86.Arg {
	return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(offset)})
}

// effect says how an instruction uses its first operand and what else it changes.
type effect uint8

const (
	writesFirst  effect = iota // defines Args[0]
	updatesFirst               // reads and defines Args[0]
	readsAll                   // a store, a compare, a test
)

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
	case stepInst:
		eff = s.effect()
	case stepDivide, stepUDivide:
		eff = readsAll
	default:
		return
	}
	clears := s.kind == stepInst && s.isGather()
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
