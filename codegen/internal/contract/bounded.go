package contract

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// This file leaves the checks of sites in the kernel that no launch is proved for: those whose
// index is a value that only its type bounds. The proof of a launch is one of all its sites, so one
// such site would keep the checks of the others.

// A bounded says from which sides a value is bounded by more than its type.
type bounded struct{ below, above bool }

// mayHold reports whether a launch may be proved to make need not negative.
func (b *siteBuilder) mayHold(need affine.Form) bool {
	return b.boundedForm(need).below || slices.ContainsFunc(b.facts, func(f affine.Form) bool { return b.boundedForm(need.Sub(f)).below })
}

// boundedForm returns from which sides a is bounded.
func (b *siteBuilder) boundedForm(a affine.Form) bounded {
	out := bounded{a.Known(), a.Known()}
	for _, x := range a.Atoms() {
		d := b.finder.Derived[x.Var]
		if d == nil || d.Host != nil {
			continue
		}
		of, coef := b.boundedValue(d), affine.Form{Unknown: true}
		if c, ok := a.Coef(x.Var); ok {
			coef = c
		}
		switch c, constant := coef.Const(); {
		case !constant: // of either sign
			of.below = of.below && of.above
			of.above = of.below
		case c < 0:
			of.below, of.above = of.above, of.below
		}
		out.below, out.above = out.below && of.below, out.above && of.above
	}
	return out
}

// boundedValue returns from which sides a derivation is bounded, by itself or by a condition.
func (b *siteBuilder) boundedValue(d *analysis.Derivation) (out bounded) {
	x, y := b.boundedForm(d.X), b.boundedForm(d.Y)
	switch d.Op {
	case analysis.DerivedEither:
		out = bounded{true, true}
		for _, a := range d.Either {
			of := b.boundedUnder(a)
			out = bounded{out.below && of.below, out.above && of.above}
		}
	case analysis.DerivedAny:
		out = boundedAny(d)
	case analysis.DerivedMin:
		out = bounded{x.below && y.below, x.above || y.above}
	case analysis.DerivedMax:
		out = bounded{x.below || y.below, x.above && y.above}
	case analysis.DerivedRem:
		out = bounded{y.above || x.below, y.above || x.above}
	case analysis.DerivedAnd:
		out = bounded{true, y.above || x.above}
	case analysis.DerivedDiv, analysis.DerivedShr:
		out = x
	default:
		out = bounded{x.below && y.below, x.above && y.above}
	}
	for _, f := range b.facts {
		coef, ok := f.Coef(d.Var)
		if c, constant := coef.Const(); ok && constant && b.ofArguments(f.Without(d.Var)) {
			out.below, out.above = out.below || c > 0, out.above || c < 0
		}
	}
	return out
}

// ofArguments reports whether arguments and loops alone decide a.
func (b *siteBuilder) ofArguments(a affine.Form) bool {
	return !slices.ContainsFunc(a.Atoms(), func(x affine.Atom) bool {
		d := b.finder.Derived[x.Var]
		return d != nil && d.Host == nil
	})
}

// boundedUnder is boundedForm for a value with the facts that hold where it is taken.
func (b *siteBuilder) boundedUnder(a analysis.Alternative) bounded {
	out := b.boundedForm(a.Form)
	for _, f := range a.Facts {
		if !f.Unequal {
			out.below = out.below || b.boundedForm(a.Form.Sub(f.Form)).below
			out.above = out.above || b.boundedForm(a.Form.Add(f.Form)).above
		}
	}
	return out
}

// boundedAny is boundedValue for a value between two constants.
func boundedAny(d *analysis.Derivation) bounded {
	lo, hi := analysis.LimitsOf(d.T)
	least, ok1 := d.X.Const()
	most, ok2 := d.Y.Const()
	return bounded{ok1 && (least > lo || lo == 0), ok2 && (most < hi || d.T.Size < ir.Int32Type.Size)}
}
