package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A stage is a part of a kernel with an entry of its own: a parallel loop, whose iterations may be cut into chunks that run anywhere, or
// what stands between such loops, which one goroutine runs once. Code before a loop also counts the loop's iterations.
//
// Variables that outlive a stage have words in the argument block, behind the parameters.
type stage struct {
	body    []ir.Stmt
	loop    *ir.For // nil: sequential
	alone   bool    // it has atomics: one goroutine runs all iterations, or several with copies
	again   bool    // it is another stage again, with locked instructions for its atomics
	next    *ir.For // sequential: the loop whose iterations it counts
	sums    []leagueSum
	entry   int            // offset in the code
	resume  int            // where it goes on after a yield
	count   count          // where no code counts the iterations of next
	copies  copyLoop       // where the loop does nothing else
	updates *sharedUpdates // of a loop with atomics; nil: there can be no copies
	locked  int            // of a loop with atomics: the stage that is it again, with locked instructions; 0: there is none
	round   int64          // iterations of the loop that one round of vectors takes

	nested    bool // a loop in sequential code, which calls it: see nest.go
	refused   bool // nested, and has no code
	threshold int  // nested: the word that says how many iterations are worth sharing
}

// called tells the stages that do not run in order.
func (s *stage) called() bool { return s.nested || s.again }

// at is where the stage stands in the source.
func (s *stage) at() ir.Pos {
	if len(s.body) == 0 {
		return ir.Pos{}
	}
	return s.body[0].Pos()
}

// A count is how many iterations a loop has, in terms that need no code: the difference of two words of the block, or constants, over a step.
type count struct {
	lo, hi         int // words; 0: the constants
	loConst        int64
	hiConst, step  int64
	inclusive, set bool
}

// countable tells whether s does nothing but count the iterations of the loop behind it, which Go then does.
func (s *stage) countable(f frame) bool {
	if s.loop != nil || s.next == nil || len(s.body) > 0 {
		return false
	}
	c := count{set: true, inclusive: s.next.Rel == ir.Le || s.next.Rel == ir.Ge}
	var ok bool
	if c.step, ok = ir.ConstStep(s.next); !ok || s.next.Rel == ir.Ne {
		return false
	}
	term := func(e ir.Expr, word *int, value *int64) bool {
		if c, ok := ir.ConstInt(e); ok {
			*value = c
			return true
		}
		switch e := e.(type) {
		case *ir.Len:
			if r, ok := e.X.(*ir.Ref); ok && f.word[r.Var] > 0 {
				*word = f.word[r.Var] + 1
				return true
			}
		case *ir.Ref:
			if ir.IsWide(e.Var.Type) && f.word[e.Var] > 0 {
				*word = f.word[e.Var]
				return true
			}
		}
		return false
	}
	if !term(s.next.Lo, &c.lo, &c.loConst) || !term(s.next.Hi, &c.hi, &c.hiConst) {
		return false
	}
	s.count = c
	return true
}

// trips counts the iterations.
func (c *count) trips(b *block) int64 {
	lo, hi := c.loConst, c.hiConst
	if c.lo > 0 {
		lo = int64(b[c.lo])
	}
	if c.hi > 0 {
		hi = int64(b[c.hi])
	}
	return c.between(lo, hi)
}

// between counts the iterations from lo to hi.
func (c *count) between(lo, hi int64) int64 {
	step := c.step
	if step < 0 {
		lo, hi, step = hi, lo, -step
	}
	if c.inclusive {
		hi++
	}
	if hi <= lo {
		return 0
	}
	if step == 1 {
		return hi - lo
	}
	return (hi-lo-1)/step + 1
}

// split cuts the body at its parallel loops.
func split(body []ir.Stmt) []*stage {
	var out []*stage
	seq := &stage{}
	for _, s := range body {
		if f, ok := ir.ParallelLoop(s); ok {
			seq.next = f
			out = append(out, seq, &stage{loop: f, body: []ir.Stmt{f}, alone: hasAtomics(f)})
			seq = &stage{}
			continue
		}
		seq.body = append(seq.body, s)
	}
	if n := len(seq.body); n > 0 {
		if _, ok := seq.body[n-1].(*ir.Return); ok {
			seq.body = seq.body[:n-1]
		}
	}
	if len(seq.body) > 0 || len(out) == 0 {
		out = append(out, seq)
	}
	return out
}

// A frame says where variables that outlive a stage have their words.
type frame struct {
	word    map[*ir.Var]int
	size    int               // words of the block
	place   map[*ir.Var]int64 // of arrays, in the scratch memory
	scratch int64             // bytes that these arrays take
	inner   map[*ir.Var]bool  // that have words for nested stages alone
}

// frameOf gives words to the parameters, and to the variables of the top level that two stages use; arrays get memory, too.
func (c *compiler) frameOf(stages []*stage) frame {
	k := c.Kernel
	f := frame{word: map[*ir.Var]int{}, size: wordParams, place: map[*ir.Var]int64{}}
	put := func(v *ir.Var) {
		f.word[v] = f.size
		f.size++
		if v.Type.Kind == ir.Slice {
			f.size++
		}
	}
	for _, v := range k.Params {
		put(v)
	}
	for _, v := range k.Params {
		if capacity := c.Caps[v]; capacity != nil {
			put(capacity)
		}
	}
	seen := map[*ir.Var]int{}
	for _, s := range stages {
		for _, v := range ir.Free(s.body).List() {
			seen[v]++
		}
	}
	for _, s := range stages {
		if s.loop != nil {
			continue
		}
		for _, st := range s.body {
			if d, ok := st.(*ir.Decl); ok && seen[d.Var] > 0 {
				if _, ok := f.word[d.Var]; !ok {
					put(d.Var)
					if n, ok := c.Arrays[d.Var]; ok {
						f.place[d.Var] = f.scratch
						f.scratch += roundUp(n*int64(d.Var.Type.Elem.Size), scratchAlign)
					}
				}
			}
		}
	}
	return f
}

// enter loads what the stage uses from the block.
func (g *gen) enter(s *stage, f frame) {
	uses := ir.Free(s.body)
	if s.next != nil {
		for _, e := range []ir.Expr{s.next.Lo, s.next.Hi} {
			for _, v := range ir.ExprVars(e).List() {
				uses.Add(v)
			}
		}
	}
	for _, v := range uses.List() {
		word, ok := f.word[v]
		if !ok || g.homes[v] != nil || ir.Declared(s.body).Has(v) {
			continue
		}
		g.homes[v] = g.loadWord(v, word)
		g.entered = append(g.entered, v)
	}
}

func (g *gen) loadWord(v *ir.Var, word int) *home {
	h := &home{gp: x86.NoReg, length: x86.NoReg}
	switch t := v.Type; {
	case t.Kind == ir.Slice:
		h.gp, h.length = g.NewGeneral(), g.NewGeneral()
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(word))
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.length), blockWord(word+1))
	case t.IsFloat():
		h.vec, h.alike = []x86.Reg{g.NewVector()}, true
		if t.Size == 8 {
			g.Op(x86.VBROADCASTSD, max(x86.W256, widthOf(g.bytes)), x86.RegArg(h.vec[0]), blockWord(word))
		} else {
			g.Op(x86.VBROADCASTSS, widthOf(g.bytes), x86.RegArg(h.vec[0]), blockWord(word))
		}
	case t.IsScalar():
		h.gp = g.NewGeneral()
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(word))
	default:
		g.refuse(v.At, "%s of type %s is not supported yet in vector code", v.Name, t)
	}
	return h
}

// leaveStage stores the variables that the stage has set and others use.
func (g *gen) leaveStage(s *stage, f frame) {
	changed := ir.Assigned(s.body)
	for _, st := range s.body {
		if d, ok := st.(*ir.Decl); ok {
			changed.Add(d.Var)
		}
	}
	for _, v := range changed.List() {
		if f.inner[v] {
			continue
		}
		if word, ok := f.word[v]; ok && v.Space != ir.Param || ok && g.homes[v] != nil {
			g.storeWord(g.home(v, v.At), v.Type, word)
		}
	}
}

func (g *gen) storeWord(h *home, t *ir.Type, word int) {
	switch {
	case t.Kind == ir.Slice:
		g.Op(x86.MOVQStore, x86.W128, blockWord(word), x86.RegArg(h.gp))
		g.Op(x86.MOVQStore, x86.W128, blockWord(word+1), x86.RegArg(h.length))
	case h.vec != nil && t.Size == 8:
		g.Op(x86.VMOVQStore, x86.W128, blockWord(word), x86.RegArg(h.vec[0]))
	case h.vec != nil:
		g.Op(x86.VMOVDStore, x86.W128, blockWord(word), x86.RegArg(h.vec[0]))
	default:
		g.Op(x86.MOVQStore, x86.W128, blockWord(word), x86.RegArg(h.gp))
	}
}

// generalIdentity extends an identity to the 64 bits of a general register.
func generalIdentity(bits uint64, t *ir.Type) int64 {
	shift := 64 - 8*uint(t.Size)
	if t.IsSigned() {
		return int64(bits<<shift) >> shift
	}
	return int64(bits << shift >> shift)
}

// refuseShared refuses a parallel loop that assigns to a variable of all its iterations.
func (g *gen) refuseShared(f *ir.For) {
	inside := ir.Declared(f.Body)
	reduced := map[*ir.Var]bool{}
	for _, r := range reductionsOf(f) {
		reduced[ir.RootVar(r.Place)] = true
		if r.Index != nil {
			reduced[ir.RootVar(r.Index)] = true
		}
	}
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) && !reduced[v] && v != f.Var {
			g.refuse(f.At, "%s is shared by the iterations and assigned: write a reduction or private(%s)", v.Name, v.Name)
		}
	}
}
