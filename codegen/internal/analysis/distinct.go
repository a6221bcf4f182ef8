package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// DistinctReaches removes the references that differ from an earlier one only in their position. A
// check that compares all pairs of references needs no others.
func DistinctReaches(list []Reach) []Reach {
	seen := map[string]bool{}
	ids := numbering{}
	return slices.DeleteFunc(list, func(r Reach) bool {
		key := ids.keyOf(&r)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// A numbering assigns numbers to the parts of references, by identity.
type numbering map[any]int

func (n numbering) of(x any) int {
	id, ok := n[x]
	if !ok {
		id = len(n)
		n[x] = id
	}
	return id
}

// form appends a form, with the numbers of its atoms, to b.
func (n numbering) form(b *strings.Builder, a affine.Form) {
	for _, t := range a.Terms {
		b.WriteByte('+')
		b.WriteString(strconv.FormatInt(t.Coef, 10))
		for _, x := range t.Atoms {
			b.WriteByte('*')
			b.WriteString(strconv.Itoa(n.of(x)))
		}
	}
	b.WriteByte(';')
}

func (n numbering) keyOf(r *Reach) string {
	var b strings.Builder
	add := func(id int) { b.WriteString(strconv.Itoa(id)); b.WriteByte(' ') }
	add(n.of(r.Base))
	for i, is := range []bool{r.Write, r.Atomic, r.Is(Always), r.Is(Certain), r.Is(Whole), r.Index.Unknown} {
		if is {
			add(i)
		}
	}
	unknown := false
	for _, a := range r.Indices() {
		n.form(&b, a)
		unknown = unknown || a.Unknown
	}
	n.form(&b, r.Part.Off)
	add(int(r.Part.Size))
	for _, l := range r.Loops {
		b.WriteByte('|')
		if !l.First.Known() || !l.Last.Known() || r.Uses(l.Var) || BoundsHave(r.Loops, l.Var) || l.Directive != nil {
			add(n.of(l.For))
			continue
		}
		n.form(&b, l.First) // equal ranges of different loops are interchangeable
		n.form(&b, l.Last)
		b.WriteString(strconv.FormatInt(l.Stride, 10))
	}
	b.WriteByte('|')
	for _, c := range r.Conds {
		add(n.of(c))
	}
	b.WriteByte('|')
	for _, s := range r.In {
		add(n.of(s))
	}
	add(r.Phase)
	if unknown && r.Expr != nil {
		b.WriteString(ir.ExprString(r.Expr))
	}
	return b.String()
}

// IndexKinds numbers the references. References have the same number if they have the same base,
// the same indices, and the same enclosing loops, as far as the variables of these loops are in an
// index of any reference.
//
// Cost: linear in the total size of the references.
func IndexKinds(list []Reach) []int {
	used := map[*ir.Var]bool{}
	for i := range list {
		for _, a := range list[i].Indices() {
			for _, atom := range a.Atoms() {
				used[atom.Var] = true
			}
		}
	}
	out, kinds, ids := make([]int, len(list)), map[string]int{}, numbering{}
	for i := range list {
		key := ids.indexKey(&list[i], used)
		if _, ok := kinds[key]; !ok {
			kinds[key] = len(kinds)
		}
		out[i] = kinds[key]
	}
	return out
}

func (n numbering) indexKey(r *Reach, used map[*ir.Var]bool) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(n.of(r.Base)))
	for _, a := range r.Indices() {
		b.WriteByte('|')
		b.WriteString(strconv.FormatBool(a.Unknown))
		n.form(&b, a)
	}
	for _, l := range r.Loops {
		if used[l.Var] {
			b.WriteByte(' ')
			b.WriteString(strconv.Itoa(n.of(l.For)))
		}
	}
	return b.String()
}
