package cpu

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir"
)

// A loop whose iterations update slices by atomic operations may run on several workers: all but one of them update copies of their own, which hold the
// identity at first and are combined with the slices at the end. That is worth it where the slices are short beside what the loop takes. Other loops run
// with locked instructions, see locks.go, or on one worker, where an update needs no lock.

// updatesOf finds the slices that the atomics of f update; nil where one of these does more than that, or its slice is used otherwise.
func (g *gen) updatesOf(f *ir.For) *image.SharedUpdates {
	ops, uses, ok := map[*ir.Var]ir.Op{}, map[*ir.Var]int{}, true
	ir.WalkStmts([]ir.Stmt{f}, func(s ir.Stmt) bool {
		if a, atomic := s.(*ir.Atomic); atomic {
			v := g.updatedBy(a)
			op := combined(a.Op)
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
	countUses(f, uses)
	u := &image.SharedUpdates{}
	for _, v := range ir.Free([]ir.Stmt{f}).List() {
		if v.Type.Kind != ir.Slice {
			continue
		}
		op, updated := ops[v]
		if !updated {
			u.Others = append(u.Others, image.OtherSlice{Word: g.frame.word[v], Size: int64(v.Type.Elem.Size)})
			continue
		}
		if uses[v] != 0 {
			return nil
		}
		x := image.UpdatedSlice{Sum: image.Sum{Op: op, Type: v.Type.Elem, Word: g.frame.word[v]}}
		x.Identity = g.identity(ir.Reduction{Op: op, Place: &ir.Index{X: &ir.Ref{Var: v}, I: ir.IntConst(0, v.At)}, At: v.At})
		u.Slices = append(u.Slices, x)
	}
	return u
}

// countUses adds what uses the slices but for their lengths.
func countUses(f *ir.For, uses map[*ir.Var]int) {
	lengths := map[ir.Expr]bool{}
	ir.Inspect([]ir.Stmt{f}, nil, func(e ir.Expr) {
		if n, ok := e.(*ir.Len); ok {
			lengths[n.X] = true
		}
		if r, ok := e.(*ir.Ref); ok && !lengths[e] {
			uses[r.Var]++
		}
	})
}

// updatedBy is the slice of an update whose order does not matter; nil where it does.
func (g *gen) updatedBy(a *ir.Atomic) *ir.Var {
	ix, ok := a.Place.(*ir.Index)
	if !ok || a.Kind != ir.AtomicUpdate || a.Old != nil || a.Swapped {
		return nil
	}
	r, ok := ix.X.(*ir.Ref)
	if t := a.Place.Type(); !ok || r.Var.Type.Kind != ir.Slice || g.frame.word[r.Var] == 0 || !t.IsFloat() && !t.IsInteger() {
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

// combined is the operation that combines what several have made by op.
func combined(op ir.Op) ir.Op {
	if op == ir.Sub {
		return ir.Add
	}
	return op
}

// Copies are worth it where the loop takes some calls, and combining one takes a small part of that.
const (
	perCombined   = 2000 // picoseconds an element
	combinedPart  = 8
	fewestCalls   = 4
	mostCopyBytes = 16 << 20
)

// worthCopies tells whether several workers shall run a loop that takes so many picoseconds with copies.
func worthCopies(u *image.SharedUpdates, b *image.Block, expected int64) bool {
	elements, bytes := int64(0), int64(0)
	for _, x := range u.Slices {
		n := int64(b[x.Word+1])
		elements, bytes = elements+n, bytes+n*int64(x.Type.Size)
	}
	return expected >= fewestCalls*int64(callTime)*1000 && bytes <= mostCopyBytes && elements*perCombined*combinedPart <= expected
}

// A copySet holds the copies of one worker; nil memory means the slices themselves.
type copySet struct{ memory [][]byte }

// takeCopies gives a worker a set that no other one uses: the slices themselves to the first.
func (l *Loop) takeCopies(b *image.Block) *copySet {
	l.mu.Lock()
	if n := len(l.idleCopies); n > 0 {
		s := l.idleCopies[n-1]
		l.idleCopies = l.idleCopies[:n-1]
		l.mu.Unlock()
		return s
	}
	s := &copySet{}
	first := len(l.copies) == 0
	l.copies = append(l.copies, s)
	l.mu.Unlock()
	if !first {
		for _, x := range l.stage.Updates.Slices {
			s.memory = append(s.memory, x.CopyOf(int64(b[x.Word+1])))
		}
	}
	return s
}

func (l *Loop) giveBackCopies(s *copySet) {
	l.mu.Lock()
	l.idleCopies = append(l.idleCopies, s)
	l.mu.Unlock()
}

// bind lets a block use the copies.
func (s *copySet) bind(b *image.Block, u *image.SharedUpdates) {
	for i, m := range s.memory {
		if len(m) > 0 {
			b[u.Slices[i].Word] = uint64(uintptr(unsafe.Pointer(&m[0])))
		}
	}
}

// combineCopies ends the copies, and adds what the workers have in them to the slices where no worker failed.
func (l *Loop) combineCopies(master *image.Block, whole bool) {
	sets := l.copies
	l.copies, l.idleCopies = nil, nil
	if !whole {
		return
	}
	for _, s := range sets {
		for i, m := range s.memory {
			x := &l.stage.Updates.Slices[i]
			if len(m) > 0 {
				// Safe: the slice that the argument is, which the caller keeps alive, and whose length the block holds.
				to := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&master[x.Word]))), len(m))
				x.CombineAll(to, m)
			}
		}
	}
}
