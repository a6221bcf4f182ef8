package codegen

import (
	"fmt"
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// checkAccesses compares the accesses that the author of k wrote with what the body does.
//
// Errors: a touch that is provably outside, a write to what is only in, an out that is provably not written in full.
// Warnings: a touch whose place depends on data and that a region may not hold, an out that cannot be proved written.
//
// Nothing is said about a parameter that a clause with an error may declare, nor what a hole in the body may change.
func checkAccesses(k *ir.Kernel, vague vagueness) []Diagnostic {
	reaches := throughLocals(k, collect(k, k.Body))
	c := &accessCheck{k: k, said: map[string]bool{}, vague: vague, complete: isComplete(k)}
	for _, v := range k.Written() {
		if v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer || vague.vars[v] {
			continue
		}
		var own []reach
		for _, r := range reaches {
			if r.base == v {
				own = append(own, r)
			}
		}
		c.parameter(v, own)
	}
	return c.diags
}

type accessCheck struct {
	nestingCheck
	k        *ir.Kernel
	said     map[string]bool
	vague    vagueness
	complete bool // all writes of the body are known
}

// vagueness is what clauses with errors leave open.
type vagueness struct {
	all  bool             // a directive of the function could not be read
	name bool             // a region names no parameter, and any may be meant
	vars map[*ir.Var]bool // parameters of which a region could not be read
}

func (v vagueness) any() bool { return v.all || v.name || len(v.vars) > 0 }

// declared returns the accesses to v, those that the copy clauses imply too.
func (c *accessCheck) declared(v *ir.Var) []ir.Access {
	return slices.DeleteFunc(Accesses(c.k), func(a ir.Access) bool { return a.Region.Var != v })
}

func (c *accessCheck) parameter(v *ir.Var, reaches []reach) {
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
func (c *accessCheck) once(v *ir.Var, what string) bool {
	key := v.Name + " " + what
	if c.said[key] {
		return false
	}
	c.said[key] = true
	return true
}

func (c *accessCheck) reach(v *ir.Var, r reach, declared []ir.Access) {
	verb, name := "reads", sourceText(r.expr)
	may := declared
	if r.write {
		verb = "writes"
		may = slices.DeleteFunc(slices.Clone(declared), func(a ir.Access) bool { return !a.Mode.Writes() })
	}
	what := "access to " + v.Name
	switch {
	case len(may) == 0 && r.maybe:
		if !c.vague.name && c.once(v, "through "+verb) {
			c.warnOf(v, Warning, r.at, what, fmt.Sprintf("the body %s %s, which may be %s, and no clause of the task says so", verb, name, v.Name),
				"write "+suggestedMode(r)+"("+allOf(v)+") in //omp:task where it is")
		}
	case len(declared) == 0:
		if !c.vague.name && c.once(v, "missing") {
			c.fail(r.at, what, fmt.Sprintf("the body %s %s, and no clause of the task names %s", verb, name, v.Name),
				"write "+suggestedMode(r)+"("+allOf(v)+") in //omp:task")
		}
	case len(may) == 0:
		if c.once(v, "in") {
			c.fail(r.at, what, fmt.Sprintf("the body writes %s, and the task declares it in (%v)", name, declared[0].Region.At),
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

func suggestedMode(r reach) string {
	if r.write {
		return "inout"
	}
	return "in"
}

// inside checks that r lies in one of the regions.
func (c *accessCheck) inside(v *ir.Var, r reach, may []ir.Access, verb string) {
	if slices.ContainsFunc(may, func(a ir.Access) bool { return isWhole(a.Region) }) {
		return
	}
	name, what, regions := sourceText(r.expr), "access to "+v.Name, regionList(may)
	if !r.index.Known() {
		if c.once(v, fmt.Sprint("data ", verb, r.at)) {
			c.warnOf(v, Warning, r.at, what, fmt.Sprintf("the body %s %s, whose place depends on data; it may lie outside %s", verb, name, regions),
				"declare all of "+v.Name+", or make sure that it stays inside")
		}
		return
	}
	if slices.ContainsFunc(may, func(a ir.Access) bool { return c.inRegion(r, a.Region) }) {
		return
	}
	switch c.constant(r, may) {
	case allInside:
		return
	case undecided:
		if !c.outsideAll(r, may) {
			c.unproved(v, r, verb, regions)
			return
		}
	}
	if c.once(v, "outside "+verb+name) {
		c.fail(r.at, what, fmt.Sprintf("the body %s %s, which is outside %s", verb, name, regions), "widen the region, or declare "+v.Name)
	}
}

// unproved warns of an affine place that may lie outside the regions, in loops that are understood. Where the host can
// tell it does, for every task; then it is worth a note, in loops alone.
func (c *accessCheck) unproved(v *ir.Var, r reach, verb, regions string) {
	name, proves := sourceText(r.expr), newContractBuilder(c.k).proves(r)
	unknown := slices.ContainsFunc(r.loops, func(l loopRange) bool { return !l.known && r.index.Has(l.Var) })
	if unknown || proves && len(r.loops) == 0 || !c.once(v, "unproved "+verb+name) {
		return
	}
	why, instead := fmt.Sprintf("the body %s %s, which cannot be proved to stay inside %s", verb, name, regions), "declare all of "+v.Name+", or make sure that it stays inside"
	severity := Warning
	if proves {
		severity, why, instead = Note, why+" before the arguments are known", "a task that goes outside is refused when it is submitted"
	}
	c.warnOf(v, severity, r.at, "access to "+v.Name, why, instead)
}

func regionList(list []ir.Access) string {
	text := ""
	for i, a := range list {
		if i > 0 {
			text += ", "
		}
		text += a.Region.Text
	}
	return text
}

// constant decides whether all that r touches lies in the regions together, where no parameter is in the way.
func (c *accessCheck) constant(r reach, may []ir.Access) verdict {
	b := newContractBuilder(c.k)
	b.accesses = may
	check := contractCheck{reach: r, passed: new(launches)}
	if !r.always || len(r.loops) > maxDepth || !b.nest(&check) || !b.linear(&check.index, r.index, r.loops) || len(b.out.atoms) > 0 {
		return undecided
	}
	w := where{}
	for i, a := range may {
		boxes, err := EvalRegion(a.Region, math.MaxInt64, ir.Values{})
		if err != nil {
			return undecided
		}
		w.boxes, w.regions = append(w.boxes, boxes), append(w.regions, i)
	}
	b.out.checkAtoms, b.out.checkForms = len(b.out.atoms), len(b.out.forms)
	var p Proof
	p.Load(c.k, b.out, ir.Values{})
	return p.stays(&check, w)
}

// Edges is a set of bits, one for the elements at the low or the high end of a dimension of what is touched.
type edges uint64

const everywhere edges = 1<<64 - 1

// outsideAll reports whether r provably touches an element that none of the regions holds: any where it may not happen at
// all, else the first or the last one that it comes to.
func (c *accessCheck) outsideAll(r reach, may []ir.Access) bool {
	at := everywhere
	for i, a := range may {
		out := c.outside(r, a.Region)
		if i > 0 && out != everywhere && len(a.Region.Shape)+len(may[0].Region.Shape) > 0 {
			out = 0 // a shape of its own: its ends are other elements
		}
		at &= out
	}
	return at != 0
}

// outside returns the edges of r that provably lie outside of region; everywhere where no element is in it.
func (c *accessCheck) outside(r reach, region ir.Region) edges {
	spans, ok := r.spans(region.Shape, c.k.Params)
	if !ok || !insideRows(spans, region) {
		return 0
	}
	attained := r.certain && rectangularNest(r.loops)
	out := edges(0)
	for i, d := range region.Dims {
		a, b, ok := rangeForms(d)
		if !ok {
			continue
		}
		s := spans[i]
		if atLeast(s.lo.Sub(b), 0) || atLeast(a.Sub(s.hi), 1) {
			return everywhere
		}
		if !attained || !s.dense {
			continue
		}
		if atLeast(a.Sub(s.lo), 1) || atLeast(s.lo.Sub(b), 0) {
			out |= 1 << (2 * i)
		}
		if atLeast(s.hi.Sub(b), 0) || atLeast(a.Sub(s.hi), 1) {
			out |= 2 << (2 * i)
		}
	}
	return out
}

// inRegion reports whether all that r touches is provably in region.
func (c *accessCheck) inRegion(r reach, region ir.Region) bool {
	if len(region.Dims) == 1 && len(region.Shape) < 2 {
		a, b, ok := rangeForms(region.Dims[0])
		if ok && r.knows(r.index.Sub(a), c.k.Params) && r.knows(b.AddConst(-1).Sub(r.index), c.k.Params) {
			return true
		}
	}
	spans, ok := r.spans(region.Shape, c.k.Params)
	if !ok || !insideRows(spans, region) {
		return false
	}
	for i, d := range region.Dims {
		a, b, ok := rangeForms(d)
		if !ok || !atLeast(spans[i].lo.Sub(a), 0) || !atLeast(b.Sub(spans[i].hi), 1) {
			return false
		}
	}
	return true
}

// knows reports whether a is not negative wherever r happens, by the loops or by a condition around it.
func (r *reach) knows(a Affine, params []*ir.Var) bool {
	if s, ok := spanOf(a, r.loops, params); ok && atLeast(s.lo, 0) {
		return true
	}
	return slices.ContainsFunc(r.facts, func(f fact) bool { return atLeast(a.Sub(f.form), 0) })
}

// insideRows reports whether the spans of all dimensions but the first stay inside the shape, so that they are the
// coordinates of what is touched and nothing wraps into the next row.
func insideRows(spans []span, region ir.Region) bool {
	for i := 1; i < len(spans); i++ {
		s := spans[i]
		extent, known := affineOf(region.Shape[i])
		low, high := atLeast(s.lo, 0), known && atLeast(extent.Sub(s.hi), 1)
		if i < len(region.Dims) {
			if a, b, ok := rangeForms(region.Dims[i]); ok {
				low, high = low || atLeast(s.lo.Sub(a), 0), high || atLeast(b.Sub(s.hi), 1)
			}
		}
		if !low || !high {
			return false
		}
	}
	return true
}

// rectangularNest reports whether no loop's bounds depend on another one's variable, so that where all of them run,
// every combination of their variables is there.
func rectangularNest(loops []loopRange) bool {
	for _, l := range loops {
		if !l.known || boundsHave(loops, l.Var) {
			return false
		}
	}
	return true
}

// rangeForms returns [a, b) of a dimension as forms.
func rangeForms(d ir.Range) (a, b Affine, ok bool) {
	a, ok1 := affineOf(d.Lo)
	if d.Hi == nil {
		return a, a.AddConst(1), ok1
	}
	b, ok2 := affineOf(d.Hi)
	return a, b, ok1 && ok2
}

// atLeast reports whether a is a constant of at least n.
func atLeast(a Affine, n int64) bool {
	c, ok := a.Const()
	return ok && c >= n
}

// firstUse refuses an out parameter that is read before anything is written to it: its old value is not there.
func (c *accessCheck) firstUse(v *ir.Var, reaches []reach, declared []ir.Access) {
	if len(declared) == 0 || slices.ContainsFunc(declared, func(a ir.Access) bool { return a.Mode != deps.Out }) {
		return
	}
	for i, r := range reaches {
		if r.write {
			return
		}
		early, sure := r.beforeAll(reaches[i:])
		if !early || !c.once(v, "first use") {
			continue
		}
		verb, say := "may read", c.warn
		if sure {
			verb, say = "reads", c.fail
		}
		say(r.at, "access to "+v.Name, fmt.Sprintf("the body %s %s before it writes it, and the task declares it out (%v)",
			verb, sourceText(r.expr), declared[0].Region.At), "write inout("+declared[0].Region.Text+")")
		return
	}
}

// beforeAll reports whether read r, which stands before the writes among later, happens before each of them: surely, or where it happens at all.
// In a loop around both, what an iteration reads may have been written by one before it, unless the first iteration reads.
func (r *reach) beforeAll(later []reach) (early, sure bool) {
	common := 0
	for _, w := range later {
		if w.write {
			common = max(common, commonLoops(r.loops, w.loops))
		}
	}
	return common == 0 || r.always && r.inFirst(common), r.always && r.inFirst(common)
}

// commonLoops returns how many of the outermost loops are the same.
func commonLoops(a, b []loopRange) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].For == b[n].For {
		n++
	}
	return n
}

// inFirst reports whether r happens in the first iteration of its outermost n loops, as far as the loops inside them are not empty for
// all arguments: their bounds do not depend on these n.
func (r *reach) inFirst(n int) bool {
	for _, l := range r.loops[n:] {
		if trips, ok := constTrips(l.For); ok && trips == 0 || n > 0 && !l.known {
			return false
		}
		for _, outer := range r.loops[:n] {
			if l.first.Has(outer.Var) || l.last.Has(outer.Var) {
				return false
			}
		}
	}
	return true
}

// written checks the promise of an out access.
func (c *accessCheck) written(a ir.Access, reaches []reach) {
	var writes []reach
	for _, r := range reaches {
		if r.write {
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
		if !slices.ContainsFunc(writes, func(r reach) bool { return r.certain }) {
			c.warnOf(a.Region.Var, Warning, a.Region.At, what, "it promises that the variable is written, which only happens under a condition", instead)
		}
		return
	}
	switch c.coverage(a.Region, writes) {
	case gap:
		c.fail(a.Region.At, what, fmt.Sprintf("it promises that every element is written, and the only write, %s (%v), leaves some out",
			sourceText(writes[0].expr), writes[0].at), instead)
	case unproved:
		c.warnOf(a.Region.Var, Warning, a.Region.At, what, fmt.Sprintf("it promises that every element is written, which cannot be proved of %s (%v)",
			sourceText(writes[0].expr), writes[0].at), instead)
	}
}

// either returns writes with those that the two branches of an if make alike as one, without the condition.
func (c *accessCheck) either(writes []reach, shape []ir.Expr) []reach {
	out := slices.Clone(writes)
	for merged := true; merged; {
		merged = false
		for i := range out {
			for j := range out {
				if i != j && out[i].sure && out[j].sure && c.alike(&out[i], &out[j], shape) {
					n := len(out[i].conds) - 1
					out[i].conds, out[i].sides, out[i].always, out[i].certain = out[i].conds[:n], out[i].sides[:n], n == 0, n == 0
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
func (c *accessCheck) alike(w, v *reach, shape []ir.Expr) bool {
	n := len(w.sides) - 1
	if n < 0 || len(v.sides) != n+1 || !slices.Equal(w.sides[:n], v.sides[:n]) {
		return false
	}
	if one, other := w.sides[n], v.sides[n]; one.test != other.test || one.not == other.not {
		return false
	}
	inner := func(r *reach) reach {
		s := *r
		s.loops = r.loops[r.sides[n].depth:]
		return s
	}
	a, b := inner(w), inner(v)
	if len(a.loops) == 0 && len(b.loops) == 0 {
		return a.index.Known() && a.index.Equal(b.index)
	}
	fixed := slices.Clone(c.k.Params)
	for _, l := range w.loops[:w.sides[n].depth] {
		fixed = append(fixed, l.Var)
	}
	one, ok1 := a.spans(shape, fixed)
	other, ok2 := b.spans(shape, fixed)
	if !ok1 || !ok2 || !a.moves() || !b.moves() {
		return false
	}
	for i := range one {
		if !one[i].dense || !other[i].dense || !one[i].lo.Equal(other[i].lo) || !one[i].hi.Equal(other[i].hi) {
			return false
		}
	}
	return true
}

// coverage says how much of a region is written.
type coverage uint8

const (
	unproved coverage = iota
	full
	gap
)

func (c *accessCheck) coverage(region ir.Region, writes []reach) coverage {
	want, ok := c.wanted(region)
	if !ok {
		return unproved
	}
	var exact [][]span
	for _, w := range writes {
		spans, ok := w.spans(region.Shape, c.k.Params)
		if ok && w.certain && w.moves() && !slices.ContainsFunc(spans, func(s span) bool { return !s.dense }) {
			exact = append(exact, spans)
		}
	}
	if slices.ContainsFunc(exact, func(s []span) bool { return holds(s, want) }) || len(want) == 1 && chained(exact, want[0]) {
		return full
	}
	if len(writes) == 1 && len(exact) == 1 && leavesOut(exact[0], want) {
		return gap
	}
	return unproved
}

// moves reports whether every loop around r moves its index, so that its span is empty where a loop makes no iteration.
func (r *reach) moves() bool {
	return !slices.ContainsFunc(r.loops, func(l loopRange) bool {
		n, ok := constTrips(l.For)
		return !r.index.Has(l.Var) && (!ok || n == 0)
	})
}

// wanted returns the region as spans.
func (c *accessCheck) wanted(region ir.Region) ([]span, bool) {
	n := max(len(region.Shape), 1)
	out := make([]span, n)
	for i := range out {
		a, b, ok := constAffine(0), Affine{unknown: true}, true
		switch {
		case i < len(region.Dims):
			a, b, ok = rangeForms(region.Dims[i])
		case len(region.Shape) > 0 && region.Shape[i] != nil:
			b, ok = affineOf(region.Shape[i])
		case len(region.Shape) == 0:
			b = atomAffine(Atom{Var: region.Var, Of: LenOf})
		}
		if !ok || !b.Known() {
			return nil, false
		}
		out[i] = span{lo: a, hi: b.AddConst(-1)}
	}
	return out, true
}

// holds reports whether the box s provably holds the box want.
func holds(s, want []span) bool {
	for i, w := range want {
		if !atLeast(w.lo.Sub(s[i].lo), 0) || !atLeast(s[i].hi.Sub(w.hi), 0) {
			return false
		}
	}
	return true
}

// chained reports whether intervals that meet one another hold want together.
func chained(list [][]span, want span) bool {
	next := want.lo
	for range list {
		i := slices.IndexFunc(list, func(s []span) bool {
			return atLeast(next.Sub(s[0].lo), 0) && atLeast(s[0].hi.Sub(next), 0) || next.Equal(s[0].lo)
		})
		if i < 0 {
			return false
		}
		next = list[i][0].hi.AddConst(1)
		if atLeast(next.Sub(want.hi), 1) {
			return true
		}
		list = slices.Delete(slices.Clone(list), i, i+1)
	}
	return false
}

// leavesOut reports whether the box s provably misses an element of want.
func leavesOut(s, want []span) bool {
	for i, w := range want {
		if atLeast(s[i].lo.Sub(w.lo), 1) || atLeast(w.hi.Sub(s[i].hi), 1) {
			return true
		}
	}
	return false
}
