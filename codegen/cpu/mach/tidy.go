package mach

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Code for single numbers is selected expression by expression. Tidying takes out of it what
// straight code has computed, loaded or checked before, and the copies between a variable and what
// is assigned to it. Code for lanes is not tidied: there, a spilled vector costs more than an
// instruction.

// A valueKey tells what an instruction computes, by the numbers of the values that it reads.
type valueKey struct {
	op          vcode.Op
	w           vcode.Width
	kinds       [4]vcode.ArgKind
	x           [4]int64 // numbers of values, and immediates
	base, index int64    // of the memory operand
	scale       uint8
	broadcast   bool
	disp        int32
	memory      int // how often memory has changed
}

// A fact is a jump that is not taken: the compare before it, and its condition.
type fact struct {
	key valueKey
	k   Cond
}

// numbering gives numbers to values, the same to those that are equal, along code that is only
// entered at its beginning.
type numbering struct {
	cleaning
	full          vcode.Width // of a copied vector
	of            map[vcode.Reg]int64
	next          int64
	known         map[valueKey]int64
	holders       map[int64][]vcode.Reg // that have had the value
	most          map[int64]int64       // bounds of values that are not negative
	constant      map[int64]int64
	facts         map[fact]bool
	memory, block int // changes of memory, and of the argument block
	compared      valueKey
	comparedSet   bool
	gone          []bool
	fixed         map[vcode.Reg]int64 // registers that are only ever set to one constant
}

// Tidy is for code of single numbers before register allocation; entries are labels that Go enters
// at, and routines.
func (c *Code) Tidy(full vcode.Width, entries ...Label) {
	n := &numbering{cleaning: cleaning{flow{c}}, full: full, of: map[vcode.Reg]int64{}, known: map[valueKey]int64{}, holders: map[int64][]vcode.Reg{}, most: map[int64]int64{}, constant: map[int64]int64{}, facts: map[fact]bool{}, gone: make([]bool, len(c.steps))}
	n.forward()
	n.drop(n.gone)
	n.drop(n.unreachable(entries))
	for range 2 {
		n.merge()
		n.drop(n.dead())
	}
	n.drop(n.comparedBefore())
	c.near = true
}

// Coalesce lets what is copied to a variable be made there, where a copy costs as much as any other
// instruction: for code of lanes, in which Tidy would keep too many values in registers.
func (c *Code) Coalesce() {
	k := cleaning{flow{c}}
	for range 2 {
		k.merge()
		k.drop(k.dead())
	}
}

// A cleaning removes steps that nothing needs.
type cleaning struct{ flow }

// comparedBefore are the comparisons with 0 of what a logical operation has just made: it has set
// the same flags.
func (c *cleaning) comparedBefore() []bool {
	gone := make([]bool, len(c.steps))
	for i := range c.steps {
		s := &c.steps[i]
		zero := s.Op == vcode.Test && s.Args[1].Kind == vcode.ArgReg && s.Args[0].Reg == s.Args[1].Reg || s.Op == vcode.CompareImm && s.Args[1].Imm == 0
		if !s.compares() || !zero || s.Args[0].Kind != vcode.ArgReg {
			continue
		}
		for j := i - 1; j >= 0 && c.steps[j].kind == StepInst; j-- {
			b := &c.steps[j]
			switch b.Op {
			case vcode.And, vcode.Or, vcode.Xor, vcode.AndImm, vcode.OrImm, vcode.XorImm:
				gone[i] = b.Args[0].Kind == vcode.ArgReg && b.Args[0].Reg == s.Args[0].Reg
			}
			wrote := false
			b.visit(func(r *vcode.Reg, _, def bool) { wrote = wrote || def && *r == s.Args[0].Reg })
			if wrote || b.setsFlags() {
				break
			}
		}
	}
	return gone
}

// drop removes steps.
func (c *cleaning) drop(gone []bool) {
	kept, cold := c.steps[:0], c.cold
	for i, s := range c.steps {
		if gone[i] {
			if i < c.cold {
				cold--
			}
			continue
		}
		kept = append(kept, s)
	}
	c.steps, c.cold = kept, cold
}

func (n *numbering) reset() {
	clear(n.of)
	clear(n.known)
	clear(n.holders)
	clear(n.most)
	clear(n.constant)
	clear(n.facts)
	n.comparedSet = false
}

func (n *numbering) forward() {
	n.constants()
	targets := make([]bool, n.labels)
	for i := range n.steps {
		if s := &n.steps[i]; s.kind == StepJump || s.kind == StepCall {
			targets[s.label] = true
		}
	}
	for i := range n.steps {
		switch s := &n.steps[i]; s.kind {
		case StepLabel:
			if targets[s.label] {
				n.reset()
			}
		case StepJump:
			n.jumps(i)
		case StepReturn, StepResume:
			n.reset()
		case StepCall, StepPop:
			n.reset()
		case StepDivide, StepUDivide:
			n.substitute(s)
			n.fresh(vcode.Acc)
			n.fresh(vcode.High)
			n.comparedSet = false
		case StepInst:
			n.inst(i)
		}
	}
}

// jumps leaves out a jump that is known not to be taken.
func (n *numbering) jumps(i int) {
	s := &n.steps[i]
	if s.cond == Always {
		n.reset()
		return
	}
	if !n.comparedSet {
		return
	}
	f := fact{n.compared, s.cond}
	if n.facts[f] || n.below(s.cond) {
		n.gone[i] = true
		return
	}
	n.facts[f] = true
}

// below reports whether the compare says that a value with a bound lies under a constant, and the
// jump is for when it does not.
func (n *numbering) below(k Cond) bool {
	most, ok := n.most[n.compared.x[0]]
	if !ok {
		return false
	}
	limit := n.compared.x[1]
	switch n.compared.kinds[1] {
	case vcode.ArgReg:
		if limit, ok = n.constant[limit]; !ok {
			return false
		}
	case vcode.ArgMem:
		return false
	}
	switch k {
	case CondAE, CondGE:
		return limit >= 0 && most < limit
	case CondA, CondG:
		return limit >= 0 && most <= limit
	}
	return false
}

func (n *numbering) value(r vcode.Reg) int64 {
	if v, ok := n.of[r]; ok {
		return v
	}
	v := n.fresh(r)
	if c, ok := n.fixed[r]; ok {
		n.constant[v] = c
	}
	return v
}

// constants finds the registers that are set once, to a constant.
func (n *numbering) constants() {
	n.fixed = map[vcode.Reg]int64{}
	many := map[vcode.Reg]bool{}
	for i := range n.steps {
		s := &n.steps[i]
		s.visit(func(r *vcode.Reg, _, def bool) {
			if !def || many[*r] {
				return
			}
			if _, ok := n.fixed[*r]; ok || s.Op != vcode.SetImm {
				many[*r] = true
				delete(n.fixed, *r)
				return
			}
			n.fixed[*r] = s.Args[1].Imm
		})
	}
}

func (n *numbering) fresh(r vcode.Reg) int64 {
	n.next++
	n.set(r, n.next)
	return n.next
}

func (n *numbering) set(r vcode.Reg, v int64) {
	n.of[r] = v
	if r.IsVirtual() {
		n.holders[v] = append(n.holders[v], r)
	}
}

// holder is the register that has had the value for longest, if one still has it.
func (n *numbering) holder(v int64, k Class) (vcode.Reg, bool) {
	for _, r := range n.holders[v] {
		if n.of[r] == v && n.classes[r-vcode.FirstVirtual] == k {
			return r, true
		}
	}
	return vcode.NoReg, false
}

// substitute lets s read the oldest registers that hold what it reads.
func (n *numbering) substitute(s *step) {
	if s.kind == StepInst && s.ClearsMask() {
		return // its registers must differ
	}
	s.visit(func(r *vcode.Reg, use, def bool) {
		if !use || def || !r.IsVirtual() || n.classes[*r-vcode.FirstVirtual] == Mask {
			return
		}
		if h, ok := n.holder(n.value(*r), n.classes[*r-vcode.FirstVirtual]); ok {
			*r = h
		}
	})
}

func (n *numbering) inst(i int) {
	s := &n.steps[i]
	n.substitute(s)
	if s.compares() {
		n.compared, n.comparedSet = n.keyOf(s), true
		return
	}
	effect := s.FirstUse()
	key := n.keyOf(s)
	if effect == vcode.Reads {
		n.comparedSet = n.comparedSet && !s.setsFlags()
		if s.Args[0].Kind == vcode.ArgMem {
			n.stores(s)
		}
		if s.exchanges() {
			n.fresh(vcode.Acc)
		}
		return
	}
	d := s.Args[0].Reg
	n.comparedSet = n.comparedSet && !s.setsFlags()
	if s.ClearsMask() && s.Args[2].Kind == vcode.ArgReg {
		n.fresh(s.Args[2].Reg)
	}
	switch {
	case !d.IsVirtual() || n.classes[d-vcode.FirstVirtual] == Mask:
		n.fresh(d)
	case isCopy(s) && (s.Op == vcode.Store64 || s.Width == n.full):
		n.set(d, n.value(s.Args[1].Reg))
	case n.extends(s):
		*s = step{Inst: vcode.I(vcode.Store64, vcode.W128, vcode.RegArg(d), s.Args[1]), at: s.at}
		n.set(d, n.value(s.Args[1].Reg))
	case !s.pure():
		n.fresh(d)
	default:
		n.compute(i, d, key)
	}
}

// extends tells the extensions of numbers that need none.
func (n *numbering) extends(s *step) bool {
	limit := map[vcode.Op]int64{vcode.LoadU8: 1<<8 - 1, vcode.LoadI8: 1<<7 - 1, vcode.LoadU16: 1<<16 - 1, vcode.LoadI16: 1<<15 - 1, vcode.LoadU32: 1<<32 - 1, vcode.LoadI32: 1<<31 - 1}[s.Op]
	if limit == 0 || s.Args[1].Kind != vcode.ArgReg || !s.Args[1].Reg.IsVirtual() {
		return false
	}
	most, ok := n.most[n.value(s.Args[1].Reg)]
	return ok && most <= limit
}

// compute gives d the number of what the instruction computes, and copies it from where it is.
func (n *numbering) compute(i int, d vcode.Reg, key valueKey) {
	s := &n.steps[i]
	v, ok := n.known[key]
	if !ok {
		bound, bounded := n.bound(s)
		v = n.fresh(d)
		n.known[key] = v
		if bounded {
			n.most[v] = bound
		}
		if s.Op == vcode.SetImm {
			n.constant[v] = s.Args[1].Imm
		}
		return
	}
	if h, ok := n.holder(v, n.classes[d-vcode.FirstVirtual]); ok && (!s.setsFlags() || !n.flagsRead(i)) {
		at := s.at
		if n.classes[d-vcode.FirstVirtual] == General {
			*s = step{Inst: vcode.I(vcode.Store64, vcode.W128, vcode.RegArg(d), vcode.RegArg(h)), at: at}
		} else {
			*s = step{Inst: vcode.I(vcode.VStoreF32, n.full, vcode.RegArg(d), vcode.RegArg(h)), at: at}
		}
	}
	n.set(d, v)
}

// bound is the largest number that the instruction can make of what is not negative.
func (n *numbering) bound(s *step) (int64, bool) {
	switch s.Op {
	case vcode.LoadU8:
		return 1<<8 - 1, true
	case vcode.LoadU16:
		return 1<<16 - 1, true
	case vcode.LoadU32:
		return 1<<32 - 1, true
	case vcode.SetImm, vcode.AndImm:
		return s.Args[1].Imm, s.Args[1].Imm >= 0
	case vcode.ShiftRightImm:
		if most, ok := n.most[n.value(s.Args[0].Reg)]; ok {
			return most >> min(s.Args[1].Imm, 63), true
		}
		if s.Args[1].Imm > 0 {
			return 1<<(64-min(s.Args[1].Imm, 64)) - 1, true
		}
	}
	return 0, false
}

func (n *numbering) keyOf(s *step) valueKey {
	k := valueKey{op: s.Op, w: s.Width, base: -1, index: -1}
	for i := range s.Args {
		a := &s.Args[i]
		k.kinds[i] = a.Kind
		switch a.Kind {
		case vcode.ArgReg:
			if i > 0 || s.FirstUse() != vcode.Writes {
				k.x[i] = n.value(a.Reg)
			}
		case vcode.ArgImm:
			k.x[i] = a.Imm
		case vcode.ArgMem:
			k.scale, k.disp, k.broadcast = a.Mem.Scale, a.Mem.Disp, a.Mem.Broadcast
			k.base = -2
			if a.Mem.Base != vcode.PoolBase {
				k.base = n.value(a.Mem.Base)
				k.memory = n.memory
				if a.Mem.Base == vcode.Block {
					k.memory = n.block
				}
			}
			if a.Mem.Index != vcode.NoReg {
				k.index = n.value(a.Mem.Index)
			}
		}
	}
	switch {
	case s.Op == vcode.Test && k.kinds == [4]vcode.ArgKind{vcode.ArgReg, vcode.ArgReg} && k.x[0] == k.x[1]: // the same flags
		k.op, k.kinds[1], k.x[1] = vcode.CompareImm, vcode.ArgImm, 0
	case s.Op == vcode.CompareImm8:
		k.op = vcode.CompareImm
	}
	return k
}

// stores forgets what was loaded from the memory that s may write to: the argument block, or all
// else.
func (n *numbering) stores(s *step) {
	if s.Args[0].Mem.Base == vcode.Block {
		n.block++
	} else {
		n.memory++
	}
}

// exchanges tells the atomic instructions that leave in Acc what was in memory.
func (s *step) exchanges() bool { return s.kind == StepInst && s.Exchanges() }

// compares tells the instructions that do nothing but set flags.
func (s *step) compares() bool {
	switch s.Op {
	case vcode.Compare, vcode.CompareImm, vcode.CompareImm8, vcode.Test:
		return s.kind == StepInst
	}
	return false
}

// pure reports whether the first operand becomes a function of the others, or of itself and the
// others, and of nothing else.
func (s *step) pure() bool {
	return s.Mask == vcode.NoReg && !s.ClearsMask() && !s.readsFlags()
}

func (s *step) readsFlags() bool { return s.kind == StepInst && s.ReadsFlags() }

// setsFlags is also true of what only may.
func (s *step) setsFlags() bool { return s.SetsFlags() }

// flagsRead reports whether the flags that step i leaves may be used.
func (c *cleaning) flagsRead(i int) bool {
	for j := i + 1; j < len(c.steps); j++ {
		switch s := &c.steps[j]; s.kind {
		case StepInst:
			if s.readsFlags() {
				return true
			}
			if s.setsFlags() {
				return false
			}
		case StepReturn, StepDivide, StepUDivide:
			return false
		case StepFence, StepLabel:
		default:
			return true // a jump, or what comes behind is not known
		}
	}
	return false
}

// unreachable are the steps that nothing leads to any more: reports of checks that are left out.
func (c *cleaning) unreachable(entries []Label) []bool {
	blocks := c.blocks()
	gone := make([]bool, len(c.steps))
	for i := range gone {
		gone[i] = true
	}
	starts := map[Label]int{}
	for b := range blocks {
		for i := blocks[b].lo; i < blocks[b].hi && c.steps[i].kind == StepLabel; i++ {
			starts[c.steps[i].label] = b
		}
	}
	seen := make([]bool, len(blocks))
	var reach func(b int)
	reach = func(b int) {
		if seen[b] {
			return
		}
		seen[b] = true
		for i := blocks[b].lo; i < blocks[b].hi; i++ {
			gone[i] = false
		}
		for _, next := range blocks[b].next {
			reach(next)
		}
	}
	if len(blocks) > 0 {
		reach(0)
	}
	for _, l := range entries {
		if b, ok := starts[l]; ok && l >= 0 {
			reach(b)
		}
	}
	return gone
}

// dead are the steps whose results nothing reads.
func (c *cleaning) dead() []bool {
	blocks := c.blocks()
	ends := c.solve(blocks)
	gone := make([]bool, len(c.steps))
	live := make(bitset, (len(c.classes)+63)/64) // registers; empty between blocks
	for b := range blocks {
		ends.each(blocks[b].out, live.set)
		for i := blocks[b].hi - 1; i >= blocks[b].lo; i-- {
			if gone[i] = c.useless(i, live); !gone[i] {
				c.steps[i].stepOver(live)
			}
		}
		ends.each(blocks[b].out, live.clear)
		for i := blocks[b].lo; i < blocks[b].hi; i++ {
			c.steps[i].visit(func(r *vcode.Reg, _, _ bool) {
				if r.IsVirtual() {
					live.clear(int(*r - vcode.FirstVirtual))
				}
			})
		}
	}
	return gone
}

// stepOver makes of the registers that are read behind s those that are read from s on.
func (s *step) stepOver(live bitset) {
	s.visit(func(r *vcode.Reg, u, d bool) {
		if r.IsVirtual() && d && !u {
			live.clear(int(*r - vcode.FirstVirtual))
		}
	})
	s.visit(func(r *vcode.Reg, u, _ bool) {
		if r.IsVirtual() && u {
			live.set(int(*r - vcode.FirstVirtual))
		}
	})
}

// useless reports whether step i does nothing that is seen: it writes a register that is not read,
// or flags that are not.
func (c *cleaning) useless(i int, live bitset) bool {
	s := &c.steps[i]
	if s.kind != StepInst {
		return false
	}
	if s.compares() {
		return !c.flagsRead(i)
	}
	if isCopy(s) && s.Args[0].Reg == s.Args[1].Reg {
		return true
	}
	if s.FirstUse() == vcode.Reads || s.ClearsMask() || !s.Args[0].Reg.IsVirtual() {
		return false
	}
	return !live.has(int(s.Args[0].Reg-vcode.FirstVirtual)) && !(s.setsFlags() && c.flagsRead(i))
}

// merge lets values be made in the registers that they are copied to, where nothing sees these in
// between.
func (c *cleaning) merge() {
	blocks := c.blocks()
	live := c.solve(blocks)
	starts := make([]int, c.labels)
	for b := range blocks {
		for i := blocks[b].lo; i < blocks[b].hi && c.steps[i].kind == StepLabel; i++ {
			starts[c.steps[i].label] = b
		}
	}
	count := make([]int, len(c.classes))
	for i := range c.steps {
		c.steps[i].visit(func(r *vcode.Reg, _, _ bool) {
			if r.IsVirtual() {
				count[*r-vcode.FirstVirtual]++
			}
		})
	}
	for i := range c.steps {
		s := &c.steps[i]
		if s.kind != StepInst || !isCopy(s) {
			continue
		}
		to, from := s.Args[0].Reg, s.Args[1].Reg
		if !to.IsVirtual() || !from.IsVirtual() || to == from || c.classes[to-vcode.FirstVirtual] != c.classes[from-vcode.FirstVirtual] || c.classes[to-vcode.FirstVirtual] == Mask {
			continue
		}
		clear := func(l Label) bool { return !live.begins(&blocks[starts[l]], int(to-vcode.FirstVirtual)) }
		left, end := c.readLater(i, to, from)
		j, ok := c.madeFor(i, to, from, count[from-vcode.FirstVirtual]-left, clear)
		if !ok {
			continue
		}
		for k := j; k <= end; k++ {
			c.steps[k].visit(func(r *vcode.Reg, _, _ bool) {
				if *r == from {
					*r = to
					count[to-vcode.FirstVirtual]++
				}
			})
		}
		count[from-vcode.FirstVirtual] = 0
	}
}

// readLater counts how often from is read in straight code behind the copy, as long as neither
// register changes, and says where last.
func (c *cleaning) readLater(i int, to, from vcode.Reg) (count, last int) {
	last = i
	for j := i + 1; j < len(c.steps); j++ {
		s := &c.steps[j]
		switch {
		case s.kind == StepJump && s.cond != Always:
			continue
		case s.kind != StepInst && s.kind != StepDivide && s.kind != StepUDivide || s.kind == StepInst && s.ClearsMask():
			return count, last
		}
		changed := false
		reads := 0
		s.visit(func(r *vcode.Reg, use, def bool) {
			changed = changed || def && (*r == to || *r == from)
			if *r == from && use {
				reads++
			}
		})
		if changed {
			return count, last
		}
		if reads > 0 {
			count, last = count+reads, j
		}
	}
	return count, last
}

// madeFor finds the step that begins to make what step i copies: from there on, nothing else has to
// do with either register.
func (c *cleaning) madeFor(i int, to, from vcode.Reg, uses int, clear func(Label) bool) (begin int, ok bool) {
	uses-- // by the copy
	for j := i - 1; j >= 0; j-- {
		s := &c.steps[j]
		switch s.kind {
		case StepInst, StepDivide, StepUDivide:
		case StepJump:
			if s.cond == Always || !clear(s.label) {
				return 0, false
			}
			continue
		default:
			return 0, false
		}
		if s.kind == StepInst && s.ClearsMask() {
			return 0, false
		}
		begins, touched := false, false
		s.visit(func(r *vcode.Reg, use, def bool) {
			switch *r {
			case from:
				uses--
				begins = begins || def && !use
			case to:
				touched = true
			}
		})
		if begins {
			reads := false
			s.visit(func(r *vcode.Reg, use, _ bool) { reads = reads || *r == from && use })
			return j, uses == 0 && !reads && s.Mask == vcode.NoReg
		}
		if touched {
			return 0, false
		}
	}
	return 0, false
}
