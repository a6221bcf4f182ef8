package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// Accesses compares the declared accesses of k with the accesses of its body.
//
// Errors: an access that is provably outside the regions, a write to an in parameter, an out
// parameter that is provably not written completely. Warnings: an access at an index that depends
// on data and may be outside the regions, an out parameter that cannot be proved to be written.
//
// Accesses reports nothing about a parameter that an erroneous clause may declare, nor about
// effects of an erroneous statement in the body.
func Accesses(k *ir.Kernel, incomplete Incomplete) []diag.Diagnostic {
	reaches := analysis.ThroughLocals(k, analysis.Collect(k, k.Body))
	c := &AccessCheck{K: k, said: map[string]bool{}, incomplete: incomplete, complete: query.IsComplete(k)}
	for _, v := range k.Written() {
		if v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer || incomplete.Vars[v] {
			continue
		}
		var own []analysis.Reach
		for _, r := range reaches {
			if r.Base == v {
				own = append(own, r)
			}
		}
		c.parameter(v, own)
	}
	return c.diags
}

// An AccessCheck compares the declared accesses of a kernel with those of its body.
type AccessCheck struct {
	Check
	K          *ir.Kernel
	said       map[string]bool
	incomplete Incomplete
	complete   bool // all writes of the body are known
}

// Incomplete lists the declarations that are unknown because of errors in clauses.
type Incomplete struct {
	All  bool             // a directive of the function has a syntax error
	Name bool             // a region names no parameter, so any parameter may be meant
	Vars map[*ir.Var]bool // parameters with a region that has an error
}

// Any reports whether anything is unknown.
func (v Incomplete) Any() bool { return v.All || v.Name || len(v.Vars) > 0 }

// declared returns the declared accesses to v, including those of copy clauses.
func (c *AccessCheck) declared(v *ir.Var) []ir.Access {
	return slices.DeleteFunc(contract.Accesses(c.K), func(a ir.Access) bool { return a.Region.Var != v })
}

func (c *AccessCheck) parameter(v *ir.Var, reaches []analysis.Reach) {
	declared := c.declared(v)
	for _, r := range reaches {
		c.reach(v, r, declared)
	}
	if !c.complete {
		return
	}
	c.firstUse(v, reaches, declared)
	for _, a := range declared {
		if a.Mode == deps.Out {
			c.written(a, reaches)
		}
	}
}

// once reports whether the message has not been reported yet.
func (c *AccessCheck) once(v *ir.Var, what string) bool {
	key := v.Name + " " + what
	if c.said[key] {
		return false
	}
	c.said[key] = true
	return true
}

func (c *AccessCheck) reach(v *ir.Var, r analysis.Reach, declared []ir.Access) {
	verb, name := "reads", query.Source(r.Expr)
	may := declared
	if r.Write {
		verb = "writes"
		may = slices.DeleteFunc(slices.Clone(declared), func(a ir.Access) bool { return !a.Mode.Writes() })
	}
	what := "access to " + v.Name
	switch {
	case len(may) == 0 && r.Is(analysis.Maybe):
		if !c.incomplete.Name && c.once(v, "through "+verb) {
			c.warnOf(v, diag.Warning, r.At, what, fmt.Sprintf("the body %s %s, which may be %s, and no clause of the task says so", verb, name, v.Name),
				"write "+suggestedMode(r)+"("+allOf(v)+") in //omp:task where it is")
		}
	case len(declared) == 0:
		if !c.incomplete.Name && c.once(v, "missing") {
			c.fail(r.At, what, fmt.Sprintf("the body %s %s, and no clause of the task names %s", verb, name, v.Name),
				"write "+suggestedMode(r)+"("+allOf(v)+") in //omp:task")
		}
	case len(may) == 0:
		if c.once(v, "in") {
			c.fail(r.At, what, fmt.Sprintf("the body writes %s, and the task declares it in (%v)", name, declared[0].Region.At),
				"write inout("+declared[0].Region.Text+")")
		}
	default:
		c.inside(v, r, may, verb)
	}
}

// allOf returns the notation of a clause for all elements of v.
func allOf(v *ir.Var) string {
	if v.Type.Kind == ir.Pointer {
		return "*" + v.Name
	}
	return v.Name
}

func suggestedMode(r analysis.Reach) string {
	if r.Write {
		return "inout"
	}
	return "in"
}

// inside checks that r is inside one of the regions.
func (c *AccessCheck) inside(v *ir.Var, r analysis.Reach, may []ir.Access, verb string) {
	if slices.ContainsFunc(may, func(a ir.Access) bool { return query.IsWhole(a.Region) }) {
		return
	}
	name, what, regions := query.Source(r.Expr), "access to "+v.Name, contract.RegionList(may)
	if !r.Index.Known() {
		if c.once(v, fmt.Sprint("data ", verb, r.At)) {
			place := "whose place is no sum of products of loop variables and parameters"
			if slices.ContainsFunc(indicesOf(r.Expr), valuesOf(c.K).ofData) {
				place = "whose place depends on data"
			}
			c.warnOf(v, diag.Warning, r.At, what, fmt.Sprintf("the body %s %s, %s; it may lie outside %s", verb, name, place, regions),
				"declare all of "+v.Name+", or, where the program ensures that it stays inside, write //nolint:gompss at the end of the line")
		}
		return
	}
	if slices.ContainsFunc(may, func(a ir.Access) bool { return contract.InRegion(c.K, r, a.Region) }) {
		return
	}
	switch c.Constant(r, may) {
	case contract.AllInside:
		return
	case contract.Undecided:
		if !c.OutsideAll(r, may) {
			c.unproved(v, r, verb, regions)
			return
		}
	}
	if c.once(v, "outside "+verb+name) {
		c.fail(r.At, what, fmt.Sprintf("the body %s %s, which is outside %s", verb, name, regions), "widen the region, or declare "+v.Name)
	}
}

// unproved warns of an affine access in a loop that may be outside the regions. If the host can
// check it for every task, it is only a note.
func (c *AccessCheck) unproved(v *ir.Var, r analysis.Reach, verb, regions string) {
	name, proves := query.Source(r.Expr), contract.NewBuilder(c.K).Proves(r)
	unknown := slices.ContainsFunc(r.Loops, func(l analysis.LoopRange) bool { return !l.Known && r.Index.Has(l.Var) })
	if unknown || proves && len(r.Loops) == 0 || !c.once(v, fmt.Sprint("unproved ", verb, name, proves)) {
		return
	}
	why, instead := fmt.Sprintf("the body %s %s, which cannot be proved to stay inside %s", verb, name, regions), "declare all of "+v.Name+", or, where the program ensures that it stays inside, write //nolint:gompss at the end of the line"
	severity := diag.Warning
	if proves {
		severity, why, instead = diag.Note, why+" before the arguments are known", "a task that goes outside is refused when it is submitted"
	}
	c.warnOf(v, severity, r.At, "access to "+v.Name, why, instead)
}

// Constant decides whether the union of the regions contains all elements that r accesses, if no
// bound depends on a parameter.
func (c *AccessCheck) Constant(r analysis.Reach, may []ir.Access) contract.Verdict {
	b := contract.NewBuilder(c.K)
	b.Accesses = may
	check := contract.Check{Reach: r, Passed: new(contract.Launches)}
	if !b.Exact(&check) || !b.Linear(&check.Index, r.Index, r.Loops) || len(b.Out.Atoms) > 0 {
		return contract.Undecided
	}
	w := contract.Where{}
	for i, a := range may {
		boxes, err := contract.EvalRegion(a.Region, math.MaxInt64, ir.Values{})
		if err != nil {
			return contract.Undecided
		}
		w.Boxes, w.Regions = append(w.Boxes, boxes), append(w.Regions, i)
	}
	b.Out.CheckAtoms, b.Out.CheckForms = len(b.Out.Atoms), len(b.Out.Forms)
	var p contract.Proof
	p.Load(c.K, b.Out, ir.Values{})
	return p.Stays(&check, w)
}

// edges is a bit set: two bits for each dimension of an access, for the elements at its low and at
// its high end.
type edges uint64

const everywhere edges = 1<<64 - 1

// OutsideAll reports whether r provably accesses an element outside all regions. If r may not be
// executed, all its elements must be outside; otherwise its first or its last one.
func (c *AccessCheck) OutsideAll(r analysis.Reach, may []ir.Access) bool {
	at := everywhere
	for i, a := range may {
		out := c.Outside(r, a.Region)
		if i > 0 && out != everywhere && len(a.Region.Shape)+len(may[0].Region.Shape) > 0 {
			out = 0 // another shape: the ends of the access are different elements
		}
		at &= out
	}
	return at != 0
}

// Outside returns the edges of r that are provably outside region; all edges if the region contains
// no element of r.
func (c *AccessCheck) Outside(r analysis.Reach, region ir.Region) edges {
	spans, ok := r.Spans(region.Shape, c.K.Params)
	if !ok || !contract.InsideRows(spans, region) {
		return 0
	}
	attained := r.Is(analysis.Certain) && contract.RectangularNest(r.Loops)
	out := edges(0)
	for i, d := range region.Dims {
		a, b, ok := contract.RangeForms(d)
		if !ok {
			continue
		}
		s := spans[i]
		if analysis.AtLeast(s.Lo.Sub(b), 0) || analysis.AtLeast(a.Sub(s.Hi), 1) {
			return everywhere
		}
		if !attained || !s.Dense {
			continue
		}
		if analysis.AtLeast(a.Sub(s.Lo), 1) || analysis.AtLeast(s.Lo.Sub(b), 0) {
			out |= 1 << (2 * i)
		}
		if analysis.AtLeast(s.Hi.Sub(b), 0) || analysis.AtLeast(a.Sub(s.Hi), 1) {
			out |= 2 << (2 * i)
		}
	}
	return out
}

// firstUse reports a read of an out parameter before the first write: its old value is undefined.
func (c *AccessCheck) firstUse(v *ir.Var, reaches []analysis.Reach, declared []ir.Access) {
	if len(declared) == 0 || slices.ContainsFunc(declared, func(a ir.Access) bool { return a.Mode != deps.Out }) {
		return
	}
	for i, r := range reaches {
		if r.Write {
			return
		}
		early, sure := r.BeforeAll(reaches[i:])
		if !early || !c.once(v, "first use") {
			continue
		}
		verb, say := "may read", c.warn
		if sure {
			verb, say = "reads", c.fail
		}
		say(r.At, "access to "+v.Name, fmt.Sprintf("the body %s %s before it writes it, and the task declares it out (%v)",
			verb, query.Source(r.Expr), declared[0].Region.At), "write inout("+declared[0].Region.Text+")")
		return
	}
}

// written checks that an out parameter is written completely.
func (c *AccessCheck) written(a ir.Access, reaches []analysis.Reach) {
	var writes []analysis.Reach
	for _, r := range reaches {
		if r.Write {
			writes = append(writes, r)
		}
	}
	writes = c.either(writes, a.Region.Shape)
	what, instead := "out("+a.Region.Text+")", "write inout("+a.Region.Text+"), or the part that is written"
	if len(writes) == 0 {
		c.fail(a.Region.At, what, "it promises that every element is written, and the body never writes "+a.Region.Var.Name, "write in, or leave it out")
		return
	}
	if a.Region.Var.Type.Kind == ir.Pointer {
		if !slices.ContainsFunc(writes, func(r analysis.Reach) bool { return r.Is(analysis.Certain) }) {
			c.warnOf(a.Region.Var, diag.Warning, a.Region.At, what, "it promises that the variable is written, which only happens under a condition", instead)
		}
		return
	}
	switch c.Coverage(a.Region, writes) {
	case gap:
		c.fail(a.Region.At, what, fmt.Sprintf("it promises that every element is written, and the only write, %s (%v), leaves some out",
			query.Source(writes[0].Expr), writes[0].At), instead)
	case unproved:
		c.warnOf(a.Region.Var, diag.Warning, a.Region.At, what, fmt.Sprintf("it promises that every element is written, which cannot be proved of %s (%v)",
			query.Source(writes[0].Expr), writes[0].At), instead)
	}
}

// either merges writes that both branches of an if contain into one write without the condition.
func (c *AccessCheck) either(writes []analysis.Reach, shape []ir.Expr) []analysis.Reach {
	out := slices.Clone(writes)
	for merged := true; merged; {
		merged = false
		for i := range out {
			for j := range out {
				if i != j && out[i].Is(analysis.Sure) && out[j].Is(analysis.Sure) && c.alike(&out[i], &out[j], shape) {
					n := len(out[i].Conds) - 1
					out[i].Conds, out[i].Sides = out[i].Conds[:n], out[i].Sides[:n]
					out[i].Extent = out[i].Extent.With(analysis.Always|analysis.Certain, n == 0)
					out = slices.Delete(out, j, j+1)
					merged = true
					break
				}
			}
			if merged {
				break
			}
		}
	}
	return out
}

// alike reports whether w and v are in the two branches of one if and write the same elements.
func (c *AccessCheck) alike(w, v *analysis.Reach, shape []ir.Expr) bool {
	n := len(w.Sides) - 1
	if n < 0 || len(v.Sides) != n+1 || !slices.Equal(w.Sides[:n], v.Sides[:n]) {
		return false
	}
	if one, other := w.Sides[n], v.Sides[n]; one.Test != other.Test || one.Not == other.Not {
		return false
	}
	inner := func(r *analysis.Reach) analysis.Reach {
		s := *r
		s.Loops = r.Loops[r.Sides[n].Depth:]
		return s
	}
	a, b := inner(w), inner(v)
	if len(a.Loops) == 0 && len(b.Loops) == 0 {
		return a.Index.Known() && a.Index.Equal(b.Index)
	}
	fixed := slices.Clone(c.K.Params)
	for _, l := range w.Loops[:w.Sides[n].Depth] {
		fixed = append(fixed, l.Var)
	}
	one, ok1 := a.Spans(shape, fixed)
	other, ok2 := b.Spans(shape, fixed)
	if !ok1 || !ok2 || !a.Moves() || !b.Moves() {
		return false
	}
	for i := range one {
		if !one[i].Dense || !other[i].Dense || !one[i].Lo.Equal(other[i].Lo) || !one[i].Hi.Equal(other[i].Hi) {
			return false
		}
	}
	return true
}

// coverage says which part of a region is written.
type coverage uint8

const (
	unproved coverage = iota
	Full
	gap
)

// Coverage returns the part of region that writes cover.
func (c *AccessCheck) Coverage(region ir.Region, writes []analysis.Reach) coverage {
	want, ok := c.wanted(region)
	if !ok {
		return unproved
	}
	var exact [][]analysis.Span
	for _, w := range writes {
		spans, ok := w.Spans(region.Shape, c.K.Params)
		if ok && w.Is(analysis.Certain) && w.Moves() && !slices.ContainsFunc(spans, func(s analysis.Span) bool { return !s.Dense }) {
			exact = append(exact, spans)
		}
	}
	if slices.ContainsFunc(exact, func(s []analysis.Span) bool { return holds(s, want) }) || len(want) == 1 && chained(exact, want[0]) {
		return Full
	}
	if len(writes) == 1 && len(exact) == 1 && leavesOut(exact[0], want) {
		return gap
	}
	return unproved
}

// wanted returns the region as spans.
func (c *AccessCheck) wanted(region ir.Region) ([]analysis.Span, bool) {
	n := max(len(region.Shape), 1)
	out := make([]analysis.Span, n)
	for i := range out {
		a, b, ok := affine.Constant(0), affine.Form{Unknown: true}, true
		switch {
		case i < len(region.Dims):
			a, b, ok = contract.RangeForms(region.Dims[i])
		case len(region.Shape) > 0 && region.Shape[i] != nil:
			b, ok = affine.Of(region.Shape[i])
		case len(region.Shape) == 0:
			b = affine.OfAtom(affine.Atom{Var: region.Var, Of: affine.LenOf})
		}
		if !ok || !b.Known() {
			return nil, false
		}
		out[i] = analysis.Span{Lo: a, Hi: b.AddConst(-1)}
	}
	return out, true
}

// holds reports whether box s provably contains box want.
func holds(s, want []analysis.Span) bool {
	for i, w := range want {
		if !analysis.AtLeast(w.Lo.Sub(s[i].Lo), 0) || !analysis.AtLeast(s[i].Hi.Sub(w.Hi), 0) {
			return false
		}
	}
	return true
}

// chained reports whether the union of adjacent or overlapping intervals contains want.
func chained(list [][]analysis.Span, want analysis.Span) bool {
	next := want.Lo
	for range list {
		i := slices.IndexFunc(list, func(s []analysis.Span) bool {
			return analysis.AtLeast(next.Sub(s[0].Lo), 0) && analysis.AtLeast(s[0].Hi.Sub(next), 0) || next.Equal(s[0].Lo)
		})
		if i < 0 {
			return false
		}
		next = list[i][0].Hi.AddConst(1)
		if analysis.AtLeast(next.Sub(want.Hi), 1) {
			return true
		}
		list = slices.Delete(slices.Clone(list), i, i+1)
	}
	return false
}

// leavesOut reports whether an element of box want is provably outside box s.
func leavesOut(s, want []analysis.Span) bool {
	for i, w := range want {
		if analysis.AtLeast(s[i].Lo.Sub(w.Lo), 1) || analysis.AtLeast(w.Hi.Sub(s[i].Hi), 1) {
			return true
		}
	}
	return false
}
