// Package analysis computes properties of a kernel in loop IR: affine forms and ranges of indices,
// effects of statements, dependences between the iterations of loops, memory references, and the
// phases of scans and reductions. The functions are pure and do not change the kernel, except
// ProveBounds and CountLoops, which mark in the IR what they prove.
package affine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// An AtomKind selects the property of a variable that an Atom represents.
type AtomKind uint8

// The kinds of atoms.
const (
	ValueOf AtomKind = iota // the integer variable itself
	LenOf                   // len of the slice variable
	CapOf                   // cap of the slice variable
	SetOf                   // 1 where the pointer variable is not nil, else 0
)

// An Atom is an integer that forms treat as a symbol.
type Atom struct {
	Var *ir.Var
	Of  AtomKind
}

// A Term is Coef times the product of Atoms, which are sorted. A term without atoms is a constant.
type Term struct {
	Coef  int64
	Atoms []Atom
}

// An Form is a sum of Terms over the mathematical integers. It is affine in each loop variable,
// with coefficients that may be products of parameters: i*n + j is affine in i with coefficient n.
// Terms are sorted, with distinct atoms and non-zero coefficients, so equal forms have equal lists
// of terms. The zero Form is 0.
//
// A form with a coefficient that overflows 64 bits, or with more than MaxTerms terms, is unknown:
// Known returns false for it and for every form computed from it.
type Form struct {
	Terms   []Term
	Unknown bool
}

// MaxTerms is the maximum number of terms of a form; a longer form is unknown.
const MaxTerms = 64

// Constant returns the form c.
func Constant(c int64) Form {
	if c == 0 {
		return Form{}
	}
	return Form{Terms: []Term{{Coef: c}}}
}

// OfVar returns the form v.
func OfVar(v *ir.Var) Form { return OfAtom(Atom{Var: v}) }

// OfAtom returns the form a.
func OfAtom(a Atom) Form { return Form{Terms: []Term{{Coef: 1, Atoms: []Atom{a}}}} }

// Known reports whether a is a form, and not the unknown form.
func (a Form) Known() bool { return !a.Unknown }

// Const returns the value of a form without atoms; ok is false for other forms.
func (a Form) Const() (int64, bool) {
	switch {
	case a.Unknown:
		return 0, false
	case len(a.Terms) == 0:
		return 0, true
	case len(a.Terms) == 1 && len(a.Terms[0].Atoms) == 0:
		return a.Terms[0].Coef, true
	}
	return 0, false
}

// Add returns a + b.
func (a Form) Add(b Form) Form { return sumTerms(a, b, 1) }

// Sub returns a - b.
func (a Form) Sub(b Form) Form { return sumTerms(a, b, -1) }

// AddConst returns a + c.
func (a Form) AddConst(c int64) Form { return a.Add(Constant(c)) }

// Mul returns a * b.
func (a Form) Mul(b Form) Form {
	if a.Unknown || b.Unknown || len(a.Terms)*len(b.Terms) > MaxTerms {
		return Form{Unknown: true}
	}
	var terms []Term
	for _, x := range a.Terms {
		for _, y := range b.Terms {
			c, ok := integers.Mul(x.Coef, y.Coef)
			if !ok {
				return Form{Unknown: true}
			}
			atoms := slices.Concat(x.Atoms, y.Atoms)
			slices.SortFunc(atoms, CompareAtoms)
			terms = append(terms, Term{Coef: c, Atoms: atoms})
		}
	}
	return Normalise(terms)
}

// Equal reports whether a and b are the same form.
func (a Form) Equal(b Form) bool {
	c, ok := a.Sub(b).Const()
	return ok && c == 0
}

// Has reports whether the value of v occurs in a.
func (a Form) Has(v *ir.Var) bool {
	return slices.ContainsFunc(a.Terms, func(t Term) bool { return t.power(v) > 0 })
}

// Coef returns the coefficient of v, a form without v. ok is false if a is not affine in v.
func (a Form) Coef(v *ir.Var) (coef Form, ok bool) {
	if a.Unknown {
		return Form{Unknown: true}, false
	}
	var terms []Term
	for _, t := range a.Terms {
		switch t.power(v) {
		case 0:
		case 1:
			rest := slices.DeleteFunc(slices.Clone(t.Atoms), func(x Atom) bool { return x == Atom{Var: v} })
			terms = append(terms, Term{Coef: t.Coef, Atoms: rest})
		default:
			return Form{Unknown: true}, false
		}
	}
	return Normalise(terms), true
}

// Without returns a without the terms that contain v: the value of a at v = 0.
func (a Form) Without(v *ir.Var) Form {
	if a.Unknown {
		return a
	}
	return Form{Terms: slices.DeleteFunc(slices.Clone(a.Terms), func(t Term) bool { return t.power(v) > 0 })}
}

// Subst returns a with v replaced by the form by. The result is unknown if a is not affine in v.
func (a Form) Subst(v *ir.Var, by Form) Form {
	if !a.Has(v) {
		return a
	}
	coef, ok := a.Coef(v)
	if !ok {
		return Form{Unknown: true}
	}
	return a.Without(v).Add(coef.Mul(by))
}

// Atoms returns the distinct atoms of a, in sorted order.
func (a Form) Atoms() []Atom {
	var all []Atom
	for _, t := range a.Terms {
		all = append(all, t.Atoms...)
	}
	slices.SortFunc(all, CompareAtoms)
	return slices.Compact(all)
}

// Expr returns a as an int expression with source position at.
func (a Form) Expr(at ir.Pos) ir.Expr {
	var sum ir.Expr
	for _, t := range a.Terms {
		sum = addTerm(sum, t, at)
	}
	if sum == nil {
		return build.Int(0, at)
	}
	return sum
}

func addTerm(sum ir.Expr, t Term, at ir.Pos) ir.Expr {
	op, coef := ir.Add, t.Coef
	if sum != nil && coef < 0 && coef != -coef {
		op, coef = ir.Sub, -coef
	}
	x := termExpr(coef, t.Atoms, at)
	if sum == nil {
		return x
	}
	return &ir.Binary{Op: op, X: sum, Y: x, T: ir.IntType, At: at}
}

func termExpr(coef int64, atoms []Atom, at ir.Pos) ir.Expr {
	var x ir.Expr
	if coef != 1 || len(atoms) == 0 {
		x = build.Int(coef, at)
	}
	for _, a := range atoms {
		y := a.Expr(at)
		if x == nil {
			x = y
		} else {
			x = &ir.Binary{Op: ir.Mul, X: x, Y: y, T: ir.IntType, At: at}
		}
	}
	return x
}

// Expr returns a as an expression.
func (a Atom) Expr(at ir.Pos) ir.Expr {
	r := &ir.Ref{Var: a.Var, At: at}
	switch {
	case a.Of == LenOf:
		return &ir.Len{X: r, At: at}
	case a.Of == CapOf:
		return &ir.Cap{X: r, At: at}
	case a.Var.Type.Kind != ir.Int64:
		return &ir.Convert{T: ir.IntType, X: r, At: at}
	}
	return r
}

func (a Atom) String() string {
	switch a.Of {
	case LenOf:
		return "len(" + a.Var.Name + ")"
	case CapOf:
		return "cap(" + a.Var.Name + ")"
	case SetOf:
		return a.Var.Name + " != nil"
	}
	return a.Var.Name
}

func (a Form) String() string {
	if a.Unknown {
		return "?"
	}
	var b strings.Builder
	for i, t := range a.Terms {
		t.write(&b, i == 0)
	}
	if len(a.Terms) == 0 {
		return "0"
	}
	return b.String()
}

func (t Term) write(b *strings.Builder, first bool) {
	coef := t.Coef
	switch {
	case coef < 0 && first:
		b.WriteString("-")
	case coef < 0:
		b.WriteString(" - ")
	case !first:
		b.WriteString(" + ")
	}
	if coef < 0 {
		coef = -coef
	}
	sep := ""
	if coef != 1 || len(t.Atoms) == 0 {
		fmt.Fprint(b, uint64(coef))
		sep = "*"
	}
	for _, a := range t.Atoms {
		b.WriteString(sep + a.String())
		sep = "*"
	}
}

func (t Term) power(v *ir.Var) int {
	n := 0
	for _, a := range t.Atoms {
		if a == (Atom{Var: v}) {
			n++
		}
	}
	return n
}

// CompareAtoms orders atoms by the ID of their variable. IDs are dense within one kernel, so forms
// print alike in every run.
func CompareAtoms(a, b Atom) int {
	return cmp.Or(cmp.Compare(a.Var.ID, b.Var.ID), cmp.Compare(a.Of, b.Of))
}

// compareTerms orders products before single atoms, and puts the constant last.
func compareTerms(a, b Term) int {
	if c := cmp.Compare(len(b.Atoms), len(a.Atoms)); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Atoms, b.Atoms, CompareAtoms)
}

func sumTerms(a, b Form, sign int64) Form {
	if a.Unknown || b.Unknown {
		return Form{Unknown: true}
	}
	terms := slices.Clone(a.Terms)
	for _, t := range b.Terms {
		c, ok := integers.Mul(t.Coef, sign)
		if !ok {
			return Form{Unknown: true}
		}
		terms = append(terms, Term{Coef: c, Atoms: t.Atoms})
	}
	return Normalise(terms)
}

func Normalise(terms []Term) Form {
	slices.SortStableFunc(terms, compareTerms)
	var out []Term
	for _, t := range terms {
		if n := len(out); n > 0 && compareTerms(out[n-1], t) == 0 {
			c, ok := integers.Add(out[n-1].Coef, t.Coef)
			if !ok {
				return Form{Unknown: true}
			}
			out[n-1].Coef = c
			continue
		}
		out = append(out, t)
	}
	out = slices.DeleteFunc(out, func(t Term) bool { return t.Coef == 0 })
	if len(out) > MaxTerms {
		return Form{Unknown: true}
	}
	return Form{Terms: out}
}

// MultipleOf reports whether a is a multiple of 1<<low.
func MultipleOf(a Form, low uint) bool {
	if low > 62 {
		return false
	}
	for _, t := range a.Terms {
		if t.Coef&(1<<low-1) != 0 {
			return false
		}
	}
	return a.Known()
}
