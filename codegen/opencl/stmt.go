package opencl

import (
	"strings"

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

func (p *printer) stmts(list []ir.Stmt) {
	for _, s := range list {
		if _, barrier := s.(*ir.Barrier); !barrier && p.meetsIn(s) {
			p.checks().meetIfOpen(s.Pos())
		}
		p.stmt(s)
	}
}

func (p *printer) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		p.decl(s)
	case *ir.Assign:
		p.assign(s)
	case *ir.Call:
		p.calls().call(s)
	case *ir.If:
		p.branches().ifElse(s)
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
		p.checks().barrier(s)
	default:
		p.fail(s.Pos(), "statement %T in device IR", s)
	}
}

// declaration returns a declaration of a variable of one value.
func (p *printer) declaration(v *ir.Var, name string) string {
	if v.Type.Kind == ir.Bool && !p.taken.Has(v) && v.Space != ir.Team {
		return "bool " + name
	}
	return p.declarator(v.Type, name, p.spaces[v])
}

func (p *printer) decl(s *ir.Decl) {
	v := s.Var
	if v.Space == ir.Team {
		return // it is declared at the top of the kernel
	}
	if v.Type.Kind == ir.Slice {
		x := p.places().slice(&ir.Const{T: v.Type, At: s.At})
		if s.Init != nil {
			x = p.places().slice(s.Init)
		}
		name := p.Declare(v)
		p.Printf(s.At, "%s%s *%s = %s;", p.spaces[v].qualifier(), p.pointee(v.Type.Elem), name, x.ptr.Text)
		p.Printf(s.At, "long %s_len = %s, %s_cap = %s;", name, x.len.Text, name, x.cap.Text)
		return
	}
	init := zero(v.Type)
	switch x := s.Init.(type) {
	case nil:
	case *ir.Composite:
		init = p.values().braces(x)
	default:
		init = p.expr(s.Init).Text
	}
	name := p.Declare(v)
	p.Printf(s.At, "%s = %s;", p.declaration(v, name), init)
}

func (p *printer) assign(s *ir.Assign) {
	if s.Place.Type().Kind == ir.Slice {
		p.assignSlice(s)
		return
	}
	place := p.expr(s.Place)
	p.Printf(s.At, "%s;", p.assignment(s, place))
}

// assignment prints place = value, in the short form where that means the same.
func (p *printer) assignment(s *ir.Assign, place cprint.Val) string {
	b, ok := s.Value.(*ir.Binary)
	if !ok || b.Checked || p.needsStatements(s.Place) || ir.ExprKey(s.Place) != ir.ExprKey(b.X) {
		return place.Text + " = " + p.expr(s.Value).Text
	}
	op, plain := cprint.Ops[b.Op].Text, false
	switch b.Op {
	case ir.Add, ir.Sub, ir.Mul:
		plain = b.T.IsFloat() || b.T.IsInteger() && (!p.wraps(b) || !b.T.IsSigned() && cprint.Width(b.T) >= 32)
	case ir.Div:
		plain = b.T.Kind == ir.Float64 || b.T.Kind == ir.Float32 && (p.opt.RoundedDivide || p.prog.FastMath)
	case ir.And, ir.Or, ir.Xor:
		plain = b.T.IsInteger()
	}
	if !plain {
		return place.Text + " = " + p.expr(s.Value).Text
	}
	if n, isConst := ir.ConstInt(b.Y); isConst && n == 1 && b.Op == ir.Add {
		return place.At(cprint.PrecPostfix) + "++"
	}
	y := p.expr(b.Y)
	if b.T.IsInteger() {
		y = p.exact(y, b.T)
	}
	return place.Text + " " + op + "= " + y.Text
}

func (p *printer) assignSlice(s *ir.Assign) {
	r, ok := s.Place.(*ir.Ref)
	if !ok {
		p.fail(s.At, "a slice in memory: not supported by opencl: an address there belongs to no memory object")
		return
	}
	x, name := p.places().slice(s.Value), p.Of[r.Var]
	if ir.ExprVars(s.Value).Has(r.Var) { // the parts change one after the other
		x.len = p.constantOf(s.At, x.len.Text, cprint.I64, name+"_newlen")
		x.cap = p.constantOf(s.At, x.cap.Text, cprint.I64, name+"_newcap")
	}
	p.Printf(s.At, "%s = %s;", name, x.ptr.Text)
	p.Printf(s.At, "%s_len = %s;", name, x.len.Text)
	p.Printf(s.At, "%s_cap = %s;", name, x.cap.Text)
}

func (p branchesPrinter) ifElse(s *ir.If) {
	if len(s.Then) == 0 && len(s.Else) > 0 {
		s = &ir.If{Cond: &ir.Unary{Op: ir.Not, X: s.Cond, At: s.At}, Then: s.Else, At: s.At}
	}
	if p.runsOnce(s) {
		p.meetingIn(s)
		return
	}
	cond := p.expr(s.Cond).Text
	p.Printf(s.At, "if (%s) {", cond)
	before := p.open
	p.block(s.Then)
	for len(s.Else) > 0 {
		then := p.open
		p.open = before
		next, ok := s.Else[0].(*ir.If)
		if !ok || len(s.Else) > 1 || p.needsStatements(next.Cond) || len(next.Then) == 0 {
			p.Printf(ir.Pos{}, "} else {")
			p.block(s.Else)
			p.open = union(then, p.open)
			break
		}
		p.Printf(s.At, "} else if (%s) {", p.expr(next.Cond).Text)
		p.block(next.Then)
		p.open = union(then, p.open)
		s = next
	}
	p.Printf(ir.Pos{}, "}")
}

// meetingIn prints a test that all threads of a team make alike, with the team meeting in a branch,
// as loops that run once or not at all.
//
// PoCL 3.1 gives wrong results, or ends, where a barrier is in a branch (it runs the threads of a
// team as loops between barriers); in loops it does what it is to do.
func (p branchesPrinter) meetingIn(s *ir.If) {
	cond := p.expr(s.Cond)
	if len(s.Else) > 0 {
		cond = p.constantOf(s.At, cond.Text, cprint.Bool, "chosen")
	}
	before := p.open
	p.runOnce(s.At, cond.Text, s.Then)
	if len(s.Else) > 0 {
		then := p.open
		p.open = before
		p.runOnce(s.At, "!"+cond.At(cprint.PrecUnary), s.Else)
		p.open = union(then, p.open)
	}
}

// runOnce prints a loop that runs list once where cond holds.
func (p branchesPrinter) runOnce(at ir.Pos, cond string, list []ir.Stmt) {
	p.Push()
	name := p.Fresh("once")
	p.jumps.Push(&cprint.Target{Loop: true})
	p.Printf(at, "for (int %s = %s; %s > 0; %s--) {", name, cond, name, name)
	p.block(list)
	p.Printf(ir.Pos{}, "}")
	p.jumps.Pop()
	p.Pop()
}

func (p branchesPrinter) returns(s *ir.Return) {
	if p.fn == nil {
		p.Printf(s.At, "return;")
		return
	}
	if p.fn.structure == "" {
		if len(s.Results) == 0 {
			p.Printf(s.At, "return;")
			return
		}
		p.Printf(s.At, "return %s;", p.expr(s.Results[0]).Text)
		return
	}
	var out []string
	for _, e := range s.Results {
		if e.Type().Kind == ir.Slice {
			x := p.places().slice(e)
			out = append(out, x.ptr.Text, x.len.Text, x.cap.Text)
			continue
		}
		out = append(out, p.expr(e).Text)
	}
	p.Printf(s.At, "return (%s){%s};", p.fn.structure, strings.Join(out, ", "))
}
