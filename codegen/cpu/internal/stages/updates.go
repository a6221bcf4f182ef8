package stages

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// A loop whose iterations update slices by atomic operations may run on several workers: all but
// one of them update copies of their own, which hold the identity at first and are combined with
// the slices at the end. That is worth it where the slices are short beside what the loop takes.
// Other loops run with locked instructions, see exec/locks.go, or on one worker, where an update
// needs no lock.

// UpdatesOf finds the slices that the atomics of f update; nil where one of these does more than
// that, or its slice is used otherwise.
func UpdatesOf(f *ir.For, words map[*ir.Var]int) *image.SharedUpdates {
	ops, uses, ok := map[*ir.Var]ir.Op{}, map[*ir.Var]int{}, true
	ir.WalkStmts([]ir.Stmt{f}, func(s ir.Stmt) bool {
		if a, atomic := s.(*ir.Atomic); atomic {
			v := updatedBy(a, words)
			op := analysis.Combined(a.Op)
			if old, seen := ops[v]; v == nil || seen && old != op {
				ok = false
				return false
			}
			ops[v] = op
			uses[v]--
		}
		return ok
	})
	if !ok || len(ops) == 0 {
		return nil
	}
	analysis.CountUses(f, uses)
	u := &image.SharedUpdates{}
	for _, v := range ir.Free([]ir.Stmt{f}).List() {
		if v.Type.Kind != ir.Slice {
			continue
		}
		op, updated := ops[v]
		if !updated {
			u.Others = append(u.Others, image.OtherSlice{Word: words[v], Size: int64(v.Type.Elem.Size)})
			continue
		}
		if uses[v] != 0 {
			return nil
		}
		x := image.UpdatedSlice{Sum: image.Sum{Op: op, Type: v.Type.Elem, Word: words[v]}}
		x.Identity, _ = analysis.Identity(ir.Reduction{Op: op, Place: &ir.Index{X: &ir.Ref{Var: v}, I: ir.IntConst(0, v.At)}, At: v.At})
		u.Slices = append(u.Slices, x)
	}
	return u
}

// updatedBy is the slice of an update whose order does not matter; nil where it does.
func updatedBy(a *ir.Atomic, words map[*ir.Var]int) *ir.Var {
	ix, ok := a.Place.(*ir.Index)
	if !ok || a.Kind != ir.AtomicUpdate || a.Old != nil || a.Swapped {
		return nil
	}
	r, ok := ix.X.(*ir.Ref)
	if t := a.Place.Type(); !ok || r.Var.Type.Kind != ir.Slice || words[r.Var] == 0 || !t.IsFloat() && !t.IsInteger() {
		return nil
	}
	switch a.Op {
	case ir.Add, ir.Sub, ir.Min, ir.Max:
		return r.Var
	case ir.And, ir.Or, ir.Xor:
		if a.Place.Type().IsInteger() {
			return r.Var
		}
	}
	return nil
}
