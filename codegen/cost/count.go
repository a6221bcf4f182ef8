package cost

import (
	"maps"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
)

// A counter counts what one thread does.
type counter struct {
	target   *target.Target
	grid     Grid
	mind     [minds]*mind
	work     target.Work
	barriers float64
	turns    float64             // of the innermost loop
	body     deps.Bytes          // that one iteration of it loads
	flight   deps.Bytes          // most of those
	slices   map[*ir.Var]float64 // bytes of sectors that a thread asks of each, cached ones left out
	lengths  map[*ir.Var]float64 // bytes of each, where that is known
	depth    int                 // of calls
}

// stmts counts list, which runs so many times.
func (c *counter) stmts(list []ir.Stmt, times float64) {
	for _, s := range list {
		c.stmt(s, times)
	}
}

func (c *counter) stmt(s ir.Stmt, times float64) {
	switch s := s.(type) {
	case *ir.Decl:
		c.expr(s.Init, times)
		c.set(s.Var, s.Init)
	case *ir.Assign:
		c.expr(s.Value, times)
		c.place(s.Place, times)
		if r, ok := s.Place.(*ir.Ref); ok {
			c.set(r.Var, s.Value)
		}
	case *ir.If:
		c.branch(s, times)
	case *ir.Block:
		c.stmts(s.Body, times)
	case *ir.While:
		c.while(s, times)
	case *ir.For:
		c.loop(s, times)
	case *ir.Atomic:
		c.expr(s.Value, times)
		c.place(s.Place, 2*times) // it is read and written
	case *ir.Barrier:
		c.barriers += times
	case *ir.Call:
		c.call(s, times)
	}
}

// call counts a function with its arguments.
func (c *counter) call(s *ir.Call, times float64) {
	const deepest = 16
	for i, a := range s.Args {
		c.expr(a, times)
		if i < len(s.Fn.Params) {
			c.set(s.Fn.Params[i], a)
		}
	}
	if c.depth++; c.depth < deepest {
		c.stmts(s.Fn.Body, times)
	}
	c.depth--
}

func (c *counter) set(v *ir.Var, e ir.Expr) {
	for _, m := range c.mind {
		m.set(v, e)
	}
}

// branch counts the side that is taken; both for half of the times where that is not known.
func (c *counter) branch(s *ir.If, times float64) {
	c.expr(s.Cond, times)
	bits, err := ir.Eval(s.Cond, c.mind[self])
	switch {
	case err != nil && len(s.Else) == 0:
		c.stmts(s.Then, times)
	case err != nil:
		c.stmts(s.Then, times/2)
		c.stmts(s.Else, times/2)
	case bits != 0:
		c.stmts(s.Then, times)
	default:
		c.stmts(s.Else, times)
	}
}

// while counts a loop whose variable takes even steps to a bound, or one of unknown trips.
func (c *counter) while(s *ir.While, times float64) {
	v, step, trips := c.even(s)
	c.turn(v, step, trips, times, func(times float64) {
		c.stmts(s.Pre, times)
		c.expr(s.Cond, times)
		c.stmts(s.Body, times)
		for _, p := range s.Post {
			if a, ok := p.(*ir.Assign); ok {
				c.expr(a.Value, times)
			}
		}
	})
}

// even returns the variable of a loop, by how much it grows in a turn, and the trips; v is nil
// where that is not known.
func (c *counter) even(s *ir.While) (v *ir.Var, step int64, trips float64) {
	cond, ok := s.Cond.(*ir.Binary)
	if !ok || len(s.Post) == 0 {
		return nil, 0, unknownTurns
	}
	at, ok := cond.X.(*ir.Ref)
	post, okPost := s.Post[len(s.Post)-1].(*ir.Assign)
	if !ok || !okPost {
		return nil, 0, unknownTurns
	}
	grown, ok := post.Value.(*ir.Binary)
	if to, isRef := post.Place.(*ir.Ref); !ok || !isRef || to.Var != at.Var || grown.Op != ir.Add {
		return nil, 0, unknownTurns
	}
	return c.steps(at.Var, cond.X, cond.Y, grown.Y)
}

// steps returns how often v goes from lo below hi by step.
func (c *counter) steps(v *ir.Var, lo, hi, by ir.Expr) (_ *ir.Var, step int64, trips float64) {
	m := c.mind[self]
	first, err := ir.EvalInt(lo, m)
	last, errHi := ir.EvalInt(hi, m)
	step, errStep := ir.EvalInt(by, m)
	if err != nil || errHi != nil || errStep != nil || step == 0 {
		return nil, 0, unknownTurns
	}
	return v, step, max(float64(last-first)/float64(step), 0)
}

func (c *counter) loop(s *ir.For, times float64) {
	c.expr(s.Lo, times)
	c.expr(s.Hi, times)
	c.set(s.Var, s.Lo)
	v, step, trips := c.steps(s.Var, s.Lo, s.Hi, s.Step)
	if v == nil {
		for _, m := range c.mind {
			delete(m.known, s.Var)
		}
	}
	c.turn(v, step, trips, times, func(times float64) {
		c.work.Int += 2 * times // counted and compared
		c.stmts(s.Body, times)
	})
}

// turn counts the iterations of a loop as so many of the first one. A loop that takes part of a
// turn is one that few threads enter.
func (c *counter) turn(v *ir.Var, step int64, trips, times float64, body func(times float64)) {
	if trips == 0 {
		return
	}
	outer, turns, loads := c.mind[next], c.turns, c.body
	c.turns, c.body = max(trips, 1), 0
	ahead := *c.mind[self]
	ahead.known = maps.Clone(ahead.known)
	if v != nil {
		ahead.known[v] += ir.Bits(step)
	}
	c.mind[next] = &ahead
	body(times * trips)
	c.flight = max(c.flight, c.body*deps.Bytes(min(c.turns, unrolled)))
	c.mind[next], c.turns, c.body = outer, turns, loads
}

// unrolled is how many turns of a loop compilers load for at once (nvcc -O3, cuobjdump -sass).
const unrolled = 4

// expr counts e and what is in it.
func (c *counter) expr(e ir.Expr, times float64) {
	if e == nil {
		return
	}
	switch e := e.(type) {
	case *ir.Binary:
		c.operation(e.X.Type(), e.Op, times)
	case *ir.Unary:
		c.operation(e.X.Type(), e.Op, times)
	case *ir.Convert:
		c.work.Int += times
	case *ir.Math:
		c.work.Special += times
	case *ir.Shuffle:
		c.work.Loads += times
	case *ir.Index:
		c.access(e, times, true)
	}
	ir.Operands(e, func(x ir.Expr) { c.expr(x, times) })
}

// place counts a store.
func (c *counter) place(e ir.Expr, times float64) {
	for {
		switch p := e.(type) {
		case *ir.Index:
			c.access(p, times, false)
			c.expr(p.I, times)
			e = p.X
			continue
		case *ir.Member:
			e = p.X
			continue
		case *ir.Deref:
			c.work.Stores += times
		}
		return
	}
}

// divideOps are the instructions of an integer division or remainder by a number that is not
// constant, on GPUs of NVIDIA, 32 bits (cuobjdump -sass of one: 18 to 23).
const divideOps = 20

func (c *counter) operation(t *ir.Type, op ir.Op, times float64) {
	divides := op == ir.Div || op == ir.Rem
	switch {
	case t.Kind == ir.Float64:
		c.work.Float64 += times
	case t.IsFloat():
		c.work.Float32 += times
	case divides:
		c.work.Int += divideOps * times
		return
	default:
		c.work.Int += times
	}
	if divides {
		c.work.Special += times
	}
}

// access counts an element that is loaded or stored.
func (c *counter) access(e *ir.Index, times float64, load bool) {
	count := &c.work.Stores
	if load {
		count = &c.work.Loads
	}
	base := ir.RootVar(e.X)
	if e.X.Type().Kind != ir.Slice {
		if base != nil && base.Space == ir.Team {
			*count += times
		}
		return // other arrays are in registers
	}
	t := c.target
	size := deps.Bytes(e.Type().Size)
	sectors := c.sectors(e, size)
	*count += times * max(1, sectors*float64(t.Memory.Sector)/float64(t.Memory.Line))
	if load {
		c.body += min(size, t.Memory.Word)
	}
	asked := times * sectors * float64(t.Memory.Sector) / float64(t.Team.Warp) * c.fresh(e, size)
	c.slices[base] += asked
	if r, ok := e.X.(*ir.Ref); ok {
		if n, _, ok := c.mind[self].Slice(r.Var); ok {
			c.lengths[base] = float64(n) * float64(size)
		}
	}
}

// sectors is how many sectors a warp touches.
func (c *counter) sectors(e *ir.Index, size deps.Bytes) float64 {
	t := c.target
	warp := float64(t.Team.Warp)
	apart, ok := c.distance(e, beside)
	if !ok {
		return warp
	}
	if apart == 0 {
		return 1
	}
	return min(warp, max(1, warp*float64(apart)*float64(size)/float64(t.Memory.Sector)))
}

// fresh is the part of the accesses in a loop whose sectors the iteration before has not left in
// the first level of the cache.
func (c *counter) fresh(e *ir.Index, size deps.Bytes) float64 {
	if c.turns == 0 {
		return 1
	}
	moved, ok := c.distance(e, next)
	if !ok {
		return 1
	}
	apart, _ := c.distance(e, beside)
	if moved == 0 {
		return 1 / c.turns
	}
	if lines := moved * int64(size); apart*int64(size) >= int64(c.target.Memory.Sector) && lines < int64(c.target.Memory.Sector) {
		return float64(lines) / float64(c.target.Memory.Sector)
	}
	return 1
}

// distance is how many elements the access of another mind is from that of the thread itself.
func (c *counter) distance(e *ir.Index, other int) (int64, bool) {
	a, err := ir.EvalInt(e.I, c.mind[self])
	b, errOther := ir.EvalInt(e.I, c.mind[other])
	if err != nil || errOther != nil {
		return 0, false
	}
	return max(b-a, a-b), true
}

// registers guesses those of a thread: its variables, as far as a compiler keeps them at once.
func registers(l *ir.Launch) int {
	const least, most = 24, 64 // what kernels of one statement take; what a team of 1024 may have
	words := 0
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Var.Type.IsFloat() {
			words += int(d.Var.Type.Size+3) / 4
		}
		return true
	})
	return min(least+words, most)
}

// sharedOf is the team memory of a launch.
func sharedOf(l *ir.Launch) (n deps.Bytes) {
	for _, v := range l.Team {
		n += deps.Bytes(v.Type.Size)
	}
	return n
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
