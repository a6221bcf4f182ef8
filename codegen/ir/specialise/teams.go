// Package specialise makes forms of device programs that are right for some launches alone, and
// shorter for that.
package specialise

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Teams returns a form of p for launches in which each team has the number of threads that suits it
// best (ir.Launch.Threads): that number is a constant there, and a loop that deals at most one
// iteration to each thread is none. Launches that name no number, or whose teams wait for each
// other, stay as they are. It reports false where that is all of them.
//
// warp is the number of threads of a warp. The two programs share variables and functions.
func Teams(p *ir.Program, warp int) (*ir.Program, bool) {
	c, any := *p, false
	c.Launches = make([]*ir.Launch, len(p.Launches))
	for i, l := range p.Launches {
		c.Launches[i] = l
		if n := sizeFor(l, warp); n > 0 && !l.Cooperative && l.Exact == 0 {
			c.Launches[i], any = exact(l, n, warp), true
		}
	}
	return &c, any
}

// sizeFor returns the size of a team that suits l within its bounds, without extra warps; 0 where
// the launch leaves it open.
func sizeFor(l *ir.Launch, warp int) int {
	n := l.Threads
	if l.MaxThreads != nil {
		most, isConst := query.Int64(l.MaxThreads)
		if !isConst {
			return 0
		}
		n = min(n, int(most))
	}
	if l.Warps {
		n = n / warp * warp
	}
	return n
}

// exact returns l for teams of n threads.
func exact(l *ir.Launch, n, warp int) *ir.Launch {
	c := *l
	c.Exact = n
	size := c.TeamSize(warp)
	known := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		if q, ok := e.(*ir.Query); ok && q.What == ir.NumThreads {
			return build.Int(size, q.At)
		}
		return nil
	}}
	c.Body = known.CopyStmts(l.Body)
	d := dealing{size: size, taken: ir.AddressTaken(c.Body), inits: map[*ir.Var]ir.Expr{}, changes: map[*ir.Var]int{}, uses: uses(c.Body), behind: map[*ir.Label]*ir.VarSet{}}
	d.learn(c.Body)
	d.placeLoops(c.Body)
	c.Body = (&ir.Rewrite{Stmt: d.once}).CopyStmts(c.Body)
	return &c
}

// A dealing has the initial values of the loop counters of a launch.
type dealing struct {
	size    int64 // of a team
	taken   *ir.VarSet
	inits   map[*ir.Var]ir.Expr // initial values; nil: the variable has several declarations
	changes map[*ir.Var]int     // number of statements that change a variable
	uses    map[*ir.Var]int
	behind  map[*ir.Label]*ir.VarSet // variables declared before a loop in the same list
}

func (d *dealing) learn(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if s, ok := s.(*ir.Decl); ok {
			if _, again := d.inits[s.Var]; again {
				d.inits[s.Var] = nil
			} else {
				d.inits[s.Var] = s.Init
			}
			return true
		}
		for _, v := range changedBy(s).List() {
			d.changes[v]++
		}
		return true
	})
}

// placeLoops records the variables that are declared before each loop in the same list: they are
// initialised at each execution of the loop.
func (d *dealing) placeLoops(list []ir.Stmt) {
	declared := &ir.VarSet{}
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			declared.Add(s.Var)
		case *ir.While:
			if s.Label != nil {
				d.behind[s.Label] = declared
			}
		}
		ir.Lists(s, d.placeLoops)
	}
}

// changedBy returns the variables that s itself changes, without nested statements.
func changedBy(s ir.Stmt) *ir.VarSet {
	nested := false
	ir.Lists(s, func([]ir.Stmt) { nested = true })
	if nested {
		return &ir.VarSet{}
	}
	return ir.Assigned([]ir.Stmt{s})
}

// uses counts the references to each variable.
func uses(list []ir.Stmt) map[*ir.Var]int {
	n := map[*ir.Var]int{}
	ir.Inspect(list, nil, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok {
			n[r.Var]++
		}
	})
	return n
}

// once returns the replacement of s: a loop with at most one iteration is replaced by its body,
// guarded by its condition if it may have none.
func (d *dealing) once(s ir.Stmt) []ir.Stmt {
	loop, ok := s.(*ir.While)
	if !ok || len(loop.Pre) > 0 || len(loop.Post) != 1 {
		return []ir.Stmt{s}
	}
	v, end, ok := d.bounds(loop)
	if !ok || uses([]ir.Stmt{loop})[v] != d.uses[v] {
		return []ir.Stmt{s}
	}
	body := &ir.Block{Label: loop.Label, Body: leaving(loop.Body, loop.Label), At: loop.At}
	if first, most := d.start(d.inits[v]); first+most < end && d.isConstant(loop.Cond.(*ir.Binary).Y) {
		return []ir.Stmt{body}
	}
	return []ir.Stmt{&ir.If{Cond: loop.Cond, Then: []ir.Stmt{body}, At: loop.At}}
}

// limit is far above the numbers that are looked at and far below the range of an int.
const limit = 1 << 31

// bounds returns the counter of a loop that runs at most once, and a constant that it stays below.
func (d *dealing) bounds(loop *ir.While) (v *ir.Var, end int64, ok bool) {
	next, isAssign := loop.Post[0].(*ir.Assign)
	cond, isBinary := loop.Cond.(*ir.Binary)
	if !isAssign || !isBinary || cond.Op != ir.Lt {
		return nil, 0, false
	}
	place, isRef := next.Place.(*ir.Ref)
	sum, isSum := next.Value.(*ir.Binary)
	if !isRef || !isSum || sum.Op != ir.Add || !ir.IsRef(sum.X, place.Var) || !ir.IsRef(cond.X, place.Var) {
		return nil, 0, false
	}
	v = place.Var
	first, most := d.start(d.inits[v])
	step, hasStep := d.constant(sum.Y)
	end, hasEnd := d.atMost(cond.Y)
	begins := loop.Label != nil && d.behind[loop.Label] != nil && d.behind[loop.Label].Has(v)
	ok = begins && hasStep && hasEnd && most >= 0 && d.changes[v] == 1 && !d.taken.Has(v) && end < limit && step < limit && step > 0 && first+step >= end
	return v, end, ok
}

// constant returns the value of e, a constant or a variable that never changes from one.
func (d *dealing) constant(e ir.Expr) (int64, bool) {
	if r, ok := e.(*ir.Ref); ok && d.changes[r.Var] == 0 && !d.taken.Has(r.Var) {
		e = d.inits[r.Var]
	}
	if e == nil {
		return 0, false
	}
	return query.Int64(e)
}

func (d *dealing) isConstant(e ir.Expr) bool {
	_, ok := d.constant(e)
	return ok
}

// atMost returns a constant that e never exceeds.
func (d *dealing) atMost(e ir.Expr) (most int64, ok bool) {
	if n, ok := d.constant(e); ok {
		return n, true
	}
	if r, isRef := e.(*ir.Ref); isRef && d.changes[r.Var] == 0 && !d.taken.Has(r.Var) && d.inits[r.Var] != nil {
		e = d.inits[r.Var]
	}
	m, isMath := e.(*ir.Math)
	if !isMath || m.Fn != ir.IMin {
		return 0, false
	}
	for _, arg := range m.Args {
		if n, known := query.Int64(arg); known && (!ok || n < most) {
			most, ok = n, true
		}
	}
	return most, ok
}

// start returns the least value of e, and how much more it is in the last thread; most is negative
// where that is not known.
func (d *dealing) start(e ir.Expr) (first, most int64) {
	switch e := e.(type) {
	case *ir.Query:
		if e.What == ir.ThreadNum {
			return 0, d.size - 1
		}
	case *ir.Binary:
		n, isConst := query.Int64(e.X)
		if first, most := d.start(e.Y); e.Op == ir.Add && isConst && most >= 0 && n >= 0 && n < limit {
			return first + n, most
		}
	}
	return 0, -1
}

// leaving returns list with jumps to the next iteration of a loop as jumps out of its body.
func leaving(list []ir.Stmt, loop *ir.Label) []ir.Stmt {
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if c, ok := s.(*ir.Continue); ok && c.Label == loop {
			return []ir.Stmt{&ir.Break{Label: loop, At: c.At}}
		}
		return []ir.Stmt{s}
	}}).CopyStmts(list)
}
