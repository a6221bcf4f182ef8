package mapping

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A descriptive loop leaves it to the compiler whether its iterations run at once. They do where
// they are proved independent, or where a test at the launch shows that they are: then the loop
// exists twice. Else it runs in order, on every target.

// OrderLoops takes the directive off descriptive loops that have to run in order.
func OrderLoops(l *Work) {
	m := NewMapper(l)
	m.OrderIn(l.Kernel.Body, InKernel, nil)
}

// OrderIn visits list, code of a level; own are the variables of which each team, or each thread,
// of the constructs around has one.
func (m *mapper) OrderIn(list []ir.Stmt, at Level, own *ir.VarSet) {
	for i, s := range list {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Parts&ir.Loop != 0 && !m.plain[f] {
			list[i] = m.ordered(f, at, own)
		}
		m.orderInside(list[i], at, own)
	}
}

func (m *mapper) orderInside(s ir.Stmt, at Level, own *ir.VarSet) {
	if test, ok := s.(*ir.If); ok {
		before := len(m.Known)
		m.Known = append(m.Known, m.holding(test)...)
		m.OrderIn(test.Then, at, own)
		m.Known = m.Known[:before]
		m.OrderIn(test.Else, at, own)
		return
	}
	switch s.(type) {
	case *ir.For, *ir.While, *ir.Construct:
		m.loops++
		defer func() { m.loops-- }()
	}
	if d := ir.DirectiveOf(s); d != nil {
		if at = LevelOf(d, at); d.Parts&ir.Loop != 0 {
			at = InLane
		}
		own = ir.Declared([]ir.Stmt{s})
	}
	ir.Lists(s, func(list []ir.Stmt) { m.OrderIn(list, at, own) })
}

// holding returns the conditions that hold as long as the first branch of test runs.
func (m *mapper) holding(test *ir.If) []ir.Expr {
	if m.tests[test] {
		return conjuncts(test.Cond)
	}
	return m.lasting(test.Cond)
}

// conjuncts returns the conditions that cond joins by and.
func conjuncts(cond ir.Expr) []ir.Expr {
	if b, ok := cond.(*ir.Binary); ok && b.Op == ir.LAnd {
		return append(conjuncts(b.X), conjuncts(b.Y)...)
	}
	return []ir.Expr{cond}
}

// lasting returns the parts of a condition that hold as long as the kernel runs where they hold
// once: their variables never change.
func (m *mapper) lasting(cond ir.Expr) []ir.Expr {
	if b, ok := cond.(*ir.Binary); ok && b.Op == ir.LAnd {
		return append(m.lasting(b.X), m.lasting(b.Y)...)
	}
	changed, taken := ir.Assigned(m.Kernel.Body), ir.AddressTaken(m.Kernel.Body)
	if !query.LoadFree(cond) || slices.ContainsFunc(ir.ExprVars(cond).List(), func(v *ir.Var) bool { return changed.Has(v) || taken.Has(v) }) {
		return nil
	}
	return []ir.Expr{cond}
}

// inOrderPlace is where a descriptive loop runs that is not proved to be independent.
const inOrderPlace = "one iteration after the other"

// prescribed is what makes such a loop parallel. Directive "loop" is none: it only describes.
const prescribed = "a directive that says that its iterations are independent, such as teams distribute parallel for, where they are"

// ordered returns what is to run in place of descriptive loop f: f itself, f in order, or both with
// a test between.
func (m *mapper) ordered(f *ir.For, at Level, own *ir.VarSet) ir.Stmt {
	why := m.OrderedBy(f)
	if why == "" {
		return f
	}
	for _, proof := range []struct {
		why  func(*ir.For) string
		fast func(f *ir.For, at Level, own *ir.VarSet) ir.Stmt
	}{{m.OrderedBy, nil}, {m.rowsOrderedBy, m.testedRows}} {
		conds, ok := m.Supposing(f, func() bool { return proof.why(f) == "" })
		switch {
		case at > inTeam || !ok && proof.why(f) != "":
			continue
		case !ok:
			return proof.fast(f, at, own)
		}
		test := m.Where(f, conds, func(*ir.For) {}).(*ir.If)
		if proof.fast != nil {
			test.Then[0] = proof.fast(test.Then[0].(*ir.For), at, own)
		}
		test.Else[0] = m.inOrder(f, at, own)
		return test
	}
	m.Decide(f.At, "loop "+f.Var.Text(), inOrderPlace, why, prescribed)
	return m.inOrder(f, at, own)
}

// OrderedBy returns why descriptive loop f, or a loop that is collapsed into it, cannot be proved
// to be independent. Loops that are collapsed and not independent leave the outer ones alone.
func (m *mapper) OrderedBy(f *ir.For) string {
	d, nest := f.Directive, analysis.NestOf(f)
	if why := analysis.CarriedLast(nest[len(nest)-1].Body, d); why != "" {
		return why
	}
	for _, g := range nest {
		if why := m.DependentUnder(g, d); why != "" {
			return why
		}
	}
	return ""
}

// rowsOrderedBy returns why f, which begins a traversal by rows, cannot be proved to be independent
// where its rows follow each other: then no two of its iterations have an iteration of the inner
// loop in common.
func (m *mapper) rowsOrderedBy(f *ir.For) string {
	t := traversalOf(f)
	if t == nil {
		return "it goes through no rows"
	}
	if why := m.ScalarDependence(f, f.Directive); why != "" {
		return why
	}
	list, why := m.Touches(f, f.Directive)
	if why != "" {
		return why
	}
	list = analysis.WithReductions(list, f.Directive)
	return analysis.InPairs(list, func(w, a analysis.AccessForm) string {
		if inRow(t, w) && inRow(t, a) && m.Conflict(t.inner, w.InsideRow(), a.InsideRow()) == "" {
			return ""
		}
		return m.Conflict(f, w, a)
	})
}

// traversalOf returns the traversal by rows that f begins, nil where it is none.
func traversalOf(f *ir.For) *traversal {
	inner := query.OnlyLoop(f.Body)
	if inner == nil {
		return nil
	}
	return rowOf(f, inner)
}

// inRow reports whether a is made in the inner loop of t, in a place that its variable alone
// decides.
func inRow(t *traversal, a analysis.AccessForm) bool {
	return len(a.Loops) > 0 && a.Loops[0] == t.inner && !a.Form.Has(t.outer.Var)
}

// testedRows returns f and, in front of it, the test that its rows follow each other; where they do
// not it runs in order. Where the two loops become one, that brings the test.
func (m *mapper) testedRows(f *ir.For, at Level, own *ir.VarSet) ir.Stmt {
	m.plain[f] = true
	if !m.Sequential && at == InKernel && m.loops == 0 && rowsOf(f) != nil {
		return f
	}
	t := traversalOf(f)
	m.Decide(f.At, "loop "+f.Var.Text(), "two versions", "its iterations are independent where "+t.start.Name+" never falls, which is tested first", "")
	falls, test := m.fallsTest(t)
	fast := m.CopyOf([]ir.Stmt{f}, &m.Kernel.NumVars)
	m.plain[fast[0].(*ir.For)] = true
	choice := &ir.If{Cond: build.Compare(ir.Eq, build.Ref(falls, f.At), &ir.Const{T: ir.Int32Type, At: f.At}, f.At), Then: fast, Else: []ir.Stmt{m.inOrder(f, at, own)}, At: f.At}
	return &ir.Block{Body: []ir.Stmt{build.Decl(falls, nil, f.At), test, choice}, At: f.At}
}

// inOrder returns f without its directive, run once where its iterations would have been shared
// out.
func (m *mapper) inOrder(f *ir.For, at Level, own *ir.VarSet) ir.Stmt {
	d := f.Directive
	f.Directive = nil
	each := d.Parts&ir.Parallel != 0 // each team, or thread, runs all iterations
	oneThread(f.Body)
	switch {
	case m.Sequential:
		return f
	case at == inTeams && !each && (d.Bind == ir.BindNone || d.Bind == ir.BindTeams):
		return m.once(f, d, ir.Distribute, own)
	case at == InThreads && !each && d.Bind != ir.BindThread:
		return m.once(f, d, ir.Workshare, own)
	}
	if at == InThreads && each {
		byOne(f.Body)
	}
	return m.alone(f, d)
}

// byOne keeps the descriptive loops of list in the thread that comes to them.
func byOne(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil && d.Parts&ir.Loop != 0 {
			d.Bind, d.Parts = ir.BindThread, ir.Loop
		}
		return true
	})
}

// oneThread gives the parallel regions of list one thread, as they have inside a loop whose
// iterations are the threads'.
func oneThread(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Construct); ok && c.Directive.Parts&ir.Parallel != 0 {
			c.Directive.NumThreads = build.Int(1, c.At)
		}
		return true
	})
}

// alone returns f with copies of the variables that d makes private.
func (m *mapper) alone(f *ir.For, d *ir.Directive) ir.Stmt {
	if len(d.Private) > 0 {
		f.Body = m.WithPrivate(d.Private, f.Body, f.At)
	}
	return f
}

// once returns a loop of one iteration that runs f, shared out as f would have been, with the
// clauses of d. Where f changes other variables of which each team or thread has one, each runs f,
// if that changes nothing else.
func (m *mapper) once(f *ir.For, d *ir.Directive, part ir.Parts, own *ir.VarSet) ir.Stmt {
	declared := ir.Declared([]ir.Stmt{f})
	each := slices.ContainsFunc(ir.Assigned(f.Body).List(), func(v *ir.Var) bool { return own.Has(v) && !declared.Has(v) && !analysis.HasCopy(d, v) })
	if !each {
		return &ir.For{Label: &ir.Label{}, Var: m.Local("once", ir.IntType, f.At), Lo: build.Int(0, f.At), Hi: build.Int(1, f.At), Step: build.Int(1, f.At), Rel: ir.Lt,
			Directive: &ir.Directive{Parts: part, Text: d.Text, At: d.At, Sharing: ir.Sharing{Private: d.Private, Lastprivate: d.Lastprivate, Reductions: d.Reductions}}, Body: []ir.Stmt{f}, At: f.At}
	}
	x := (&analysis.Effects{Shared: func(v *ir.Var) bool { return !own.Has(v) && !declared.Has(v) }}).Stmts([]ir.Stmt{f})
	if !x.Writes.Empty() || x.Atomics {
		m.Refuse(f.At, "loop "+f.Var.Text(), "its iterations depend on one another, and it changes both variables that every team or thread has and memory that all share",
			"make two loops of it, or take the loop out of the construct around")
	}
	if part == ir.Workshare {
		byOne(f.Body)
	}
	return m.alone(f, d)
}
