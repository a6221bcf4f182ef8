package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// A Contract is the part of a kernel's accesses that the host proves for every launch, before anything is written: the
// elements that an affine access is sure to touch, against the length of its slice and the declared regions.
//
// For each such access the host decides whether an iteration exists whose index is outside: exactly, so that a
// conforming launch is never refused and one that is not never passes. What is under a condition, depends on data, or
// runs in a loop whose bounds the host does not know, is left to the checks in the kernel. A Contract is immutable but for
// a memory of launches that took long to prove; a Proof applies it to the arguments of one launch.
type Contract struct {
	atoms                  []hostAtom
	forms                  []hostForm
	checks                 []contractCheck
	checkAtoms, checkForms int              // those that checks need come first
	proofs                 []contractCheck  // what has to hold for the sites to be right
	sites                  map[ir.Expr]bool // the checked operations of the kernel that proofs prove
	parts                  []partCheck      // of dist_ clauses
	// Regions says whether a check needs the boxes of the declared regions.
	Regions bool
}

// A hostAtom is a parameter, a length, or an expression over them that is not affine, such as max(lo, 1).
type hostAtom struct {
	Atom
	expr ir.Expr
}

// A hostForm is a sum of products of atoms: its value is known from the arguments.
type hostForm []hostTerm

type hostTerm struct {
	coef  int64
	atoms []int // of Contract.atoms
}

// maxDepth and maxForms bound what is proved; accesses beyond are left to the kernel.
const (
	maxDepth = 8
	maxForms = 256
	maxConds = 16 // around one access
)

// A linear is base plus, for each loop of a nest, a coefficient times its variable; all are numbers of forms.
type linear struct {
	base  int
	coefs [maxDepth]int // 0, the form that is zero, where the variable does not occur
}

// A nestLoop is a loop by the first value of its variable and the last one that the bound allows, which is not passed.
type nestLoop struct {
	first, last linear // over the loops around; the operands of a derivation
	step        int64
	derived     bool
	op          derivedOp
	limited     bool // last must not pass limit: the variable would pass the end of its type
	limit       int64
	fits        []linear // what must not be negative for arithmetic in first and last not to wrap
}

type contractCheck struct {
	reach
	loops   []nestLoop // outermost first
	index   linear
	needs   []linear   // of a proof: what must not be negative in any iteration
	conds   []hostCond // of a proof: what is not negative where it happens
	length  int        // the form of the length that the index stays below; 0 where that is proved, or no matter
	regions []int      // the declared regions of which one holds the index, in the order of Accesses; nil where that is proved
	passed  *launches
}

// An AccessError says that a kernel with these arguments would touch what it must not. Nothing has been written. It is
// ir.ErrBounds for errors.Is.
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
	b := newContractBuilder(k)
	c := newCollector(k)
	c.define(k.Body)
	c.stmts(k.Body)
	for _, p := range c.parts {
		b.addPart(p)
	}
	for _, r := range c.out {
		b.add(r)
	}
	b.out.checkAtoms, b.out.checkForms = len(b.out.atoms), len(b.out.forms)
	b.proveSites()
	return b.out
}

func newContractBuilder(k *ir.Kernel) *contractBuilder {
	changed := ir.Assigned(k.Body)
	for _, v := range ir.AddressTaken(k.Body).List() {
		changed.Add(v)
	}
	return &contractBuilder{k: k, changed: changed, out: &Contract{forms: []hostForm{nil}}, accesses: Accesses(k), check: &accessCheck{k: k}}
}

// proves reports whether the host computes the ends of r for every launch.
func (b *contractBuilder) proves(r reach) bool {
	c := contractCheck{reach: r}
	return r.always && len(r.loops) <= maxDepth && b.nest(&c) && b.linear(&c.index, r.index, r.loops)
}

type contractBuilder struct {
	k        *ir.Kernel
	changed  *ir.VarSet
	out      *Contract
	accesses []ir.Access
	check    *accessCheck
	finder   *siteFinder // nil where derivations do not occur
}

// add adds the check of r, if it can be made and there is no such yet.
func (b *contractBuilder) add(r reach) {
	if !r.always || !r.index.Known() || r.base.Space != ir.Param || r.base.Type.Kind != ir.Slice || len(r.loops) > maxDepth {
		return
	}
	c := contractCheck{reach: r}
	length := atomAffine(Atom{Var: r.base, Of: LenOf})
	inside := false // in a region, which lies in the slice
	if !b.k.Task.Inferred {
		c.regions, inside = b.regions(r)
	}
	needLength := r.whole && !inside && c.regions == nil && !b.proved(r, length)
	if !needLength && c.regions == nil || !b.nest(&c) || !b.linear(&c.index, r.index, r.loops) {
		return
	}
	if needLength {
		c.length = b.form(length)
	}
	if len(b.out.forms) > maxForms || slices.ContainsFunc(b.out.checks, c.same) {
		return
	}
	c.passed = new(launches)
	b.out.checks = append(b.out.checks, c)
	b.out.Regions = b.out.Regions || c.regions != nil
}

// same reports whether d looks at the same elements for the same reason.
func (c *contractCheck) same(d contractCheck) bool {
	return c.base == d.base && c.index == d.index && slices.EqualFunc(c.loops, d.loops, sameLoop) && c.length == d.length && slices.Equal(c.regions, d.regions)
}

// proved reports whether the index of r stays in [0, length) whatever the arguments are.
func (b *contractBuilder) proved(r reach, length Affine) bool {
	s, ok := spanOf(r.index, r.loops, b.k.Params)
	return ok && atLeast(s.lo, 0) && atLeast(length.Sub(s.hi), 1)
}

// regions returns the declared regions that may hold what r touches; none where one is sure to, or all of the slice is
// declared.
func (b *contractBuilder) regions(r reach) (out []int, inside bool) {
	for i, a := range b.accesses {
		if a.Region.Var != r.base || r.write && !a.Mode.Writes() {
			continue
		}
		if whole := isWhole(a.Region); whole || b.check.inRegion(r, a.Region) {
			return nil, !whole
		}
		out = append(out, i)
	}
	return out, false
}

// nest fills in the loops around.
func (b *contractBuilder) nest(c *contractCheck) bool {
	for i, l := range c.reach.loops {
		n := nestLoop{step: l.step}
		past, ok := l.past()
		if !ok || !b.bound(&n.first, l.first, l.Lo, 0, c.reach.loops[:i]) || !b.bound(&n.last, l.last, l.Hi, past, c.reach.loops[:i]) {
			return false
		}
		n.limited, n.limit = true, limitOf(l.Var.Type, l.step)
		c.loops = append(c.loops, n)
	}
	return true
}

// limitOf returns the last value from which a step does not lead past the end of type t.
func limitOf(t *ir.Type, step int64) int64 {
	if lo, hi := limitsOf(t); step > 0 {
		return hi - step
	} else {
		return lo - step
	}
}

// past returns what is added to the bound of a loop to get the last value that it allows; ok is false where the step is
// not known or leads away.
func (r loopRange) past() (add int64, ok bool) {
	step, constant := constInt(r.Step)
	switch {
	case !constant:
	case r.Rel == ir.Lt && step > 0, r.Rel == ir.Ne && step == 1:
		return -1, true
	case r.Rel == ir.Gt && step < 0, r.Rel == ir.Ne && step == -1:
		return 1, true
	case r.Rel == ir.Le && step > 0, r.Rel == ir.Ge && step < 0:
		return 0, true
	}
	return 0, false
}

// bound is linear for a bound of a loop, of which form is the form, if it has one; else its value is taken from e.
func (b *contractBuilder) bound(to *linear, form Affine, e ir.Expr, add int64, loops []loopRange) bool {
	if form.Known() {
		return b.linear(to, form, loops)
	}
	if !b.known(e) {
		return false
	}
	to.base = b.number(hostForm{{coef: 1, atoms: []int{b.opaque(e)}}, {coef: add}})
	return true
}

// known reports whether the value of e is known from the arguments.
func (b *contractBuilder) known(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if v.Space != ir.Param || !slices.Contains(b.k.Params, v) || b.changed.Has(v) {
			return false
		}
	}
	return readsMemory(e) == nil
}

// opaque returns the number of the atom that is the value of e.
func (b *contractBuilder) opaque(e ir.Expr) int {
	i := slices.IndexFunc(b.out.atoms, func(a hostAtom) bool { return a.expr != nil && sameExpr(a.expr, e) })
	if i < 0 {
		b.out.atoms = append(b.out.atoms, hostAtom{expr: e})
		i = len(b.out.atoms) - 1
	}
	return i
}

// linear takes a apart into the coefficients of the loop variables.
func (b *contractBuilder) linear(to *linear, a Affine, loops []loopRange) bool {
	for i, l := range loops {
		coef, ok := a.Coef(l.Var)
		if !ok || !onHost(coef, b.k.Params) {
			return false
		}
		to.coefs[i], a = b.form(coef), a.Without(l.Var)
	}
	to.base = b.form(a)
	return onHost(a, b.k.Params)
}

// form returns the number of a, which the host can evaluate.
func (b *contractBuilder) form(a Affine) int {
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
func (b *contractBuilder) number(f hostForm) int {
	equal := func(g hostForm) bool { return slices.EqualFunc(f, g, sameHostTerm) }
	if i := slices.IndexFunc(b.out.forms, equal); i >= 0 {
		return i
	}
	b.out.forms = append(b.out.forms, f)
	return len(b.out.forms) - 1
}

func (b *contractBuilder) atom(x Atom) int {
	if host := b.hostValue(x); host != nil {
		return b.opaque(host)
	}
	i := slices.IndexFunc(b.out.atoms, func(a hostAtom) bool { return a.expr == nil && a.Atom == x })
	if i < 0 {
		b.out.atoms = append(b.out.atoms, hostAtom{Atom: x})
		i = len(b.out.atoms) - 1
	}
	return i
}

// point names the values of the loop variables.
func (c *contractCheck) point(values []int64) string {
	var parts []string
	for i, v := range values {
		parts = append(parts, fmt.Sprintf("%s = %d", c.reach.loops[i].Var.Name, v))
	}
	return strings.Join(parts, ", ")
}
