package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A valueFlow follows the values of integer variables that change, from statement to statement, as
// forms over what never changes. Where two paths join, the value is one of two forms, each with the
// facts of its path: after if j < 0 { j += n }, j is j0 + n where j0 < 0, and j0 where j0 >= 0.
//
// A variable that several threads change, or whose address is taken, has no known value; nor has
// one that a loop assigns, at the beginning of each iteration, where a continue leads, and after
// the loop.
type valueFlow struct{ of *Collector }

// An Alternative is a value that a variable may have, and facts that hold where it has it.
type Alternative struct {
	Form  affine.Form
	Facts []Fact
}

// A callFrame has the results of the returns of a function that is visited.
type callFrame struct {
	facts, loops int // of the code around the call
	results      [][]Alternative
	open         bool // a return is in a loop, whose variable results may depend on
}

// Operands returns the forms that d is made of, its values before those of facts.
func (d *Derivation) Operands() []affine.Form {
	if d.Op != DerivedEither {
		return []affine.Form{d.X, d.Y}
	}
	var out []affine.Form
	for _, a := range d.Either {
		out = append(out, a.Form)
	}
	for _, a := range d.Either {
		for _, f := range a.Facts {
			out = append(out, f.Form, f.X, f.Y)
		}
	}
	return out
}

// IsValue reports whether operand number i is a value of d, and not of a fact.
func (d *Derivation) IsValue(i int) bool { return d.Op != DerivedEither || i < len(d.Either) }

// maxAlternatives limits the values that a variable may have.
const maxAlternatives = 8

// assign records that v has the value of e from here on.
func (f valueFlow) assign(v *ir.Var, e ir.Expr) {
	if f.of.Sites == nil || !f.of.Mutable.Has(v) || !v.Type.IsInteger() {
		return
	}
	a := affine.Form{Unknown: true}
	if e != nil {
		a = f.of.form(e)
	}
	f.set(v, a)
}

// set records that v, a variable that changes, has value a from here on.
func (f valueFlow) set(v *ir.Var, a affine.Form) {
	c := f.of
	if delete(c.Sites.frozen, v); !v.Type.IsInteger() || c.taken.Has(v) || c.counts(v) || c.sharedChange(v) {
		return
	}
	if !a.Known() && c.opens(v.Type) {
		a = deriver{c}.anyOf(v.Type)
	}
	if a.Known() {
		c.Sites.frozen[v] = a
	}
}

// drop forgets the values of the variables that s assigns.
func (f valueFlow) drop(s ir.Stmt) {
	if f.of.Sites == nil {
		return
	}
	for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
		delete(f.of.Sites.frozen, v)
	}
}

// dropBroken is drop for a block that a break leaves.
func (f valueFlow) dropBroken(s *ir.Block) {
	broken := false
	ir.WalkStmts(s.Body, func(inner ir.Stmt) bool {
		b, ok := inner.(*ir.Break)
		broken = broken || ok && b.Label == s.Label
		return !broken
	})
	if broken {
		f.drop(s)
	}
}

// whileLoop collects an iteration of s. A continue comes to the statements after the body with
// other values than the end of the body has.
func (f valueFlow) whileLoop(s *ir.While) {
	c := f.of
	for _, e := range query.DirectExprs(s) {
		c.read(e)
	}
	c.Stmts(s.Pre)
	c.Stmts(s.Body)
	continued := false
	ir.WalkStmts(s.Body, func(inner ir.Stmt) bool {
		jump, ok := inner.(*ir.Continue)
		continued = continued || ok && jump.Label == s.Label
		return !continued
	})
	if continued {
		f.drop(s)
	}
	c.Stmts(s.Post)
}

// facts returns the facts that follow if cond has the value holds, by the values that variables
// have here. It returns none where the collector does not follow values.
func (f valueFlow) facts(cond ir.Expr, holds bool) []Fact {
	if f.of.Sites == nil || cond == nil {
		return nil
	}
	return f.unequal(cond, holds, f.of.assume(cond, holds, nil))
}

// here returns the facts of the conditions around, without those of values that differ.
func (f valueFlow) here() []Fact {
	if f.of.Sites == nil {
		return f.of.factsWithSides(f.of.branches.conds)
	}
	return slices.DeleteFunc(slices.Concat(f.of.branches.facts...), func(f Fact) bool { return f.Unequal })
}

// unequal adds the facts that follow because two values differ.
func (f valueFlow) unequal(e ir.Expr, holds bool, out []Fact) []Fact {
	switch e := e.(type) {
	case *ir.Unary:
		return f.unequal(e.X, holds != (e.Op == ir.Not), out)
	case *ir.Binary:
		switch {
		case e.Op == ir.LAnd && holds, e.Op == ir.LOr && !holds:
			return f.unequal(e.Y, holds, f.unequal(e.X, holds, out))
		case e.X.Type().IsInteger() && (e.Op == ir.Ne && holds || e.Op == ir.Eq && !holds):
			x, y := f.of.form(e.X), f.of.form(e.Y)
			if x.Known() && y.Known() {
				d := x.Sub(y)
				return append(out, Fact{Form: d.AddConst(-1), X: x, Y: y, Unequal: true}, Fact{Form: affine.Constant(-1).Sub(d), X: x, Y: y, Unequal: true})
			}
		}
	}
	return out
}

// branch visits both branches of s, and joins the values that they leave.
func (f valueFlow) branch(s *ir.If) {
	c := f.of
	then, otherwise := f.facts(s.Cond, true), f.facts(s.Cond, false)
	var before map[*ir.Var]affine.Form
	if c.Sites != nil {
		before = maps.Clone(c.Sites.frozen)
	}
	c.branches.push(s.Cond, len(c.Loops), then)
	c.Stmts(s.Then)
	cond, met := c.branches.pop()
	c.branches.turn(cond, met, otherwise)
	if c.Sites == nil {
		c.Stmts(s.Else)
		_, c.passed = c.branches.pop()
		return
	}
	after := c.Sites.frozen
	c.Sites.frozen = before
	c.Stmts(s.Else)
	_, c.passed = c.branches.pop()
	switch {
	case !fallsThrough(s.Then):
	case !fallsThrough(s.Else):
		c.Sites.frozen = after
	default:
		c.Sites.frozen = f.join(after, c.Sites.frozen, then, otherwise)
	}
	c.Sites.passed = [2][]Fact{otherwise, then}
}

// behind visits list, which follows s, with the facts that follow because one branch of s ends in a
// jump. It returns false, and visits nothing, where none does.
func (f valueFlow) behind(s ir.Stmt, list []ir.Stmt) bool {
	c := f.of
	test, ok := s.(*ir.If)
	if !ok || c.Sites == nil || c.Sites.Reaches || fallsThrough(test.Then) == fallsThrough(test.Else) {
		return false
	}
	if fallsThrough(test.Else) {
		c.branches.turn(test.Cond, c.passed, c.Sites.passed[0])
	} else {
		c.branches.push(test.Cond, len(c.Loops), c.Sites.passed[1])
	}
	c.Stmts(list)
	c.branches.pop()
	return true
}

// fallsThrough reports whether control may reach the end of list.
func fallsThrough(list []ir.Stmt) bool {
	if len(list) == 0 {
		return true
	}
	switch s := list[len(list)-1].(type) {
	case *ir.Break, *ir.Continue, *ir.Return:
		return false
	case *ir.If:
		return fallsThrough(s.Then) || fallsThrough(s.Else)
	}
	return true
}

// join returns the values after two paths, x with facts fx and y with facts fy.
func (f valueFlow) join(x, y map[*ir.Var]affine.Form, fx, fy []Fact) map[*ir.Var]affine.Form {
	out := map[*ir.Var]affine.Form{}
	for _, v := range slices.SortedFunc(maps.Keys(x), func(v, w *ir.Var) int { return cmp.Compare(v.ID, w.ID) }) {
		if b, ok := y[v]; ok {
			if a := f.either([]Alternative{{x[v], fx}, {b, fy}}, v.Type); a.Known() {
				out[v] = a
			}
		}
	}
	return out
}

// either returns a value of type t that is one of list.
func (f valueFlow) either(list []Alternative, t *ir.Type) affine.Form {
	if len(list) == 0 || slices.ContainsFunc(list, func(a Alternative) bool { return !a.Form.Known() }) {
		return affine.Form{Unknown: true}
	}
	if !slices.ContainsFunc(list, func(a Alternative) bool { return !a.Form.Equal(list[0].Form) }) {
		return list[0].Form
	}
	if len(list) == 2 {
		if a := f.extreme(list[0], list[1], t); a.Known() {
			return a
		}
	}
	if flat := f.flat(list); len(flat) <= maxAlternatives {
		list = flat
	}
	if f.of.Sites.Reaches || len(list) > maxAlternatives || len(f.of.Sites.Order) >= MaxForms {
		return affine.Form{Unknown: true}
	}
	d := deriver(f).newDerivation(DerivedEither, affine.Form{}, affine.Form{}, t)
	d.Either = list
	return affine.OfVar(d.Var)
}

// flat returns list where a value that is one of several itself is replaced by these, under the
// facts of its path.
func (f valueFlow) flat(list []Alternative) (out []Alternative) {
	for _, a := range list {
		d := deriver(f).single(a.Form)
		if d == nil || d.Op != DerivedEither && d.Op != DerivedMin && d.Op != DerivedMax {
			out = append(out, a)
			continue
		}
		inner := d.Either
		switch d.Op {
		case DerivedMin:
			inner = []Alternative{{d.X, []Fact{{Form: d.Y.Sub(d.X), X: d.X, Y: d.Y}}}, {d.Y, []Fact{{Form: d.X.Sub(d.Y), X: d.X, Y: d.Y}}}}
		case DerivedMax:
			inner = []Alternative{{d.X, []Fact{{Form: d.X.Sub(d.Y), X: d.X, Y: d.Y}}}, {d.Y, []Fact{{Form: d.Y.Sub(d.X), X: d.X, Y: d.Y}}}}
		}
		for _, b := range inner {
			out = append(out, Alternative{b.Form, slices.Concat(a.Facts, b.Facts)})
		}
	}
	return out
}

// extreme returns the value of two alternatives that is their minimum or maximum, as j is after
// if j < 0 { j = 0 }; else it is unknown. The comparison is of the two values, or of what does not
// wrap.
func (f valueFlow) extreme(a, b Alternative, t *ir.Type) affine.Form {
	if len(a.Facts) != 1 || len(b.Facts) != 1 || a.Facts[0].Unequal || b.Facts[0].Unequal {
		return affine.Form{Unknown: true}
	}
	fact := a.Facts[0]
	for _, side := range []affine.Form{fact.X, fact.Y} {
		if !IsAtom(side) && !side.Equal(a.Form) && !side.Equal(b.Form) {
			return affine.Form{Unknown: true}
		}
	}
	if sum, ok := fact.Form.Add(b.Facts[0].Form).Const(); !ok || sum != -1 {
		return affine.Form{Unknown: true}
	}
	above := a.Form.Sub(b.Form) // not negative for a maximum where the fact holds
	for _, op := range []DerivedOp{DerivedMax, DerivedMin} {
		if more, ok := above.Sub(fact.Form).Const(); ok && (more == 0 || more == 1) {
			return deriver(f).derive(op, a.Form, b.Form, t)
		}
		above = affine.Form{}.Sub(above)
	}
	return affine.Form{Unknown: true}
}

// enter begins the visit of a called function with n results.
func (f valueFlow) enter(n int) {
	if s := f.of.Sites; s != nil {
		s.frames = append(s.frames, callFrame{facts: len(f.of.branches.conds), loops: len(f.of.Loops), results: make([][]Alternative, n)})
	}
}

// returns records the results of a return.
func (f valueFlow) returns(s *ir.Return) {
	c := f.of
	if c.Sites == nil || len(c.Sites.frames) == 0 {
		return
	}
	frame := &c.Sites.frames[len(c.Sites.frames)-1]
	frame.open = frame.open || len(c.Loops) > frame.loops
	for i, e := range s.Results {
		if i < len(frame.results) && e.Type().IsInteger() {
			frame.results[i] = append(frame.results[i], Alternative{c.form(e), slices.Concat(c.branches.facts[frame.facts:]...)})
		}
	}
}

// leave ends the visit of a called function, and returns its results.
func (f valueFlow) leave(s *ir.Call) []affine.Form {
	sites := f.of.Sites
	out := make([]affine.Form, len(s.Results))
	for i := range out {
		out[i].Unknown = true
	}
	if sites == nil {
		return out
	}
	frame := sites.frames[len(sites.frames)-1]
	sites.frames = sites.frames[:len(sites.frames)-1]
	for i, v := range s.Results {
		if v != nil && !frame.open {
			out[i] = f.either(frame.results[i], v.Type)
		}
	}
	return out
}
