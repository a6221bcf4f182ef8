package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// openLeague gives the reductions over the whole loop a start of their own: the identity, or for
// pairs what the pair was before.
func (g *gen) openLeague(s *image.Stage, f frame) {
	for _, r := range reductionsOf(s.Loop) {
		ref, ok := r.Place.(*ir.Ref)
		if !ok {
			g.refuse(r.At, "a reduction of %s, a part of something, has no form for lanes: reduce a variable and store it behind the loop", ir.Source(r.Place))
		}
		v := ref.Var
		word, ok := f.word[v]
		if !ok {
			g.refuse(r.At, "the reduction variable %s is declared in a block: declare it at the top of the kernel", v.Name)
		}
		if len(s.Sums) == image.MaxSums {
			g.refuse(r.At, "the loop has more than %d reductions: write two loops", image.MaxSums)
		}
		x := image.Sum{Op: r.Op, Type: v.Type, Word: word}
		switch n := g.arrays[v]; {
		case n > 0:
			x.Type, x.Elements, x.Offset = v.Type.Elem, n, g.scratch
			h := &home{gp: g.NewGeneral(), length: g.constGeneral(n)}
			g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(image.WordScratch))
			g.addConst(h.gp, x.Offset)
			g.scratch += image.RoundUp(n*int64(x.Type.Size), image.ScratchAlign)
			g.fillArray(h, x.Type, n, g.constVector(g.repeated(r, x.Type), max(4, int(x.Type.Size))))
			g.homes[v] = h
		case r.Index != nil:
			i, ok := r.Index.(*ir.Ref)
			if !ok || f.word[i.Var] == 0 {
				g.refuse(r.At, "the index %s of reduction(%s) is no variable of the top of the kernel: declare one there", ir.Source(r.Index), r.Op)
			}
			x.Index, x.IndexType = f.word[i.Var], i.Var.Type
		default:
			h := g.declare(v)
			if h.vec != nil {
				g.move(h.vec[0], g.constVector(g.identity(r), container(v.Type)))
			} else {
				g.setGeneral(h.gp, image.GeneralIdentity(g.identity(r), v.Type))
			}
		}
		s.Sums = append(s.Sums, x)
	}
}

func (g *gen) closeLeague(s *image.Stage) {
	for i, r := range reductionsOf(s.Loop) {
		x, v := s.Sums[i], r.Place.(*ir.Ref).Var
		if x.Elements > 0 {
			continue
		}
		g.storeWord(g.homes[v], v.Type, x.Word)
		if x.Index > 0 {
			g.storeWord(g.homes[r.Index.(*ir.Ref).Var], x.IndexType, x.Index)
		}
	}
}

// The least and the most iterations of a loop that are reduced together: one for each lane of the
// widest round, and what takes much longer than a call. Between them, about leafWork operations
// are.
const (
	leastLeaf = 64
	mostLeaf  = 8192
	leafWork  = 1 << 16
)

// leafOf is how many iterations of the loop are reduced together at least: by its text alone, so
// that every machine cuts it alike. A loop around others has work enough for a call in a few
// iterations.
func leafOf(s *image.Stage) int64 {
	if !innermost(s.Loop.Body) {
		return leastLeaf
	}
	weight := int64(0)
	ir.Inspect(s.Loop.Body, func(ir.Stmt) { weight++ }, func(e ir.Expr) { weight += operations(e) })
	leaf := int64(mostLeaf)
	for leaf > leastLeaf && leaf*weight > leafWork {
		leaf /= 2
	}
	return leaf
}
