package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir"
)

// streams tells whether a parallel loop does nothing but move and combine elements.
func streams(f *ir.For) bool {
	plain := true
	ir.Inspect(f.Body, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Assign, *ir.Decl, *ir.If:
		default:
			plain = false
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Math:
			plain = plain && e.Fn == ir.FMA
		case *ir.Binary:
			plain = plain && e.Op != ir.Div && e.Op != ir.Rem
		}
	})
	return plain
}

// streamsRows tells the same of a nest of two parallel loops.
func streamsRows(f *ir.For) bool {
	if len(f.Body) != 1 {
		return false
	}
	inner, ok := f.Body[0].(*ir.For)
	return ok && ir.RunsTogether(inner) && streams(inner)
}

// rowGoesPast tells whether the store that a loop over lanes inside a parallel loop aligns may
// leave the caches alone.
func (g *gen) rowGoesPast(ix *ir.Index, s *ir.For) bool {
	root, ok := ix.X.(*ir.Ref)
	return ok && g.past && g.inLoop && s != g.parallelLanes && g.frame.word[root.Var] > 0 && !readFrom(g.kernel, root.Var)
}

// goesPast tells whether the store of ix in the lanes loop may leave the caches alone: whole
// vectors to a slice that the kernel only writes, at the number of the iteration.
func (g *gen) goesPast(ix *ir.Index) (image.PastStore, bool) {
	if !g.past || g.exec != nil || ix.Type().Size < 4 {
		return image.PastStore{}, false
	}
	root, ok := ix.X.(*ir.Ref)
	if ok && ix == g.pastRow && g.exec == nil {
		return image.PastStore{Word: g.frame.word[root.Var], Size: int64(ix.Type().Size), Rows: true}, true
	}
	if !ok || g.parallelLanes == nil || !ir.IsRef(ix.I, g.parallelLanes.Var) || g.arrays[root.Var] > 0 || readFrom(g.kernel, root.Var) {
		return image.PastStore{}, false
	}
	if lo, ok := ir.ConstInt(g.parallelLo); !ok || lo != 0 {
		return image.PastStore{}, false
	}
	return image.PastStore{Word: g.frame.word[root.Var], Size: int64(ix.Type().Size)}, true
}

// readFrom tells whether the kernel reads elements of v.
func readFrom(k *ir.Kernel, v *ir.Var) bool {
	writes, uses := 0, 0
	ir.Inspect(k.Body, func(s ir.Stmt) {
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok && ir.IsRef(ix.X, v) {
				writes++
			}
		}
	}, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ir.IsRef(ix.X, v) {
			uses++
		}
	})
	return uses > writes
}
