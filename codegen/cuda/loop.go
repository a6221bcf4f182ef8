package cuda

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A target is a loop or block that a jump may name. C++ has break and continue for the innermost
// loop; all other jumps are gotos to a label right behind the body (next) or the whole statement
// (end). A body with a next label gets braces of its own, so that no goto passes a declaration of
// the scope that it jumps to.
type target struct {
	label     *ir.Label
	loop      bool
	next, end string
}

// leave prints a jump out of the statement with this label.
func (p *printer) leave(l *ir.Label) string {
	if t := p.innermost(); t != nil && t.label == l {
		return "break"
	}
	if t := p.targetOf(l); t != nil && t.end != "" {
		return "goto " + t.end
	}
	p.fail(ir.Pos{}, "break without its target")
	return ""
}

// again prints a jump to the next iteration.
func (p *printer) again(l *ir.Label) string {
	t := p.targetOf(l)
	switch {
	case t == nil:
		p.fail(ir.Pos{}, "continue without its target")
	case t.next != "":
		return "goto " + t.next
	}
	return "continue"
}

func (p *printer) targetOf(l *ir.Label) *target {
	for i := len(p.targets) - 1; i >= 0; i-- {
		if p.targets[i].label == l {
			return &p.targets[i]
		}
	}
	return nil
}

func (p *printer) innermost() *target {
	for i := len(p.targets) - 1; i >= 0; i-- {
		if p.targets[i].loop {
			return &p.targets[i]
		}
	}
	return nil
}

// enter makes the target of a statement whose body is list. direct says that C++'s continue does
// what Go's does.
func (p *printer) enter(l *ir.Label, loop, direct bool, lists ...[]ir.Stmt) target {
	t := target{label: l, loop: loop}
	far := jumps{label: l}
	for _, list := range lists {
		far.walk(list, 0)
	}
	if far.leaves && !loop || far.leavesFar {
		t.end = p.label(l, "end")
	}
	if far.continuesFar || far.continues && !direct {
		t.next = p.label(l, "next")
	}
	p.targets = append(p.targets, t)
	return t
}

// exit ends the statement of t, whose closing brace is printed.
func (p *printer) exit(t target) {
	p.targets = p.targets[:len(p.targets)-1]
	if t.end != "" {
		p.printf(ir.Pos{}, "%s:;", t.end)
	}
}

// label makes a name for a goto, unique in the function.
func (p *printer) label(l *ir.Label, what string) string {
	base := what
	if l != nil && l.Name != "" {
		base = cprint.Identifier(l.Name) + "_" + what
	}
	name := base
	for i := 2; p.labelNames[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	p.labelNames[name] = true
	return name
}

// jumps says how the statements inside a body jump to its label; far ones do so from inside another
// loop.
type jumps struct {
	label                                      *ir.Label
	leaves, leavesFar, continues, continuesFar bool
}

func (j *jumps) walk(list []ir.Stmt, depth int) {
	for _, s := range list {
		inner := depth
		switch s := s.(type) {
		case *ir.Break:
			j.leaves = j.leaves || s.Label == j.label
			j.leavesFar = j.leavesFar || s.Label == j.label && depth > 0
		case *ir.Continue:
			j.continues = j.continues || s.Label == j.label
			j.continuesFar = j.continuesFar || s.Label == j.label && depth > 0
		case *ir.For, *ir.While:
			inner++
		}
		ir.Lists(s, func(list []ir.Stmt) { j.walk(list, inner) })
	}
}

// scope prints a block.
func (p *printer) scope(s *ir.Block) {
	if p.loopOnly(s.Body) != nil && s.Label == nil {
		p.Push()
		p.stmts(s.Body)
		p.Pop()
		return
	}
	t := p.enter(s.Label, false, true, s.Body)
	p.printf(s.At, "{")
	p.block(s.Body)
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// loopBody prints the body of a loop, in braces of its own before a label.
func (p *printer) loopBody(list []ir.Stmt, t target) {
	if t.next == "" {
		p.block(list)
		return
	}
	p.depth++
	p.printf(ir.Pos{}, "{")
	p.block(list)
	p.printf(ir.Pos{}, "}")
	p.depth--
	p.printf(ir.Pos{}, "%s:;", t.next)
}

// while prints Go's general loop: for or while in C++, with the parts that do not fit their heads
// in the body.
func (p *printer) while(s *ir.While) {
	if d := p.heads[s]; d != nil {
		p.counted(s, d)
		return
	}
	post, fits := p.postText(s.Post)
	t := p.enter(s.Label, true, fits, s.Pre, s.Body)
	p.Push()
	switch {
	case len(s.Pre) > 0:
		p.printf(s.At, "for (;;%s) {", cprint.Spaced(post))
		p.depth++
		p.stmts(s.Pre)
		if s.Cond != nil {
			p.printf(s.At, "if (!%s)", p.expr(s.Cond).at(precUnary))
			p.printf(s.At, "\tbreak;")
		}
		p.depth--
	case post == "" && s.Cond != nil:
		p.printf(s.At, "while (%s) {", p.expr(s.Cond).text)
	case s.Cond != nil:
		p.printf(s.At, "for (; %s;%s) {", p.expr(s.Cond).text, cprint.Spaced(post))
	default:
		p.printf(s.At, "for (;;%s) {", cprint.Spaced(post))
	}
	p.loopBody(s.Body, t)
	if !fits {
		p.block(s.Post)
	}
	p.Pop()
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// counted prints a loop with the declaration of its variable in the head.
func (p *printer) counted(s *ir.While, d *ir.Decl) {
	t := p.enter(s.Label, true, true, s.Body)
	lo := p.valueFor(d.Init, d.Var)
	p.Push()
	head := p.declaration(d.Var, p.declare(d.Var)) + " = " + lo
	p.printf(s.At, "for (%s; %s; %s) {", head, p.condition(s.Cond, d.Var), p.assign(counting(s)))
	p.loopBody(s.Body, t)
	p.Pop()
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// postText prints the statements after each iteration for the head of the loop, where they are
// assignments.
func (p *printer) postText(list []ir.Stmt) (text string, fits bool) {
	var out []string
	for _, s := range list {
		a, ok := s.(*ir.Assign)
		if !ok {
			return "", false
		}
		out = append(out, p.assign(a))
	}
	return strings.Join(out, ", "), true
}

// forLoop prints a counted loop. Bounds that cost something are evaluated once, in its head.
func (p *printer) forLoop(s *ir.For) {
	t := p.enter(s.Label, true, true, s.Body)
	lo := p.valueFor(s.Lo, s.Var)
	p.Push()
	name := p.declare(s.Var)
	head := p.declaration(s.Var, name) + " = " + lo
	hi, head := p.hoist(s.Hi, s.Var, name+"_end", head)
	step, head := p.stepOf(s, name, head)
	ref := &ir.Ref{Var: s.Var, At: s.At}
	cond := p.condition(&ir.Binary{Op: s.Rel, X: ref, Y: hi, T: ir.BoolType, At: s.At}, s.Var)
	next := p.assign(&ir.Assign{Place: ref, Value: &ir.Binary{Op: ir.Add, X: ref, Y: step, T: s.Var.Type, At: s.At}, At: s.At})
	if s.Unroll > 0 {
		before := ir.Pos{File: s.At.File, Line: s.At.Line - 1} // no #line may come between it and the loop
		p.printf(before, "#pragma unroll %d", s.Unroll)
	}
	p.printf(s.At, "for (%s; %s; %s) {", head, cond, next)
	p.loopBody(s.Body, t)
	p.Pop()
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// hoist returns e, or where it is not cheap a variable that is declared with it in the head of the
// loop. The type of the variable is that of v.
func (p *printer) hoist(e ir.Expr, v *ir.Var, name, head string) (ir.Expr, string) {
	if p.isCheap(e, 2) || p.narrow[v] && !p.ranges.of(e).fits32() {
		return e, head
	}
	end := &ir.Var{Name: name, Type: v.Type, Space: ir.Local, At: v.At}
	p.narrow[end] = p.narrow[v]
	if r := p.ranges.of(e); r.known {
		p.ranges.vars[end] = r
	}
	text := p.valueFor(e, end)
	return &ir.Ref{Var: end, At: e.Pos()}, head + ", " + p.declare(end) + " = " + text
}

// isCheap reports whether e costs nothing to evaluate again in every iteration: constants,
// variables, coordinates, and arithmetic of depth n on them, which the compiler moves out of the
// loop.
func (p *printer) isCheap(e ir.Expr, n int) bool {
	switch e := e.(type) {
	case *ir.Const, *ir.Query:
		return true
	case *ir.Ref:
		return e.Var.Space != ir.Team
	case *ir.Len:
		return p.isCheap(e.X, 0)
	case *ir.Convert:
		return e.X.Type().IsInteger() && p.isCheap(e.X, n)
	case *ir.Binary:
		ring := e.Op == ir.Add || e.Op == ir.Sub || e.Op == ir.Mul
		return n > 0 && ring && !p.ranges.wraps(e) && p.isCheap(e.X, n-1) && p.isCheap(e.Y, n-1)
	}
	return false
}

// stepOf returns the step, checked where its sign is not known.
func (p *printer) stepOf(s *ir.For, name, head string) (ir.Expr, string) {
	sign := map[ir.Op]int{ir.Lt: 1, ir.Le: 1, ir.Gt: -1, ir.Ge: -1}[s.Rel]
	r := p.ranges.of(s.Step)
	if fine := r.known && (r.lo > 0 && sign >= 0 || r.hi < 0 && sign <= 0); fine {
		return p.hoist(s.Step, s.Var, name+"_step", head)
	}
	step := &ir.Var{Name: name + "_step", Type: s.Var.Type, Space: ir.Local, At: s.At}
	p.narrow[step] = p.narrow[s.Var]
	ct := ctypeOf(step.Type)
	text := p.call("check_step", p.number(s.Step).cast(p.typed(ct)).text, fmt.Sprint(sign), p.site(StepSite, s.At, s.Step), "fault")
	return &ir.Ref{Var: step, At: s.At}, head + ", " + p.declare(step) + " = " + text
}
