package selection

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// preheader selects the computations and checks before a loop.
type preheader struct {
	reductions
	lanesFor map[*ir.For]bool      // the loops whose iterations become lanes
	proved   map[*ir.For]vcode.Reg // 1 for lanes loops whose accesses have been checked for all rows
	pastRow  *ir.Index             // the non-temporal store of the current loop over lanes
}

// A tailing describes the loop of single vectors under masks: it follows the main loop, and
// precedes it too if there is a peel.
type tailing struct {
	end   mach.Label
	again mach.Label // the main loop, if there is one
	peel  mach.Label // the entry with the number of iterations in first
	first vcode.Reg  // NoReg: there is no such entry
}

// wholeStore returns a store of whole vectors, one element for each iteration, that the loop
// executes in every round. Stores that cross cache lines cost most.
func (g *preheader) wholeStore(s *ir.For, f *memory.LoopFrame, step int64) (*ir.Index, bool) {
	if step != 1 || g.Lanes*g.Unroll < 2 || g.ISA.Short() { // stores of 16 bytes rarely cross a cache line
		return nil, false
	}
	for _, st := range s.Body {
		a, ok := st.(*ir.Assign)
		if !ok {
			continue
		}
		ix, ok := a.Place.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || ix.Type().Size < 4 || g.Lanes*int(ix.Type().Size) != g.Bytes {
			continue
		}
		root, ok := ix.X.(*ir.Ref)
		if sh := g.Shape(ix.I); !ok || g.Homes[root.Var] == nil || g.Homes[root.Var].Per > 0 || sh.Kind != analysis.Affine || sh.Stride != 1 || !g.OnlyLane(analysis.LinearOf(ix.I), f, s.Var) {
			continue
		}
		return ix, true
	}
	return nil, false
}

// peel enters the loop of single vectors for the iterations before the store is aligned to its
// size, if many iterations follow.
func (g *preheader) peel(store *ir.Index, left vcode.Reg, t *tailing) {
	per := int64(g.Lanes * g.Unroll)
	least := 2 * per
	if g.pastRow != nil { // always, before the first full round: non-temporal stores must be aligned
		least = per
	}
	g.CompareConst(left, least)
	g.Jump(mach.CondL, t.again)
	g.AddressOf(t.first, g.MemOf(g.AccessOf(store), analysis.LinearOf(store.I)))
	g.Negate(t.first)
	g.AndConst(t.first, int64(g.Bytes-1))
	g.Jump(mach.CondE, t.again)
	g.ShiftRight(t.first, int64(bits.TrailingZeros64(uint64(store.Type().Size))))
	g.Jump(mach.Always, t.peel)
}

// hoist computes, before a loop, the address of each row that its accesses traverse: the slice
// address plus the loop-invariant terms of the index. It returns a function that discards them
// after the loop.
func (g *preheader) hoist(f *memory.LoopFrame, body []ir.Stmt) func() {
	old := g.Pointer
	g.Pointer = make(map[string]vcode.Reg, len(old))
	for k, v := range old {
		g.Pointer[k] = v
	}
	ir.Inspect(body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.Homes[root.Var] == nil || g.Homes[root.Var].Per > 0 || g.Shape(ix.I).Kind == analysis.Varying {
			return
		}
		terms, key := analysis.LinearOf(ix.I).Part(f.Fixed)
		if len(terms) == 0 || !g.Known(terms) {
			return
		}
		g.hoistRow(g.Homes[root.Var], int64(ix.Type().Size), terms, key)
	})
	return func() { g.Pointer = old }
}

func (g *preheader) hoistRow(root *memory.Home, size int64, terms []analysis.Term, key string) {
	k := memory.HoistKey(root, size, key)
	if _, ok := g.Pointer[k]; ok {
		return
	}
	if size != int64(int32(size)) {
		return
	}
	p := g.Sum(terms)
	switch size {
	case 1, 2, 4, 8:
		g.AddressOf(p, vcode.Indexed(root.General, p, uint8(size), 0))
	default:
		g.MultiplyConst(p, p, size)
		g.Add(p, root.General)
	}
	g.Pointer[k] = p
}

// precheck tests, before the main loop, the first and the last index of every affine access whose
// other terms are loop-invariant. If one is out of range, it jumps to the loop that checks lane by
// lane.
func (g *preheader) precheck(s *ir.For, f *memory.LoopFrame, left vcode.Reg, step int64, tail mach.Label) {
	g.Safe = map[*ir.Index]bool{}
	seen := map[string]bool{}
	ir.Inspect(s.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !g.Checks(ix) || ix.X.Type().Kind != ir.Slice {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.Homes[root.Var] == nil || g.Homes[root.Var].Per > 0 {
			return
		}
		l := analysis.LinearOf(ix.I)
		if g.Shape(ix.I).Kind != analysis.Affine || !g.OnlyLane(l, f, s.Var) {
			return
		}
		for _, w := range l.Withins {
			if g.Shape(w.X).Kind == analysis.Varying || !g.OnlyLane(analysis.LinearOf(w.X), f, s.Var) || !f.Fixed(w.Y) || !g.Known([]analysis.Term{{Expr: w.Y}}) {
				return
			}
		}
		g.Safe[ix] = true
		if ix.Checked {
			g.precheckOnce(seen, strconv.Itoa(root.Var.ID), g.Homes[root.Var].Length, l, g.Shape(ix.I), left, tail)
		}
		for _, w := range l.Withins {
			g.precheckOnce(seen, ir.ExprKey(w.Y), g.GeneralOutside(w.Y), analysis.LinearOf(w.X), g.Shape(w.X), left, tail)
		}
	})
}

// precheckOnce tests an index against a length, unless an earlier test covers it.
func (g *preheader) precheckOnce(seen map[string]bool, of string, length vcode.Reg, l analysis.Linear, sh analysis.Shape, left vcode.Reg, tail mach.Label) {
	_, all := l.Part(func(ir.Expr) bool { return true })
	key := fmt.Sprint(of, all, l.C)
	if !seen[key] {
		seen[key] = true
		g.precheckOne(length, l, left, sh.Stride, tail)
	}
}

func (g *preheader) precheckOne(length vcode.Reg, l analysis.Linear, left vcode.Reg, stride int64, tail mach.Label) {
	first := g.IndexValue(l)
	g.Compare(first, length)
	g.Jump(mach.CondAE, tail)
	last := g.NewGeneral()
	g.Times(last, left, stride)
	g.Add(last, first)
	g.AddConst(last, -stride)
	g.Compare(last, length)
	g.Jump(mach.CondAE, tail)
}

// growing returns the checked accesses whose index is the counter plus a loop-invariant value.
func (g *preheader) growing(s *ir.For, f *memory.LoopFrame) (out []*ir.Index) {
	ir.Inspect(s.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !ix.Checked || !g.Checks(ix) {
			return
		}
		root, ok := ix.X.(*ir.Ref)
		if !ok || g.Homes[root.Var] == nil || g.Homes[root.Var].Per > 0 || f.Changes.Has(root.Var) {
			return
		}
		l := analysis.LinearOf(ix.I)
		if len(l.Withins) > 0 {
			return
		}
		grows := false
		for _, t := range l.Terms {
			switch {
			case analysis.IsCounter(t.Expr, s.Var):
				grows = t.Coef == 1
			case !f.Fixed(t.Expr) || !g.Known([]analysis.Term{t}):
				return
			}
		}
		if grows {
			out = append(out, ix)
		}
	})
	return out
}
