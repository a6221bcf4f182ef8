package selection

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/ir"
)

// openLeague initialises the reductions over the whole loop: with the identity, or for pairs with
// the previous value of the pair.
func (g *reductions) openLeague(s *image.Stage, f stages.Frame) {
	for _, r := range analysis.ReductionsOf(s.Loop) {
		ref, ok := r.Place.(*ir.Ref)
		if !ok {
			g.Refuse(r.At, "a reduction of %s, a part of something, has no form for lanes: reduce a variable and store it behind the loop", ir.Source(r.Place))
		}
		v := ref.Var
		word, ok := f.Word[v]
		if !ok {
			g.Refuse(r.At, "the reduction variable %s is declared in a block: declare it at the top of the kernel", v.Name)
		}
		if len(s.Sums) == image.MaxSums {
			g.Refuse(r.At, "the loop has more than %d reductions: write two loops", image.MaxSums)
		}
		x := image.Sum{Op: r.Op, Type: v.Type, Word: word}
		switch n := g.Arrays[v]; {
		case n > 0:
			x.Type, x.Elements, x.Offset = v.Type.Elem, n, g.Scratch
			h := &memory.Home{General: g.NewGeneral(), Length: g.ConstGeneral(n)}
			g.ReadWord(h.General, image.WordScratch)
			g.AddConst(h.General, x.Offset)
			g.Scratch += image.RoundUp(n*int64(x.Type.Size), image.ScratchAlign)
			g.FillArray(h, x.Type, n, g.ConstVector(g.repeated(r, x.Type), max(4, int(x.Type.Size))))
			g.Homes[v] = h
		case r.Index != nil:
			i, ok := r.Index.(*ir.Ref)
			if !ok || f.Word[i.Var] == 0 {
				g.Refuse(r.At, "the index %s of reduction(%s) is no variable of the top of the kernel: declare one there", ir.Source(r.Index), r.Op)
			}
			x.Index, x.IndexType = f.Word[i.Var], i.Var.Type
		default:
			h := g.Declare(v)
			if h.Vectors != nil {
				g.Move(h.Vectors[0], g.ConstVector(g.identity(r), vector.Container(v.Type)))
			} else {
				g.SetGeneral(h.General, image.GeneralIdentity(g.identity(r), v.Type))
			}
		}
		s.Sums = append(s.Sums, x)
	}
}

func (g *reductions) closeLeague(s *image.Stage) {
	for i, r := range analysis.ReductionsOf(s.Loop) {
		x, v := s.Sums[i], r.Place.(*ir.Ref).Var
		if x.Elements > 0 {
			continue
		}
		g.StoreWord(g.Homes[v], v.Type, x.Word)
		if x.Index > 0 {
			g.StoreWord(g.Homes[r.Index.(*ir.Ref).Var], x.IndexType, x.Index)
		}
	}
}
