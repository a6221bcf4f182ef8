package cuda

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// A counter is a variable that counts the iterations of a loop with several conditions, as in
// for k < most && x*x+y*y < 4 { k++ }. Its values lie between the initial value and the bound,
// although the body changes it and the code after the loop may use it.
type counter struct {
	v     *ir.Var
	init  ir.Expr // nil: 0
	bound ir.Expr // v is less than bound before each increment
	step  int64   // increment, greater than 0
}

// findCounters finds the counters of the loops in list. Only one statement may change a counter, at
// most once in each iteration, after the condition.
func (p *facts) findCounters(list []ir.Stmt) {
	p.counters = map[*ir.While][]counter{}
	times, decls := map[*ir.Var]int{}, map[*ir.Var]*ir.Decl{}
	taken := ir.AddressTaken(list)
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.If, *ir.For, *ir.While, *ir.Block, *ir.Construct:
			return true
		case *ir.Decl:
			decls[s.Var] = s
		}
		for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
			times[v]++
		}
		return true
	})
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		w, ok := s.(*ir.While)
		if !ok || w.Cond == nil || p.heads[w] != nil {
			return true
		}
		conjuncts(w.Cond, func(e *ir.Binary) {
			r, ok := e.X.(*ir.Ref)
			if !ok || e.Op != ir.Lt || r.Var.Type.Kind != ir.Int64 || r.Var.Space != ir.Local || decls[r.Var] == nil || times[r.Var] != 1 || taken.Has(r.Var) {
				return
			}
			step := max(stepIn(w.Body, r.Var), stepIn(w.Post, r.Var))
			if step > 0 && !ir.ExprVars(e.Y).Has(r.Var) {
				p.counters[w] = append(p.counters[w], counter{r.Var, decls[r.Var].Init, e.Y, step})
			}
		})
		return true
	})
}

// conjuncts calls do for each comparison that holds whenever e holds.
func conjuncts(e ir.Expr, do func(*ir.Binary)) {
	b, ok := e.(*ir.Binary)
	switch {
	case !ok:
	case b.Op == ir.LAnd:
		conjuncts(b.X, do)
		conjuncts(b.Y, do)
	default:
		do(b)
	}
}

// stepIn returns the amount by which list increments v, outside of inner loops, or 0 if list does
// not increment v.
func stepIn(list []ir.Stmt, v *ir.Var) (step int64) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For, *ir.While:
			return false
		case *ir.Assign:
			b, ok := s.Value.(*ir.Binary)
			if !ok || b.Op != ir.Add || !ir.IsRef(s.Place, v) || !ir.IsRef(b.X, v) {
				return true
			}
			if c, ok := b.Y.(*ir.Const); ok && int64(c.Bits) > 0 && int64(c.Bits) <= math.MaxInt32 {
				step = int64(c.Bits)
			}
		}
		return true
	})
	return step
}

// countRange derives the value ranges of the counters of w from their initial values and bounds.
func (p *facts) countRange(w *ir.While) {
	for _, c := range p.counters[w] {
		first, bound := span(0, 0), p.ranges.of(c.bound)
		if c.init != nil {
			first = p.ranges.of(c.init)
		}
		if !first.known || !bound.known {
			continue
		}
		end, ok := add(bound.hi, c.step-1)
		if r := span(first.lo, max(first.hi, end)); ok {
			p.learn(c.v, r, bound.fits32())
		}
	}
}
