package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// rowGoesPast tells whether the store that a loop over lanes inside a parallel loop aligns may
// leave the caches alone.
func (g *gen) rowGoesPast(ix *ir.Index, s *ir.For) bool {
	root, ok := ix.X.(*ir.Ref)
	return ok && g.past && g.inLoop && s != g.parallelLanes && g.frame.Word[root.Var] > 0 && !analysis.ReadFrom(g.kernel, root.Var)
}

// goesPast tells whether the store of ix in the lanes loop may leave the caches alone: whole
// vectors to a slice that the kernel only writes, at the number of the iteration.
func (g *gen) goesPast(ix *ir.Index) (image.PastStore, bool) {
	if !g.past || g.exec != nil || ix.Type().Size < 4 {
		return image.PastStore{}, false
	}
	root, ok := ix.X.(*ir.Ref)
	if ok && ix == g.pastRow && g.exec == nil {
		return image.PastStore{Word: g.frame.Word[root.Var], Size: int64(ix.Type().Size), Rows: true}, true
	}
	if !ok || g.parallelLanes == nil || !ir.IsRef(ix.I, g.parallelLanes.Var) || g.arrays[root.Var] > 0 || analysis.ReadFrom(g.kernel, root.Var) {
		return image.PastStore{}, false
	}
	if lo, ok := ir.ConstInt(g.parallelLo); !ok || lo != 0 {
		return image.PastStore{}, false
	}
	return image.PastStore{Word: g.frame.Word[root.Var], Size: int64(ix.Type().Size)}, true
}
