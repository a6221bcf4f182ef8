package cuda

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// analyse prepares the body of a function: the ranges of its variables, and which Go ints may be 32 bits wide.
func (p *printer) analyse(list []ir.Stmt, params []*ir.Var, trips ...ir.Expr) {
	p.ranges = &ranges{index32: p.opt.Index32, vars: map[*ir.Var]interval{}}
	p.narrow, p.constants = map[*ir.Var]bool{}, map[*ir.Var]ir.Expr{}
	for _, e := range trips {
		if e != nil {
			p.ranges.trips = append(p.ranges.trips, ir.ExprString(e))
		}
	}
	changed := ir.Assigned(list)
	for _, v := range ir.AddressTaken(list).List() {
		changed.Add(v)
	}
	if p.opt.Index32 {
		p.narrowParams(list, params, changed)
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl:
			p.declared(s, changed)
		case *ir.For:
			p.looped(s, changed)
		}
		return true
	})
}

// narrowParams passes in 32 bits the integer parameters that take part in arithmetic, loops or indices; one that is
// only stored or compared keeps all its values.
func (p *printer) narrowParams(list []ir.Stmt, params []*ir.Var, changed *ir.VarSet) {
	calculated := &ir.VarSet{}
	note := func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok && r.Var.Type.Kind == ir.Int64 {
			calculated.Add(r.Var)
		}
	}
	ir.Inspect(list, func(s ir.Stmt) {
		if f, ok := s.(*ir.For); ok {
			note(f.Lo)
			note(f.Hi)
			note(f.Step)
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
		}
	})
	for _, v := range params {
		if calculated.Has(v) && !changed.Has(v) {
			p.narrow[v] = true
			p.ranges.vars[v] = span(-Limit, Limit)
		}
	}
}

// declared takes the range of a variable that keeps its first value.
func (p *printer) declared(s *ir.Decl, changed *ir.VarSet) {
	if s.Init != nil && s.Var.Type.Kind == ir.Float32 && !changed.Has(s.Var) {
		p.constants[s.Var] = s.Init
	}
	if !s.Var.Type.IsInteger() || s.Var.Space != ir.Local || changed.Has(s.Var) {
		return
	}
	r := span(0, 0)
	if s.Init != nil {
		r = p.ranges.of(s.Init)
	}
	p.learn(s.Var, r, true)
}

func (p *printer) learn(v *ir.Var, r interval, narrow bool) {
	if !r.known {
		return
	}
	p.ranges.vars[v] = r
	if narrow && p.opt.Index32 && v.Type.Kind == ir.Int64 && r.fits32() {
		p.narrow[v] = true
	}
}

// looped takes the range of a loop variable, which is narrow if the value that ends the loop is, too.
func (p *printer) looped(f *ir.For, changed *ir.VarSet) {
	if changed.Has(f.Var) {
		return
	}
	if r, last, ok := p.ranges.loop(f); ok {
		p.learn(f.Var, r, last.fits32() && p.ranges.of(f.Hi).fits32())
	}
}

// loop returns the values of the variable of f in its body, and with those that it has when the loop ends. ok is false
// where it may wrap around.
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
