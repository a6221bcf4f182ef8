package analysis

import (
	"sort"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// A Linear is an index as a sum of terms and a constant: the form in which addresses are computed
// and shared.
type Linear struct {
	Terms   []Term
	C       int64
	Withins []*ir.Binary // checks that the value of the sum does not show
}

type Term struct {
	Coef int64
	Expr ir.Expr
	Key  string
}

// LinearOf takes a 64-bit integer expression apart.
func LinearOf(e ir.Expr) Linear {
	var l Linear
	l.add(e, 1)
	sort.SliceStable(l.Terms, func(i, j int) bool { return l.Terms[i].Key < l.Terms[j].Key })
	return l
}

func (l *Linear) add(e ir.Expr, coef int64) {
	if c, ok := ir.ConstInt(e); ok {
		l.C += coef * c
		return
	}
	if b, ok := e.(*ir.Binary); ok && ir.IsWide(b.T) {
		switch b.Op {
		case prepare.Within:
			l.Withins = append(l.Withins, b)
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
	for i := range l.Terms {
		if l.Terms[i].Key == key {
			l.Terms[i].Coef += coef
			return
		}
	}
	l.Terms = append(l.Terms, Term{coef, e, key})
}

// distribute adds (a + b)*y as a*y + b*y, so that neighbouring rows share their product.
func (l *Linear) distribute(x, y ir.Expr, coef int64) bool {
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

// Part is the terms for which keep holds, as a sum without a constant, and its key.
func (l Linear) Part(keep func(ir.Expr) bool) (terms []Term, key string) {
	var b strings.Builder
	for _, t := range l.Terms {
		if t.Coef != 0 && keep(t.Expr) {
			terms = append(terms, t)
			b.WriteString(strconv.FormatInt(t.Coef, 10))
			b.WriteByte('*')
			b.WriteString(t.Key)
			b.WriteByte('+')
		}
	}
	return terms, b.String()
}
