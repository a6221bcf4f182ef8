package mach

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// A RegisterFile is the registers of one machine that the allocator may hand out, and those kept
// back to move spilled values.
type RegisterFile struct {
	Free    [3][]vcode.Reg // by class
	Scratch [3][]vcode.Reg // kept back
	Width   vcode.Width    // of a spilled vector
	Seldom  bool           // vectors of what is seldom run alone are not counted where they are spilled
	whole   [3]bool        // none of the class is kept back: no value of it may be spilled
}

// takeBack hands out the registers of a class that are kept back to move spilled values, but for
// Acc.
func (f *RegisterFile) takeBack(k Class) {
	if n := len(f.Free[k]); n > 1 {
		f.Free[k] = append(slices.Clone(f.Free[k]), slices.DeleteFunc(slices.Clone(f.Scratch[k]), func(r vcode.Reg) bool { return r == vcode.Acc })...)
		f.whole[k] = true
	}
}

// hotMask is the weight of a mask that is set and used in a loop inside another, or, where there is
// none, in a loop.
func (c *allocation) hotMask() float64 { return []float64{2, 2 * 8, 2 * 8 * 8}[c.deepest] }

// KeepOne leaves one register of each class to hand out, so that nearly every value is spilled: for
// tests.
func (f *RegisterFile) KeepOne() {
	for k := range f.Free {
		f.Free[k] = f.Free[k][:1]
	}
}

// Allocate gives every virtual register a machine register or a spill slot, by linear scan over
// covering intervals, and rewrites the code. It returns how many vectors had to be spilled, and
// masks that are used in the inner loops, each use of which goes through memory and a general
// register.
//
// Source: Poletto and Sarkar, "Linear Scan Register Allocation", TOPLAS 1999, section 4; differs:
// the victim is the interval that is used least, loops counting more, not the one that ends last.
func (c *Code) Allocate(f RegisterFile) (spilled, masks int, err error) {
	a := allocation{flow{c}}
	all := a.intervals()
	slices.SortStableFunc(all, func(a, b interval) int { return a.lo - b.lo })
	tried := f // where no value of a class is spilled, nothing needs the registers that are kept back for that
	if c.near {
		tried.takeBack(General)
	}
	tried.takeBack(Vector)
	tried.takeBack(Mask)
	for {
		spills, fits := [3]int{}, true
		spilled, masks, spills, err = a.scan(slices.Clone(all), tried)
		for k, n := range spills {
			if n > 0 && tried.whole[k] {
				tried.Free[k], tried.whole[k], fits = f.Free[k], false, false
			}
		}
		if fits || err != nil {
			return spilled, masks, err
		}
	}
}

// An allocation gives registers and slots to the values of a code.
type allocation struct{ flow }

// scan hands out the registers. Where a class of which none is kept back needs more, it only says
// how many slots each class has.
func (c *allocation) scan(all []interval, f RegisterFile) (spilled, masks int, spills [3]int, err error) {
	byReg := make([]*interval, len(c.classes))
	var slots [3][]int // by class: the last step of the last value that each slot held
	var active [3][]*interval
	free := [3][]vcode.Reg{slices.Clone(f.Free[0]), slices.Clone(f.Free[1]), slices.Clone(f.Free[2])}
	for i := range all {
		v := &all[i]
		byReg[v.reg-vcode.FirstVirtual] = v
		k := c.classes[v.reg-vcode.FirstVirtual]
		active[k], free[k] = expire(active[k], free[k], v.lo)
		if c.takeOver(v, byReg, active[k]) {
			continue
		}
		if len(free[k]) > 0 {
			v.phys = free[k][0]
			free[k] = free[k][1:]
			active[k] = append(active[k], v)
			continue
		}
		victim := v
		at := -1
		for j, a := range active[k] {
			if c.near && k == General && a.rarer(victim) || (!c.near || k != General) && a.cheaper(victim) {
				victim, at = a, j
			}
		}
		if at >= 0 {
			v.phys, victim.phys = victim.phys, vcode.NoReg
			active[k][at] = v
		}
		victim.takeSlot(&slots[k])
		switch {
		case k == Vector && c.yields[victim.reg]: // expected: its value is as good in memory
		case k == Vector && f.Seldom && victim.weight < 1: // all its uses are seldom run
		case k == Vector:
			spilled++
		case k == Mask && victim.weight >= c.hotMask():
			masks++
		}
	}
	narrow := len(slots[General]) + len(slots[Mask])
	if need := 8*narrow + f.Width.Bytes()*len(slots[Vector]); need > c.layout.MostSpill {
		return spilled, masks, spills, fmt.Errorf("cpu: registers: %d values in memory at once need %d bytes, a block has %d at most", narrow+len(slots[Vector]), need, c.layout.MostSpill)
	} else {
		c.SpillBytes = need
	}
	for k := range slots {
		spills[k] = len(slots[k])
	}
	for k, n := range spills {
		if n > 0 && f.whole[k] {
			return spilled, masks, spills, nil
		}
	}
	behind := f.Width.Bytes() * len(slots[Vector])
	for i := range all { // slots become offsets: whole vectors, which begin where no line is split, then 8 bytes each
		v := &all[i]
		k := c.classes[v.reg-vcode.FirstVirtual]
		switch {
		case v.slot < 0:
		case k == Vector:
			v.slot *= f.Width.Bytes()
		case k == Mask:
			v.slot = behind + 8*(len(slots[General])+v.slot)
		default:
			v.slot = behind + 8*v.slot
		}
	}
	if spills == [3]int{} {
		c.settle(byReg)
	} else {
		c.rewrite(byReg, f)
	}
	return spilled, masks, spills, nil
}

// takeSlot gives v the first slot that is free from its first step on.
func (v *interval) takeSlot(slots *[]int) {
	for i, until := range *slots {
		if until < v.lo {
			v.slot, (*slots)[i] = i, v.hi
			return
		}
	}
	v.slot = len(*slots)
	*slots = append(*slots, v.hi)
}

// takeOver gives v the register of the value that it is a copy of, where that one ends with the
// copy.
func (c *allocation) takeOver(v *interval, byReg []*interval, active []*interval) bool {
	s := &c.steps[c.order[v.lo]]
	if s.kind != StepInst || !isCopy(s) || s.Args[0].Reg != v.reg {
		return false
	}
	if !s.Args[1].Reg.IsVirtual() {
		return false
	}
	from := byReg[s.Args[1].Reg-vcode.FirstVirtual]
	if from == nil || from.hi != v.lo || from.phys == vcode.NoReg || from.slot >= 0 {
		return false
	}
	for i, a := range active {
		if a == from {
			v.phys, active[i] = from.phys, v
			return true
		}
	}
	return false
}

// isCopy tells a plain move between registers of one class.
func isCopy(s *step) bool {
	switch s.Op {
	case vcode.Store64, vcode.VStoreF32, vcode.MaskMove:
		return s.Mask == vcode.NoReg && s.Args[0].Kind == vcode.ArgReg && s.Args[1].Kind == vcode.ArgReg
	}
	return false
}

// cheaper reports whether spilling v costs less than spilling w; of equals the one that ends last
// goes.
func (v *interval) cheaper(w *interval) bool {
	return v.weight < w.weight || v.weight == w.weight && v.hi > w.hi
}

// rarer is cheaper for code of single numbers: a number that is used at once frees nothing, and
// would only go to memory and back.
func (v *interval) rarer(w *interval) bool {
	x, y := v.weight, w.weight
	if v.hi-v.lo < shortLife {
		x *= 8
	}
	if w.hi-w.lo < shortLife {
		y *= 8
	}
	return x < y || x == y && v.hi > w.hi
}

// shortLife is the number of steps that a number lives at least to be worth a place in memory.
const shortLife = 6

func expire(active []*interval, free []vcode.Reg, at int) ([]*interval, []vcode.Reg) {
	kept := active[:0]
	for _, a := range active {
		if a.hi < at {
			free = append(free, a.phys)
		} else {
			kept = append(kept, a)
		}
	}
	return kept, free
}

// settle replaces virtual registers where none is spilled, and leaves out copies of a register to
// itself.
func (c *allocation) settle(byReg []*interval) {
	kept := c.steps[:0]
	for i := range c.steps {
		s := &c.steps[i]
		s.place(byReg)
		if !isCopy(s) || s.Args[0].Reg != s.Args[1].Reg {
			kept = append(kept, *s)
		}
	}
	c.steps = kept
}

// place replaces virtual registers that are not spilled, and reports whether others are left.
func (s *step) place(byReg []*interval) (left bool) {
	s.visit(func(r *vcode.Reg, _, _ bool) {
		if !r.IsVirtual() {
			return
		}
		if v := byReg[*r-vcode.FirstVirtual]; v.slot < 0 {
			*r = v.phys
		} else {
			left = true
		}
	})
	return left
}

// rewrite replaces virtual registers; a spilled one is used where it is in memory if the
// instruction can, else loaded into a scratch register before its use and stored after its
// definition.
func (c *allocation) rewrite(byReg []*interval, f RegisterFile) {
	out := make([]step, 0, len(c.steps)*5/4)
	taken, read := map[vcode.Reg]vcode.Reg{}, map[vcode.Reg]bool{}
	for i := range c.steps {
		s := &c.steps[i]
		c.inMemory(s, byReg)
		if !s.place(byReg) {
			if !isCopy(s) || s.Args[0].Reg != s.Args[1].Reg {
				out = append(out, *s)
			}
			continue
		}
		var after []step
		var next [3]int
		clear(taken)
		clear(read)
		s.visit(func(r *vcode.Reg, use, _ bool) {
			if use && r.IsVirtual() {
				read[*r] = true
			}
		})
		s.visit(func(r *vcode.Reg, use, def bool) {
			if !r.IsVirtual() {
				return
			}
			v := byReg[*r-vcode.FirstVirtual]
			k := c.classes[v.reg-vcode.FirstVirtual]
			p, ok := taken[v.reg]
			if !ok {
				p = f.Scratch[k][next[k]]
				next[k]++
				taken[v.reg] = p
				if read[v.reg] { // also where the first operand is written and read as another
					out = append(out, c.spillLoad(k, p, v.slot, f.Width, s)...)
				}
			}
			if def {
				after = append(after, c.spillStore(k, p, v.slot, f.Width, s)...)
			}
			*r = p
		})
		if !isCopy(s) || s.Args[0].Reg != s.Args[1].Reg {
			out = append(out, *s)
		}
		out = append(out, after...)
	}
	c.steps = out
}

// inMemory lets s use spilled general registers where they are: as what it moves from or to, or as
// its second operand.
func (c *allocation) inMemory(s *step, byReg []*interval) {
	if s.kind != StepInst || s.Mask != vcode.NoReg {
		return
	}
	slot := func(a *vcode.Arg) (vcode.Arg, bool) {
		if a.Kind != vcode.ArgReg || !a.Reg.IsVirtual() || c.classes[a.Reg-vcode.FirstVirtual] != General || byReg[a.Reg-vcode.FirstVirtual].slot < 0 {
			return vcode.Arg{}, false
		}
		return c.slotAt(byReg[a.Reg-vcode.FirstVirtual].slot), true
	}
	to, from := &s.Args[0], &s.Args[1]
	switch s.Op {
	case vcode.Store64: // from a register, or from one to memory
		if to.Kind != vcode.ArgReg || from.Kind != vcode.ArgReg {
			return
		}
		if m, ok := slot(to); ok {
			if _, both := slot(from); !both {
				*to = m
			}
		} else if m, ok := slot(from); ok {
			s.Op, *from = vcode.Load64, m
		}
	case vcode.SetImm, vcode.AddImm, vcode.CompareImm, vcode.AndImm, vcode.SubImm:
		if m, ok := slot(to); ok {
			*to = m
		}
	case vcode.Compare, vcode.Add, vcode.Sub, vcode.Mul, vcode.And, vcode.Or, vcode.Xor, vcode.MoveGreater:
		if to.Kind == vcode.ArgReg && from.Kind == vcode.ArgReg && to.Reg != from.Reg {
			if m, ok := slot(from); ok {
				*from = m
			}
		}
	}
}

// slotAt is the address of a spill slot.
func (c *allocation) slotAt(offset int) vcode.Arg {
	return vcode.MemArg(vcode.At(vcode.Block, int32(c.layout.SpillAt+offset)))
}

func (c *allocation) spillLoad(k Class, p vcode.Reg, slot int, w vcode.Width, s *step) []step {
	line := func(op vcode.Op, w vcode.Width, args ...vcode.Arg) step {
		return step{Inst: vcode.I(op, w, args...), at: s.at}
	}
	switch k {
	case General:
		return []step{line(vcode.Load64, vcode.W128, vcode.RegArg(p), c.slotAt(slot))}
	case Vector:
		return []step{line(vcode.VLoadF32, w, vcode.RegArg(p), c.slotAt(slot))}
	}
	return []step{line(vcode.Load64, vcode.W128, vcode.RegArg(vcode.Acc), c.slotAt(slot)), line(vcode.MaskSet64, vcode.W128, vcode.RegArg(p), vcode.RegArg(vcode.Acc))}
}

func (c *allocation) spillStore(k Class, p vcode.Reg, slot int, w vcode.Width, s *step) []step {
	line := func(op vcode.Op, w vcode.Width, args ...vcode.Arg) step {
		return step{Inst: vcode.I(op, w, args...), at: s.at}
	}
	switch k {
	case General:
		return []step{line(vcode.Store64, vcode.W128, c.slotAt(slot), vcode.RegArg(p))}
	case Vector:
		return []step{line(vcode.VStoreF32, w, c.slotAt(slot), vcode.RegArg(p))}
	}
	return []step{line(vcode.MaskGet64, vcode.W128, vcode.RegArg(vcode.Acc), vcode.RegArg(p)), line(vcode.Store64, vcode.W128, c.slotAt(slot), vcode.RegArg(vcode.Acc))}
}
