package check

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// distArrays reports accesses to the arrays of the dist_ clauses of s outside the part that their
// iteration owns: accesses that are outside whenever they are executed, and accesses that are
// certainly executed and are outside in one possible iteration.
func (c *Check) distArrays(s *ir.For) {
	if len(s.Directive.DistArrays) == 0 {
		return
	}
	found := analysis.NewCollector(c.kernel)
	found.Define(c.kernel.Body)
	found.Loops = []analysis.LoopRange{found.RangeOf(s)}
	ir.Lists(s, found.Stmts)
	for _, a := range s.Directive.DistArrays {
		start, ok := found.ViewOf(&ir.Ref{Var: a.Var})
		if !ok {
			continue
		}
		var written *analysis.Reach
		read := false
		for i, r := range found.Out {
			if r.Base != start.Base || start.Base != a.Var && query.BaseVar(r.Expr) != a.Var {
				continue
			}
			if r.Write && written == nil {
				written = &found.Out[i]
			}
			read = read || !r.Write
			c.distTouch(s, a, r, r.Index.Sub(start.Off))
		}
		if written != nil && (a.Kind == ir.DistPrivate || a.Kind == ir.DistFirstprivate) {
			c.lostPart(s, a, written, read)
		}
	}
}

// lostPart reports that iterations of s write copies of parts of a that nothing reads, or that code
// behind s reads the array, which is as before.
func (c *Check) lostPart(s *ir.For, a ir.DistArray, written *analysis.Reach, read bool) {
	kind, name := ir.DistLastprivate, a.Var.Name
	if a.Kind == ir.DistFirstprivate {
		kind = ir.DistFirstLastprivate
	}
	instead := a
	instead.Kind = kind
	const gone = "a copy that is gone after the iteration; "
	write := "write " + instead.Clause() + " to keep what iterations write"
	if !read {
		c.warn(written.At, a.Clause(), query.Source(written.Expr)+" is written in "+gone+name+" keeps its values, and plain Go writes "+name, write)
		return
	}
	behind := analysis.NewCollector(c.kernel)
	behind.Define(c.kernel.Body)
	behind.Stmts(following(c.kernel.Body, s))
	for _, r := range behind.Out {
		if query.BaseVar(r.Expr) != a.Var {
			continue
		}
		if !r.Write {
			c.warn(r.At, a.Clause(), name+" is read here with the values from before the directive at "+s.Directive.At.String()+
				", and what iterations wrote is in "+gone+"plain Go reads it", write)
		}
		return
	}
}

// following returns the statements of list that run after s, in order, where s is in list or in
// constructs and blocks of it.
func following(list []ir.Stmt, s ir.Stmt) (out []ir.Stmt) {
	for i, x := range list {
		inside := x == s
		if !inside {
			ir.WalkStmts([]ir.Stmt{x}, func(y ir.Stmt) bool { inside = inside || y == s; return !inside })
		}
		if !inside {
			continue
		}
		if x != s {
			ir.Lists(x, func(inner []ir.Stmt) { out = append(out, following(inner, s)...) })
		}
		return append(out, list[i+1:]...)
	}
	return nil
}

// distTouch checks one access to the array of a at index.
func (c *Check) distTouch(s *ir.For, a ir.DistArray, r analysis.Reach, index affine.Form) {
	chunk, ok := affine.Of(a.Chunk)
	rel := index.Sub(affine.OfVar(s.Var).Mul(chunk))
	if !ok || !rel.Known() {
		return
	}
	name, i, text := a.Var.Name, s.Var.Name, query.Source(r.Expr)
	part := a.Part(s.Var)
	touch := fmt.Sprintf("iteration %s touches %s, and owns %s", i, text, part)
	switch found, point, loops := c.inPart(r, rel, chunk); found {
	case contract.AllInside:
		return
	case contract.SomeOutside:
		n, _ := chunk.Const()
		at := point[0]*n + point[len(point)-1]
		touch = fmt.Sprintf("iteration %s = %d touches %s[%d]", i, point[0], name, at)
		for k, l := range loops[1:] {
			touch += fmt.Sprintf("%s%s = %d", [2]string{" (", ", "}[min(k, 1)], l.Var.Name, point[k+1])
		}
		if len(loops) > 1 {
			touch += ")"
		}
		if text != fmt.Sprintf("%s[%d]", name, at) {
			touch += " by " + text
		}
		touch += fmt.Sprintf(", and owns %s[%d:%d]", name, point[0]*n, (point[0]+1)*n)
	default:
		if !c.neverOwn(r, rel, chunk) {
			return
		}
	}
	c.fail(r.At, a.Kind.String()+" of "+name, touch, "keep the index inside "+part+", or take "+name+" out of the clause")
}

// manyIterations is the number of iterations that inPart assumes for a loop whose number is
// unknown.
const manyIterations = 1 << 20

// inPart decides whether r, which is certainly executed, stays in a part of constant size. If it
// does not, point is the first iteration of loops that is outside: the values of their variables,
// and the index relative to the start of the part. The result is unknown if numbers are unknown.
func (c *Check) inPart(r analysis.Reach, rel, chunk affine.Form) (found contract.Verdict, point []int64, loops []analysis.LoopRange) {
	n, constant := chunk.Const()
	if !constant || !r.Is(analysis.Always) || len(r.Loops) > analysis.MaxDepth {
		return contract.Undecided, nil, nil
	}
	loops = append(loops, r.Loops...)
	loops[0] = manyOf(loops[0])
	r.Loops = loops
	b := contract.NewBuilder(c.kernel)
	check := contract.Check{Reach: r, Passed: new(contract.Launches)}
	if !b.Nest(&check) || !b.Linear(&check.Index, rel, loops) || len(b.Out.Atoms) > 0 {
		return contract.Undecided, nil, nil
	}
	b.Out.CheckAtoms, b.Out.CheckForms = len(b.Out.Atoms), len(b.Out.Forms)
	var p contract.Proof
	p.Load(c.kernel, b.Out, ir.Values{})
	found = p.Stays(&check, p.Below(n))
	if found == contract.SomeOutside {
		point = append(append(point, p.Point[:len(loops)]...), p.At(&check.Index, len(loops), &p.Point).N)
	}
	return found, point, loops
}

// manyOf returns l with manyIterations iterations if their number is not constant, and starting at
// 0 if its start is not constant.
func manyOf(l analysis.LoopRange) analysis.LoopRange {
	first, ok1 := l.First.Const()
	if _, ok2 := l.Last.Const(); ok1 && ok2 {
		return l
	}
	if l.Stride == 0 {
		l.Stride = 1
	}
	last := contract.LimitOf(l.Var.Type, l.Stride)
	if away := first + manyIterations*l.Stride; l.Stride > 0 && away < last || l.Stride < 0 && away > last {
		last = away
	}
	l.First, l.Last = affine.Constant(first), affine.Constant(last)
	return l
}

// neverOwn reports whether r is outside the part of its iteration whenever it is executed, or in
// one iteration that certainly executes it.
func (c *Check) neverOwn(r analysis.Reach, rel, chunk affine.Form) bool {
	s, ok := analysis.SpanOf(rel, r.Loops, c.kernel.Params)
	if !ok {
		return false
	}
	negative := func(a affine.Form) bool { return multiple(affine.Constant(-1).Sub(a), chunk) }
	behind := func(a affine.Form) bool { return multiple(a.Sub(chunk), chunk) }
	if negative(s.Hi) || behind(s.Lo) {
		return true
	}
	return r.Is(analysis.Always) && contract.RectangularNest(r.Loops) && s.Dense && (negative(s.Lo) || behind(s.Hi))
}

// multiple reports whether a is known not to be negative: a non-negative number of chunks, each at
// least 1, plus a constant.
func multiple(a, chunk affine.Form) bool {
	for n := range int64(4) {
		if analysis.AtLeast(a.Sub(chunk.Mul(affine.Constant(n))), -n) {
			return true
		}
	}
	return false
}
