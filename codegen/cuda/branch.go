package cuda

import (
	"fmt"
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
