package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// enter loads what the stage uses from the block.
func (g *gen) enter(s *image.Stage, f stages.Frame) {
	uses := ir.Free(s.Body)
	if s.Next != nil {
		for _, e := range []ir.Expr{s.Next.Lo, s.Next.Hi} {
			for _, v := range ir.ExprVars(e).List() {
				uses.Add(v)
			}
		}
	}
	for _, v := range uses.List() {
		word, ok := f.Word[v]
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
func (g *gen) leaveStage(s *image.Stage, f stages.Frame) {
	changed := ir.Assigned(s.Body)
	for _, st := range s.Body {
		if d, ok := st.(*ir.Decl); ok {
			changed.Add(d.Var)
		}
	}
	for _, v := range changed.List() {
		if f.Inner[v] {
			continue
		}
		if word, ok := f.Word[v]; ok && v.Space != ir.Param || ok && g.homes[v] != nil {
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
	for _, r := range analysis.ReductionsOf(f) {
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
