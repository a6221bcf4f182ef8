package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

func (p branchesPrinter) ifElse(s *ir.If, head string) {
	if yes, known := p.decided(s.Cond); known && head == "if " {
		p.taken(s, yes)
		return
	}
	then := s.Then
	cond, forget := "", func() {}
	if len(then) == 0 && len(s.Else) > 0 {
		cond, then = "!"+p.expr(s.Cond).At(cprint.PrecUnary), s.Else
		s = &ir.If{Cond: s.Cond, Then: then, At: s.At}
	} else {
		cond = p.brokenLines(p.conjunction(s.Cond, cprint.PrecNone))
		forget = p.assume(s.Cond)
	}
	p.Printf(s.At, "%s(%s) {", head, cond)
	p.block(then)
	forget()
	if len(s.Else) == 1 {
		if next, ok := s.Else[0].(*ir.If); ok {
			p.ifElse(next, "} else if ")
			return
		}
	}
	if len(s.Else) > 0 {
		p.Printf(s.At, "} else {")
		p.block(s.Else)
	}
	p.Printf(ir.Pos{}, "}")
}

// conjunction prints the terms of a chain of &&, each binding as strongly as prec asks.
func (p branchesPrinter) conjunction(e ir.Expr, prec int) []string {
	b, ok := e.(*ir.Binary)
	if !ok || b.Op != ir.LAnd {
		return []string{p.expr(e).At(prec)}
	}
	for i, side := range []ir.Expr{b.X, b.Y} {
		if yes, known := p.decided(side); known && yes && !cprint.HasChecks(side) {
			return p.conjunction([]ir.Expr{b.Y, b.X}[i], prec)
		}
	}
	return append(p.conjunction(b.X, cprint.PrecLAnd), p.conjunction(b.Y, cprint.PrecLAnd+1)...)
}

// brokenLines joins the terms of a condition, in lines of at most 110 columns.
func (p branchesPrinter) brokenLines(terms []string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	var b strings.Builder
	column := 4*p.Depth + 4
	for i, t := range terms {
		if i > 0 && column+len(t) > 110 {
			b.WriteString(" &&\n" + strings.Repeat("\t", p.Depth+1))
			p.Line.Line++
			column = 4*p.Depth + 4
		} else if i > 0 {
			b.WriteString(" && ")
		}
		b.WriteString(t)
		column += len(t) + 4
	}
	return b.String()
}

// taken prints the side of an If that always runs.
func (p branchesPrinter) taken(s *ir.If, yes bool) {
	side := s.Else
	if yes {
		side = s.Then
	}
	if len(side) > 0 {
		p.loops().scope(&ir.Block{Body: side, At: s.At})
	}
}

func (p branchesPrinter) returns(s *ir.Return) {
	switch len(s.Results) {
	case 0:
		p.Printf(s.At, "return;")
	case 1:
		p.Printf(s.At, "return %s;", p.assigned(s.Results[0], cprint.TypeOf(p.fn.Results[0])))
	default:
		out := make([]string, len(s.Results))
		for i, e := range s.Results {
			out[i] = p.element(e, p.fn.Results[i])
		}
		p.Printf(s.At, "return {%s};", strings.Join(out, ", "))
	}
}

func (p branchesPrinter) barrier(s *ir.Barrier) {
	switch s.Scope {
	case ir.TeamBarrier:
		if p.pending.awaited[s] {
			p.Printf(s.At, "%s;", p.call("gompss_copied"))
		}
		p.Printf(s.At, "__syncthreads();")
	case ir.WarpBarrier:
		p.Printf(s.At, "__syncwarp();")
	case ir.GridBarrier:
		p.ofGrid(p.printer, s)
	default:
		p.namedBarrier(s)
	}
}

// ofGrid prints a barrier of all teams, which a failed check opens permanently: a thread that has
// ended never comes.
func (m *meeting) ofGrid(p *printer, s *ir.Barrier) {
	m.grid = true
	words := "&" + p.expr(s.Count).Text
	if !m.ends {
		p.Printf(s.At, "%s;", p.call("gompss_meet_grid", words))
		return
	}
	p.Printf(s.At, "if (%s)", p.call("gompss_leave_grid", words, "fault"))
	p.Printf(s.At, "\treturn;")
}

// namedBarrier prints a barrier of a part of the team. The hardware counts threads that have come
// and not, as for __syncthreads, those that have ended, so that a failed check would leave the
// others waiting: a gate is used beside checks.
func (p branchesPrinter) namedBarrier(s *ir.Barrier) {
	if q, ok := s.Count.(*ir.Query); ok && q.What == ir.NumThreads {
		p.Printf(s.At, "asm volatile(\"barrier.sync %d;\" ::: \"memory\");", s.ID)
		return
	}
	p.named = s
	count := p.number(s.Count).Text
	switch {
	case !p.gates:
		p.Printf(s.At, "%s;", p.call("barrier", fmt.Sprint(s.ID), count))
	case s.ID >= maxGates:
		p.fail(s.At, "barrier number %d in a kernel with checks: only those below %d", s.ID, maxGates)
	default:
		p.Printf(s.At, "if (%s)", p.call("gompss_meet", fmt.Sprintf("%s[%d]", p.gate, s.ID), count, "fault"))
		p.Printf(s.At, "\treturn;")
	}
}

// copies are those to team memory that the hardware makes beside the thread, and the barriers that
// one of them may come to before it is made.
type copies struct {
	made    map[*ir.Assign]bool
	awaited map[*ir.Barrier]bool
}

// asyncCopies returns the copies of list that may be made later: those of 4 and 8 bytes. Source:
// PTX ISA, cp.async.
func asyncCopies(list []ir.Stmt) copies {
	c := copies{made: map[*ir.Assign]bool{}, awaited: map[*ir.Barrier]bool{}}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok && a.Async && (a.Place.Type().Size == 4 || a.Place.Type().Size == 8) {
			c.made[a] = true
		}
		return true
	})
	if len(c.made) > 0 {
		c.await(list, false)
	}
	return c
}

// await notes the barriers of list at which copies may be on their way, and reports whether
// some may be on their way behind list.
func (c copies) await(list []ir.Stmt, before bool) (behind bool) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Assign:
			before = before || c.made[s]
		case *ir.Barrier:
			if s.Scope == ir.TeamBarrier {
				c.awaited[s] = c.awaited[s] || before
				before = false
			}
		case *ir.If:
			then := c.await(s.Then, before)
			before = c.await(s.Else, before) || then
		case *ir.Block:
			jumps := c.leave(s.Body)
			before = c.await(s.Body, before) || jumps
		case *ir.For:
			before = c.again(s.Body, before)
		case *ir.While:
			before = c.again(slices.Concat(s.Pre, s.Body, s.Post), before)
		}
	}
	return before
}

// again is await for the body of a loop.
func (c copies) again(body []ir.Stmt, before bool) bool {
	before = before || c.leave(body)
	behind := c.await(body, before)
	if behind && !before {
		c.await(body, true)
	}
	return before || behind
}

// leave reports whether a jump may leave list with a copy on its way.
func (c copies) leave(list []ir.Stmt) bool {
	copied, jumps := false, false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			copied = copied || c.made[s]
		case *ir.Break, *ir.Continue:
			jumps = true
		}
		return true
	})
	return copied && jumps
}
