package stages

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// CopyOf reports whether the loop only copies from one slice of the frame to another.
func CopyOf(s *ir.For, f Frame) (c image.CopyLoop, ok bool) {
	step, isConst := ir.ConstStep(s)
	lo, hasLo := ir.ConstInt(s.Lo)
	if !isConst || step != 1 || !hasLo || lo < 0 || len(s.Body) != 1 || len(analysis.ReductionsOf(s)) > 0 {
		return c, false
	}
	a, isAssign := s.Body[0].(*ir.Assign)
	if !isAssign {
		return c, false
	}
	to, isTo := a.Place.(*ir.Index)
	from, isFrom := a.Value.(*ir.Index)
	if !isTo || !isFrom || !ir.IsRef(to.I, s.Var) || !ir.IsRef(from.I, s.Var) || !ir.Same(to.Type(), from.Type()) {
		return c, false
	}
	x, isX := to.X.(*ir.Ref)
	y, isY := from.X.(*ir.Ref)
	if !isX || !isY || x.Var.Type.Kind != ir.Slice || y.Var.Type.Kind != ir.Slice || f.Word[x.Var] == 0 || f.Word[y.Var] == 0 {
		return c, false
	}
	return image.CopyLoop{Dst: f.Word[x.Var], Src: f.Word[y.Var], First: lo, Size: int64(to.Type().Size)}, true
}

// Four pages at once are what Intel's processors like best. On AMD's, plain loops that store past
// the caches take two thirds of that time, and half of that of the C library, so that this is for
// slices that are not aligned there: 44, 31 and 22 GB/s on one of Zen 4.

// Countable reports whether s does nothing but count the iterations of the loop behind it, which Go
// then does.
func Countable(s *image.Stage, f Frame) bool {
	if s.Loop != nil || s.Next == nil || len(s.Body) > 0 {
		return false
	}
	c := image.Count{Set: true, Inclusive: s.Next.Rel == ir.Le || s.Next.Rel == ir.Ge}
	var ok bool
	if c.Step, ok = ir.ConstStep(s.Next); !ok || s.Next.Rel == ir.Ne || s.Next.Var.Type.Kind == ir.Uint64 {
		return false // the numbers of a count are signed
	}
	term := func(e ir.Expr, word *int, value *int64) bool {
		if c, ok := ir.ConstInt(e); ok {
			*value = c
			return true
		}
		switch e := e.(type) {
		case *ir.Len:
			if r, ok := e.X.(*ir.Ref); ok && f.Word[r.Var] > 0 {
				*word = f.Word[r.Var] + 1
				return true
			}
		case *ir.Ref:
			if ir.IsWide(e.Var.Type) && f.Word[e.Var] > 0 {
				*word = f.Word[e.Var]
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

// Split cuts the body at its parallel loops.
func Split(body []ir.Stmt) []*image.Stage {
	var out []*image.Stage
	seq := &image.Stage{}
	for _, s := range body {
		if f, ok := ir.ParallelLoop(s); ok {
			seq.Next = f
			out = append(out, seq, &image.Stage{Loop: f, Body: []ir.Stmt{f}, Alone: analysis.HasAtomics(f)})
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
