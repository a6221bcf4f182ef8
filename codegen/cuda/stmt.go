package cuda

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// block prints list one level deeper in a scope of its own; the caller prints the braces.
func (p *printer) block(list []ir.Stmt) {
	p.Push()
	p.Depth++
	p.stmts(list)
	p.Depth--
	p.Pop()
}

// stmts prints a list. A declaration without value right before the call that fills it becomes one
// with value.
func (p *printer) stmts(list []ir.Stmt) {
	for i := 0; i < len(list); i++ {
		if p.isHidden(list[i]) {
			continue
		}
		if b, ok := list[i].(*ir.Block); ok && b.Label == nil && i == len(list)-1 {
			p.Push() // nothing follows that a name of it could hide
			p.stmts(b.Body)
			p.Pop()
			continue
		}
		if a := p.calls().declaredOld(list[i:]); a != nil {
			p.old = a.Old.(*ir.Ref).Var
			p.atomics().atomic(a)
			i++
			continue
		}
		if n, call := p.calls().declaredResults(list[i:]); call != nil {
			p.calls().callStmt(call, list[i:i+n])
			i += n
			continue
		}
		p.stmt(list[i])
	}
}

func (p *printer) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		p.decl(s)
	case *ir.Assign:
		if p.pending.made[s] {
			p.copyLater(s)
			return
		}
		p.Printf(s.At, "%s;", p.assign(s))
	case *ir.Call:
		p.calls().callStmt(s, nil)
	case *ir.If:
		p.branches().ifElse(s, "if ")
	case *ir.Block:
		p.loops().scope(s)
	case *ir.While:
		p.loops().while(s)
	case *ir.For:
		p.loops().forLoop(s)
	case *ir.Break:
		p.jump(s.At, "break")(p.jumps.Leave(s.Label))
	case *ir.Continue:
		p.jump(s.At, "continue")(p.jumps.Again(s.Label))
	case *ir.Return:
		p.branches().returns(s)
	case *ir.Atomic:
		p.atomics().atomic(s)
	case *ir.Barrier:
		p.branches().barrier(s)
	default:
		p.fail(s.Pos(), "statement %T in device IR", s)
	}
}

func (p *printer) decl(s *ir.Decl) {
	v := s.Var
	init := ""
	if v.Space != ir.Team {
		init = " = " + p.initial(s) // before the name is declared: it may read a variable that v hides
	}
	name := p.Declare(v)
	prefix := ""
	if v.Space == ir.Team {
		prefix = "__shared__ "
	}
	p.Printf(s.At, "%s%s%s;", prefix, p.declaration(v, name), init)
}

func (p *printer) declaration(v *ir.Var, name string) string {
	if p.narrow[v] {
		return "int " + name
	}
	return p.declarator(v.Type, name)
}

// initial prints the first value of a variable.
func (p *printer) initial(s *ir.Decl) string {
	t := s.Var.Type
	switch init := s.Init.(type) {
	case nil:
		return zero(t)
	case *ir.Composite:
		return p.element(init, t)
	}
	return p.valueFor(s.Init, s.Var)
}

func zero(t *ir.Type) string {
	switch t.Kind {
	case ir.Bool:
		return "false"
	case ir.Float32:
		return "0.0f"
	case ir.Float64:
		return "0.0"
	case ir.Pointer:
		return "nullptr"
	case ir.Array, ir.Struct, ir.Slice:
		return "{}"
	}
	return "0"
}

// valueFor prints e as it is assigned to v.
func (p *printer) valueFor(e ir.Expr, v *ir.Var) string {
	ct := cprint.TypeOf(v.Type)
	if p.narrow[v] {
		ct = cprint.I32
	}
	return p.assigned(e, ct)
}

// assign prints an assignment, x op= y and x++ where C++ means the same by it.
func (p *printer) assign(s *ir.Assign) string {
	if b, ok := s.Value.(*ir.Binary); ok && cprint.SameExpr(s.Place, b.X) {
		if text, ok := p.compound(s.Place, b); ok {
			return text
		}
	}
	place := p.expr(s.Place)
	return place.Text + " = " + p.assigned(s.Value, place.Type)
}

// copyLater prints a copy to team memory that is made beside the thread.
func (p *printer) copyLater(s *ir.Assign) {
	p.Printf(s.At, "%s;", p.call("gompss_copy", "&"+p.expr(s.Place).At(cprint.PrecUnary), "&"+p.expr(s.Value).At(cprint.PrecUnary)))
}

// compound prints place = place op y in the short form.
func (p *printer) compound(place ir.Expr, b *ir.Binary) (string, bool) {
	if b.Checked || !p.isPlain(b) {
		return "", false
	}
	at, y, op := p.expr(place), b.Y, cprint.Ops[b.Op].Text
	text := at.Text
	if c, ok := y.(*ir.Const); ok && b.Op == ir.Add && b.T.IsInteger() {
		switch n := int64(c.Bits); {
		case n == 1:
			return at.At(cprint.PrecPostfix) + "++", true
		case n == -1 && b.T.IsSigned():
			return at.At(cprint.PrecPostfix) + "--", true
		case n < 0 && b.T.IsSigned():
			return fmt.Sprintf("%s -= %d", text, -n), true
		}
	}
	if b.Op == ir.AndNot {
		return text + " &= ~" + p.arith().extend(p.number(y), p.peek(place).Type).At(cprint.PrecUnary), true
	}
	return text + " " + op + "= " + p.assigned(y, p.peek(place).Type), true
}

// isPlain reports whether b is C++'s operation on the type of its place, cut to that type by the
// assignment.
func (p *printer) isPlain(b *ir.Binary) bool {
	if b.T.IsFloat() {
		return true
	}
	if !b.T.IsInteger() {
		return false
	}
	switch b.Op {
	case ir.Add, ir.Sub, ir.Mul:
		return !p.arith().mustWrap(b, cprint.TypeOf(b.T).Promote(), p.ranges.wraps(b))
	case ir.And, ir.Or, ir.Xor, ir.AndNot:
		return true
	case ir.Shr:
		return p.ranges.of(b.Y).within(span(0, int64(cprint.Width(b.T)-1)))
	case ir.Div, ir.Rem:
		c, ok := b.Y.(*ir.Const)
		return ok && p.ranges.of(c).nonNegative()
	}
	return false
}
