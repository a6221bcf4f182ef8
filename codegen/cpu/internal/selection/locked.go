package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// lockedAtomic selects the atomic of one lane on data that other workers also update.
func (g *atomics) lockedAtomic(s *ir.Atomic) {
	if _, local := s.Place.(*ir.Ref); local {
		g.list(analysis.InSteps(s, -1000-len(g.Homes))) // the place is local to this worker
		return
	}
	value, compare := g.ownValue(s.Value), g.ownValue(s.Compare)
	place := vcode.MemArg(g.AddressOnce(s.Place))
	t := s.Place.Type()
	switch direct := vector.HasLocked(s); {
	case s.Kind == ir.AtomicRead:
		g.giveOld(s, g.variableOf(t, s.At, func(r vcode.Reg) { g.LoadElement(r, place, t) }))
	case s.Kind == ir.AtomicWrite:
		g.StoreInteger(place, g.BitsOf(value, t), t)
	case s.Kind == ir.AtomicUpdate && direct:
		g.UpdateLocked(s, place, g.General(value))
	case s.Kind == ir.AtomicCapture && direct && (s.Op == ir.Add || s.Op == ir.Sub):
		g.addAndFetch(s, place, value)
	case s.Kind == ir.AtomicCapture && s.Op == ir.NoOp && t.Size >= 4:
		g.exchange(s, place, value)
	default:
		g.exchangeLoop(s, place, value, compare)
	}
}

// retry jumps back to top if another worker has changed memory before the exchange. Each retry
// passes a pause point.
func (g *atomics) retry(top mach.Label) {
	g.Jump(mach.CondNE, g.OutOfLine(func() {
		g.PausePoint()
		g.Jump(mach.Always, top)
	}))
}

// ownValue evaluates e once, into a new variable.
func (g *atomics) ownValue(e ir.Expr) ir.Expr {
	if e == nil {
		return nil
	}
	if _, ok := e.(*ir.Const); ok {
		return e
	}
	g.Made++
	v := &ir.Var{Name: "operand", Type: e.Type(), Space: ir.Local, ID: -100000 - g.Made, At: e.Pos()}
	g.decl(&ir.Decl{Var: v, Init: e, At: e.Pos()})
	return &ir.Ref{Var: v, At: e.Pos()}
}

// variableOf creates a variable with the bits that set writes to a general register.
func (g *atomics) variableOf(t *ir.Type, at ir.Pos, set func(r vcode.Reg)) *ir.Ref {
	g.Made++
	v := &ir.Var{Name: "old", Type: t, Space: ir.Local, ID: -100000 - g.Made, At: at}
	h := g.Declare(v)
	if h.Vectors == nil {
		set(h.General)
		return &ir.Ref{Var: v, At: at}
	}
	r := g.NewGeneral()
	set(r)
	g.BroadcastGeneral(h.Vectors[0], r, vector.Container(t), vcode.W128)
	return &ir.Ref{Var: v, At: at}
}

// giveOld assigns the value that a capture keeps.
func (g *atomics) giveOld(s *ir.Atomic, value ir.Expr) {
	if s.Old != nil {
		g.list([]ir.Stmt{&ir.Assign{Place: s.Old, Value: value, At: s.At}})
	}
}

// addAndFetch selects a sum or difference whose value is kept.
func (g *atomics) addAndFetch(s *ir.Atomic, place vcode.Arg, value ir.Expr) {
	t := s.Place.Type()
	g.FetchAdd(s.Op, place, g.General(value), t)
	old := g.variableOf(t, s.At, func(r vcode.Reg) {
		g.Kept(r)
		g.Normalise(r, t)
	})
	if s.After {
		g.giveOld(s, &ir.Binary{Op: s.Op, X: old, Y: value, T: t, At: s.At})
		return
	}
	g.giveOld(s, old)
}

// exchange stores a value and keeps the previous one.
func (g *atomics) exchange(s *ir.Atomic, place vcode.Arg, value ir.Expr) {
	t := s.Place.Type()
	g.Exchange(place, g.BitsOf(value, t), t)
	old := g.variableOf(t, s.At, func(r vcode.Reg) {
		g.Kept(r)
		if t.IsInteger() {
			g.Normalise(r, t)
		}
	})
	if s.After {
		g.giveOld(s, value)
		return
	}
	g.giveOld(s, old)
}

// exchangeLoop computes the new value from the value in memory, and repeats this until no other
// worker has changed memory meanwhile. It compares bits, so that a NaN ends the loop too.
func (g *atomics) exchangeLoop(s *ir.Atomic, place vcode.Arg, value, compare ir.Expr) {
	t, top, done := s.Place.Type(), g.NewLabel(), g.NewLabel()
	bits := g.NewGeneral()
	g.Place(top)
	old := g.variableOf(t, s.At, func(r vcode.Reg) {
		g.LoadElement(r, place, t)
		g.Move(bits, r)
	})
	next := value
	if s.Kind == ir.AtomicCompare {
		g.Branch(&ir.Binary{Op: ir.Eq, X: old, Y: compare, T: ir.BoolType, At: s.At}, false, done)
	} else {
		c := *s
		c.Value = value
		next = g.ownValue(analysis.Updated(&c, old))
	}
	r := g.BitsOf(next, t)
	g.ExchangeIf(place, bits, r, t)
	g.retry(top)
	g.Place(done)
	if s.After {
		g.giveOld(s, next)
		return
	}
	g.giveOld(s, old)
}
