package opencl

import (
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A target is a loop or block that a jump may name. C has break and continue for the innermost
// loop; all other jumps are gotos to a label right behind the body (next) or the whole statement
// (end).
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
	for i := len(p.jumps) - 1; i >= 0; i-- {
		if p.jumps[i].label == l {
			return p.jumps[i]
		}
	}
	return nil
}

func (p *printer) innermost() *target {
	for i := len(p.jumps) - 1; i >= 0; i-- {
		if p.jumps[i].loop {
			return p.jumps[i]
		}
	}
	return nil
}

// enter makes the target of a statement with these lists. direct says that C's continue does what
// Go's does.
func (p *printer) enter(l *ir.Label, loop, direct bool, lists ...[]ir.Stmt) *target {
	t := &target{label: l, loop: loop}
	far := jumps{label: l, printer: p}
	for _, list := range lists {
		far.walk(list, 0)
	}
	if l != nil && (far.leaves && !loop || far.leavesFar) {
		t.end = p.jumpLabel(l, "end")
	}
	if l != nil && (far.continuesFar || far.continues && !direct) {
		t.next = p.jumpLabel(l, "next")
	}
	p.jumps = append(p.jumps, t)
	return t
}

// exit ends the statement of t, whose closing brace is printed.
func (p *printer) exit(t *target) {
	p.jumps = p.jumps[:len(p.jumps)-1]
	if t.end != "" {
		p.printf(ir.Pos{}, "%s:;", t.end)
	}
}

// jumpLabel makes a name for a goto, unique in the function.
func (p *printer) jumpLabel(l *ir.Label, what string) string {
	if l != nil && l.Name != "" {
		what = cprint.Identifier(l.Name) + "_" + what
	}
	return p.labels.Fresh(what)
}

// jumps says how the statements inside a body jump to its label; far ones do so from inside another
// loop.
type jumps struct {
	label                                      *ir.Label
	printer                                    *printer
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
		case *ir.If:
			if j.printer.meetsInList(s.Then) || j.printer.meetsInList(s.Else) { // it is printed as a loop
				inner++
			}
		}
		ir.Lists(s, func(list []ir.Stmt) { j.walk(list, inner) })
	}
}

func (p *printer) scope(s *ir.Block) {
	t := p.enter(s.Label, false, true, s.Body)
	p.printf(s.At, "{")
	p.block(s.Body)
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// loopBody prints the body of a loop. Where the team meets in it, it meets at its end, too, if a
// check of the last part may have failed.
func (p *printer) loopBody(list []ir.Stmt, t *target, meets bool) {
	if t.next == "" {
		p.block(list)
	} else {
		p.depth++
		p.printf(ir.Pos{}, "{")
		p.block(list)
		p.printf(ir.Pos{}, "}")
		p.depth--
		p.printf(ir.Pos{}, "%s:;", t.next)
	}
	if meets {
		p.depth++
		p.meetIfOpen(ir.Pos{})
		p.depth--
	}
}

// while prints Go's general loop, with the parts that do not fit the head of a loop of C in its
// body.
func (p *printer) while(s *ir.While) {
	meets := p.checked && p.meetsIn(s)
	fits := !meets && simple(s.Post, p.needsStatements)
	headed := len(s.Pre) == 0 && (s.Cond == nil || !p.needsStatements(s.Cond))
	t := p.enter(s.Label, true, fits, s.Pre, s.Body)
	p.Push()
	post := ""
	if fits {
		post = p.postText(s.Post)
	}
	cond := ""
	if headed && s.Cond != nil {
		cond = p.expr(s.Cond).text
	}
	switch {
	case post == "" && cond != "":
		p.printf(s.At, "while (%s) {", cond)
	default:
		p.printf(s.At, "for (;%s;%s) {", cprint.Spaced(cond), cprint.Spaced(post))
	}
	if !headed {
		p.depth++
		p.stmts(s.Pre)
		if s.Cond != nil {
			cond := p.expr(s.Cond)
			if meets {
				p.meetIfOpen(s.At)
			}
			p.printf(s.At, "if (!%s)", cond.at(precUnary))
			p.printf(s.At, "\tbreak;")
		}
		p.depth--
	}
	p.loopBody(s.Body, t, meets)
	if !fits {
		p.block(s.Post)
		if meets {
			p.depth++
			p.meetIfOpen(s.At)
			p.depth--
		}
	}
	p.Pop()
	p.printf(ir.Pos{}, "}")
	p.exit(t)
}

// simple reports whether list fits the head of a loop.
func simple(list []ir.Stmt, complex func(ir.Expr) bool) bool {
	for _, s := range list {
		a, ok := s.(*ir.Assign)
		if !ok || a.Place.Type().Kind == ir.Slice || complex(a.Place) || complex(a.Value) {
			return false
		}
	}
	return true
}

func (p *printer) postText(list []ir.Stmt) string {
	var out []string
	for _, s := range list {
		a := s.(*ir.Assign)
		out = append(out, p.assignment(a, p.expr(a.Place)))
	}
	return strings.Join(out, ", ")
}

// forLoop prints a counted loop. Bounds that cost something are evaluated once, before it.
func (p *printer) forLoop(s *ir.For) {
	meets := p.checked && p.meetsIn(s)
	p.Push()
	lo := p.expr(s.Lo).text
	hi := p.invariant(s.Hi, s.Var, "end")
	step := p.stepOf(s)
	t := p.enter(s.Label, true, !meets, s.Body)
	p.Push()
	head := p.declaration(s.Var, p.declare(s.Var)) + " = " + lo
	ref := &ir.Ref{Var: s.Var, At: s.At}
	cond := p.expr(&ir.Binary{Op: s.Rel, X: ref, Y: hi, T: ir.BoolType, At: s.At}).text
	next := p.step(s, ref, step)
	if s.Unroll > 0 {
		before := ir.Pos{File: s.At.File, Line: s.At.Line - 1} // no #line may come between it and the loop
		p.printf(before, "#pragma unroll %d", s.Unroll)
	}
	if meets {
		p.printf(s.At, "for (%s; %s;) {", head, cond)
	} else {
		p.printf(s.At, "for (%s; %s; %s) {", head, cond, next)
	}
	p.loopBody(s.Body, t, meets)
	if meets {
		p.printf(s.At, "\t%s;", next)
	}
	p.Pop()
	p.printf(ir.Pos{}, "}")
	p.exit(t)
	p.Pop()
}

// step prints how the variable goes on. The last step of a loop up to, but not including, its end
// stays in the type where it is one.
func (p *printer) step(s *ir.For, ref *ir.Ref, step ir.Expr) string {
	if n, ok := ir.ConstInt(step); ok && (s.Rel == ir.Lt || s.Rel == ir.Ne) && n == 1 {
		return p.Of[s.Var] + "++"
	}
	if n, ok := ir.ConstInt(step); ok && s.Rel == ir.Gt && n == -1 && s.Var.Type.IsSigned() {
		return p.Of[s.Var] + "--"
	}
	return p.assignment(&ir.Assign{Place: ref, Value: &ir.Binary{Op: ir.Add, X: ref, Y: step, T: s.Var.Type, At: s.At}, At: s.At}, p.ref(ref))
}

// invariant returns e, or a constant that is declared with its value where it is not cheap.
func (p *printer) invariant(e ir.Expr, v *ir.Var, name string) ir.Expr {
	switch x := e.(type) {
	case *ir.Const, *ir.Query:
		return e
	case *ir.Ref:
		if x.Var.Space != ir.Team {
			return e
		}
	case *ir.Len:
		if _, ok := x.X.(*ir.Ref); ok {
			return e
		}
	}
	r := p.rangeOf(e)
	c := &ir.Var{Name: v.Name + "_" + name, Type: v.Type, Space: ir.Local, At: e.Pos()}
	text := p.expr(e).text
	p.printf(e.Pos(), "const %s = %s;", p.declarator(c.Type, p.declare(c), unknown), text)
	p.ranges[c] = r
	return &ir.Ref{Var: c, At: e.Pos()}
}

// stepOf returns the step, checked where its sign is not known.
func (p *printer) stepOf(s *ir.For) ir.Expr {
	step := p.invariant(s.Step, s.Var, "step")
	r := p.rangeOf(s.Step)
	up := s.Rel == ir.Lt || s.Rel == ir.Le
	down := s.Rel == ir.Gt || s.Rel == ir.Ge
	if r.known && (r.lo > 0 && !down || r.hi < 0 && !up) {
		return step
	}
	v := p.number(step)
	cond := v.at(precEq) + " == 0"
	switch {
	case up:
		cond = v.at(precRel) + " <= 0"
	case down:
		cond = v.at(precRel) + " >= 0"
	}
	p.check(s.At, cond, ir.StepCheck, ir.Source(s.Step), false, v.text, "0")
	return step
}
