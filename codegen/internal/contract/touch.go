package contract

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file makes of the uses of memory of a kernel what a launch whose arguments overlap is
// checked for: forms over variables, of loops and of derivations, whose bounds are forms again.
// What is not known is left open, so that the memory that may be touched is no less than what is.

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
	op          analysis.DerivedOp
	first, last conflictForm   // of a loop, as its bound allows; the operands of a derivation
	step        int            // a form
	fits        []conflictForm // what must not be negative for that to be right
	loose       bool           // it may have more values than it takes
}

// A conflictCond is a condition: form is not negative where sides stay within 64 bits and fits are
// not negative.
type conflictCond struct {
	form, x, y conflictForm
	fits       []conflictForm
}

// A conflictTouch is a use of memory through a parameter.
type conflictTouch struct {
	analysis.Reach
	vars     []conflictVar // those of loops around come in their order
	loopVars []int         // the variable of each loop around, -1 where nothing is known about it
	known    bool          // what is touched is, else it may be any element
	index    conflictForm
	inside   conflictForm // bytes into the element
	size     int64        // bytes
	count    int          // the form of how many elements there are
	conds    []conflictCond
	fits     []conflictForm // of index and inside
	copied   bool           // each thread or iteration has a copy of its own
	exact    bool           // the description is complete: it happens in every iteration that the conditions allow
}

// maxTouchVars and maxTouches bound what is looked at: of a touch beyond, the index is not known;
// of a kernel beyond, no index is.
const (
	maxTouchVars = 12
	maxTouches   = 256
)

// A touchBuilder makes the touches of a kernel.
type touchBuilder struct {
	*Builder
	sites *siteBuilder // of no site: for its arithmetic
	touch *conflictTouch
	now   []*ir.Var // variables that are being made
}

// touchesOf returns the touches of k through its parameters, and the builder of the forms in them.
func touchesOf(k *ir.Kernel) ([]*conflictTouch, *Builder) {
	c := analysis.NewCollector(k)
	c.Sites = analysis.NewSiteFinder()
	c.Sites.Reaches = true
	c.Stmts(k.Body)
	b := NewBuilder(k)
	b.finder = c.Sites
	if c.Sites.TooMany() {
		c, b.finder = analysis.NewCollector(k), nil
		c.Define(k.Body)
		c.Stmts(k.Body)
	}
	reaches := placed(k, c)
	for i := range reaches {
		reaches[i].Phase = c.PhaseOf(reaches[i].Phase)
	}
	reaches = analysis.DistinctReaches(reaches)
	detail := len(reaches) <= maxTouches
	if !detail {
		for i := range reaches {
			reaches[i] = reaches[i].Anywhere(reaches[i].Base)
		}
		reaches = analysis.DistinctReaches(reaches)
	}
	var out []*conflictTouch
	for _, r := range reaches {
		t := &touchBuilder{Builder: b, sites: &siteBuilder{Builder: b}}
		out = append(out, t.make(r, detail))
	}
	return out, b
}

// placed returns what c found to be in memory that parameters refer to. What is in memory of which
// nothing is known may be in that of each.
func placed(k *ir.Kernel, c *analysis.Collector) (out []analysis.Reach) {
	for _, r := range append(c.Out, c.Unfollowed...) {
		if r.Base != nil && given(k, r.Base) && !c.Mutable.Has(r.Base) {
			out = append(out, r)
			continue
		}
		if r.Base != nil && !isMemory(r.Base.Type) {
			continue // an array or variable of its own
		}
		for _, p := range k.Params {
			if given(k, p) && analysis.KindsOf(p.Type.Elem)&analysis.KindsOf(r.Expr.Type()) != 0 {
				out = append(out, r.Anywhere(p))
			}
		}
	}
	return out
}

// given reports whether v is a parameter, or a package variable, that refers to memory.
func given(k *ir.Kernel, v *ir.Var) bool { return isMemory(v.Type) && slices.Contains(k.Params, v) }

func isMemory(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }

// make returns the touch of r; with detail false it omits the index.
func (b *touchBuilder) make(r analysis.Reach, detail bool) *conflictTouch {
	t := &conflictTouch{Reach: r, copied: r.CopiedHere(), exact: r.Is(analysis.Always) || r.Decided()}
	b.touch = t
	count := affine.Constant(1)
	if r.Base.Type.Kind == ir.Slice {
		count = affine.OfAtom(affine.Atom{Var: r.Base, Of: affine.CapOf})
		if r.Is(analysis.Whole) {
			count = affine.OfAtom(affine.Atom{Var: r.Base, Of: affine.LenOf})
		}
	}
	t.count = b.form(count)
	for i := range r.Loops {
		v := -1
		if detail {
			if n, ok := b.variable(r.Loops[i].Var); ok {
				v = n
			}
		}
		t.exact = t.exact && v >= 0
		t.loopVars = append(t.loopVars, v)
	}
	if t.known = detail && b.lower(&t.index, r.Index, &t.fits); !t.known {
		t.index, t.fits, t.exact = conflictForm{}, nil, false
	}
	if t.size = r.Part.Size; !t.known || !b.lower(&t.inside, r.Part.Off, &t.fits) {
		t.inside, t.size, t.exact = conflictForm{}, int64(r.Base.Type.Elem.Size), false
	}
	for _, f := range r.Facts {
		var c conflictCond
		if detail && b.lower(&c.form, f.Form, &c.fits) && b.lower(&c.x, f.X, &c.fits) && b.lower(&c.y, f.Y, &c.fits) {
			t.conds = append(t.conds, c)
		} else {
			t.exact = false
		}
	}
	return t
}

// lower takes a apart into variables of the touch. fits gets what keeps arithmetic from wrapping.
func (b *touchBuilder) lower(to *conflictForm, a affine.Form, fits *[]conflictForm) bool {
	if !a.Known() || len(b.Out.Forms) > analysis.MaxForms {
		return false
	}
	var narrow []affine.Form
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
		coef, isAffine := a.Coef(x.Var)
		if !ok || !isAffine || x.Of != affine.ValueOf || !b.onHost(coef) {
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
func (b *siteBuilder) expandOrNot(a affine.Form, fits *[]affine.Form) (affine.Form, bool) {
	if b.finder == nil {
		return a, true
	}
	return b.expand(a, fits)
}

// variable returns the number of a variable of the touch, of a loop around it or of a derivation,
// and makes it and those that it depends on.
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
	i := slices.IndexFunc(t.Loops, func(l analysis.LoopRange) bool { return l.Var == v })
	switch {
	case i >= 0:
		ok = b.loop(&made, &t.Loops[i])
	case b.finder != nil && b.finder.Derived[v] != nil:
		ok = b.derivation(&made, b.finder.Derived[v])
	}
	if !ok || len(t.vars) >= maxTouchVars {
		return 0, false
	}
	t.vars = append(t.vars, made)
	return len(t.vars) - 1, true
}

// loop fills in the variable of a loop.
func (b *touchBuilder) loop(to *conflictVar, l *analysis.LoopRange) bool {
	last, step := l.Last, affine.Constant(l.Stride)
	if !l.Known {
		if _, constant := query.Int64(l.Step); constant || !l.By.Known() || !b.onHost(l.By) {
			return false
		}
		switch step = l.By; l.Rel {
		case ir.Lt:
			last = last.AddConst(-1)
		case ir.Gt:
			last = last.AddConst(1)
		case ir.Le, ir.Ge:
		default:
			return false
		}
	}
	for _, a := range l.Fits {
		var fit conflictForm
		if !b.lower(&fit, a, &to.fits) {
			return false
		}
		to.fits = append(to.fits, fit)
	}
	to.loop, to.step, to.loose = l.For, b.form(step), l.Loose
	return b.lower(&to.first, l.First, &to.fits) && b.lower(&to.last, last, &to.fits)
}

// derivation fills in the variable of a derivation.
func (b *touchBuilder) derivation(to *conflictVar, d *analysis.Derivation) bool {
	to.op = d.Op
	return d.Op != analysis.DerivedNarrow && d.Op != analysis.DerivedEither && b.lower(&to.first, d.X, &to.fits) && b.lower(&to.last, d.Y, &to.fits)
}
