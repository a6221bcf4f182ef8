package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// countable tells whether s does nothing but count the iterations of the loop behind it, which Go
// then does.
func countable(s *image.Stage, f frame) bool {
	if s.Loop != nil || s.Next == nil || len(s.Body) > 0 {
		return false
	}
	c := image.Count{Set: true, Inclusive: s.Next.Rel == ir.Le || s.Next.Rel == ir.Ge}
	var ok bool
	if c.Step, ok = ir.ConstStep(s.Next); !ok || s.Next.Rel == ir.Ne {
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
	if !term(s.Next.Lo, &c.Lo, &c.LoConst) || !term(s.Next.Hi, &c.Hi, &c.HiConst) {
		return false
	}
	s.Count = c
	return true
}

// split cuts the body at its parallel loops.
func split(body []ir.Stmt) []*image.Stage {
	var out []*image.Stage
	seq := &image.Stage{}
	for _, s := range body {
		if f, ok := ir.ParallelLoop(s); ok {
			seq.Next = f
			out = append(out, seq, &image.Stage{Loop: f, Body: []ir.Stmt{f}, Alone: hasAtomics(f)})
			seq = &image.Stage{}
			continue
		}
		seq.Body = append(seq.Body, s)
	}
	if n := len(seq.Body); n > 0 {
		if _, ok := seq.Body[n-1].(*ir.Return); ok {
			seq.Body = seq.Body[:n-1]
		}
	}
	if len(seq.Body) > 0 || len(out) == 0 {
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

// frameOf gives words to the parameters, and to the variables of the top level that two stages use;
// arrays get memory, too.
func frameOf(r *prepare.Result, stages []*image.Stage) frame {
	k := r.Kernel
	f := frame{word: map[*ir.Var]int{}, size: image.WordParams, place: map[*ir.Var]int64{}}
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
		if capacity := r.Caps[v]; capacity != nil {
			put(capacity)
		}
	}
	seen := map[*ir.Var]int{}
	for _, s := range stages {
		for _, v := range ir.Free(s.Body).List() {
			seen[v]++
		}
	}
	for _, s := range stages {
		if s.Loop != nil {
			continue
		}
		for _, st := range s.Body {
			if d, ok := st.(*ir.Decl); ok && seen[d.Var] > 0 {
				if _, ok := f.word[d.Var]; !ok {
					put(d.Var)
					if n, ok := r.Arrays[d.Var]; ok {
						f.place[d.Var] = f.scratch
						f.scratch += image.RoundUp(n*int64(d.Var.Type.Elem.Size), image.ScratchAlign)
					}
				}
			}
		}
	}
	return f
}

// enter loads what the stage uses from the block.
func (g *gen) enter(s *image.Stage, f frame) {
	uses := ir.Free(s.Body)
	if s.Next != nil {
		for _, e := range []ir.Expr{s.Next.Lo, s.Next.Hi} {
			for _, v := range ir.ExprVars(e).List() {
				uses.Add(v)
			}
		}
	}
	for _, v := range uses.List() {
		word, ok := f.word[v]
		if !ok || g.homes[v] != nil || ir.Declared(s.Body).Has(v) {
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
func (g *gen) leaveStage(s *image.Stage, f frame) {
	changed := ir.Assigned(s.Body)
	for _, st := range s.Body {
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
