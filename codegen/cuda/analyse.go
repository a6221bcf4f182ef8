package cuda

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// facts are the known facts about a function before it is printed.
type facts struct {
	index32 bool
	ranges  *ranges
	narrow  map[*ir.Var]bool // Go ints that are 32 bits wide
	shape
	changed  *ir.VarSet // variables that may change
	counters map[*ir.While][]counter
	rows     map[*ir.Var]int64 // lengths of rows that are not negative, see rowLengths
	words    words
}

// analyse prepares the body of a function: the ranges of its variables, and which Go ints may be 32
// bits wide.
func (p *facts) analyse(list []ir.Stmt, params []*ir.Var, index32 bool, l *ir.Launch) {
	p.index32 = index32
	p.ranges = &ranges{index32: index32, width: int64(l.Width), warps: l.Warps, team: l.TeamSize(Warp), vars: map[*ir.Var]interval{}}
	p.narrow = map[*ir.Var]bool{}
	p.shape = shape{heads: map[*ir.While]*ir.Decl{}, merged: map[*ir.Decl]bool{}, inlined: map[*ir.Var]ir.Expr{},
		inits: map[*ir.Var]ir.Expr{}, occur: occurring(list)}
	p.ranges.inits, p.ranges.ends = p.inits, map[*ir.Var]interval{}
	for _, e := range []ir.Expr{l.Trip, l.TeamTrip} {
		p.ranges.promise(e)
	}
	p.findHeads(list)
	p.findCounters(list)
	changed := p.exempt(list, changedIn(list))
	if p.index32 {
		p.narrowParams(list, params, changed)
	}
	p.changed = changed
	p.learnAll(list)
	p.findInlined(list, changed)
}

// learnAll takes the ranges of the variables of list.
func (p *facts) learnAll(list []ir.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			p.declared(s, p.changed)
		case *ir.For:
			p.looped(s, p.changed)
		case *ir.While:
			p.headRange(s, p.changed)
			p.countRange(s)
		case *ir.If:
			forget := p.assume(s.Cond)
			p.learnAll(s.Then)
			forget()
			p.learnAll(s.Else)
			continue
		}
		ir.Lists(s, p.learnAll)
	}
}

// occurring returns the variables in the expressions of list: one that only takes the result of a
// call is not there.
func occurring(list []ir.Stmt) *ir.VarSet {
	set := &ir.VarSet{}
	ir.Inspect(list, nil, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok {
			set.Add(r.Var)
		}
	})
	return set
}

// changedIn returns the variables that list changes or lets a pointer at.
func changedIn(list []ir.Stmt) *ir.VarSet {
	changed := ir.Assigned(list)
	for _, v := range ir.AddressTaken(list).List() {
		changed.Add(v)
	}
	return changed
}

// narrowParams passes in 32 bits the integer parameters that take part in arithmetic, loops or
// indices; one that is only stored or compared keeps all its values.
func (p *facts) narrowParams(list []ir.Stmt, params []*ir.Var, changed *ir.VarSet) {
	calculated, inits := &ir.VarSet{}, firstValues(list)
	note := func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok && inits[r.Var] != nil && !changed.Has(r.Var) {
			e = inits[r.Var]
		}
		if r, ok := e.(*ir.Ref); ok && r.Var.Type.Kind == ir.Int64 {
			calculated.Add(r.Var)
		}
	}
	ir.Inspect(list, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.For:
			note(s.Lo)
			note(s.Hi)
			note(s.Step)
		case *ir.While:
			if p.heads[s] != nil {
				note(p.heads[s].Init)
				note(s.Cond.(*ir.Binary).Y)
			}
			for _, c := range p.counters[s] {
				note(c.bound)
			}
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Binary:
			if e.T.Kind != ir.Bool {
				note(e.X)
				note(e.Y)
			}
		case *ir.Index:
			note(e.I)
		case *ir.Math:
			if e.Fn == ir.IMin || e.Fn == ir.IMax {
				for _, x := range e.Args {
					note(x)
				}
			}
		}
	})
	for _, v := range params {
		if calculated.Has(v) && !changed.Has(v) {
			p.narrow[v] = true
			p.ranges.vars[v] = span(-Limit, Limit)
			if p.rows[v] > 0 {
				p.ranges.vars[v] = span(0, Limit)
			}
		}
	}
}

// firstValues returns what the variables of list are declared with.
func firstValues(list []ir.Stmt) map[*ir.Var]ir.Expr {
	out := map[*ir.Var]ir.Expr{}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil {
			out[d.Var] = d.Init
		}
		return true
	})
	return out
}

// declared takes the range of a variable that keeps its first value.
func (p *facts) declared(s *ir.Decl, changed *ir.VarSet) {
	if s.Var.Space != ir.Local || changed.Has(s.Var) || p.merged[s] {
		return
	}
	if s.Init != nil && s.Var.Type.IsScalar() {
		p.inits[s.Var] = s.Init
	}
	if !s.Var.Type.IsInteger() {
		return
	}
	r := span(0, 0)
	if s.Init != nil {
		r = p.ranges.of(s.Init)
	}
	p.learn(s.Var, r, true)
}

func (p *facts) learn(v *ir.Var, r interval, narrow bool) {
	if !r.known {
		return
	}
	p.ranges.vars[v] = r
	if narrow && p.index32 && v.Type.Kind == ir.Int64 && r.fits32() {
		p.narrow[v] = true
	}
}

// looped takes the range of a loop variable, which is narrow if the value that ends the loop is,
// too.
func (p *facts) looped(f *ir.For, changed *ir.VarSet) {
	if changed.Has(f.Var) {
		return
	}
	if r, last, ok := p.ranges.loop(f); ok {
		p.learn(f.Var, r, last.fits32() && p.ranges.of(f.Hi).fits32())
		p.ranges.ends[f.Var] = last
	}
}

// loop returns the values of the variable of f in its body, and with those that it has when the
// loop ends. ok is false where it may wrap around.
func (r *ranges) loop(f *ir.For) (inside, all interval, ok bool) {
	lo, hi, step := r.of(f.Lo), r.of(f.Hi), r.of(f.Step)
	if !lo.known || !hi.known || !step.known {
		return interval{}, interval{}, false
	}
	switch {
	case (f.Rel == ir.Lt || f.Rel == ir.Le) && step.lo > 0:
		return r.upward(f, lo, hi, step)
	case (f.Rel == ir.Gt || f.Rel == ir.Ge) && step.hi < 0:
		return r.downward(f, lo, hi, step)
	case f.Rel == ir.Ne && step == span(1, 1) && lo.hi <= hi.lo:
		return span(lo.lo, max(lo.lo, hi.hi-1)), span(lo.lo, hi.hi), true
	}
	return interval{}, interval{}, false
}

func (r *ranges) upward(f *ir.For, lo, hi, step interval) (inside, all interval, ok bool) {
	top := hi.hi
	if f.Rel == ir.Lt {
		if top == math.MinInt64 {
			return interval{}, interval{}, false
		}
		top--
	}
	end, ok := add(top, step.hi) // the step is taken from the body only
	all = span(lo.lo, max(end, lo.hi))
	return span(lo.lo, max(top, lo.lo)), all, ok && fits(all, f.Var.Type)
}

func (r *ranges) downward(f *ir.For, lo, hi, step interval) (inside, all interval, ok bool) {
	bottom := hi.lo
	if f.Rel == ir.Gt {
		if bottom == math.MaxInt64 {
			return interval{}, interval{}, false
		}
		bottom++
	}
	end, ok := add(bottom, step.lo)
	all = span(min(end, lo.lo), lo.hi)
	return span(min(bottom, lo.hi), lo.hi), all, ok && fits(all, f.Var.Type)
}

func fits(v interval, t *ir.Type) bool {
	all := typeRange(t)
	return v.within(all) || !all.known && v.nonNegative()
}
