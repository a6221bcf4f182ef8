package codegen

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// Overlaps is what a launch whose arguments overlap in memory is checked for: that no two iterations of a prescriptive loop touch the same
// memory through two of them, one of which writes. It is immutable.
type Overlaps struct {
	// Pairs are the parameters, by number, that such a loop touches together.
	Pairs    [][2]int
	contract *Contract
	checks   []overlapCheck
}

// An overlapCheck is a write and another touch in one prescriptive loop, through different parameters.
type overlapCheck struct {
	pair     int
	write    contractCheck
	other    contractCheck
	affine   bool // the host knows what both touch, in loops that are the same for both
	loop     *ir.For
	outer, n int // the loops around the prescriptive one, and how many it governs
}

// An OverlapError says that two arguments overlap so that iterations of a loop that is declared parallel conflict.
type OverlapError struct {
	Loop          ir.Pos
	Write, Read   string // the parameters
	Element, With int64  // an element of each that is the same memory
	Sure          bool   // two iterations are known to touch it
}

func (e *OverlapError) Error() string {
	what := "may touch the same memory in two iterations, which cannot be told"
	if e.Sure {
		what = "are the same memory, touched in two iterations"
	}
	return fmt.Sprintf("%v: arguments %s and %s overlap: elements %s[%d] and %s[%d] %s of this loop, which is declared parallel: pass slices that do not overlap, or write overlap(ok) on target where it is right",
		e.Loop, e.Write, e.Read, e.Write, e.Element, e.Read, e.With, what)
}

// NewOverlaps returns what launches of k are checked for, nil where that is nothing.
func NewOverlaps(k *ir.Kernel) *Overlaps {
	if k.Target.OverlapOK {
		return nil
	}
	b := newContractBuilder(k)
	o := &Overlaps{contract: b.out}
	reaches := collect(k, k.Body)
	for i, w := range reaches {
		for j, r := range reaches {
			if !w.write || w.base == r.base || r.write && j < i || w.atomic && r.atomic || !mayShare(k, w, r) {
				continue
			}
			o.add(b, k, w, r)
		}
	}
	if len(o.checks) == 0 {
		return nil
	}
	b.out.checkAtoms, b.out.checkForms = len(b.out.atoms), len(b.out.forms)
	return o
}

// isParameter reports whether v is a parameter that the submission gives, and no package variable.
func isParameter(k *ir.Kernel, v *ir.Var) bool { return slices.Contains(k.Params, v) }

// mayShare reports whether w and r are of parameters that may refer to the same memory.
func mayShare(k *ir.Kernel, w, r reach) bool {
	given := func(v *ir.Var) bool {
		return v.Space == ir.Param && (v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer)
	}
	return given(w.base) && given(r.base) && isParameter(k, w.base) && isParameter(k, r.base) && kindsOf(w.base.Type.Elem)&kindsOf(r.base.Type.Elem) != 0
}

// add adds the checks of w and r, one for each prescriptive loop around both.
func (o *Overlaps) add(b *contractBuilder, k *ir.Kernel, w, r reach) {
	for depth := range commonLoops(w.loops, r.loops) {
		l := w.loops[depth].For
		if d := l.Directive; d == nil || d.Parts&(ir.Distribute|ir.Workshare|ir.Simd) == 0 || copied(d, w.base) || copied(d, r.base) {
			continue
		}
		c := overlapCheck{write: contractCheck{reach: w}, other: contractCheck{reach: r}, loop: l, outer: depth, n: len(nestOf(l))}
		c.affine = len(w.loops) <= maxDepth && len(r.loops) <= maxDepth && w.index.Known() && r.index.Known() &&
			b.nest(&c.write) && b.nest(&c.other) && b.linear(&c.write.index, w.index, w.loops) && b.linear(&c.other.index, r.index, r.loops)
		special := func(n nestLoop) bool { return n.derived }
		c.affine = c.affine && !slices.ContainsFunc(c.write.loops, special) && !slices.ContainsFunc(c.other.loops, special)
		pair := [2]int{slices.Index(k.Params, w.base), slices.Index(k.Params, r.base)}
		if c.pair = slices.Index(o.Pairs, pair); c.pair < 0 {
			c.pair = len(o.Pairs)
			o.Pairs = append(o.Pairs, pair)
		}
		o.checks = append(o.checks, c)
	}
}

// Check looks at pair number n, whose second argument begins gap elements behind the first in the same memory; aligned says that this is a
// whole number of them.
//
// Errors: *OverlapError.
func (o *Overlaps) Check(k *ir.Kernel, env ir.Env, p *Proof, n int, gap int64, aligned bool) error {
	p.Load(k, o.contract, env)
	for i := range o.checks {
		c := &o.checks[i]
		if c.pair != n {
			continue
		}
		found, at := undecided, max(gap, 0)
		if aligned && c.affine {
			found, at = p.meets(c, gap, at)
		}
		if found == allInside {
			continue
		}
		return &OverlapError{Loop: c.loop.At, Write: c.write.base.Name, Read: c.other.base.Name, Element: at, With: at - gap, Sure: found == someOutside}
	}
	return nil
}

// meets decides whether c touches the same memory in two iterations of its loop: allInside where it does not; someOutside where it does, at
// the element of the parameter that is written.
func (p *Proof) meets(c *overlapCheck, gap, guess int64) (verdict, int64) {
	wlo, whi, okw := p.ends64(&c.write)
	rlo, rhi, okr := p.ends64(&c.other)
	switch {
	case !okw || !okr:
		return undecided, guess
	case whi < rlo+gap || rhi+gap < wlo || whi < wlo || rhi < rlo:
		return allInside, 0
	}
	guess = max(wlo, rlo+gap)
	d := difference{c: c, p: p}
	if !d.load(gap) {
		return undecided, guess
	}
	found := d.search(0, d.sum, false)
	if d.steps > manySearched {
		return undecided, guess
	}
	return found, guess
}

// ends64 returns the least and the greatest element that c touches, or more.
func (p *Proof) ends64(c *contractCheck) (lo, hi int64, ok bool) {
	var points [maxDepth]int64
	a, b := p.extreme(c, false, &points), p.extreme(c, true, &points)
	for _, l := range c.loops {
		for k := range l.first.coefs {
			if l.first.coefs[k] > 0 || l.last.coefs[k] > 0 {
				return 0, 0, false // a triangle: its corners need not be its ends
			}
		}
	}
	if len(c.loops) > 0 && (!a.ok || !b.ok) && p.empty(c) {
		return 0, -1, true
	}
	return a.n, b.n, a.ok && b.ok
}

// empty reports whether a loop around c makes no iteration.
func (p *Proof) empty(c *contractCheck) bool {
	var point [maxDepth]int64
	for k := range c.loops {
		l := &c.loops[k]
		span := p.at(&l.last, k, &point).minus(p.at(&l.first, k, &point))
		if span.ok && span.n != 0 && span.n > 0 != (l.step > 0) {
			return true
		}
	}
	return false
}

// A difference is the equation of a write in one iteration and a touch in another that are the same element: the sum of coefs times how many
// iterations the two are apart in each loop is sum.
type difference struct {
	c     *overlapCheck
	p     *Proof
	coefs []int64
	most  []int64 // iterations apart, at most
	split []bool  // the loop is one of the prescriptive nest
	sum   int64
	steps int
}

// manySearched bounds the search of a difference.
const manySearched = 1 << 16

// load fills in the equation; ok is false where the two have different loops or coefficients.
func (d *difference) load(gap int64) (ok bool) {
	w, r := &d.c.write, &d.c.other
	if len(w.loops) != len(r.loops) || commonLoops(w.reach.loops, r.reach.loops) != len(w.loops) {
		return false
	}
	base := d.p.values[r.index.base].plus(number{gap, true}).minus(d.p.values[w.index.base])
	var point [maxDepth]int64
	for k, l := range w.loops {
		a, b := d.p.values[w.index.coefs[k]], d.p.values[r.index.coefs[k]]
		span := d.p.at(&l.last, k, &point).minus(d.p.at(&l.first, k, &point))
		step := a.times(number{l.step, true})
		if !a.ok || !b.ok || a.n != b.n || !span.ok || !step.ok || l.passes(d.p.at(&l.last, k, &point).n) {
			return false
		}
		if k < d.c.outer {
			continue // the same iteration of what is around
		}
		d.coefs, d.most = append(d.coefs, step.n), append(d.most, span.n/l.step)
		d.split = append(d.split, k < d.c.outer+d.c.n)
	}
	d.sum = base.n
	d.sort()
	return base.ok
}

// sort puts the longest strides first.
func (d *difference) sort() {
	for i := range d.coefs {
		for j := i; j > 0 && magnitude(d.coefs[j-1]) < magnitude(d.coefs[j]); j-- {
			d.coefs[j-1], d.coefs[j] = d.coefs[j], d.coefs[j-1]
			d.most[j-1], d.most[j] = d.most[j], d.most[j-1]
			d.split[j-1], d.split[j] = d.split[j], d.split[j-1]
		}
	}
}

// search looks for a solution from loop k on, in which the iterations of the nest differ; apart says that they do already.
func (d *difference) search(k int, sum int64, apart bool) verdict {
	if d.steps++; d.steps > manySearched {
		return undecided
	}
	if k == len(d.coefs) {
		if sum == 0 && apart {
			return someOutside
		}
		return allInside
	}
	if d.coefs[k] == 0 {
		return d.search(k+1, sum, apart || d.split[k] && d.most[k] > 0)
	}
	rest := int64(0)
	for i := k + 1; i < len(d.coefs); i++ {
		n, ok := mulInt64(int64(magnitude(d.coefs[i])), d.most[i])
		if rest, ok = addIf64(rest, n, ok); !ok {
			return undecided
		}
	}
	size := int64(magnitude(d.coefs[k]))
	from, to := ceilDiv(sum-rest, size), floorDiv(sum+rest, size)
	for x := max(from, -d.most[k]); x <= min(to, d.most[k]); x++ {
		if found := d.search(k+1, sum-x*size, apart || d.split[k] && x != 0); found != allInside {
			return found
		}
	}
	return allInside
}

func addIf64(a, b int64, ok bool) (int64, bool) {
	c, fits := addInt64(a, b)
	return c, ok && (fits || b == 0)
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
