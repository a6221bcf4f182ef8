package codegen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// distinctReaches returns the first of the reaches that are alike in all but where they stand. Checks that compare all with
// all need no others.
func distinctReaches(list []reach) []reach {
	seen := map[string]bool{}
	ids := numbering{}
	return slices.DeleteFunc(list, func(r reach) bool {
		key := ids.keyOf(&r)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// A numbering gives the parts of reaches numbers, by identity.
type numbering map[any]int

func (n numbering) of(x any) int {
	id, ok := n[x]
	if !ok {
		id = len(n)
		n[x] = id
	}
	return id
}

// form writes a form with the numbers of its atoms.
func (n numbering) form(b *strings.Builder, a Affine) {
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

func (n numbering) keyOf(r *reach) string {
	var b strings.Builder
	add := func(id int) { b.WriteString(strconv.Itoa(id)); b.WriteByte(' ') }
	add(n.of(r.base))
	for i, is := range []bool{r.write, r.atomic, r.always, r.certain, r.whole, r.index.unknown} {
		if is {
			add(i)
		}
	}
	unknown := false
	for _, a := range r.indices() {
		n.form(&b, a)
		unknown = unknown || a.unknown
	}
	n.form(&b, r.part.off)
	add(int(r.part.size))
	for _, l := range r.loops {
		b.WriteByte('|')
		if !l.first.Known() || !l.last.Known() || r.has(l.Var) || boundsHave(r.loops, l.Var) || l.Directive != nil {
			add(n.of(l.For))
			continue
		}
		n.form(&b, l.first) // which of several such loops it is makes no difference
		n.form(&b, l.last)
		b.WriteString(strconv.FormatInt(l.step, 10))
	}
	b.WriteByte('|')
	for _, c := range r.conds {
		add(n.of(c))
	}
	b.WriteByte('|')
	for _, s := range r.in {
		add(n.of(s))
	}
	if unknown && r.expr != nil {
		b.WriteString(ir.ExprString(r.expr))
	}
	return b.String()
}
