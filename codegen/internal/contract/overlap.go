package contract

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// Overlaps is what a launch whose arguments overlap in memory is checked for: that no two
// iterations of a prescriptive loop touch the same memory through two of them, one of which writes.
// It is immutable but for a memory of launches that were found to be right.
type Overlaps struct {
	// Pairs are the parameters, by number, that such a loop touches together; package variables are
	// behind the others. Both are one where iterations may meet in it alone, by the value of a
	// parameter.
	Pairs    [][2]int
	contract *Contract
	checks   [][]overlapCheck // of each pair
	numbers  map[[2]int]int   // of Pairs
	Passed   []*Launches      // of each pair
}

// An overlapCheck is a write and another touch in one prescriptive loop, through different
// parameters.
type overlapCheck struct {
	write, other *conflictTouch
	loop         *ir.For // nil for a region
	at           ir.Pos  // of the loop or region
	region       Region
	outer, n     int // the loops around the prescriptive one, and how many it governs
	// they are in two constructs with no barrier in between: threads run any two of their iterations
	// at once
	apart bool
	drift bool // the loops around may be in different iterations
}

// A Region says what runs code of a construct that no loop or single shares out.
type Region uint8

const (
	NoRegion Region = iota // the code is in a loop
	Threads                // each thread of a parallel construct
	Teams                  // each team of a teams construct
)

// An OverlapError means that two arguments overlap so that iterations of a loop that is declared
// parallel conflict, or of two loops with no barrier in between, or threads or teams of a
// construct; or that iterations of such a loop conflict within one argument. The two iterations are
// the first that conflict where bounded work finds these, else a pair that does.
type OverlapError struct {
	Loop         ir.Pos // or construct
	Region       Region
	Write, Other OverlapTouch
	Sure         bool // the two iterations are known to touch it
	Example      bool // the elements are the same memory, and nothing is known that keeps the loop from touching both
}

// An OverlapTouch is one side of a conflict.
type OverlapTouch struct {
	Param     string
	Variable  bool   // it is a package variable
	Pointer   bool   // it points at what is touched
	Writes    bool   // what is touched is written
	Element   int64  // of a slice
	Iteration string // the variables of the loop and those around: "i = 3"; "" where they are not known
}

func (t *OverlapTouch) place() string {
	if t.Pointer {
		return "*" + t.Param
	}
	return fmt.Sprintf("%s[%d]", t.Param, t.Element)
}

// does says what t does in its iteration.
func (t *OverlapTouch) does() string {
	subject := "iteration " + t.Iteration
	if t.Iteration == "" {
		subject = "a thread"
	}
	if t.Writes {
		return subject + " writes " + t.place()
	}
	return subject + " reads " + t.place()
}

func (e *OverlapError) Error() string {
	if e.Write.Param == e.Other.Param {
		return fmt.Sprintf("%v: argument %s: %s and %s, and the loop is declared parallel: make its iterations independent, or write overlap(ok) on target where it is right",
			e.Loop, e.Write.Param, e.Write.does(), e.Other.does())
	}
	names := "arguments " + e.Write.Param + " and " + e.Other.Param
	if e.Other.Variable {
		names = "argument " + e.Write.Param + " and package variable " + e.Other.Param
	}
	pair, why := "two iterations", "the loop is declared parallel"
	switch e.Region {
	case Threads:
		pair, why = "two threads", "each thread runs this code"
	case Teams:
		pair, why = "two teams", "each team runs this code"
	}
	what := pair + " may touch the same memory, which is too much to decide"
	switch {
	case e.Sure:
		what = e.Write.does() + " and " + e.Other.does() + ", which is the same memory"
	case e.Example:
		what = pair + " may touch the same memory, such as " + e.Write.place() + " and " + e.Other.place() + ", which cannot be told before they run"
	}
	return fmt.Sprintf("%v: %s overlap: %s, and %s: pass slices that do not overlap, or write overlap(ok) on target where it is right",
		e.Loop, names, what, why)
}

// NewOverlaps returns what launches of k are checked for, nil where that is nothing.
func NewOverlaps(k *ir.Kernel) *Overlaps {
	if k.Target.OverlapOK || !mayOverlap(k) {
		return nil
	}
	touches, b := touchesOf(k)
	o := &Overlaps{contract: b.Out, numbers: map[[2]int]int{}}
	behind := analysis.WithoutBarrier(k)
	for i, w := range touches {
		for j, r := range touches {
			if w.Write && w.Base != r.Base && (!r.Write || j > i) && !(w.Atomic && r.Atomic) && analysis.KindsOf(w.Base.Type.Elem)&analysis.KindsOf(r.Base.Type.Elem) != 0 {
				o.add(k, w, r)
				o.addNowait(k, behind, w, r)
				o.addRegions(k, w, r)
			}
			if w.Write && w.Base == r.Base && (!r.Write || j > i) && !(w.Atomic && r.Atomic) && apartByParam(w, r) {
				o.add(k, w, r)
			}
		}
	}
	if len(o.checks) == 0 {
		return nil
	}
	b.Out.CheckAtoms, b.Out.CheckForms = len(b.Out.Atoms), len(b.Out.Forms)
	for range o.Pairs {
		o.Passed = append(o.Passed, new(Launches))
	}
	return o
}

// apartByParam reports whether two touches of one parameter are of elements whose distance depends
// on a parameter, so that two iterations may meet in a launch and not in another.
func apartByParam(w, r *conflictTouch) bool {
	return w.known && r.known && !w.copied && !r.copied &&
		slices.ContainsFunc(w.Index.Sub(r.Index).Atoms(), func(a affine.Atom) bool { return a.Var.Space == ir.Param })
}

// mayOverlap reports whether k has a loop or region that is declared parallel, and parameters that
// may refer to the same memory.
func mayOverlap(k *ir.Kernel) bool {
	if !slices.ContainsFunc(k.Params, func(v *ir.Var) bool { return isMemory(v.Type) }) {
		return false
	}
	found := false
	bodies := [][]ir.Stmt{k.Body}
	for _, f := range k.Funcs {
		bodies = append(bodies, f.Body)
	}
	for _, body := range bodies {
		ir.WalkStmts(body, func(s ir.Stmt) bool {
			l, ok := s.(*ir.For)
			found = found || ok && prescriptive(l) || regionsOf(s) != nil
			return !found
		})
	}
	return found
}

// prescriptive reports whether l is declared parallel.
func prescriptive(l *ir.For) bool {
	return l.Directive != nil && l.Directive.Parts&(ir.Distribute|ir.Workshare|ir.Simd) != 0
}

// add adds the checks of w and r, one for each prescriptive loop around both.
func (o *Overlaps) add(k *ir.Kernel, w, r *conflictTouch) {
	for depth := range analysis.CommonLoops(w.Loops, r.Loops) {
		l := w.Loops[depth].For
		if !prescriptive(l) || analysis.HasCopy(l.Directive, w.Base) || analysis.HasCopy(l.Directive, r.Base) {
			continue
		}
		o.addCheck(k, overlapCheck{write: w, other: r, loop: l, at: l.At, outer: depth, n: len(analysis.NestOf(l))})
	}
}

func (o *Overlaps) addCheck(k *ir.Kernel, c overlapCheck) {
	pair := [2]int{slices.Index(k.Params, c.write.Base), slices.Index(k.Params, c.other.Base)}
	n, ok := o.numbers[pair]
	if !ok {
		n = len(o.Pairs)
		o.numbers[pair] = n
		o.Pairs, o.checks = append(o.Pairs, pair), append(o.checks, nil)
	}
	o.checks[n] = append(o.checks[n], c)
}

// addNowait adds the check of w and r where one is in a construct with nowait and the other in what
// threads come to from there. Iterations of the same number of loops that are dealt out alike are
// one thread's.
func (o *Overlaps) addNowait(k *ir.Kernel, behind map[ir.Stmt][]analysis.FollowUp, w, r *conflictTouch) {
	x, y := analysis.SharerOf(&w.Reach), analysis.SharerOf(&r.Reach)
	first, second := x, y
	if !follows(behind[x], &r.Reach) {
		if first, second = y, x; !follows(behind[y], &w.Reach) {
			return
		}
	}
	if first == second || w.copied || r.copied {
		return
	}
	outer := analysis.CommonLoops(w.Loops, r.Loops)
	drift := slices.ContainsFunc(behind[first], func(f analysis.FollowUp) bool { return len(f.Again) > 0 })
	l, ok := first.(*ir.For)
	if !ok { // a single, whose thread may be any
		o.addCheck(k, overlapCheck{write: w, other: r, at: first.Pos(), region: Threads, outer: outer, n: 1, apart: true, drift: drift})
		return
	}
	c := overlapCheck{write: w, other: r, loop: l, at: l.At, outer: outer, n: 1, apart: true}
	if a, b := analysis.LoopOf(x), analysis.LoopOf(y); a != nil && b != nil && analysis.SameIteration(a, b, &w.Reach, &r.Reach) == analysis.ClashNever {
		c.n, c.apart = len(analysis.NestOf(a)), false
	}
	c.drift = drift
	o.addCheck(k, c)
}

// follows reports whether r is in one of list.
func follows(list []analysis.FollowUp, r *analysis.Reach) bool {
	around := func(s ir.Stmt) bool {
		return slices.Contains(r.In, s) || slices.ContainsFunc(r.Loops, func(l analysis.LoopRange) bool { return ir.Stmt(l.For) == s })
	}
	return slices.ContainsFunc(list, func(f analysis.FollowUp) bool { return f.Holds(around) })
}

// Check looks at pair number n, whose second argument begins gap bytes behind the first in the same
// memory.
//
// Cost: none to speak of for a launch that was right before; else some microseconds for each two
// touches that their bounds alone do not keep apart, and at most conflictWork and firstWork rows of
// a system of them. Errors: *OverlapError.
func (o *Overlaps) Check(k *ir.Kernel, env ir.Env, p *Proof, n int, gap int64) error {
	p.Load(k, o.contract, env)
	p.key = append(p.key[:0], gap)
	for _, v := range p.values {
		p.key = append(p.key, v.N, int64(ir.BoolBits(v.Ok)))
	}
	if o.Passed[n].has(p.key) {
		return nil
	}
	var unsure *OverlapError
	for i := range o.checks[n] {
		c := &o.checks[n][i]
		e := &OverlapError{Loop: c.at, Region: c.region, Write: touchOf(k, c.write), Other: touchOf(k, c.other)}
		switch p.meets(c, gap, e) {
		case SomeOutside:
			return e
		case Undecided:
			if unsure == nil && c.write.Base != c.other.Base { // one argument is refused for what is certain alone
				unsure = e
			}
		}
	}
	if unsure != nil {
		return unsure
	}
	o.Passed[n].add(slices.Clone(p.key))
	return nil
}

func touchOf(k *ir.Kernel, t *conflictTouch) OverlapTouch {
	return OverlapTouch{Param: t.Base.Name, Variable: !slices.Contains(k.Written(), t.Base), Pointer: t.Base.Type.Kind == ir.Pointer, Writes: t.Write}
}
