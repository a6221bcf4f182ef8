package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Under fastmath a product and the sum that takes it in are one operation, but for the first
// product of a sum, which has nothing to be added to: in x*x + y*y + 1 it costs a multiplication of
// its own, in 1 + x*x + y*y it does not. Sums that begin with two products get the first of their
// other terms in front.

// OrderSums does that in the kernel; what it calls follows when it is copied. What contract fused
// stays as it is.
func (l *Work) OrderSums() {
	if l.Kernel.Target.Contract {
		l.explainFused()
	}
	if !l.Kernel.Target.FastMath {
		return
	}
	l.Kernel.Body = (&ir.Rewrite{Expr: SumFirst}).CopyStmts(l.Kernel.Body)
}

// SumFirst returns e, a sum of floats whose first two terms are products, with the first other term
// in front of them.
func SumFirst(e ir.Expr) ir.Expr {
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
	for first < len(terms) && query.IsProduct(terms[first]) {
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

// explainFused says which sums contract made one operation with a product.
func (l *Work) explainFused() {
	const subject = "products and sums"
	if len(l.Kernel.Fused) == 0 {
		l.Decide(l.Kernel.At, subject, "rounded one by one", "no product meets a sum: contract changes nothing", "")
		return
	}
	at := slices.Clone(l.Kernel.Fused)
	slices.SortFunc(at, func(a, b ir.Pos) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	at = slices.CompactFunc(at, func(a, b ir.Pos) bool { return a.File == b.File && a.Line == b.Line })
	lines := make([]string, len(at))
	for i, p := range at {
		lines[i] = fmt.Sprint(p.Line)
		if p.File != l.Kernel.At.File {
			lines[i] = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
	}
	l.Decide(l.Kernel.At, subject, "one fused operation each in "+diag.Plural(len(at), "line ", "lines ")+strings.Join(lines, ", "),
		"contract says so: every target gives the same bits", "a conversion around the product, float64(x*y) + z, rounds it")
}
