package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// Under fastmath a product and the sum that takes it in are one operation, but for the first product of a sum, which has
// nothing to be added to: in x*x + y*y + 1 it costs a multiplication of its own, in 1 + x*x + y*y it does not. Sums that
// begin with two products get the first of their other terms in front.

// orderSums does that in the kernel; what it calls follows when it is copied. What contract fused stays as it is.
func (l *lowering) orderSums() {
	if l.kernel.Target.Contract {
		l.explainFused()
	}
	if !l.kernel.Target.FastMath {
		return
	}
	l.kernel.Body = (&ir.Rewrite{Expr: sumFirst}).CopyStmts(l.kernel.Body)
}

// sumFirst returns e, a sum of floats whose first two terms are products, with the first other term in front of them.
func sumFirst(e ir.Expr) ir.Expr {
	b, ok := e.(*ir.Binary)
	if !ok || b.Op != ir.Add || !b.T.IsFloat() {
		return e
	}
	var terms []ir.Expr
	for isSum := true; isSum; {
		terms = append([]ir.Expr{b.Y}, terms...)
		if x, ok := b.X.(*ir.Binary); ok && x.Op == ir.Add {
			b = x
			continue
		}
		terms, isSum = append([]ir.Expr{b.X}, terms...), false
	}
	first := 0
	for first < len(terms) && isProduct(terms[first]) {
		first++
	}
	if first < 2 || first == len(terms) {
		return e
	}
	sum := terms[first]
	for i, t := range terms {
		if i != first {
			sum = &ir.Binary{Op: ir.Add, X: sum, Y: t, T: e.Type(), At: t.Pos()}
		}
	}
	return sum
}

func isProduct(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	return ok && b.Op == ir.Mul
}

// explainFused says which sums contract made one operation with a product.
func (l *lowering) explainFused() {
	const subject = "products and sums"
	if len(l.kernel.Fused) == 0 {
		l.decide(l.kernel.At, subject, "rounded one by one", "no product meets a sum: contract changes nothing", "")
		return
	}
	at := slices.Clone(l.kernel.Fused)
	slices.SortFunc(at, func(a, b ir.Pos) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	at = slices.CompactFunc(at, func(a, b ir.Pos) bool { return a.File == b.File && a.Line == b.Line })
	lines := make([]string, len(at))
	for i, p := range at {
		lines[i] = fmt.Sprint(p.Line)
		if p.File != l.kernel.At.File {
			lines[i] = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
	}
	l.decide(l.kernel.At, subject, "one fused operation each in "+plural(len(at), "line ", "lines ")+strings.Join(lines, ", "),
		"contract says so: every target gives the same bits", "a conversion around the product, float64(x*y) + z, rounds it")
}
