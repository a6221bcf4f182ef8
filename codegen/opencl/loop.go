package opencl

import (
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// exit ends the statement of t, whose closing brace is printed.
func (p loopsPrinter) exit(t *cprint.Target) {
	p.jumps.Pop()
	if t.End != "" {
		p.Printf(ir.Pos{}, "%s:;", t.End)
	}
}

// jump returns what prints the text of a jump, where it has its target.
func (p *printer) jump(at ir.Pos, what string) func(text string, ok bool) {
	return func(text string, ok bool) {
		if !ok {
			p.fail(ir.Pos{}, "%s without its target", what)
		}
		p.Printf(at, "%s;", text)
	}
}

func (p loopsPrinter) scope(s *ir.Block) {
	t := p.jumps.Enter(s.Label, false, true, s.Body)
	p.Printf(s.At, "{")
	p.block(s.Body)
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

// loopBody prints the body of a loop. Where the team meets in it, it meets at its end, too, if a
// check of the last part may have failed.
func (p loopsPrinter) loopBody(list []ir.Stmt, t *cprint.Target, meets bool) {
	if t.Next == "" {
		p.block(list)
	} else {
		p.Depth++
		p.Printf(ir.Pos{}, "{")
		p.block(list)
		p.Printf(ir.Pos{}, "}")
		p.Depth--
		p.Printf(ir.Pos{}, "%s:;", t.Next)
	}
	if meets {
		p.Depth++
		p.checks().meetIfOpen(ir.Pos{})
		p.Depth--
	}
}

// while prints Go's general loop, with the parts that do not fit the head of a loop of C in its
// body.
func (p loopsPrinter) while(s *ir.While) {
	meets := p.checked && p.meetsIn(s)
	fits := !meets && simple(s.Post, p.needsStatements)
	headed := len(s.Pre) == 0 && (s.Cond == nil || !p.needsStatements(s.Cond))
	t := p.jumps.Enter(s.Label, true, fits, s.Pre, s.Body)
	p.Push()
	post := ""
	if fits {
		post = p.postText(s.Post)
	}
	cond := ""
	if headed && s.Cond != nil {
		cond = p.expr(s.Cond).Text
	}
	switch {
	case post == "" && cond != "":
		p.Printf(s.At, "while (%s) {", cond)
	default:
		p.Printf(s.At, "for (;%s;%s) {", cprint.Spaced(cond), cprint.Spaced(post))
	}
	if !headed {
		p.Depth++
		p.stmts(s.Pre)
		if s.Cond != nil {
			cond := p.expr(s.Cond)
			if meets {
				p.checks().meetIfOpen(s.At)
			}
			p.Printf(s.At, "if (!%s)", cond.At(cprint.PrecUnary))
			p.Printf(s.At, "\tbreak;")
		}
		p.Depth--
	}
	p.loopBody(s.Body, t, meets)
	if !fits {
		p.block(s.Post)
		if meets {
			p.Depth++
			p.checks().meetIfOpen(s.At)
			p.Depth--
		}
	}
	p.Pop()
	p.Printf(ir.Pos{}, "}")
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

func (p loopsPrinter) postText(list []ir.Stmt) string {
	var out []string
	for _, s := range list {
		a := s.(*ir.Assign)
		out = append(out, p.assignment(a, p.expr(a.Place)))
	}
	return strings.Join(out, ", ")
}

// forLoop prints a counted loop. Bounds that cost something are evaluated once, before it, and
// their names stay those of the block around it.
func (p loopsPrinter) forLoop(s *ir.For) {
	meets := p.checked && p.meetsIn(s)
	lo := p.expr(s.Lo).Text
	hi := p.invariant(s.Hi, s.Var, "end")
	step := p.stepOf(s)
	t := p.jumps.Enter(s.Label, true, !meets, s.Body)
	p.Push()
	head := p.declaration(s.Var, p.Declare(s.Var)) + " = " + lo
	ref := &ir.Ref{Var: s.Var, At: s.At}
	cond := p.expr(&ir.Binary{Op: s.Rel, X: ref, Y: hi, T: ir.BoolType, At: s.At}).Text
	next := p.step(s, ref, step)
	if s.Unroll > 0 {
		before := ir.Pos{File: s.At.File, Line: s.At.Line - 1} // no #line may come between it and the loop
		p.Printf(before, "#pragma unroll %d", s.Unroll)
	}
	if meets {
		p.Printf(s.At, "for (%s; %s;) {", head, cond)
	} else {
		p.Printf(s.At, "for (%s; %s; %s) {", head, cond, next)
	}
	p.loopBody(s.Body, t, meets)
	if meets {
		p.Printf(s.At, "\t%s;", next)
	}
	p.Pop()
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

// step prints how the variable continues. The last step of a loop up to, but not including, its end
// stays in the type where it is one.
func (p loopsPrinter) step(s *ir.For, ref *ir.Ref, step ir.Expr) string {
	if n, ok := ir.ConstInt(step); ok && (s.Rel == ir.Lt || s.Rel == ir.Ne) && n == 1 {
		return p.Of[s.Var] + "++"
	}
	if n, ok := ir.ConstInt(step); ok && s.Rel == ir.Gt && n == -1 && s.Var.Type.IsSigned() {
		return p.Of[s.Var] + "--"
	}
	return p.assignment(&ir.Assign{Place: ref, Value: &ir.Binary{Op: ir.Add, X: ref, Y: step, T: s.Var.Type, At: s.At}, At: s.At}, p.ref(ref))
}

// invariant returns e, or a constant that is declared with its value where it is not cheap.
func (p loopsPrinter) invariant(e ir.Expr, v *ir.Var, name string) ir.Expr {
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
	text := p.expr(e).Text
	p.Printf(e.Pos(), "const %s = %s;", p.declarator(c.Type, p.Declare(c), unknown), text)
	p.ranges[c] = r
	return &ir.Ref{Var: c, At: e.Pos()}
}

// stepOf returns the step, checked where its sign is not known.
func (p loopsPrinter) stepOf(s *ir.For) ir.Expr {
	step := p.invariant(s.Step, s.Var, "step")
	r := p.rangeOf(s.Step)
	up := s.Rel == ir.Lt || s.Rel == ir.Le
	down := s.Rel == ir.Gt || s.Rel == ir.Ge
	if r.known && (r.lo > 0 && !down || r.hi < 0 && !up) {
		return step
	}
	v := p.number(step)
	cond := v.At(cprint.PrecEq) + " == 0"
	switch {
	case up:
		cond = v.At(cprint.PrecRel) + " <= 0"
	case down:
		cond = v.At(cprint.PrecRel) + " >= 0"
	}
	p.checks().check(s.At, cond, ir.StepCheck, ir.Source(s.Step), false, v.Text, "0")
	return step
}
