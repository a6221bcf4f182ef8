package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"slices"
)

// A version of a loop whose test cannot hold in a launch whose loops run at all never runs: the
// check that asks for such a test stays, in both versions, and does not keep those of the other
// indices.

// possible reports whether the tests may hold together with others, where every loop around runs at
// least once.
func (v *versioner) possible(add tests) bool {
	forms := slices.Clone(v.tests.forms)
	forms = append(forms, add.forms...)
	for _, b := range v.Ranges {
		if span := b.Hi.Sub(b.Lo); b.Lo.Known() && b.Hi.Known() && span.Known() {
			forms = append(forms, span)
		}
	}
	least := leastValues(forms)
	for i, f := range forms {
		if negative(f, least) {
			return false
		}
		for _, g := range forms[:i] {
			if sum := f.Add(g); sum.Known() && negative(sum, least) {
				return false
			}
		}
	}
	return true
}

// leastValues are bounds of atoms, 0 or more, where none of the forms is negative. Lengths are
// never negative.
func leastValues(forms []analysis.Affine) map[analysis.Atom]int64 {
	least := map[analysis.Atom]int64{}
	for _, f := range forms {
		for _, x := range f.Atoms() {
			if _, ok := least[x]; !ok && (x.Of != analysis.ValueOf || !x.Var.Type.IsSigned()) {
				least[x] = 0
			}
		}
		if x, c, ok := singleAtom(f); ok && c <= 0 {
			least[x] = max(least[x], -c)
		}
	}
	return least
}

// singleAtom reports whether f is the sum of an atom and a constant.
func singleAtom(f analysis.Affine) (x analysis.Atom, c int64, ok bool) {
	for _, t := range f.Terms {
		switch {
		case len(t.Atoms) == 0:
			c = t.Coef
		case ok || len(t.Atoms) > 1 || t.Coef != 1:
			return x, 0, false
		default:
			x, ok = t.Atoms[0], true
		}
	}
	return x, c, ok
}

// negative reports whether f is below 0 whatever its atoms are that have these least values.
func negative(f analysis.Affine, least map[analysis.Atom]int64) bool {
	most := int64(0)
	for _, t := range f.Terms {
		if len(t.Atoms) == 0 {
			most += min(max(t.Coef, -1<<40), 1<<40)
			continue
		}
		if t.Coef > 0 {
			return false
		}
		above := true // every factor is 1 or more
		for _, x := range t.Atoms {
			n, known := least[x]
			if !known {
				return false
			}
			above = above && n > 0
		}
		if above {
			most += max(t.Coef, -1<<40)
		}
	}
	return most < 0
}
