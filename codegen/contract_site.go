package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// This file makes the part of a contract that lets a kernel run without checks: for every checked operation the forms that are not negative where
// it is right, over a nest of loops that holds all of its runs and maybe more. What the host finds to hold of the nest holds of the runs; where it
// does not, the kernel with its checks runs.

// A hostCond is a condition around a site: form is not negative where the site runs, if the host finds sides to stay within 64 bits and fits not
// to be negative.
type hostCond struct {
	form  linear
	sides []linear
	fits  []linear
	depth int // the loops that it depends on are the outermost depth ones
}

// A nestVar is a variable of the nest of a site: of a loop or of a derivation.
type nestVar struct {
	v    *ir.Var
	loop *loopRange
	d    *derivation
	rank int // the loops that it depends on, itself included, are the outermost rank ones
}

// A siteBuilder makes the check of one site.
type siteBuilder struct {
	*contractBuilder
	site  site
	vars  []nestVar
	needs []Affine
}

// proveSites adds what the host proves of the sites of the kernel.
func (b *contractBuilder) proveSites() {
	finder := findSites(b.k)
	if finder.tooMany() {
		return
	}
	open := finder.open
	b.finder = finder
	var made []contractCheck
	var ends []ir.Expr
	for _, s := range finder.list {
		if open[s.at] {
			continue
		}
		sb := &siteBuilder{contractBuilder: b, site: s}
		c, ok := sb.make()
		if !ok || len(b.out.forms) > maxForms {
			open[s.at] = true
			continue
		}
		made, ends = append(made, c), append(ends, s.at)
	}
	b.out.sites = map[ir.Expr]bool{}
	for i, c := range made {
		if !open[ends[i]] {
			b.out.sites[ends[i]] = true
			b.merge(c)
		}
	}
}

// merge adds what c needs to the proofs, to that of the same nest where there is one.
func (b *contractBuilder) merge(c contractCheck) {
	if len(c.needs) == 0 {
		return
	}
	i := slices.IndexFunc(b.out.proofs, func(d contractCheck) bool { return d.sameNest(&c) })
	if i < 0 {
		b.out.proofs = append(b.out.proofs, contractCheck{loops: c.loops, conds: c.conds})
		i = len(b.out.proofs) - 1
	}
	to := &b.out.proofs[i]
	for _, need := range c.needs {
		b.need(to, need)
	}
}

// need adds one form to what a proof needs: of those that differ by a constant the least counts.
func (b *contractBuilder) need(to *contractCheck, need linear) {
	for i, have := range to.needs {
		if have.coefs != need.coefs {
			continue
		}
		if diff, ok := b.difference(need.base, have.base); ok {
			if diff < 0 {
				to.needs[i] = need
			}
			return
		}
	}
	to.needs = append(to.needs, need)
}

// difference returns x - y where that is a constant.
func (b *contractBuilder) difference(x, y int) (int64, bool) {
	f, g := slices.Clone(b.out.forms[x]), slices.Clone(b.out.forms[y])
	take := func(h *hostForm) (c int64) {
		*h = slices.DeleteFunc(*h, func(t hostTerm) bool {
			if len(t.atoms) == 0 {
				c += t.coef
			}
			return len(t.atoms) == 0
		})
		return c
	}
	diff, ok := addInt64(take(&f), -take(&g))
	return diff, ok && slices.EqualFunc(f, g, sameHostTerm)
}

func sameHostTerm(x, y hostTerm) bool { return x.coef == y.coef && slices.Equal(x.atoms, y.atoms) }

// sameNest reports whether c and d run in the same loops under the same conditions.
func (c *contractCheck) sameNest(d *contractCheck) bool {
	return slices.EqualFunc(c.loops, d.loops, sameLoop) && slices.EqualFunc(c.conds, d.conds, func(x, y hostCond) bool {
		return x.form == y.form && x.depth == y.depth && slices.Equal(x.sides, y.sides) && slices.Equal(x.fits, y.fits)
	})
}

func sameLoop(x, y nestLoop) bool {
	return x.first == y.first && x.last == y.last && x.step == y.step && x.op == y.op && x.limit == y.limit && x.limited == y.limited && slices.Equal(x.fits, y.fits)
}

// make returns the check of the site; ok is false where the host cannot make it.
func (b *siteBuilder) make() (c contractCheck, ok bool) {
	for _, a := range b.site.needs {
		if a, ok = b.expand(a, &b.needs); !ok {
			return c, false
		}
		b.needs = append(b.needs, a)
	}
	b.needs = slices.DeleteFunc(b.needs, func(a Affine) bool { return atLeast(a, 0) })
	if b.trivial() {
		return c, true
	}
	for _, a := range b.needs {
		if !b.depends(a) {
			return c, false
		}
	}
	slices.SortStableFunc(b.vars, func(x, y nestVar) int { return b.place(x) - b.place(y) })
	if len(b.vars) > maxDepth {
		return c, false
	}
	for i := range b.vars {
		l, ok := b.loop(&b.vars[i], i)
		if !ok {
			return c, false
		}
		c.loops = append(c.loops, l)
	}
	for _, a := range b.needs {
		var need linear
		if !b.over(&need, a, len(b.vars)) {
			return c, false
		}
		c.needs = append(c.needs, need)
	}
	b.conditions(&c)
	return c, true
}

// trivial reports whether the needs hold for all arguments, with sizes alone in all that shows it: nothing wraps there.
func (b *siteBuilder) trivial() bool {
	for _, l := range b.site.loops {
		if !b.sizes(l.first) || !b.sizes(l.last) || l.step != 1 && l.step != -1 {
			return false
		}
	}
	return !slices.ContainsFunc(b.needs, func(a Affine) bool {
		s, ok := spanOf(a, b.site.loops, b.k.Params)
		return !ok || !b.sizes(s.lo) || !atLeast(s.lo, 0)
	})
}

// sizes reports whether a is a sum of few lengths and loop variables.
func (b *siteBuilder) sizes(a Affine) bool {
	if !a.Known() || len(a.Terms) > 8 {
		return false
	}
	for _, t := range a.Terms {
		if len(t.Atoms) > 1 || magnitude(t.Coef) > 1<<10 {
			return len(t.Atoms) == 0 && magnitude(t.Coef) < 1<<60
		}
		for _, x := range t.Atoms {
			if x.Of == ValueOf && !slices.ContainsFunc(b.site.loops, func(l loopRange) bool { return l.Var == x.Var }) {
				return false
			}
		}
	}
	return true
}

// expand puts the arithmetic of narrow types in place of its variables, and adds what keeps it from wrapping to fits.
func (b *siteBuilder) expand(a Affine, fits *[]Affine) (Affine, bool) {
	for range maxForms {
		var narrow *derivation
		for _, x := range a.Atoms() {
			if d := b.finder.derived[x.Var]; d != nil && d.op == derivedNarrow {
				narrow = d
				break
			}
		}
		if narrow == nil {
			return a, a.Known()
		}
		a = a.Subst(narrow.v, narrow.x)
		x, ok := b.expand(narrow.x, fits)
		if !ok {
			return a, false
		}
		lo, hi := limitsOf(narrow.t)
		if !b.within(x, lo, hi) {
			*fits = append(*fits, x.AddConst(-lo), constAffine(hi).Sub(x))
		}
	}
	return a, false
}

// within reports whether x, a single atom, has a type that lies within lo and hi.
func (b *siteBuilder) within(x Affine, lo, hi int64) bool {
	if !isAtom(x) || len(x.Terms) == 0 || len(x.Terms[0].Atoms) == 0 {
		return atLeast(x, lo) && atLeast(constAffine(hi).Sub(x), 0)
	}
	a := x.Terms[0].Atoms[0]
	least, greatest := limitsOf(a.Var.Type)
	if a.Of != ValueOf {
		least, greatest = 0, 1<<48
	}
	return least >= lo && greatest <= hi
}

// depends notes the variables that a depends on; false where one is neither of the host nor of a known loop or derivation.
func (b *siteBuilder) depends(a Affine) bool {
	for _, x := range a.Atoms() {
		if slices.Contains(b.k.Params, x.Var) || b.hostValue(x) != nil || slices.ContainsFunc(b.vars, func(n nestVar) bool { return n.v == x.Var }) {
			continue
		}
		if d := b.finder.derived[x.Var]; d != nil && x.Of == ValueOf {
			if !b.dependsOn(d) {
				return false
			}
			continue
		}
		i := slices.IndexFunc(b.site.loops, func(l loopRange) bool { return l.Var == x.Var })
		if i < 0 || x.Of != ValueOf {
			return false
		}
		l := &b.site.loops[i]
		first, last, ok := b.bounds(l, nil)
		if !ok {
			return false
		}
		b.vars = append(b.vars, nestVar{v: x.Var, loop: l, rank: i + 1})
		if !b.depends(first) || !b.depends(last) || !b.depends(b.stepOf(l)) {
			return false
		}
	}
	return true
}

// dependsOn is depends for a derivation.
func (b *siteBuilder) dependsOn(d *derivation) bool {
	n := nestVar{v: d.v, d: d}
	for _, a := range []Affine{d.x, d.y} {
		a, ok := b.expand(a, new([]Affine))
		if !ok || !b.depends(a) {
			return false
		}
		for _, x := range a.Atoms() {
			if i := slices.IndexFunc(b.vars, func(n nestVar) bool { return n.v == x.Var }); i >= 0 {
				n.rank = max(n.rank, b.vars[i].rank)
			}
		}
	}
	b.vars = append(b.vars, n)
	return true
}

// hostValue returns the value of a derivation over the parameters, nil for other atoms.
func (b *contractBuilder) hostValue(x Atom) ir.Expr {
	if b.finder == nil || x.Of != ValueOf {
		return nil
	}
	if d := b.finder.derived[x.Var]; d != nil {
		return d.host
	}
	return nil
}

// onHost reports whether the host can evaluate a.
func (b *contractBuilder) onHost(a Affine) bool {
	return a.Known() && !slices.ContainsFunc(a.Atoms(), func(x Atom) bool { return !slices.Contains(b.k.Params, x.Var) && b.hostValue(x) == nil })
}

// place orders the variables of a nest: a derivation comes behind the loops that it depends on, and behind earlier derivations.
func (b *siteBuilder) place(n nestVar) int {
	at := 0
	if n.d != nil {
		at = 1 + slices.Index(b.finder.order, n.d)
	}
	return n.rank*(maxForms+2) + at
}

// stepOf returns the step of a loop as a form where it is not a constant.
func (b *siteBuilder) stepOf(l *loopRange) Affine {
	if l.known {
		return Affine{}
	}
	return l.by
}

// bounds returns the first value of a loop and the last one that its bound allows, over what is not narrow. fits gets what keeps narrow
// arithmetic from wrapping.
func (b *siteBuilder) bounds(l *loopRange, fits *[]Affine) (first, last Affine, ok bool) {
	if !l.known && (!l.by.Known() || l.Rel != ir.Lt && l.Rel != ir.Le) {
		return first, last, false
	}
	if fits == nil {
		fits = new([]Affine)
	}
	last = l.last
	if !l.known && l.Rel == ir.Lt {
		last = last.AddConst(-1)
	}
	first, ok1 := b.expand(l.first, fits)
	last, ok2 := b.expand(last, fits)
	for _, a := range l.fits {
		if a, ok = b.expand(a, fits); !ok {
			return first, last, false
		}
		*fits = append(*fits, a)
	}
	return first, last, ok1 && ok2
}

// loop returns variable number i of the nest.
func (b *siteBuilder) loop(n *nestVar, i int) (l nestLoop, ok bool) {
	var fits []Affine
	var first, last Affine
	if n.d != nil {
		var ok1, ok2 bool
		l.op, l.derived = n.d.op, true
		first, ok1 = b.expand(n.d.x, &fits)
		last, ok2 = b.expand(n.d.y, &fits)
		ok = ok1 && ok2
	} else {
		first, last, ok = b.bounds(n.loop, &fits)
		b.stepped(&l, n.loop, last, &fits)
	}
	if !ok || !b.over(&l.first, first, i) || !b.over(&l.last, last, i) {
		return l, false
	}
	for _, a := range fits {
		var fit linear
		if !b.over(&fit, a, i) {
			return l, false
		}
		l.fits = append(l.fits, fit)
	}
	return l, true
}

// stepped notes how the variable of a loop moves, and what keeps it from passing the end of its type.
func (b *siteBuilder) stepped(l *nestLoop, r *loopRange, last Affine, fits *[]Affine) {
	if !r.known { // up by what is positive
		l.step = 1
		by, _ := b.expand(r.by, fits)
		_, hi := limitsOf(r.Var.Type)
		if wide(r.Var.Type) {
			hi /= 2 // so that forms stay within 64 bits
		}
		*fits = append(*fits, by.AddConst(-1), constAffine(hi).Sub(last).Sub(by))
		return
	}
	l.step = r.step
	if (r.step == 1 || r.step == -1) && r.Rel != ir.Le && r.Rel != ir.Ge {
		return // it meets its bound
	}
	l.limited, l.limit = true, limitOf(r.Var.Type, r.step)
}

// over is linear over the outermost depth variables of the nest.
func (b *siteBuilder) over(to *linear, a Affine, depth int) bool {
	for i := range depth {
		v := b.vars[i].v
		coef, ok := a.Coef(v)
		if !ok || !b.onHost(coef) {
			return false
		}
		to.coefs[i], a = b.form(coef), a.Without(v)
	}
	to.base = b.form(a)
	return b.onHost(a)
}

// conditions adds the conditions around the site that bear on its variables, among them that loops around it make an iteration.
func (b *siteBuilder) conditions(c *contractCheck) {
	list := slices.Clone(b.site.conds)
	for i := range b.site.loops {
		l := &b.site.loops[i]
		if slices.ContainsFunc(b.vars, func(n nestVar) bool { return n.v == l.Var }) || !l.known {
			continue
		}
		x, y := l.first, l.last
		if l.step < 0 {
			x, y = y, x
		}
		list = append(list, fact{form: y.Sub(x), x: x, y: y})
	}
	for _, f := range list {
		if len(c.conds) == maxConds {
			return
		}
		if h, ok := b.condition(f); ok && !slices.ContainsFunc(c.conds, func(have hostCond) bool { return have.form == h.form }) {
			c.conds = append(c.conds, h)
		}
	}
}

func (b *siteBuilder) condition(f fact) (h hostCond, ok bool) {
	if !f.form.Known() || len(b.out.forms) > maxForms {
		return h, false
	}
	var fits []Affine
	form, ok := b.expand(f.form, &fits)
	if !ok || !b.over(&h.form, form, len(b.vars)) {
		return h, false
	}
	for _, a := range []Affine{f.x, f.y} {
		var side linear
		if a, ok = b.expand(a, &fits); !ok || !b.over(&side, a, len(b.vars)) {
			return h, false
		}
		if !isAtom(a) {
			h.sides = append(h.sides, side)
		}
	}
	for _, a := range fits {
		var fit linear
		if !b.over(&fit, a, len(b.vars)) {
			return h, false
		}
		h.fits = append(h.fits, fit)
	}
	for i, coef := range h.form.coefs {
		if coef > 0 {
			h.depth = i + 1
		}
	}
	return h, true
}
