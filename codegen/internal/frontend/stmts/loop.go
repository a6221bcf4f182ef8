package stmts

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/assigns"
	"github.com/gompss/gompss/codegen/internal/frontend/clauses"
	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// loops makes the loops of a body.
type loops struct{ *Builder }

// A counted is the head of a loop that counts: for i := lo; i rel hi; i += step.
type counted struct {
	id     *ast.Ident
	lo, hi ast.Expr
	rel    ir.Op
	step   ast.Expr // nil means 1
	minus  bool
	offset int64      // the condition compares i+offset
	wide   types.Type // the condition compares wide(i), which is the same number; nil where it compares i
}

const countedForm = "write for i := lo; i < hi; i += step, or for i := range n"

// forLoop emits a for loop: a For where it counts and nothing changes its bounds, else a While.
// Under a directive, or inside of a collapsed one, it must be a For.
func (b loops) forLoop(s *ast.ForStmt, label string, d *syntax.Directive) {
	g := b.governance(d, s)
	head, why := b.counted(s)
	if why == "" && g.text == "" && (head.offset != 0 || head.wide != nil) {
		why = "another form" // a While is as good
	}
	switch {
	case why == "":
		b.countedLoop(s, head, label, g)
	case g.text != "":
		b.Fail(s.Pos(), "loop under "+g.text, why, b.insteadOf(s, head, why))
		body := b.Collect(func() { b.while(s, label, g) })
		b.standIn(s, g, nil, append(body, query.BadStmt(b.Pos(s.Pos()))))
	default:
		b.while(s, label, g)
	}
}

// A governance is the directive that a loop stands under: its own, or that of the loop which it is
// collapsed into.
type governance struct {
	text      string // "" where there is none
	directive *ir.Directive
	collapse  int // how many loops right inside are collapsed into this one
}

func (b loops) governance(d *syntax.Directive, s ast.Stmt) governance {
	g := governance{}
	switch {
	case d != nil:
		g.text, g.directive = d.Text, clauses.ReadStatement(b.Caller.Builder, d, s.Pos())
		g.collapse = g.directive.Collapse - 1
	case b.Collapse > 0:
		g.text, g.collapse = b.Collapsed, b.Collapse-1
	}
	return g
}

// loopBody builds the body of a loop.
func (b loops) loopBody(s *ast.BlockStmt, name string, l *ir.Label, g governance) []ir.Stmt {
	left, text := b.Collapse, b.Collapsed
	b.Collapse, b.Collapsed = max(g.collapse, 0), g.text
	list, _ := b.within(scope.Exit{Name: name, Label: l, Loop: true, Governed: g.text}, func() []ir.Stmt { return b.phases(s, l, g) })
	b.Collapse, b.Collapsed = left, text
	return list
}

// counted decodes the head of s; why is the reason if s is not a counted loop.
func (b loops) counted(s *ast.ForStmt) (c counted, why string) {
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 || assigns.IsBlank(init.Lhs[0]) {
		return c, "it does not start with one new variable"
	}
	c.id, ok = init.Lhs[0].(*ast.Ident)
	o := b.Program.Info.Defs[c.id]
	if !ok || o == nil {
		return c, "it does not start with one new variable"
	}
	c.lo = init.Rhs[0]
	if t, _ := b.Env.Types.Convert(o.Type()); !t.IsInteger() {
		return c, "its variable " + c.id.Name + " is no integer"
	}
	if !b.countedCond(&c, s.Cond, o) {
		return c, "its condition does not compare " + c.id.Name + " with a bound"
	}
	if !b.countedStep(&c, s.Post, o) {
		return c, "it does not end with a step of " + c.id.Name
	}
	return c, ""
}

var flipped = map[ir.Op]ir.Op{ir.Lt: ir.Gt, ir.Le: ir.Ge, ir.Gt: ir.Lt, ir.Ge: ir.Le, ir.Ne: ir.Ne}

// countedCond takes i rel hi and hi rel i.
func (b loops) countedCond(c *counted, cond ast.Expr, o types.Object) bool {
	if cond == nil {
		return false
	}
	e, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	rel := exprs.BinaryOps[e.Op]
	if _, compares := flipped[rel]; !compares {
		return false
	}
	switch {
	case b.isVar(e.X, o) && !b.mentions(e.Y, o):
		c.rel, c.hi = rel, e.Y
	case b.isVar(e.Y, o) && !b.mentions(e.X, o):
		c.rel, c.hi = flipped[rel], e.X
	case !b.mentions(e.Y, o) && b.movedVar(c, e.X, o):
		c.rel, c.hi = rel, e.Y
	case !b.mentions(e.X, o) && b.movedVar(c, e.Y, o):
		c.rel, c.hi = flipped[rel], e.X
	default:
		return false
	}
	return rel != ir.Ne || c.offset == 0 && c.wide == nil
}

// movedVar takes i+1, 1+i and i-1, for any constant, and a conversion of i to a type that holds all
// numbers of its own.
func (b loops) movedVar(c *counted, e ast.Expr, o types.Object) bool {
	const most = 1 << 30
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		x, by := e.X, e.Y
		if e.Op == token.ADD && b.isVar(by, o) {
			x, by = by, x
		}
		if !b.isVar(x, o) || e.Op != token.ADD && e.Op != token.SUB {
			return false
		}
		v := b.Program.Info.Types[by].Value
		if v == nil {
			return false
		}
		n, exact := constant.Int64Val(constant.ToInt(v))
		if !exact || n > most || n < -most {
			return false
		}
		if c.offset = n; e.Op == token.SUB {
			c.offset = -n
		}
		return true
	case *ast.CallExpr:
		if tv := b.Program.Info.Types[e.Fun]; !tv.IsType() || len(e.Args) != 1 || !b.isVar(e.Args[0], o) {
			return false
		}
		c.wide = b.Program.Info.TypeOf(e)
		from, err1 := b.Env.Types.Convert(o.Type())
		to, err2 := b.Env.Types.Convert(c.wide)
		return err1 == nil && err2 == nil && from.IsInteger() && to.IsInteger() && holds(to, from)
	}
	return false
}

// holds reports whether t has all numbers of type of.
func holds(t, of *ir.Type) bool {
	return t.IsSigned() == of.IsSigned() && t.Size >= of.Size || t.IsSigned() && t.Size > of.Size
}

// insteadOf says what to write in place of a loop that does not count, for the reason why.
func (b loops) insteadOf(s *ast.ForStmt, head counted, why string) string {
	if cond, ok := s.Cond.(*ast.BinaryExpr); ok && head.id != nil && strings.HasPrefix(why, "its condition") {
		if o := b.Program.Info.Defs[head.id]; o != nil && (b.mentions(cond.X, o) || b.mentions(cond.Y, o)) {
			return "compute the end before the loop, so that the condition compares " + head.id.Name + " itself: for " + head.id.Name + " := lo; " + head.id.Name + " < hi; " + head.id.Name + " += step"
		}
	}
	return countedForm
}

// countedStep takes i++, i--, i += s, i -= s, i = i + s, i = s + i and i = i - s.
func (b loops) countedStep(c *counted, post ast.Stmt, o types.Object) bool {
	switch s := post.(type) {
	case *ast.IncDecStmt:
		c.minus = s.Tok == token.DEC
		return b.isVar(s.X, o)
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || len(s.Rhs) != 1 || !b.isVar(s.Lhs[0], o) {
			return false
		}
		c.step = s.Rhs[0]
		switch s.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN:
			c.minus = s.Tok == token.SUB_ASSIGN
		case token.ASSIGN:
			if !b.stepOfSum(c, s.Rhs[0], o) {
				return false
			}
		default:
			return false
		}
		return !b.mentions(c.step, o)
	}
	return false
}

func (b loops) stepOfSum(c *counted, e ast.Expr, o types.Object) bool {
	sum, ok := ast.Unparen(e).(*ast.BinaryExpr)
	switch {
	case !ok:
		return false
	case (sum.Op == token.ADD || sum.Op == token.SUB) && b.isVar(sum.X, o):
		c.step, c.minus = sum.Y, sum.Op == token.SUB
	case sum.Op == token.ADD && b.isVar(sum.Y, o):
		c.step = sum.X
	default:
		return false
	}
	return true
}

func (b loops) isVar(e ast.Expr, o types.Object) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && b.Program.Info.ObjectOf(id) == o
}

func (b loops) mentions(e ast.Expr, o types.Object) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && b.Program.Info.Uses[id] == o
		return !found
	})
	return found
}

// countedLoop emits a loop that counts.
func (b loops) countedLoop(s *ast.ForStmt, c counted, name string, g governance) {
	at := b.Pos(s.Pos())
	o := b.Program.Info.Defs[c.id]
	l := &ir.Label{Name: name}
	lo := b.ExprAs(c.lo, b.TypeAt(o.Type(), c.id.Pos()))
	v := b.NewVar(o.Name(), b.TypeAt(o.Type(), c.id.Pos()), ir.Local, b.Pos(c.id.Pos()))
	b.Mean(o, v)
	var hi, step ir.Expr
	inside, number := v, v // number is what the loop counts
	if c.wide != nil {
		number = b.NewVar(o.Name(), b.TypeAt(c.wide, c.id.Pos()), ir.Local, b.Pos(c.id.Pos()))
	}
	before := b.Collect(func() { hi = b.Converted(c.hi, number.Type) })
	before = append(before, b.Collect(func() { step = b.stepOf(c, v.Type, at) })...)
	body := b.loopBody(s.Body, name, l, g)
	if number != v && !scope.IsBad(lo, hi, step) {
		b.widen(&lo, &step, &body, number, inside, at)
		if v = number; ir.Assigned(body[1:]).Has(inside) || b.Taken[inside] {
			b.Fail(s.Pos(), "loop under "+g.text, "its body changes "+inside.Name+", or takes its address", countedForm)
		}
	}
	if c.offset != 0 && !scope.IsBad(lo, hi) {
		if hi = moveBound(lo, hi, c.offset); hi == nil {
			b.Fail(s.Pos(), "loop under "+g.text, "the sum of "+o.Name()+" and a constant, which its condition compares, may wrap around", fmt.Sprintf("compare %s itself, with a bound that is %d less", o.Name(), c.offset))
			hi = lo
		}
	}
	if scope.IsBad(lo, hi, step) || !hi.Type().IsInteger() || !step.Type().IsInteger() {
		b.standIn(s, g, before, body)
		return
	}
	loop := &ir.For{Label: l, Var: v, Lo: lo, Hi: hi, Step: step, Rel: c.rel, Directive: g.directive, Body: body, At: at}
	down := g.text != "" && unsignedDown(loop)
	why := b.uncounted(loop, before, g.text != "")
	switch {
	case why == "" && g.text != "" && (down || mayWrap(loop, true)):
		b.Out = append(b.Out, before...)
		if g.collapse > 0 || g.directive == nil {
			b.Fail(s.Pos(), "loop under "+g.text, loop.Var.Name+" may go past the end of "+loop.Var.Type.String()+" and wrap around", "count in an int")
		}
		b.Emit(b.numbered(loop))
	case why == "":
		b.Out = append(b.Out, before...)
		b.Emit(loop)
	case g.text != "":
		b.Fail(s.Pos(), "loop under "+g.text, why, countedForm)
		b.standIn(s, g, before, body)
	default:
		b.asWhile(loop, before)
	}
}

// widen lets number, of a type that holds all numbers of v, count the iterations of a loop over v,
// which is number in its own type.
func (b loops) widen(lo, step *ir.Expr, body *[]ir.Stmt, number, v *ir.Var, at ir.Pos) {
	t := number.Type
	if c, known := signedConst(*step); known {
		*step = &ir.Const{T: t, Bits: ir.Normal(t, uint64(c)), At: at}
	} else {
		*step = build.Convert(t, *step, at)
	}
	*lo = build.Convert(t, *lo, at)
	*body = append([]ir.Stmt{build.Decl(v, build.Convert(v.Type, build.Ref(number, at), at), at)}, *body...)
}

// moveBound returns the bound for i of a condition that compares i+offset with hi, nil where that
// sum may wrap around in the first iteration.
func moveBound(lo, hi ir.Expr, offset int64) ir.Expr {
	t, at := hi.Type(), hi.Pos()
	all, ok := typeInterval(t)
	first, known := intervalOf(lo)
	if !ok || !known || offset > 0 && first.hi > all.hi-offset || offset < 0 && first.lo < all.lo-offset {
		return nil
	}
	by := &ir.Const{T: t, Bits: ir.Normal(t, uint64(offset)), At: at}
	r, known := intervalOf(hi)
	switch {
	case known && (offset > 0 && r.lo >= all.lo+offset || offset < 0 && r.hi <= all.hi+offset):
	case offset > 0: // a bound below that ends the loop before its first iteration, too
		hi = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{hi, &ir.Const{T: t, Bits: ir.Normal(t, uint64(all.lo+offset)), At: at}}, T: t, At: at}
	default:
		hi = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{hi, &ir.Const{T: t, Bits: ir.Normal(t, uint64(all.hi+offset)), At: at}}, T: t, At: at}
	}
	return build.Binary(ir.Sub, hi, by, at)
}

// stepOf returns the step of the induction variable, of its type t.
func (b loops) stepOf(c counted, t *ir.Type, at ir.Pos) ir.Expr {
	step := assigns.OneOf(t, at)
	if c.step != nil {
		step = b.Converted(c.step, t)
	}
	if !c.minus {
		return step
	}
	if k, ok := step.(*ir.Const); ok && t.IsInteger() {
		return &ir.Const{T: t, Bits: ir.FoldUnary(ir.Neg, t, k.Bits), At: at}
	}
	return &ir.Unary{Op: ir.Neg, X: step, At: at}
}

// uncounted returns the reason why a loop is not a For, or "" if it is one. before are the
// statements that must run before the bound and the step. Under a directive the bound is evaluated
// before the loop, as in OpenMP: the iterations must not change the memory that it reads.
func (b loops) uncounted(f *ir.For, before []ir.Stmt, governed bool) string {
	changed := ir.Assigned(f.Body)
	switch {
	case changed.Has(f.Var) || b.Taken[f.Var]:
		return "its body changes " + f.Var.Name + ", or takes its address"
	case !governed && len(before) > 0:
		return "its bound calls a function"
	case !governed && !b.invariant(f.Hi, f.Body), !b.keeps(f.Hi, changed):
		return "its body changes the bound"
	case !governed && !b.invariant(f.Step, f.Body), !b.keeps(f.Step, changed):
		return "its body changes the step"
	}
	if why := badStep(f, governed); why != "" || governed || !mayWrap(f, false) {
		return why
	}
	return f.Var.Name + " may wrap around"
}

// badStep says why the step does not lead from the lower to the upper bound.
func badStep(f *ir.For, governed bool) string {
	step, known := signedConst(f.Step)
	up := f.Rel == ir.Lt || f.Rel == ir.Le
	switch {
	case !known && !governed:
		return "its step is not known" // Go's loop may run forever, a For fails
	case !known && f.Rel == ir.Ne:
		return "it waits for " + f.Var.Name + " to meet a bound that it may step over"
	case !known:
		return ""
	case !f.Var.Type.IsSigned() && !up && f.Rel != ir.Ne && !(governed && f.Rel == ir.Gt && step == -1):
		return "its variable is unsigned and counts down, perhaps past 0"
	case f.Rel == ir.Ne && step != 1 && (step != -1 || !f.Var.Type.IsSigned()):
		return "it waits for " + f.Var.Name + " to meet a bound that it may step over"
	case governed && stepsBack(f):
		return ""
	case f.Rel != ir.Ne && (step == 0 || up != (step > 0)):
		return "its step leads away from the bound"
	}
	return ""
}

// unsignedDown reports whether the variable of f is unsigned and counts down to a bound that it
// does not pass. Such a bound that is included becomes one that is not.
func unsignedDown(f *ir.For) bool {
	step, known := signedConst(f.Step)
	if f.Var.Type.IsSigned() || !known || step != -1 {
		return false // a longer step may pass 0
	}
	if c, ok := f.Hi.(*ir.Const); ok && f.Rel == ir.Ge && c.Bits > 0 {
		f.Rel, f.Hi = ir.Gt, &ir.Const{T: c.T, Bits: c.Bits - 1, At: c.At}
	}
	return f.Rel == ir.Gt
}

// stepsBack reports whether f counts up in an unsigned type by half of its range or more, which is
// to count down by the rest.
func stepsBack(f *ir.For) bool {
	step, known := signedConst(f.Step)
	return known && step < 0 && !f.Var.Type.IsSigned() && (f.Rel == ir.Lt || f.Rel == ir.Le)
}

// signedConst returns the value of a constant step; of an unsigned type a large one is a step down.
func signedConst(e ir.Expr) (int64, bool) {
	c, ok := e.(*ir.Const)
	if !ok {
		return 0, false
	}
	shift := 64 - 8*uint(c.T.Size)
	return int64(c.Bits<<shift) >> shift, true
}

// asWhile emits a loop that counts but is not a For.
func (b loops) asWhile(f *ir.For, before []ir.Stmt) {
	i := func() ir.Expr { return &ir.Ref{Var: f.Var, At: f.At} }
	loop := &ir.While{Label: f.Label, Pre: before, Body: f.Body, At: f.At}
	loop.Cond = &ir.Binary{Op: f.Rel, X: i(), Y: f.Hi, T: ir.BoolType, At: f.At}
	next := &ir.Binary{Op: ir.Add, X: i(), Y: f.Step, T: f.Var.Type, At: f.At}
	loop.Post = []ir.Stmt{&ir.Assign{Place: i(), Value: next, At: f.At}}
	b.Emit(&ir.Block{Body: []ir.Stmt{&ir.Decl{Var: f.Var, Init: f.Lo, At: f.At}, loop}, At: f.At})
}

// while emits any other for loop.
func (b loops) while(s *ast.ForStmt, name string, g governance) {
	at := b.Pos(s.Pos())
	b.scoped(at, func() {
		if s.Init != nil {
			b.stmt(s.Init, "")
		}
		out := &ir.While{Label: &ir.Label{Name: name}, At: at}
		if s.Cond != nil {
			out.Pre = b.Collect(func() { out.Cond = b.condition(s.Cond) })
		}
		out.Body = b.loopBody(s.Body, name, out.Label, g)
		if s.Post != nil {
			out.Post = b.Collect(func() { b.stmt(s.Post, "") })
		}
		b.Emit(out)
	})
}

// standIn emits a loop of which the head could not be built, for its directive and its body.
func (b loops) standIn(s ast.Stmt, g governance, before, body []ir.Stmt) {
	at := b.Pos(s.Pos())
	unknown := query.BadValue(ir.IntType, at)
	v := &ir.Var{Name: query.BadName, Type: ir.IntType, Space: ir.Local, At: at}
	b.Out = append(b.Out, before...)
	b.Emit(&ir.For{Label: &ir.Label{}, Var: v, Lo: unknown, Hi: unknown, Step: unknown, Rel: ir.Lt, Directive: g.directive, Body: body, At: at})
}
