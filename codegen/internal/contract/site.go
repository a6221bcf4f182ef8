package contract

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
)

// This file makes the part of a contract that lets a kernel run without checks: for every checked
// operation the forms that are not negative where it is right, over a nest of loops that holds all
// of its runs and maybe more. What the host finds to hold of the nest holds of the runs; where it
// does not, the kernel with its checks runs.

// A hostCond is a condition around a site: form is not negative where the site runs, if the host
// finds sides to stay within 64 bits and fits not to be negative.
type hostCond struct {
	form  linear
	sides []linear
	fits  []linear
	depth int // the loops that it depends on are the outermost depth ones
	// unequal says that it holds where form is known to be at least -1.
	unequal bool
}

// A nestVar is a variable of the nest of a site: of a loop or of a derivation.
type nestVar struct {
	v    *ir.Var
	loop *analysis.LoopRange
	d    *analysis.Derivation
	rank int // the loops that it depends on, itself included, are the outermost rank ones
}

// A siteBuilder makes the check of one site.
type siteBuilder struct {
	*Builder
	site  analysis.Site
	vars  []nestVar
	needs []affine.Form
	facts []affine.Form // of the conditions
}

// proveSites adds what the host proves of the sites of the kernel.
func (b *Builder) proveSites() {
	finder := analysis.FindSites(b.k)
	if finder.TooMany() {
		return
	}
	open := finder.Open
	b.finder = finder
	var made []Check
	var ends []ir.Expr
	for _, s := range finder.List {
		if open[s.At] {
			continue
		}
		sb := &siteBuilder{Builder: b, site: s}
		c, ok := sb.make()
		if !ok || len(b.Out.Forms) > analysis.MaxForms {
			open[s.At] = true
			continue
		}
		made, ends = append(made, c), append(ends, s.At)
	}
	b.Out.sites = map[ir.Expr]bool{}
	for i, c := range made {
		if !open[ends[i]] {
			b.Out.sites[ends[i]] = true
			b.merge(c)
		}
	}
}

// merge adds what c needs to the proofs, to that of the same nest where there is one.
func (b *Builder) merge(c Check) {
	if len(c.needs) == 0 {
		return
	}
	i := slices.IndexFunc(b.Out.proofs, func(d Check) bool { return d.sameNest(&c) })
	if i < 0 {
		b.Out.proofs = append(b.Out.proofs, Check{loops: c.loops, conds: c.conds})
		i = len(b.Out.proofs) - 1
	}
	to := &b.Out.proofs[i]
	for _, need := range c.needs {
		b.need(to, need)
	}
}

// need adds one form to what a proof needs: of those that differ by a constant the least counts.
func (b *Builder) need(to *Check, need linear) {
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
func (b *Builder) difference(x, y int) (int64, bool) {
	f, g := slices.Clone(b.Out.Forms[x]), slices.Clone(b.Out.Forms[y])
	take := func(h *hostForm) (c int64) {
		*h = slices.DeleteFunc(*h, func(t hostTerm) bool {
			if len(t.atoms) == 0 {
				c += t.coef
			}
			return len(t.atoms) == 0
		})
		return c
	}
	diff, ok := integers.Add(take(&f), -take(&g))
	return diff, ok && slices.EqualFunc(f, g, sameHostTerm)
}

func sameHostTerm(x, y hostTerm) bool { return x.coef == y.coef && slices.Equal(x.atoms, y.atoms) }

// sameNest reports whether c and d run in the same loops under the same conditions.
func (c *Check) sameNest(d *Check) bool {
	return slices.EqualFunc(c.loops, d.loops, sameLoop) && slices.EqualFunc(c.conds, d.conds, sameCond)
}

func sameLoop(x, y nestLoop) bool {
	return slices.EqualFunc(x.either, y.either, sameValue) && x.first == y.first && x.last == y.last && x.step == y.step && x.op == y.op && x.limit == y.limit && x.limited == y.limited && slices.Equal(x.fits, y.fits)
}

// make returns the check of the site; ok is false where the host cannot make it.
func (b *siteBuilder) make() (c Check, ok bool) {
	for _, a := range b.site.Needs {
		if a, ok = b.expand(a, &b.needs); !ok {
			return c, false
		}
		b.needs = append(b.needs, a)
	}
	b.needs = slices.DeleteFunc(b.needs, func(a affine.Form) bool { return analysis.AtLeast(a, 0) })
	if b.trivial() {
		return c, true
	}
	for _, a := range b.needs {
		if !b.depends(a) {
			return c, false
		}
	}
	slices.SortStableFunc(b.vars, func(x, y nestVar) int { return b.place(x) - b.place(y) })
	if len(b.vars) > analysis.MaxDepth {
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
	return c, !slices.ContainsFunc(b.needs, func(a affine.Form) bool { return !b.mayHold(a) })
}

// trivial reports whether the needs hold for all arguments, with sizes alone in all that shows it:
// nothing wraps there.
func (b *siteBuilder) trivial() bool {
	for _, l := range b.site.Loops {
		if !b.sizes(l.First) || !b.sizes(l.Last) || l.Stride != 1 && l.Stride != -1 {
			return false
		}
	}
	return !slices.ContainsFunc(b.needs, func(a affine.Form) bool {
		s, ok := analysis.SpanOf(a, b.site.Loops, b.k.Params)
		return !ok || !b.sizes(s.Lo) || !analysis.AtLeast(s.Lo, 0)
	})
}

// sizes reports whether a is a sum of few lengths and loop variables.
func (b *siteBuilder) sizes(a affine.Form) bool {
	if !a.Known() || len(a.Terms) > 8 {
		return false
	}
	for _, t := range a.Terms {
		if len(t.Atoms) > 1 || integers.Magnitude(t.Coef) > 1<<10 {
			return len(t.Atoms) == 0 && integers.Magnitude(t.Coef) < 1<<60
		}
		for _, x := range t.Atoms {
			if x.Of == affine.ValueOf && !slices.ContainsFunc(b.site.Loops, func(l analysis.LoopRange) bool { return l.Var == x.Var }) {
				return false
			}
		}
	}
	return true
}

// expand puts the arithmetic of narrow types in place of its variables, and adds what keeps it from
// wrapping to fits.
func (b *siteBuilder) expand(a affine.Form, fits *[]affine.Form) (affine.Form, bool) {
	for range analysis.MaxForms {
		var narrow *analysis.Derivation
		for _, x := range a.Atoms() {
			if d := b.finder.Derived[x.Var]; d != nil && d.Op == analysis.DerivedNarrow {
				narrow = d
				break
			}
		}
		if narrow == nil {
			return a, a.Known()
		}
		a = a.Subst(narrow.Var, narrow.X)
		x, ok := b.expand(narrow.X, fits)
		if !ok {
			return a, false
		}
		lo, hi := analysis.LimitsOf(narrow.T)
		if !b.within(x, lo, hi) {
			*fits = append(*fits, x.AddConst(-lo), affine.Constant(hi).Sub(x))
		}
	}
	return a, false
}

// within reports whether x, a single atom, has a type that lies within lo and hi.
func (b *siteBuilder) within(x affine.Form, lo, hi int64) bool {
	if !analysis.IsAtom(x) || len(x.Terms) == 0 || len(x.Terms[0].Atoms) == 0 {
		return analysis.AtLeast(x, lo) && analysis.AtLeast(affine.Constant(hi).Sub(x), 0)
	}
	a := x.Terms[0].Atoms[0]
	least, greatest := analysis.LimitsOf(a.Var.Type)
	if a.Of != affine.ValueOf {
		least, greatest = 0, 1<<48
	}
	return least >= lo && greatest <= hi
}

// depends notes the variables that a depends on; false where one is neither of the host nor of a
// known loop or derivation.
func (b *siteBuilder) depends(a affine.Form) bool {
	for _, x := range a.Atoms() {
		if slices.Contains(b.k.Params, x.Var) || b.hostValue(x) != nil || slices.ContainsFunc(b.vars, func(n nestVar) bool { return n.v == x.Var }) {
			continue
		}
		if d := b.finder.Derived[x.Var]; d != nil && x.Of == affine.ValueOf {
			if !b.dependsOn(d) {
				return false
			}
			continue
		}
		i := slices.IndexFunc(b.site.Loops, func(l analysis.LoopRange) bool { return l.Var == x.Var })
		if i < 0 || x.Of != affine.ValueOf {
			return false
		}
		l := &b.site.Loops[i]
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
func (b *siteBuilder) dependsOn(d *analysis.Derivation) bool {
	n := nestVar{v: d.Var, d: d}
	for i, a := range d.Operands() {
		a, ok := b.expand(a, new([]affine.Form))
		if !ok || !b.depends(a) {
			if !d.IsValue(i) {
				continue // a fact less
			}
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
func (b *Builder) hostValue(x affine.Atom) ir.Expr {
	if b.finder == nil || x.Of != affine.ValueOf {
		return nil
	}
	if d := b.finder.Derived[x.Var]; d != nil {
		return d.Host
	}
	return nil
}

// onHost reports whether the host can evaluate a.
func (b *Builder) onHost(a affine.Form) bool {
	return a.Known() && !slices.ContainsFunc(a.Atoms(), func(x affine.Atom) bool { return !slices.Contains(b.k.Params, x.Var) && b.hostValue(x) == nil })
}

// place orders the variables of a nest: a derivation comes behind the loops that it depends on, and
// behind earlier derivations.
func (b *siteBuilder) place(n nestVar) int {
	at := 0
	if n.d != nil {
		at = 1 + slices.Index(b.finder.Order, n.d)
	}
	return n.rank*(analysis.MaxForms+2) + at
}

// stepOf returns the step of a loop as a form where it is not a constant.
func (b *siteBuilder) stepOf(l *analysis.LoopRange) affine.Form {
	if l.Known {
		return affine.Form{}
	}
	return l.By
}

// bounds returns the first value of a loop and the last one that its bound allows, over what is not
// narrow. fits gets what keeps narrow arithmetic from wrapping.
func (b *siteBuilder) bounds(l *analysis.LoopRange, fits *[]affine.Form) (first, last affine.Form, ok bool) {
	if !l.Known && (!l.By.Known() || l.Rel == ir.Ne) {
		return first, last, false
	}
	if fits == nil {
		fits = new([]affine.Form)
	}
	last = l.Last
	switch {
	case l.Known:
	case l.Rel == ir.Lt:
		last = last.AddConst(-1)
	case l.Rel == ir.Gt:
		last = last.AddConst(1)
	}
	first, ok1 := b.expand(l.First, fits)
	last, ok2 := b.expand(last, fits)
	for _, a := range l.Fits {
		if a, ok = b.expand(a, fits); !ok {
			return first, last, false
		}
		*fits = append(*fits, a)
	}
	return first, last, ok1 && ok2
}

// loop returns variable number i of the nest.
func (b *siteBuilder) loop(n *nestVar, i int) (l nestLoop, ok bool) {
	var fits []affine.Form
	var first, last affine.Form
	if n.d != nil && n.d.Op == analysis.DerivedEither {
		l.op, l.derived = n.d.Op, true
		return l, b.eitherOf(&l, n.d, i)
	}
	if n.d != nil {
		var ok1, ok2 bool
		l.op, l.derived = n.d.Op, true
		first, ok1 = b.expand(n.d.X, &fits)
		last, ok2 = b.expand(n.d.Y, &fits)
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

// stepped notes how the variable of a loop moves, and what keeps it from passing the end of its
// type.
func (b *siteBuilder) stepped(l *nestLoop, r *analysis.LoopRange, last affine.Form, fits *[]affine.Form) {
	if !r.Known {
		by, _ := b.expand(r.By, fits)
		lo, hi := analysis.LimitsOf(r.Var.Type)
		if affine.NeverWraps(r.Var.Type) {
			lo, hi = lo/2, hi/2 // so that forms stay within 64 bits
		}
		if l.step = 1; r.Rel == ir.Gt || r.Rel == ir.Ge {
			l.step = -1
			*fits = append(*fits, affine.Constant(-1).Sub(by), last.Add(by).AddConst(-lo))
			return
		}
		*fits = append(*fits, by.AddConst(-1), affine.Constant(hi).Sub(last).Sub(by))
		return
	}
	l.step = r.Stride
	if (r.Stride == 1 || r.Stride == -1) && r.Rel != ir.Le && r.Rel != ir.Ge {
		return // it meets its bound
	}
	l.limited, l.limit = true, LimitOf(r.Var.Type, r.Stride)
}

// over is linear over the outermost depth variables of the nest.
func (b *siteBuilder) over(to *linear, a affine.Form, depth int) bool {
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

// conditions adds the conditions around the site that bear on its variables, among them that loops
// around it make an iteration.
func (b *siteBuilder) conditions(c *Check) {
	list := slices.Clone(b.site.Conds)
	for i := range b.site.Loops {
		l := &b.site.Loops[i]
		if slices.ContainsFunc(b.vars, func(n nestVar) bool { return n.v == l.Var }) || !l.Known {
			continue
		}
		x, y := l.First, l.Last
		if l.Stride < 0 {
			x, y = y, x
		}
		list = append(list, analysis.Fact{Form: y.Sub(x), X: x, Y: y})
	}
	for _, f := range list {
		if len(c.conds) == analysis.MaxConds {
			break
		}
		if h, ok := b.condition(f); ok && !slices.ContainsFunc(c.conds, func(have hostCond) bool { return have.form == h.form && have.unequal == h.unequal }) {
			c.conds = append(c.conds, h)
		}
	}
	b.sharpen(c.conds)
}

func (b *siteBuilder) condition(f analysis.Fact) (h hostCond, ok bool) {
	form, h, ok := b.conditionOver(f, len(b.vars))
	if ok && !f.Unequal {
		b.facts = append(b.facts, form)
	}
	return h, ok
}

// conditionOver is condition over the outermost depth variables of the nest.
func (b *siteBuilder) conditionOver(f analysis.Fact, depth int) (form affine.Form, h hostCond, ok bool) {
	if !f.Form.Known() || len(b.Out.Forms) > analysis.MaxForms {
		return form, h, false
	}
	var fits []affine.Form
	form, ok = b.expand(f.Form, &fits)
	if !ok || !b.over(&h.form, form, depth) {
		return form, h, false
	}
	for _, a := range []affine.Form{f.X, f.Y} {
		var side linear
		if a, ok = b.expand(a, &fits); !ok || !b.over(&side, a, depth) {
			return form, h, false
		}
		if !analysis.IsAtom(a) {
			h.sides = append(h.sides, side)
		}
	}
	for _, a := range fits {
		var fit linear
		if !b.over(&fit, a, depth) {
			return form, h, false
		}
		h.fits = append(h.fits, fit)
	}
	h.unequal = f.Unequal
	h.measureDepth()
	return form, h, true
}

// measureDepth fills in depth.
func (h *hostCond) measureDepth() {
	for i, coef := range h.form.coefs {
		if coef > 0 {
			h.depth = i + 1
		}
	}
}
