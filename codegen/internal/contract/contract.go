// Package contract has what the host proves of a launch before it starts: that accesses stay inside
// the regions of the task, and that slices which may overlap do not where iterations would
// conflict. NewContract takes a kernel apart once; a Proof evaluates its forms for the arguments of
// one launch.
//
// A Contract is read by several goroutines at once: what it remembers of launches that passed is
// atomic.
package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// A Contract is the part of a kernel's accesses that the host proves for every launch, before
// anything is written: the elements that an affine access is sure to touch, against the length of
// its slice and the declared regions.
//
// For each such access the host decides whether an iteration exists whose index is outside:
// exactly, so that a conforming launch is never refused and one that is not never passes. What is
// under a condition, depends on data, or runs in a loop whose bounds the host does not know, is
// left to the checks in the kernel. A Contract is immutable but for a memory of launches that took
// long to prove; a Proof applies it to the arguments of one launch.
type Contract struct {
	Atoms                  []hostAtom
	Forms                  []hostForm
	checks                 []Check
	CheckAtoms, CheckForms int              // those that checks need come first
	proofs                 []Check          // what has to hold for the sites to be right
	sites                  map[ir.Expr]bool // the checked operations of the kernel that proofs prove
	parts                  []partCheck      // of dist_ clauses
	steps                  []stepCheck      // of parallel loops
	spans                  []spanCheck      // of parallel loops
	positives              []positiveCheck  // of clauses
	// Regions says whether a check needs the boxes of the declared regions.
	Regions bool
}

// A hostAtom is a parameter, a length, or an expression over them that is not affine, such as
// max(lo, 1).
type hostAtom struct {
	affine.Atom
	expr ir.Expr
}

// A hostForm is a sum of products of atoms: its value is known from the arguments.
type hostForm []hostTerm

type hostTerm struct {
	coef  int64
	atoms []int // of Contract.atoms
}

// A linear is base plus, for each loop of a nest, a coefficient times its variable; all are numbers
// of forms.
type linear struct {
	base  int
	coefs [analysis.MaxDepth]int // 0, the form that is zero, where the variable does not occur
}

// A nestLoop is a loop by the first value of its variable and the last one that the bound allows,
// which is not passed.
type nestLoop struct {
	first, last linear // over the loops around; the operands of a derivation
	step        int64
	derived     bool
	op          analysis.DerivedOp
	either      []hostValue // of analysis.DerivedEither
	limited     bool        // last must not pass limit: the variable would pass the end of its type
	limit       int64
	fits        []linear // what must not be negative for arithmetic in first and last not to wrap
}

// A Check is an index or region of the kernel that the host proves at launch.
type Check struct {
	analysis.Reach
	loops  []nestLoop // outermost first
	Index  linear
	needs  []linear   // of a proof: what must not be negative in any iteration
	conds  []hostCond // what is not negative where it happens
	length int        // the form of the length that the index stays below; 0 where that is proved, or no matter
	// the declared regions of which one holds the index, in the order of Accesses; nil where that is
	// proved
	regions []int
	Passed  *Launches
}

// An AccessError means that a kernel with these arguments would touch what it must not. Nothing has
// been written. It is ir.ErrBounds for errors.Is.
type AccessError struct {
	Kernel  string
	Pos     ir.Pos // of the access
	Access  string // as written: x[i+1]
	Param   string
	First   int64  // the elements of Param that it touches,
	Last    int64  // counted from its start
	Length  int64  // of Param
	Regions string // as declared, "" where the length is passed
	At      string // an iteration that does it: "i = 10"; "" outside of loops
}

func (e *AccessError) Error() string {
	touched := fmt.Sprintf("elements %d to %d", e.First, e.Last)
	if e.First == e.Last {
		touched = fmt.Sprintf("element %d", e.First)
	}
	if e.At != "" {
		touched += " (" + e.At + ")"
	}
	if e.Regions == "" {
		return fmt.Sprintf("%v: %s touches %s of %s, which has length %d", e.Pos, e.Access, touched, e.Param, e.Length)
	}
	return fmt.Sprintf("%v: %s touches %s of %s, outside its region %s", e.Pos, e.Access, touched, e.Param, e.Regions)
}

// Unwrap returns ir.ErrBounds.
func (e *AccessError) Unwrap() error { return ir.ErrBounds }

// Accesses returns the regions that tasks of k access, those of the copy clauses last.
func Accesses(k *ir.Kernel) []ir.Access {
	out := slices.Clone(k.Task.Accesses)
	for _, c := range []struct {
		regions []ir.Region
		mode    deps.Mode
	}{{k.Target.CopyIn, deps.In}, {k.Target.CopyOut, deps.InOut}, {k.Target.CopyInOut, deps.InOut}} {
		for _, r := range c.regions {
			out = append(out, ir.Access{Region: r, Mode: c.mode})
		}
	}
	return out
}

// NewContract returns the contract of k.
func NewContract(k *ir.Kernel) *Contract {
	b := NewBuilder(k)
	c := analysis.NewCollector(k)
	c.Define(k.Body)
	c.Stmts(k.Body)
	for _, p := range c.Parts {
		b.addPart(p)
	}
	for _, r := range c.Out {
		b.add(r)
	}
	b.addSteps(k.Body, map[*ir.Var]ir.Expr{})
	b.Out.CheckAtoms, b.Out.CheckForms = len(b.Out.Atoms), len(b.Out.Forms)
	b.proveSites()
	return b.Out
}

// NewBuilder returns a builder of the contract of k.
func NewBuilder(k *ir.Kernel) *Builder {
	changed := ir.Assigned(k.Body)
	for _, v := range ir.AddressTaken(k.Body).List() {
		changed.Add(v)
	}
	return &Builder{k: k, changed: changed, Out: &Contract{Forms: []hostForm{nil}}, Accesses: Accesses(k)}
}

// Proves reports whether the host computes the ends of r for every launch.
func (b *Builder) Proves(r analysis.Reach) bool {
	c := Check{Reach: r}
	return b.Exact(&c) && b.Linear(&c.Index, r.Index, r.Loops)
}

// Exact fills in the loops around c and its conditions. It reports whether the host can tell which
// iterations make the access.
func (b *Builder) Exact(c *Check) bool {
	r := &c.Reach
	if len(r.Loops) > analysis.MaxDepth || !r.Is(analysis.Always) && (!r.Decided() || len(r.Facts) > analysis.MaxConds) || !b.Nest(c) {
		return false
	}
	if r.Is(analysis.Always) {
		return true
	}
	for _, f := range r.Facts {
		h := hostCond{}
		if !f.Form.Known() || !b.Linear(&h.form, f.Form, r.Loops) {
			return false
		}
		for _, a := range []affine.Form{f.X, f.Y} {
			var side linear
			if !b.Linear(&side, a, r.Loops) {
				return false
			}
			if !analysis.IsAtom(a) {
				h.sides = append(h.sides, side)
			}
		}
		h.measureDepth()
		c.conds = append(c.conds, h)
	}
	return true
}

// A Builder makes the contract of a kernel from its accesses.
type Builder struct {
	k        *ir.Kernel
	changed  *ir.VarSet
	Out      *Contract
	Accesses []ir.Access
	finder   *analysis.SiteFinder // nil where derivations do not occur
}

// add adds the check of r, if it can be made and there is no such yet.
func (b *Builder) add(r analysis.Reach) {
	if !r.Index.Known() || r.Base.Space != ir.Param || r.Base.Type.Kind != ir.Slice {
		return
	}
	c := Check{Reach: r}
	length := affine.OfAtom(affine.Atom{Var: r.Base, Of: affine.LenOf})
	inside := false // in a region, which lies in the slice
	if !b.k.Task.Inferred {
		c.regions, inside = b.regions(r)
	}
	needLength := r.Is(analysis.Always) && r.Is(analysis.Whole) && !inside && c.regions == nil && !b.proved(r, length)
	if !needLength && c.regions == nil || !b.Exact(&c) || !b.Linear(&c.Index, r.Index, r.Loops) {
		return
	}
	if needLength {
		c.length = b.form(length)
	}
	if len(b.Out.Forms) > analysis.MaxForms || slices.ContainsFunc(b.Out.checks, c.same) {
		return
	}
	c.Passed = new(Launches)
	b.Out.checks = append(b.Out.checks, c)
	b.Out.Regions = b.Out.Regions || c.regions != nil
}

// same reports whether d looks at the same elements for the same reason.
func (c *Check) same(d Check) bool {
	return c.Base == d.Base && c.Index == d.Index && c.sameNest(&d) && c.length == d.length && slices.Equal(c.regions, d.regions)
}

// proved reports whether the index of r stays in [0, length) whatever the arguments are.
func (b *Builder) proved(r analysis.Reach, length affine.Form) bool {
	s, ok := analysis.SpanOf(r.Index, r.Loops, b.k.Params)
	return ok && analysis.AtLeast(s.Lo, 0) && analysis.AtLeast(length.Sub(s.Hi), 1)
}

// regions returns the declared regions that may hold what r touches; none where one is sure to, or
// all of the slice is declared.
func (b *Builder) regions(r analysis.Reach) (out []int, inside bool) {
	for i, a := range b.Accesses {
		if a.Region.Var != r.Base || r.Write && !a.Mode.Writes() {
			continue
		}
		if whole := query.IsWhole(a.Region); whole || InRegion(b.k, r, a.Region) {
			return nil, !whole
		}
		out = append(out, i)
	}
	return out, false
}

// Nest fills in the loops around.
func (b *Builder) Nest(c *Check) bool {
	for i, l := range c.Reach.Loops {
		n := nestLoop{step: l.Stride}
		past, ok := l.Past()
		if !ok || !b.bound(&n.first, l.First, l.Lo, 0, c.Reach.Loops[:i]) || !b.bound(&n.last, l.Last, l.Hi, past, c.Reach.Loops[:i]) {
			return false
		}
		n.limited, n.limit = true, LimitOf(l.Var.Type, l.Stride)
		c.loops = append(c.loops, n)
	}
	return true
}

// LimitOf returns the last value from which a step does not lead past the end of type t.
func LimitOf(t *ir.Type, step int64) int64 {
	if lo, hi := analysis.LimitsOf(t); step > 0 {
		return hi - step
	} else {
		return lo - step
	}
}

// bound is linear for a bound of a loop, of which form is the form, if it has one; else its value
// is taken from e.
func (b *Builder) bound(to *linear, form affine.Form, e ir.Expr, add int64, loops []analysis.LoopRange) bool {
	if form.Known() {
		return b.Linear(to, form, loops)
	}
	if !b.known(e) {
		return false
	}
	to.base = b.number(hostForm{{coef: 1, atoms: []int{b.opaque(e)}}, {coef: add}})
	return true
}

// known reports whether the value of e is known from the arguments.
func (b *Builder) known(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if v.Space != ir.Param || !slices.Contains(b.k.Params, v) || b.changed.Has(v) {
			return false
		}
	}
	return query.ReadsMemory(e) == nil
}

// opaque returns the number of the atom that is the value of e.
func (b *Builder) opaque(e ir.Expr) int {
	i := slices.IndexFunc(b.Out.Atoms, func(a hostAtom) bool { return a.expr != nil && query.Same(a.expr, e) })
	if i < 0 {
		b.Out.Atoms = append(b.Out.Atoms, hostAtom{expr: e})
		i = len(b.Out.Atoms) - 1
	}
	return i
}

// Linear takes a apart into the coefficients of the loop variables.
func (b *Builder) Linear(to *linear, a affine.Form, loops []analysis.LoopRange) bool {
	for i, l := range loops {
		coef, ok := a.Coef(l.Var)
		if !ok || !analysis.OnHost(coef, b.k.Params) {
			return false
		}
		to.coefs[i], a = b.form(coef), a.Without(l.Var)
	}
	to.base = b.form(a)
	return analysis.OnHost(a, b.k.Params)
}

// form returns the number of a, which the host can evaluate.
func (b *Builder) form(a affine.Form) int {
	f := hostForm{}
	for _, t := range a.Terms {
		term := hostTerm{coef: t.Coef}
		for _, x := range t.Atoms {
			term.atoms = append(term.atoms, b.atom(x))
		}
		f = append(f, term)
	}
	return b.number(f)
}

// number returns the number of f.
func (b *Builder) number(f hostForm) int {
	equal := func(g hostForm) bool { return slices.EqualFunc(f, g, sameHostTerm) }
	if i := slices.IndexFunc(b.Out.Forms, equal); i >= 0 {
		return i
	}
	b.Out.Forms = append(b.Out.Forms, f)
	return len(b.Out.Forms) - 1
}

func (b *Builder) atom(x affine.Atom) int {
	if host := b.hostValue(x); host != nil {
		return b.opaque(host)
	}
	i := slices.IndexFunc(b.Out.Atoms, func(a hostAtom) bool { return a.expr == nil && a.Atom == x })
	if i < 0 {
		b.Out.Atoms = append(b.Out.Atoms, hostAtom{Atom: x})
		i = len(b.Out.Atoms) - 1
	}
	return i
}

// point names the values of the loop variables.
func (c *Check) point(values []int64) string {
	var parts []string
	for i, v := range values {
		parts = append(parts, fmt.Sprintf("%s = %d", c.Reach.Loops[i].Var.Name, v))
	}
	return strings.Join(parts, ", ")
}
