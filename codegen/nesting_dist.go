package codegen

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// distArrays refuses touches of the arrays of the dist_ clauses of s that are outside the part that their iteration owns: those that are outside
// wherever they happen, and those that are sure to happen and are outside in one iteration that the loop may have.
func (c *nestingCheck) distArrays(s *ir.For) {
	if len(s.Directive.DistArrays) == 0 {
		return
	}
	found := newCollector(c.kernel)
	found.define(c.kernel.Body)
	found.loops = []loopRange{found.rangeOf(s)}
	ir.Lists(s, found.stmts)
	for _, a := range s.Directive.DistArrays {
		start, ok := found.viewOf(&ir.Ref{Var: a.Var})
		if !ok {
			continue
		}
		for _, r := range found.out {
			if r.base == start.base && (start.base == a.Var || baseVar(r.expr) == a.Var) {
				c.distTouch(s, a, r, r.index.Sub(start.off))
			}
		}
	}
}

// distTouch looks at one touch of the array of a, at an index of it.
func (c *nestingCheck) distTouch(s *ir.For, a ir.DistArray, r reach, index Affine) {
	chunk, ok := affineOf(a.Chunk)
	rel := index.Sub(varAffine(s.Var).Mul(chunk))
	if !ok || !rel.Known() {
		return
	}
	name, i, text := a.Var.Name, s.Var.Name, sourceText(r.expr)
	part := a.Part(s.Var)
	touch := fmt.Sprintf("iteration %s touches %s, and owns %s", i, text, part)
	switch found, point, loops := c.inPart(r, rel, chunk); found {
	case allInside:
		return
	case someOutside:
		n, _ := chunk.Const()
		at := point[0]*n + point[len(point)-1]
		touch = fmt.Sprintf("iteration %s = %d touches %s[%d]", i, point[0], name, at)
		for k, l := range loops[1:] {
			touch += fmt.Sprintf("%s%s = %d", [2]string{" (", ", "}[min(k, 1)], l.Var.Name, point[k+1])
		}
		if len(loops) > 1 {
			touch += ")"
		}
		if text != fmt.Sprintf("%s[%d]", name, at) {
			touch += " by " + text
		}
		touch += fmt.Sprintf(", and owns %s[%d:%d]", name, point[0]*n, (point[0]+1)*n)
	default:
		if !c.neverOwn(r, rel, chunk) {
			return
		}
	}
	c.fail(r.at, a.Kind.String()+" of "+name, touch, "keep the index inside "+part+", or take "+name+" out of the clause")
}

// manyIterations is what a loop has for inPart that may have any number.
const manyIterations = 1 << 20

// inPart decides whether r, which is sure to happen, stays in a part of a constant chunk. Where it does not, point is the first iteration of loops
// that is outside: their variables, and the index counted from the start of the part. It is undecided where numbers are not known.
func (c *nestingCheck) inPart(r reach, rel, chunk Affine) (found verdict, point []int64, loops []loopRange) {
	n, constant := chunk.Const()
	if !constant || !r.always || len(r.loops) > maxDepth {
		return undecided, nil, nil
	}
	loops = append(loops, r.loops...)
	loops[0] = manyOf(loops[0])
	r.loops = loops
	b := newContractBuilder(c.kernel)
	check := contractCheck{reach: r, passed: new(launches)}
	if !b.nest(&check) || !b.linear(&check.index, rel, loops) || len(b.out.atoms) > 0 {
		return undecided, nil, nil
	}
	b.out.checkAtoms, b.out.checkForms = len(b.out.atoms), len(b.out.forms)
	var p Proof
	p.Load(c.kernel, b.out, ir.Values{})
	found = p.stays(&check, p.below(n))
	if found == someOutside {
		point = append(append(point, p.point[:len(loops)]...), p.at(&check.index, len(loops), &p.point).n)
	}
	return found, point, loops
}

// manyOf returns l with many iterations where their number is not constant, from 0 on where the first one is not.
func manyOf(l loopRange) loopRange {
	first, ok1 := l.first.Const()
	if _, ok2 := l.last.Const(); ok1 && ok2 {
		return l
	}
	if l.step == 0 {
		l.step = 1
	}
	last := limitOf(l.Var.Type, l.step)
	if away := first + manyIterations*l.step; l.step > 0 && away < last || l.step < 0 && away > last {
		last = away
	}
	l.first, l.last = constAffine(first), constAffine(last)
	return l
}

// neverOwn reports whether r is outside the part of its iteration wherever it happens, or in some iteration in which it is sure to.
func (c *nestingCheck) neverOwn(r reach, rel, chunk Affine) bool {
	s, ok := spanOf(rel, r.loops, c.kernel.Params)
	if !ok {
		return false
	}
	negative := func(a Affine) bool { return multiple(constAffine(-1).Sub(a), chunk) }
	behind := func(a Affine) bool { return multiple(a.Sub(chunk), chunk) }
	if negative(s.hi) || behind(s.lo) {
		return true
	}
	return r.always && rectangularNest(r.loops) && s.dense && (negative(s.lo) || behind(s.hi))
}

// multiple reports whether a is known not to be negative: some chunks, each at least 1, and a constant.
func multiple(a, chunk Affine) bool {
	for n := range int64(4) {
		if atLeast(a.Sub(chunk.Mul(constAffine(n))), -n) {
			return true
		}
	}
	return false
}
