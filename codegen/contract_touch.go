package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// This file makes of the uses of memory of a kernel what a launch whose arguments overlap is checked for: forms over variables, of loops and
// of derivations, whose bounds are forms again. What is not known is left open, so that the memory that may be touched is no less than what is.

// A conflictForm is a number of the launch, and multiples of the variables of a touch.
type conflictForm struct {
	base  int // of Contract.forms
	terms []conflictTerm
}

type conflictTerm struct{ v, coef int } // of conflictTouch.vars; of Contract.forms

// A conflictVar is a variable of a touch: of a loop, or of a derivation.
type conflictVar struct {
	v           *ir.Var
	loop        *ir.For // nil for a derivation
	op          derivedOp
	first, last conflictForm   // of a loop, as its bound allows; the operands of a derivation
	step        int            // a form
	fits        []conflictForm // what must not be negative for that to be right
	loose       bool           // it may have more values than it takes
}

// A conflictCond is a condition: form is not negative where sides stay within 64 bits and fits are not negative.
type conflictCond struct {
	form, x, y conflictForm
	fits       []conflictForm
}

// A conflictTouch is a use of memory through a parameter.
type conflictTouch struct {
	reach
	vars     []conflictVar // those of loops around come in their order
	loopVars []int         // the variable of each loop around, -1 where nothing is known of it
	known    bool          // what is touched is, else it may be any element
	index    conflictForm
	inside   conflictForm // bytes into the element
	size     int64        // bytes
	count    int          // the form of how many elements there are
	conds    []conflictCond
	fits     []conflictForm // of index and inside
	exact    bool           // what is said of it is all: it happens in every iteration that the conditions allow
}

// maxTouchVars and maxTouches bound what is looked at: of a touch beyond, the index is not known; of a kernel beyond, no index is.
const (
	maxTouchVars = 12
	maxTouches   = 256
)

// A touchBuilder makes the touches of a kernel.
type touchBuilder struct {
	*contractBuilder
	sites *siteBuilder // of no site: for its arithmetic
	touch *conflictTouch
	now   []*ir.Var // variables that are being made
}

// touchesOf returns the touches of k through its parameters, and the builder of the forms in them.
func touchesOf(k *ir.Kernel) ([]*conflictTouch, *contractBuilder) {
	c := newCollector(k)
	c.sites = newSiteFinder()
	c.sites.reaches = true
	c.stmts(k.Body)
	b := newContractBuilder(k)
	b.finder = c.sites
	if c.sites.tooMany() {
		c, b.finder = newCollector(k), nil
		c.define(k.Body)
		c.stmts(k.Body)
	}
	reaches := distinctReaches(placed(k, c))
	detail := len(reaches) <= maxTouches
	if !detail {
		for i := range reaches {
			reaches[i] = reaches[i].anywhere(reaches[i].base)
		}
		reaches = distinctReaches(reaches)
	}
	var out []*conflictTouch
	for _, r := range reaches {
		t := &touchBuilder{contractBuilder: b, sites: &siteBuilder{contractBuilder: b}}
		out = append(out, t.make(r, detail))
	}
	return out, b
}

// anywhere returns r as a touch of any element of base, of which not even the place is known.
func (r reach) anywhere(base *ir.Var) reach {
	return reach{base: base, index: Affine{unknown: true}, write: r.write, atomic: r.atomic, loops: r.loops}
}

// placed returns what c found to be in memory that parameters refer to. What is in memory of which nothing is known may be in that of each.
func placed(k *ir.Kernel, c *collector) (out []reach) {
	for _, r := range append(c.out, c.unfollowed...) {
		if r.base != nil && given(k, r.base) && !c.mutable.Has(r.base) {
			out = append(out, r)
			continue
		}
		if r.base != nil && !isMemory(r.base.Type) {
			continue // an array or variable of its own
		}
		for _, p := range k.Params {
			if given(k, p) && kindsOf(p.Type.Elem)&kindsOf(r.expr.Type()) != 0 {
				out = append(out, r.anywhere(p))
			}
		}
	}
	return out
}

// given reports whether v is a parameter, or a package variable, that refers to memory.
func given(k *ir.Kernel, v *ir.Var) bool { return isMemory(v.Type) && slices.Contains(k.Params, v) }

func isMemory(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }

// make returns the touch that r is; with detail false nothing is said of its index.
func (b *touchBuilder) make(r reach, detail bool) *conflictTouch {
	t := &conflictTouch{reach: r, exact: r.always || r.sure && decided(r.conds, len(r.facts))}
	b.touch = t
	count := constAffine(1)
	if r.base.Type.Kind == ir.Slice {
		count = atomAffine(Atom{Var: r.base, Of: CapOf})
		if r.whole {
			count = atomAffine(Atom{Var: r.base, Of: LenOf})
		}
	}
	t.count = b.form(count)
	for i := range r.loops {
		v := -1
		if detail {
			if n, ok := b.variable(r.loops[i].Var); ok {
				v = n
			}
		}
		t.exact = t.exact && v >= 0
		t.loopVars = append(t.loopVars, v)
	}
	if t.known = detail && b.lower(&t.index, r.index, &t.fits); !t.known {
		t.index, t.fits, t.exact = conflictForm{}, nil, false
	}
	if t.size = r.part.size; !t.known || !b.lower(&t.inside, r.part.off, &t.fits) {
		t.inside, t.size, t.exact = conflictForm{}, int64(r.base.Type.Elem.Size), false
	}
	for _, f := range r.facts {
		var c conflictCond
		if detail && b.lower(&c.form, f.form, &c.fits) && b.lower(&c.x, f.x, &c.fits) && b.lower(&c.y, f.y, &c.fits) {
			t.conds = append(t.conds, c)
		} else {
			t.exact = false
		}
	}
	return t
}

// decided reports whether n facts are all that conds say.
func decided(conds []ir.Expr, n int) bool {
	all := true
	for _, c := range conds {
		said, ok := factsIn(c, true)
		n, all = n-said, all && ok
	}
	return all && n == 0
}

// factsIn returns how many facts say all that e does, where it holds or where it does not; ok is false where none can.
func factsIn(e ir.Expr, holds bool) (n int, ok bool) {
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == ir.Not {
			return factsIn(e.X, !holds)
		}
	case *ir.Binary:
		if e.Op == ir.LAnd && holds || e.Op == ir.LOr && !holds {
			x, ok1 := factsIn(e.X, holds)
			y, ok2 := factsIn(e.Y, holds)
			return x + y, ok1 && ok2
		}
		op := e.Op
		if !holds {
			op = negated(op)
		}
		n = len(factsOf(op, Affine{}, Affine{}))
	}
	return n, n > 0
}

// lower takes a apart into variables of the touch. fits gets what keeps arithmetic from wrapping.
func (b *touchBuilder) lower(to *conflictForm, a Affine, fits *[]conflictForm) bool {
	if !a.Known() || len(b.out.forms) > maxForms {
		return false
	}
	var narrow []Affine
	a, ok := b.sites.expandOrNot(a, &narrow)
	if !ok {
		return false
	}
	for _, f := range narrow {
		var fit conflictForm
		if !b.lower(&fit, f, fits) {
			return false
		}
		*fits = append(*fits, fit)
	}
	var out conflictForm
	for _, x := range a.Atoms() {
		if slices.Contains(b.k.Params, x.Var) || b.hostValue(x) != nil {
			continue
		}
		n, ok := b.variable(x.Var)
		coef, affine := a.Coef(x.Var)
		if !ok || !affine || x.Of != ValueOf || !b.onHost(coef) {
			return false
		}
		out.terms = append(out.terms, conflictTerm{n, b.form(coef)})
		a = a.Without(x.Var)
	}
	out.base = b.form(a)
	*to = out
	return b.onHost(a)
}

// expandOrNot is expand where there are derivations.
func (b *siteBuilder) expandOrNot(a Affine, fits *[]Affine) (Affine, bool) {
	if b.finder == nil {
		return a, true
	}
	return b.expand(a, fits)
}

// variable returns the number of a variable of the touch, of a loop around it or of a derivation, and makes it and those that it depends on.
func (b *touchBuilder) variable(v *ir.Var) (n int, ok bool) {
	t := b.touch
	if n = slices.IndexFunc(t.vars, func(have conflictVar) bool { return have.v == v }); n >= 0 {
		return n, true
	}
	if slices.Contains(b.now, v) {
		return 0, false
	}
	b.now = append(b.now, v)
	defer func() { b.now = b.now[:len(b.now)-1] }()
	made := conflictVar{v: v}
	i := slices.IndexFunc(t.loops, func(l loopRange) bool { return l.Var == v })
	switch {
	case i >= 0:
		ok = b.loop(&made, &t.loops[i])
	case b.finder != nil && b.finder.derived[v] != nil:
		ok = b.derivation(&made, b.finder.derived[v])
	}
	if !ok || len(t.vars) >= maxTouchVars {
		return 0, false
	}
	t.vars = append(t.vars, made)
	return len(t.vars) - 1, true
}

// loop fills in the variable of a loop.
func (b *touchBuilder) loop(to *conflictVar, l *loopRange) bool {
	last, step := l.last, constAffine(l.step)
	if !l.known {
		if _, constant := constInt(l.Step); constant || !l.by.Known() || !b.onHost(l.by) {
			return false
		}
		switch step = l.by; l.Rel {
		case ir.Lt:
			last = last.AddConst(-1)
		case ir.Gt:
			last = last.AddConst(1)
		case ir.Le, ir.Ge:
		default:
			return false
		}
	}
	for _, a := range l.fits {
		var fit conflictForm
		if !b.lower(&fit, a, &to.fits) {
			return false
		}
		to.fits = append(to.fits, fit)
	}
	to.loop, to.step, to.loose = l.For, b.form(step), l.loose
	return b.lower(&to.first, l.first, &to.fits) && b.lower(&to.last, last, &to.fits)
}

// derivation fills in the variable of a derivation.
func (b *touchBuilder) derivation(to *conflictVar, d *derivation) bool {
	to.op = d.op
	return d.op != derivedNarrow && b.lower(&to.first, d.x, &to.fits) && b.lower(&to.last, d.y, &to.fits)
}
