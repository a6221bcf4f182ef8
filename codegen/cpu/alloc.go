package cpu

import (
	"fmt"
	"slices"
)

// spillBytes is the room for spilled values in the argument block.
const spillBytes = 32 << 10

// A file is the registers of one machine that the allocator may hand out, and those kept back to move spilled values.
type file struct {
	free    [3][]Reg
	scratch [3][]Reg
	width   Width // of a spilled vector
}

// registers returns the register file of a machine with AVX-512 (32 vectors, masks) or AVX2. DI holds the argument
// block, AX, CX and, where there are divisions, DX serve selection itself, SP and BP belong to Go.
func registers(avx512, divides bool, w Width) file {
	f := file{width: w}
	f.free[general] = []Reg{BX, SI, R8, R(9), R(10), R(11), R(12), R(13)}
	if !divides {
		f.free[general] = append(f.free[general], DX)
	}
	f.scratch[general] = []Reg{R(14), R(15), AX}
	vectors, keep := 16, 4 // a blend of AVX names four vectors
	if avx512 {
		vectors = 32
	}
	for i := range vectors {
		if i < vectors-keep {
			f.free[vector] = append(f.free[vector], V(i))
		} else {
			f.scratch[vector] = append(f.scratch[vector], V(i))
		}
	}
	for i := 1; i < 5; i++ {
		f.free[mask] = append(f.free[mask], K(i))
	}
	f.scratch[mask] = []Reg{K(5), K(6), K(7)}
	return f
}

// hotMask is the weight of a mask that is set and used in a loop inside another.
const hotMask = 2 * 8 * 8

// keepOne leaves one register of each class to hand out.
func (f *file) keepOne() {
	for k := range f.free {
		f.free[k] = f.free[k][:1]
	}
}

// allocate gives every virtual register a machine register or a spill slot, by linear scan over covering intervals, and
// rewrites the code. It returns how many vectors had to be spilled, and masks that are used in loops inside loops, each use of which
// goes through memory and a general register.
//
// Source: Poletto and Sarkar, "Linear Scan Register Allocation", TOPLAS 1999, section 4; differs: the victim is the
// interval that is used least, loops counting more, not the one that ends last.
func (c *vcode) allocate(f file) (spilled, masks int, err error) {
	all := c.intervals()
	slices.SortStableFunc(all, func(a, b interval) int { return a.lo - b.lo })
	if c.near && len(f.free[general]) > 1 { // where no number is spilled, nothing needs the registers that are kept back for that
		whole := f
		whole.free[general] = append(slices.Clone(f.free[general]), f.scratch[general][:2]...)
		fresh := slices.Clone(all)
		s, m, n, err := c.scan(all, whole)
		if err != nil || n == 0 {
			return s, m, err
		}
		all = fresh
	}
	spilled, masks, _, err = c.scan(all, f)
	return spilled, masks, err
}

// scan hands out the registers, unless c.near and more than the last resort would be needed: then it only says how many numbers are spilled.
func (c *vcode) scan(all []interval, f file) (spilled, masks, numbers int, err error) {
	byReg := make([]*interval, len(c.classes))
	var slots [3][]int // by class: the last step of the last value that each slot held
	var active [3][]*interval
	free := [3][]Reg{slices.Clone(f.free[0]), slices.Clone(f.free[1]), slices.Clone(f.free[2])}
	for i := range all {
		v := &all[i]
		byReg[v.reg-firstVirtual] = v
		k := c.classes[v.reg-firstVirtual]
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
			if c.near && k == general && a.rarer(victim) || (!c.near || k != general) && a.cheaper(victim) {
				victim, at = a, j
			}
		}
		if at >= 0 {
			v.phys, victim.phys = victim.phys, NoReg
			active[k][at] = v
		}
		victim.takeSlot(&slots[k])
		switch {
		case k == vector && c.yields[victim.reg]: // as was meant
		case k == vector:
			spilled++
		case k == mask && victim.weight >= hotMask:
			masks++
		}
	}
	narrow := len(slots[general]) + len(slots[mask])
	if need := 8*narrow + f.width.Bytes()*len(slots[vector]); need > spillBytes {
		return spilled, masks, 0, fmt.Errorf("cpu: registers: %d values in memory at once need %d bytes, the block has %d", narrow+len(slots[vector]), need, spillBytes)
	}
	if len(slots[general]) > 0 && len(f.free[general]) > 9 {
		return spilled, masks, len(slots[general]), nil
	}
	behind := f.width.Bytes() * len(slots[vector])
	spills := false
	for i := range all { // slots become offsets: whole vectors, which begin where no line is split, then 8 bytes each
		v := &all[i]
		k := c.classes[v.reg-firstVirtual]
		spills = spills || v.slot >= 0
		switch {
		case v.slot < 0:
		case k == vector:
			v.slot *= f.width.Bytes()
		case k == mask:
			v.slot = behind + 8*(len(slots[general])+v.slot)
		default:
			v.slot = behind + 8*v.slot
		}
	}
	if !spills {
		c.settle(byReg)
	} else {
		c.rewrite(byReg, f)
	}
	return spilled, masks, 0, nil
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

// takeOver gives v the register of the value that it is a copy of, where that one ends with the copy.
func (c *vcode) takeOver(v *interval, byReg []*interval, active []*interval) bool {
	at := v.lo
	if c.near {
		at = c.order[at]
	}
	s := &c.steps[at]
	if s.kind != stepInst || !isCopy(s) || s.Args[0].reg != v.reg {
		return false
	}
	if !s.Args[1].reg.isVirtual() {
		return false
	}
	from := byReg[s.Args[1].reg-firstVirtual]
	if from == nil || from.hi != v.lo || from.phys == NoReg || from.slot >= 0 {
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
	case MOVQStore, VMOVUPSStore, KMOVW:
		return s.Mask == NoReg && s.Args[0].kind == argReg && s.Args[1].kind == argReg
	}
	return false
}

// cheaper tells whether spilling v costs less than spilling w; of equals the one that ends last goes.
func (v *interval) cheaper(w *interval) bool {
	return v.weight < w.weight || v.weight == w.weight && v.hi > w.hi
}

// rarer is cheaper for code of single numbers: a number that is used at once frees nothing, and would only go to memory and back.
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

// shortLife is how many steps a number lives at least to be worth a place in memory.
const shortLife = 6

func expire(active []*interval, free []Reg, at int) ([]*interval, []Reg) {
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

// settle replaces virtual registers where none is spilled, and leaves out copies of a register to itself.
func (c *vcode) settle(byReg []*interval) {
	kept := c.steps[:0]
	for i := range c.steps {
		s := &c.steps[i]
		s.place(byReg)
		if !isCopy(s) || s.Args[0].reg != s.Args[1].reg {
			kept = append(kept, *s)
		}
	}
	c.steps = kept
}

// place replaces virtual registers that are not spilled, and tells whether others are left.
func (s *step) place(byReg []*interval) (left bool) {
	s.visit(func(r *Reg, _, _ bool) {
		if !r.isVirtual() {
			return
		}
		if v := byReg[*r-firstVirtual]; v.slot < 0 {
			*r = v.phys
		} else {
			left = true
		}
	})
	return left
}

// rewrite replaces virtual registers; a spilled one is used where it is in memory if the instruction can, else loaded into a scratch register
// before its use and stored after its definition.
func (c *vcode) rewrite(byReg []*interval, f file) {
	out := make([]step, 0, len(c.steps)*5/4)
	taken, read := map[Reg]Reg{}, map[Reg]bool{}
	for i := range c.steps {
		s := &c.steps[i]
		c.inMemory(s, byReg)
		if !s.place(byReg) {
			if !isCopy(s) || s.Args[0].reg != s.Args[1].reg {
				out = append(out, *s)
			}
			continue
		}
		var after []step
		var next [3]int
		clear(taken)
		clear(read)
		s.visit(func(r *Reg, use, _ bool) {
			if use && r.isVirtual() {
				read[*r] = true
			}
		})
		s.visit(func(r *Reg, use, def bool) {
			if !r.isVirtual() {
				return
			}
			v := byReg[*r-firstVirtual]
			k := c.classes[v.reg-firstVirtual]
			p, ok := taken[v.reg]
			if !ok {
				p = f.scratch[k][next[k]]
				next[k]++
				taken[v.reg] = p
				if read[v.reg] { // also where the first operand is written and read as another
					out = append(out, spillLoad(k, p, v.slot, f.width, s)...)
				}
			}
			if def {
				after = append(after, spillStore(k, p, v.slot, f.width, s)...)
			}
			*r = p
		})
		if !isCopy(s) || s.Args[0].reg != s.Args[1].reg {
			out = append(out, *s)
		}
		out = append(out, after...)
	}
	c.steps = out
}

// inMemory lets s use spilled general registers where they are: as what it moves from or to, or as its second operand.
func (c *vcode) inMemory(s *step, byReg []*interval) {
	if s.kind != stepInst || s.Mask != NoReg {
		return
	}
	slot := func(a *Arg) (Arg, bool) {
		if a.kind != argReg || !a.reg.isVirtual() || c.classes[a.reg-firstVirtual] != general || byReg[a.reg-firstVirtual].slot < 0 {
			return Arg{}, false
		}
		return slotAt(byReg[a.reg-firstVirtual].slot), true
	}
	to, from := &s.Args[0], &s.Args[1]
	switch s.Op {
	case MOVQStore: // from a register, or from one to memory
		if to.kind != argReg || from.kind != argReg {
			return
		}
		if m, ok := slot(to); ok {
			if _, both := slot(from); !both {
				*to = m
			}
		} else if m, ok := slot(from); ok {
			s.Op, *from = MOVQ, m
		}
	case MOVQImm, ADDQImm, CMPQImm, ANDQImm, SUBQImm:
		if m, ok := slot(to); ok {
			*to = m
		}
	case CMPQ, ADDQ, SUBQ, IMULQ, ANDQ, ORQ, XORQ, CMOVQGT:
		if to.kind == argReg && from.kind == argReg && to.reg != from.reg {
			if m, ok := slot(from); ok {
				*from = m
			}
		}
	}
}

// slotAt is the address of a spill slot.
func slotAt(offset int) Arg { return MemArg(At(DI, int32(spillArea+offset))) }

func spillLoad(k class, p Reg, slot int, w Width, s *step) []step {
	line := func(op Op, w Width, args ...Arg) step { return step{Inst: I(op, w, args...), at: s.at} }
	switch k {
	case general:
		return []step{line(MOVQ, W128, RegArg(p), slotAt(slot))}
	case vector:
		return []step{line(VMOVUPS, w, RegArg(p), slotAt(slot))}
	}
	return []step{line(MOVQ, W128, RegArg(AX), slotAt(slot)), line(KMOVQSet, W128, RegArg(p), RegArg(AX))}
}

func spillStore(k class, p Reg, slot int, w Width, s *step) []step {
	line := func(op Op, w Width, args ...Arg) step { return step{Inst: I(op, w, args...), at: s.at} }
	switch k {
	case general:
		return []step{line(MOVQStore, W128, slotAt(slot), RegArg(p))}
	case vector:
		return []step{line(VMOVUPSStore, w, slotAt(slot), RegArg(p))}
	}
	return []step{line(KMOVQGet, W128, RegArg(AX), RegArg(p)), line(MOVQStore, W128, slotAt(slot), RegArg(AX))}
}
