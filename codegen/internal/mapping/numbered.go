package mapping

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// SplitNumbers makes a nest of a loop that numbers the points of a space: for p < n*m, where i is
// p/m and j is p%m, is for i < n { for j < m }, and p is i*m+j. The nest has no division, and all
// analyses of nests apply to it. Sizes that are not positive, or so large that their product wraps,
// keep the loop as it is, which each launch tests.
func (l *Work) SplitNumbers() { l.splitIn(l.Kernel.Body) }

func (l *Work) splitIn(list []ir.Stmt) {
	for k, s := range list {
		switch s := s.(type) {
		case *ir.If:
			l.splitIn(s.Then)
			l.splitIn(s.Else)
		case *ir.Block:
			l.splitIn(s.Body)
		case *ir.For:
			if n := l.numbered(s); n != nil {
				list[k] = n.versions()
			}
		}
	}
}

// A numbering is a loop over the numbers of points.
type numbering struct {
	*Work
	f       *ir.For
	total   affine.Term
	digits  map[*ir.Var]digit // of locals that never change
	strides []affine.Term     // of the loops of the nest, innermost first
	loops   []*ir.For
	made    map[ir.Expr]digit // what stands for a digit in the nest
}

// A digit is p/low, or p/low%(high/low) where high is given.
type digit struct {
	low, high affine.Term
	bounded   bool
}

var one = affine.Term{Coef: 1}

// numbered returns f as a numbering, nil where it is none.
func (l *Work) numbered(f *ir.For) *numbering {
	d := f.Directive
	const league = ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare
	if d == nil || d.Parts&^ir.Simd != league || d.Collapse > 1 || !WholeSchedule(d) || d.Schedule.Kind != ir.ScheduleNone || d.Scan != nil ||
		len(d.Reductions)+len(d.Lastprivate) > 0 || d.NumThreads != nil || d.If != nil {
		return nil
	}
	lo, okLo := query.Int64(f.Lo)
	form, ok := affine.Of(f.Hi)
	if !okLo || !ok || lo != 0 || !risesByOne(f) || len(form.Terms) != 1 || query.AsksForPlace(f.Body) {
		return nil
	}
	n := &numbering{Work: l, f: f, total: form.Terms[0], digits: map[*ir.Var]digit{}, made: map[ir.Expr]digit{}}
	if n.total.Coef < 1 || ir.Assigned(f.Body).Has(f.Var) || !n.steady(n.total) {
		return nil
	}
	n.strides = []affine.Term{one}
	n.find()
	if len(n.strides) < 2 || !n.chain() {
		return nil
	}
	return n
}

// steady reports whether t is a product of what the kernel never changes.
func (n *numbering) steady(t affine.Term) bool {
	changed := ir.Assigned(n.Kernel.Body)
	for _, x := range t.Atoms {
		if x.Of != affine.ValueOf || x.Var.Space != ir.Param || changed.Has(x.Var) {
			return false
		}
	}
	return true
}

// find collects the strides of all quotients and remainders.
func (n *numbering) find() {
	changed := ir.Assigned(n.f.Body)
	for _, v := range ir.AddressTaken(n.f.Body).List() {
		changed.Add(v)
	}
	ir.Inspect(n.f.Body, func(s ir.Stmt) {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && !changed.Has(d.Var) {
			if x, ok := n.digitOf(d.Init); ok {
				n.digits[d.Var] = x
			}
		}
	}, func(e ir.Expr) {
		if x, ok := n.digitOf(e); ok {
			n.note(x.low)
			if x.bounded {
				n.note(x.high)
			}
		}
	})
}

func (n *numbering) note(t affine.Term) {
	if !slices.ContainsFunc(n.strides, func(have affine.Term) bool { return same(have, t) }) && !same(t, n.total) {
		n.strides = append(n.strides, t)
	}
}

// digitOf returns e as a digit of the loop's variable, itself the whole number.
func (n *numbering) digitOf(e ir.Expr) (digit, bool) {
	if x, ok := n.made[e]; ok {
		return x, true
	}
	switch e := e.(type) {
	case *ir.Ref:
		if e.Var == n.f.Var {
			return digit{low: one}, true
		}
		x, ok := n.digits[e.Var]
		return x, ok
	case *ir.Binary:
		if e.Op != ir.Div && e.Op != ir.Rem || e.T.Kind != ir.Int64 {
			return digit{}, false
		}
		x, ok := n.digitOf(e.X)
		if !ok {
			return digit{}, false
		}
		by, ok := affine.Of(e.Y)
		if !ok || len(by.Terms) != 1 || by.Terms[0].Coef < 1 || !n.steady(by.Terms[0]) {
			return digit{}, false
		}
		low := times(x.low, by.Terms[0])
		switch {
		case e.Op == ir.Rem && (!x.bounded || divides(low, x.high)):
			return digit{low: x.low, high: low, bounded: true}, true
		case e.Op == ir.Div && (!x.bounded || divides(low, x.high)):
			return digit{low: low, high: x.high, bounded: x.bounded}, true
		}
	}
	return digit{}, false
}

// chain sorts the strides so that each divides the next, and the last the whole.
func (n *numbering) chain() bool {
	slices.SortStableFunc(n.strides, func(a, b affine.Term) int {
		if len(a.Atoms) != len(b.Atoms) {
			return len(a.Atoms) - len(b.Atoms)
		}
		return int(min(max(a.Coef-b.Coef, -1), 1))
	})
	for i, t := range n.strides {
		next := n.total
		if i+1 < len(n.strides) {
			next = n.strides[i+1]
		}
		if !divides(t, next) {
			return false
		}
	}
	return len(n.strides) <= 4
}

// versions returns the nest and the loop as it is, with the test between.
func (n *numbering) versions() ir.Stmt {
	f, at := n.f, n.f.At
	n.Decide(at, "loop "+f.Var.Text(), "a nest of "+strconv.Itoa(len(n.strides))+" loops",
		"it numbers the points of a space, and takes the numbers apart by quotients and remainders", "")
	var test ir.Expr
	seen := map[*ir.Var]bool{}
	bits := 62 / max(len(n.total.Atoms)+1, 2)
	for _, x := range n.total.Atoms {
		if seen[x.Var] {
			continue
		}
		seen[x.Var] = true
		fits := build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Int(0, at), x.Expr(at), at), build.Compare(ir.Lt, x.Expr(at), build.Int(1<<bits, at), at), at)
		if test == nil {
			test = fits
		} else {
			test = build.Compare(ir.LAnd, test, fits, at)
		}
	}
	nest := n.CopyOf([]ir.Stmt{n.nest()}, &n.Kernel.NumVars)
	if test == nil {
		return nest[0]
	}
	return &ir.If{Cond: test, Then: nest, Else: []ir.Stmt{f}, At: at}
}

// nest returns the loops.
func (n *numbering) nest() *ir.For {
	f, at := n.f, n.f.At
	for i, t := range n.strides {
		next := n.total
		if i+1 < len(n.strides) {
			next = n.strides[i+1]
		}
		v := n.Local(f.Var.Name+strconv.Itoa(len(n.strides)-1-i), ir.IntType, at)
		n.loops = append(n.loops, &ir.For{Label: &ir.Label{}, Var: v, Lo: build.Int(0, at), Hi: expr(quotient(next, t), at), Step: build.Int(1, at), Rel: ir.Lt, At: at})
	}
	digits := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if b, ok := e.(*ir.Binary); ok && (b.Op == ir.Div || b.Op == ir.Rem) {
			if x, ok := n.digitOf(e); ok {
				made := n.value(x, e.Pos())
				n.made[made] = x
				return made
			}
		}
		return e
	}}
	body := digits.CopyStmts(f.Body)
	inner := n.loops[0]
	inner.Label = f.Label
	inner.Body = append([]ir.Stmt{build.Decl(f.Var, n.value(digit{low: one}, at), at)}, body...)
	for i, g := range n.loops[1:] {
		g.Body = []ir.Stmt{n.loops[i]}
	}
	outer := n.loops[len(n.loops)-1]
	d := *f.Directive
	d.Collapse = len(n.loops)
	outer.Directive = &d
	return outer
}

// value is the digit x from the variables of the loops.
func (n *numbering) value(x digit, at ir.Pos) ir.Expr {
	var sum ir.Expr
	for i := len(n.loops) - 1; i >= 0; i-- {
		t := n.strides[i]
		if !divides(x.low, t) || x.bounded && (same(t, x.high) || !divides(t, x.high)) {
			continue
		}
		term := ir.Expr(build.Ref(n.loops[i].Var, at))
		if by := quotient(t, x.low); !same(by, one) {
			term = build.Binary(ir.Mul, term, expr(by, at), at)
		}
		if sum == nil {
			sum = term
		} else {
			sum = build.Binary(ir.Add, sum, term, at)
		}
	}
	if sum == nil {
		return build.Int(0, at)
	}
	return sum
}

func expr(t affine.Term, at ir.Pos) ir.Expr {
	return affine.Form{Terms: []affine.Term{t}}.Expr(at)
}

func times(a, b affine.Term) affine.Term {
	p := affine.Form{Terms: []affine.Term{a}}.Mul(affine.Form{Terms: []affine.Term{b}})
	if len(p.Terms) != 1 {
		return affine.Term{}
	}
	return p.Terms[0]
}

func same(a, b affine.Term) bool {
	return a.Coef == b.Coef && slices.Equal(a.Atoms, b.Atoms)
}

// divides reports whether b is a multiple of a whatever the atoms are.
func divides(a, b affine.Term) bool {
	_, ok := over(b, a)
	return ok
}

func quotient(a, b affine.Term) affine.Term {
	q, _ := over(a, b)
	return q
}

// over returns a/b.
func over(a, b affine.Term) (affine.Term, bool) {
	if b.Coef == 0 || a.Coef%b.Coef != 0 {
		return affine.Term{}, false
	}
	atoms := slices.Clone(a.Atoms)
	for _, x := range b.Atoms {
		i := slices.Index(atoms, x)
		if i < 0 {
			return affine.Term{}, false
		}
		atoms = slices.Delete(atoms, i, i+1)
	}
	return affine.Term{Coef: a.Coef / b.Coef, Atoms: atoms}, true
}
