package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// scope prints a block.
func (p loopsPrinter) scope(s *ir.Block) {
	if p.loopOnly(s.Body) != nil && s.Label == nil {
		p.Push()
		p.stmts(s.Body)
		p.Pop()
		return
	}
	t := p.jumps.Enter(s.Label, false, true, s.Body)
	p.Printf(s.At, "{")
	p.block(s.Body)
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

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

// loopBody prints the body of a loop, in braces of its own before a label.
func (p loopsPrinter) loopBody(list []ir.Stmt, t *cprint.Target) {
	if t.Next == "" {
		p.block(list)
		return
	}
	p.Depth++
	p.Printf(ir.Pos{}, "{")
	p.block(list)
	p.Printf(ir.Pos{}, "}")
	p.Depth--
	p.Printf(ir.Pos{}, "%s:;", t.Next)
}

// while prints Go's general loop: for or while in C++, with the parts that do not fit their heads
// in the body.
func (p loopsPrinter) while(s *ir.While) {
	if d := p.heads[s]; d != nil {
		p.counted(s, d)
		return
	}
	post, fits := p.postText(s.Post)
	t := p.jumps.Enter(s.Label, true, fits, s.Pre, s.Body)
	if strides(s) {
		p.unroll(s.At, 1)
	}
	p.Push()
	switch {
	case len(s.Pre) > 0:
		p.Printf(s.At, "for (;;%s) {", cprint.Spaced(post))
		p.Depth++
		p.stmts(s.Pre)
		if s.Cond != nil {
			p.Printf(s.At, "if (!%s)", p.expr(s.Cond).At(cprint.PrecUnary))
			p.Printf(s.At, "\tbreak;")
		}
		p.Depth--
	case post == "" && s.Cond != nil:
		p.Printf(s.At, "while (%s) {", p.expr(s.Cond).Text)
	case s.Cond != nil:
		p.Printf(s.At, "for (; %s;%s) {", p.expr(s.Cond).Text, cprint.Spaced(post))
	default:
		p.Printf(s.At, "for (;;%s) {", cprint.Spaced(post))
	}
	p.loopBody(s.Body, t)
	if !fits {
		p.block(s.Post)
	}
	p.Pop()
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

// counted prints a loop with the declaration of its variable in the head.
func (p loopsPrinter) counted(s *ir.While, d *ir.Decl) {
	t := p.jumps.Enter(s.Label, true, true, s.Body)
	lo := p.start(d.Init, d.Var, s.Body)
	if p.stepsByTeam(s) || strides(s) {
		p.unroll(s.At, 1)
	}
	p.Push()
	head := p.declaration(d.Var, p.Declare(d.Var)) + " = " + lo
	p.Printf(s.At, "for (%s; %s; %s) {", head, p.condition(s.Cond, d.Var), p.assign(counting(s)))
	p.loopBody(s.Body, t)
	p.Pop()
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

// stepsByTeam reports whether a loop advances by the size of the team, where that is known, for a
// number of turns that is not: such loops mostly have one turn, and NVRTC would write out four.
func (p loopsPrinter) stepsByTeam(s *ir.While) bool {
	if p.ranges.team == 0 {
		return false
	}
	step, ok := counting(s).Value.(*ir.Binary)
	cond, isBinary := s.Cond.(*ir.Binary)
	if !ok || !isBinary {
		return false
	}
	by, end := p.ranges.of(step.Y), p.ranges.of(cond.Y)
	return by.known && by.lo == p.ranges.team && by.hi == by.lo && !(end.known && end.lo == end.hi)
}

// unroll says how many turns of the loop at a position are written out. No #line may come between
// that and the loop.
func (p loopsPrinter) unroll(at ir.Pos, turns int) {
	p.Printf(ir.Pos{File: at.File, Line: at.Line - 1}, "#pragma unroll %d", turns)
}

// strides reports whether a counter of loop s advances by so much that it may come round. NVRTC
// 13.0 writes out four turns of such a loop, and compares the counter with a bound that has come
// round itself.
func strides(s *ir.While) bool {
	return slices.ContainsFunc(s.Post, func(stmt ir.Stmt) bool {
		next, ok := stmt.(*ir.Assign)
		if !ok {
			return false
		}
		sum, ok := next.Value.(*ir.Binary)
		return ok && (sum.Op == ir.Add || sum.Op == ir.Sub) && isStride(sum.Y)
	})
}

// isStride reports whether step is a constant so large that a counter of its type comes round
// within some thousand turns, or within some million turns if it has 64 bits.
func isStride(step ir.Expr) bool {
	c, ok := step.(*ir.Const)
	if !ok {
		return false
	}
	most := int64(1) << (3 * step.Type().Size)
	return int64(c.Bits) > most || int64(c.Bits) < -most
}

// start prints the first value of v, the variable of a loop with that body. A constant distance
// from the number of the thread is hidden from the compiler where v has 32 bits and there is a
// loop in the body: NVRTC 13.0 makes the address of x[v] in that loop from the one of x[i*m+v],
// and counts the distance twice.
func (p loopsPrinter) start(e ir.Expr, v *ir.Var, body []ir.Stmt) string {
	text := p.valueFor(e, v)
	sum, ok := e.(*ir.Binary)
	if !ok || !p.narrow[v] || sum.Op != ir.Add && sum.Op != ir.Sub || !isConst(sum.X) && !isConst(sum.Y) || !asksForThread(e) || !holdsLoop(body) {
		return text
	}
	return p.use("gompss_hidden") + "(" + text + ")"
}

func isConst(e ir.Expr) bool {
	_, ok := e.(*ir.Const)
	return ok
}

// asksForThread reports whether e depends on the number of the thread, or of the team.
func asksForThread(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		_, query := x.(*ir.Query)
		found = found || query
		return !found
	})
	return found
}

func holdsLoop(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.For, *ir.While:
			found = true
		}
		return !found
	})
	return found
}

// postText prints the statements after each iteration for the head of the loop, where they are
// assignments.
func (p loopsPrinter) postText(list []ir.Stmt) (text string, fits bool) {
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
func (p loopsPrinter) forLoop(s *ir.For) {
	t := p.jumps.Enter(s.Label, true, true, s.Body)
	lo := p.start(s.Lo, s.Var, s.Body)
	p.Push()
	name := p.Declare(s.Var)
	head := p.declaration(s.Var, name) + " = " + lo
	hi, head := p.hoist(s.Hi, s.Var, name+"_end", head)
	step, head := p.stepOf(s, name, head)
	ref := &ir.Ref{Var: s.Var, At: s.At}
	cond := p.condition(&ir.Binary{Op: s.Rel, X: ref, Y: hi, T: ir.BoolType, At: s.At}, s.Var)
	next := p.assign(&ir.Assign{Place: ref, Value: &ir.Binary{Op: ir.Add, X: ref, Y: step, T: s.Var.Type, At: s.At}, At: s.At})
	unroll := s.Unroll
	if isStride(s.Step) {
		unroll = 1
	}
	if unroll > 0 {
		p.unroll(s.At, unroll)
	}
	p.Printf(s.At, "for (%s; %s; %s) {", head, cond, next)
	p.loopBody(s.Body, t)
	p.Pop()
	p.Printf(ir.Pos{}, "}")
	p.exit(t)
}

// hoist returns e, or where it is not cheap a variable that is declared with it in the head of the
// loop. The type of the variable is that of v.
func (p loopsPrinter) hoist(e ir.Expr, v *ir.Var, name, head string) (ir.Expr, string) {
	if p.isCheap(e, 2) || p.narrow[v] && !p.ranges.of(e).fits32() {
		return e, head
	}
	end := &ir.Var{Name: name, Type: v.Type, Space: ir.Local, At: v.At}
	p.narrow[end] = p.narrow[v]
	if r := p.ranges.of(e); r.known {
		p.ranges.vars[end] = r
	}
	text := p.valueFor(e, end)
	return &ir.Ref{Var: end, At: e.Pos()}, head + ", " + p.Declare(end) + " = " + text
}

// isCheap reports whether e costs nothing to evaluate again in every iteration: constants,
// variables, coordinates, and arithmetic of depth n on them, which the compiler moves out of the
// loop.
func (p *facts) isCheap(e ir.Expr, n int) bool {
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
func (p loopsPrinter) stepOf(s *ir.For, name, head string) (ir.Expr, string) {
	sign := map[ir.Op]int{ir.Lt: 1, ir.Le: 1, ir.Gt: -1, ir.Ge: -1}[s.Rel]
	r := p.ranges.of(s.Step)
	if fine := r.known && (r.lo > 0 && sign >= 0 || r.hi < 0 && sign <= 0); fine {
		return p.hoist(s.Step, s.Var, name+"_step", head)
	}
	step := &ir.Var{Name: name + "_step", Type: s.Var.Type, Space: ir.Local, At: s.At}
	p.narrow[step] = p.narrow[s.Var]
	ct := cprint.TypeOf(step.Type)
	text := p.call("check_step", dialect.Cast(p.number(s.Step), p.typed(ct)).Text, fmt.Sprint(sign), p.site(StepSite, s.At, s.Step), "fault")
	return &ir.Ref{Var: step, At: s.At}, head + ", " + p.Declare(step) + " = " + text
}
