package cpu

import (
	"sort"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// A linear is an index as a sum of terms and a constant: the form in which addresses are computed
// and shared.
type linear struct {
	terms   []term
	c       int64
	withins []*ir.Binary // checks that the value of the sum does not show
}

type term struct {
	coef int64
	expr ir.Expr
	key  string
}

// linearOf takes a 64-bit integer expression apart.
func linearOf(e ir.Expr) linear {
	var l linear
	l.add(e, 1)
	sort.SliceStable(l.terms, func(i, j int) bool { return l.terms[i].key < l.terms[j].key })
	return l
}

func (l *linear) add(e ir.Expr, coef int64) {
	if c, ok := ir.ConstInt(e); ok {
		l.c += coef * c
		return
	}
	if b, ok := e.(*ir.Binary); ok && ir.IsWide(b.T) {
		switch b.Op {
		case prepare.Within:
			l.withins = append(l.withins, b)
			l.add(b.X, coef)
			return
		case ir.Add:
			l.add(b.X, coef)
			l.add(b.Y, coef)
			return
		case ir.Sub:
			l.add(b.X, coef)
			l.add(b.Y, -coef)
			return
		case ir.Mul:
			if c, ok := ir.ConstInt(b.Y); ok {
				l.add(b.X, coef*c)
				return
			}
			if c, ok := ir.ConstInt(b.X); ok {
				l.add(b.Y, coef*c)
				return
			}
			if l.distribute(b.X, b.Y, coef) || l.distribute(b.Y, b.X, coef) {
				return
			}
			e = inOrder(b)
		}
	}
	key := ir.ExprKey(e)
	for i := range l.terms {
		if l.terms[i].key == key {
			l.terms[i].coef += coef
			return
		}
	}
	l.terms = append(l.terms, term{coef, e, key})
}

// distribute adds (a + b)*y as a*y + b*y, so that neighbouring rows share their product.
func (l *linear) distribute(x, y ir.Expr, coef int64) bool {
	sum, ok := x.(*ir.Binary)
	if ok && sum.Op == prepare.Within {
		return false // checked once, where it is
	}
	if !ok || sum.Op != ir.Add && sum.Op != ir.Sub || !ir.IsWide(sum.T) {
		return false
	}
	times := func(e ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Mul, X: e, Y: y, T: sum.T, At: sum.At} }
	l.add(times(sum.X), coef)
	if sum.Op == ir.Sub {
		coef = -coef
	}
	l.add(times(sum.Y), coef)
	return true
}

// inOrder writes a product with its factors in one order.
func inOrder(b *ir.Binary) ir.Expr {
	if ir.ExprKey(b.X) <= ir.ExprKey(b.Y) {
		return b
	}
	return &ir.Binary{Op: ir.Mul, X: b.Y, Y: b.X, T: b.T, At: b.At}
}

// part is the terms for which keep holds, as a sum without a constant, and its key.
func (l linear) part(keep func(ir.Expr) bool) (terms []term, key string) {
	var b strings.Builder
	for _, t := range l.terms {
		if t.coef != 0 && keep(t.expr) {
			terms = append(terms, t)
			b.WriteString(strconv.FormatInt(t.coef, 10))
			b.WriteByte('*')
			b.WriteString(t.key)
			b.WriteByte('+')
		}
	}
	return terms, b.String()
}
