package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// Accesses compares the accesses that the author of k wrote with what the body does.
//
// Errors: a touch that is provably outside, a write to what is only in, an out that is provably not
// written in full. Warnings: a touch whose place depends on data and that a region may not hold, an
// out that cannot be proved written.
//
// Nothing is reported about a parameter that an erroneous clause may declare, nor about effects of
// a bad statement in the body.
func Accesses(k *ir.Kernel, vague Vagueness) []diag.Diagnostic {
	reaches := analysis.ThroughLocals(k, analysis.Collect(k, k.Body))
	c := &AccessCheck{K: k, said: map[string]bool{}, vague: vague, complete: query.IsComplete(k)}
	for _, v := range k.Written() {
		if v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer || vague.Vars[v] {
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
	K        *ir.Kernel
	said     map[string]bool
	vague    Vagueness
	complete bool // all writes of the body are known
}

// Vagueness is what clauses with errors leave open.
type Vagueness struct {
	All  bool             // a directive of the function could not be read
	Name bool             // a region names no parameter, and any may be meant
	Vars map[*ir.Var]bool // parameters of which a region could not be read
}

// Any reports whether anything is vague.
func (v Vagueness) Any() bool { return v.All || v.Name || len(v.Vars) > 0 }

// declared returns the accesses to v, those that the copy clauses imply too.
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

// once reports whether this was not said yet.
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
		if !c.vague.Name && c.once(v, "through "+verb) {
			c.warnOf(v, diag.Warning, r.At, what, fmt.Sprintf("the body %s %s, which may be %s, and no clause of the task says so", verb, name, v.Name),
				"write "+suggestedMode(r)+"("+allOf(v)+") in //omp:task where it is")
		}
	case len(declared) == 0:
		if !c.vague.Name && c.once(v, "missing") {
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

// allOf is how a clause names all that v refers to.
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

// inside checks that r lies in one of the regions.
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
				"declare all of "+v.Name+", or make sure that it stays inside")
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

// unproved warns of an affine place that may lie outside the regions, in loops that are understood.
// Where the host can tell it does, for every task; then it is worth a note, in loops alone.
func (c *AccessCheck) unproved(v *ir.Var, r analysis.Reach, verb, regions string) {
	name, proves := query.Source(r.Expr), contract.NewBuilder(c.K).Proves(r)
	unknown := slices.ContainsFunc(r.Loops, func(l analysis.LoopRange) bool { return !l.Known && r.Index.Has(l.Var) })
	if unknown || proves && len(r.Loops) == 0 || !c.once(v, fmt.Sprint("unproved ", verb, name, proves)) {
		return
	}
	why, instead := fmt.Sprintf("the body %s %s, which cannot be proved to stay inside %s", verb, name, regions), "declare all of "+v.Name+", or make sure that it stays inside"
	severity := diag.Warning
	if proves {
		severity, why, instead = diag.Note, why+" before the arguments are known", "a task that goes outside is refused when it is submitted"
	}
	c.warnOf(v, severity, r.At, "access to "+v.Name, why, instead)
}

// Constant decides whether all that r touches lies in the regions together, where no parameter is
// in the way.
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

// Edges is a set of bits, one for the elements at the low or the high end of a dimension of what is
// touched.
type edges uint64

const everywhere edges = 1<<64 - 1

// OutsideAll reports whether r provably touches an element that none of the regions holds: any
// where it may not happen at all, else the first or the last one that it comes to.
func (c *AccessCheck) OutsideAll(r analysis.Reach, may []ir.Access) bool {
	at := everywhere
	for i, a := range may {
		out := c.Outside(r, a.Region)
		if i > 0 && out != everywhere && len(a.Region.Shape)+len(may[0].Region.Shape) > 0 {
			out = 0 // a shape of its own: its ends are other elements
		}
		at &= out
	}
	return at != 0
}

// Outside returns the edges of r that provably lie outside of region; everywhere where no element
// is in it.
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

// firstUse refuses an out parameter that is read before anything is written to it: its old value is
// not there.
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

// written checks the promise of an out access.
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

// either returns writes with those that the two branches of an if make alike as one, without the
// condition.
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

// alike reports whether w and v stand in the branches of one if and write the same elements there.
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

// coverage says how much of a region is written.
type coverage uint8

const (
	unproved coverage = iota
	Full
	gap
)

// Coverage returns how much of region the writes cover.
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
		a, b, ok := analysis.ConstAffine(0), analysis.Affine{Unknown: true}, true
		switch {
		case i < len(region.Dims):
			a, b, ok = contract.RangeForms(region.Dims[i])
		case len(region.Shape) > 0 && region.Shape[i] != nil:
			b, ok = analysis.AffineOf(region.Shape[i])
		case len(region.Shape) == 0:
			b = analysis.AtomAffine(analysis.Atom{Var: region.Var, Of: analysis.LenOf})
		}
		if !ok || !b.Known() {
			return nil, false
		}
		out[i] = analysis.Span{Lo: a, Hi: b.AddConst(-1)}
	}
	return out, true
}

// holds reports whether the box s provably holds the box want.
func holds(s, want []analysis.Span) bool {
	for i, w := range want {
		if !analysis.AtLeast(w.Lo.Sub(s[i].Lo), 0) || !analysis.AtLeast(s[i].Hi.Sub(w.Hi), 0) {
			return false
		}
	}
	return true
}

// chained reports whether intervals that meet one another hold want together.
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

// leavesOut reports whether the box s provably misses an element of want.
func leavesOut(s, want []analysis.Span) bool {
	for i, w := range want {
		if analysis.AtLeast(s[i].Lo.Sub(w.Lo), 1) || analysis.AtLeast(w.Hi.Sub(s[i].Hi), 1) {
			return true
		}
	}
	return false
}
