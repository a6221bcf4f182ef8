package opencl

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// printf writes one line of code that belongs to the Go position at, with a #line directive where
// the compiler would count another one.
func (p *printer) printf(at ir.Pos, format string, args ...any) {
	at.Col = 0
	if p.opt.Lines && at.Line > 0 && at != p.line {
		fmt.Fprintf(&p.out, "#line %d %q\n", at.Line, at.File)
		p.line = at
	}
	p.out.WriteString(strings.Repeat("\t", p.depth))
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
	p.line.Line++
}

// block prints list one level deeper in a scope of its own; the caller prints the braces.
func (p *printer) block(list []ir.Stmt) {
	p.Push()
	p.depth++
	p.stmts(list)
	p.depth--
	p.Pop()
}

func (p *printer) stmts(list []ir.Stmt) {
	for _, s := range list {
		if _, barrier := s.(*ir.Barrier); !barrier && p.meetsIn(s) {
			p.meetIfOpen(s.Pos())
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
		p.call(s)
	case *ir.If:
		p.ifElse(s)
	case *ir.Block:
		p.scope(s)
	case *ir.While:
		p.while(s)
	case *ir.For:
		p.forLoop(s)
	case *ir.Break:
		p.printf(s.At, "%s;", p.leave(s.Label))
	case *ir.Continue:
		p.printf(s.At, "%s;", p.again(s.Label))
	case *ir.Return:
		p.returns(s)
	case *ir.Atomic:
		p.atomic(s)
	case *ir.Barrier:
		p.barrier(s)
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
		x := p.slice(&ir.Const{T: v.Type, At: s.At})
		if s.Init != nil {
			x = p.slice(s.Init)
		}
		name := p.declare(v)
		p.printf(s.At, "%s%s *%s = %s;", p.spaces[v].qualifier(), p.pointee(v.Type.Elem), name, x.ptr.text)
		p.printf(s.At, "long %s_len = %s, %s_cap = %s;", name, x.len.text, name, x.cap.text)
		return
	}
	init := zero(v.Type)
	switch x := s.Init.(type) {
	case nil:
	case *ir.Composite:
		init = p.braces(x)
	default:
		init = p.expr(s.Init).text
	}
	name := p.declare(v)
	p.printf(s.At, "%s = %s;", p.declaration(v, name), init)
}

func (p *printer) assign(s *ir.Assign) {
	if s.Place.Type().Kind == ir.Slice {
		p.assignSlice(s)
		return
	}
	place := p.expr(s.Place)
	p.printf(s.At, "%s;", p.assignment(s, place))
}

// assignment prints place = value, in the short form where that means the same.
func (p *printer) assignment(s *ir.Assign, place val) string {
	b, ok := s.Value.(*ir.Binary)
	if !ok || b.Checked || p.needsStatements(s.Place) || ir.ExprKey(s.Place) != ir.ExprKey(b.X) {
		return place.text + " = " + p.expr(s.Value).text
	}
	op, plain := cOps[b.Op].text, false
	switch b.Op {
	case ir.Add, ir.Sub, ir.Mul:
		plain = b.T.IsFloat() || b.T.IsInteger() && (!p.wraps(b) || !b.T.IsSigned() && width(b.T) >= 32)
	case ir.Div:
		plain = b.T.Kind == ir.Float64 || b.T.Kind == ir.Float32 && (p.opt.RoundedDivide || p.prog.FastMath)
	case ir.And, ir.Or, ir.Xor:
		plain = b.T.IsInteger()
	}
	if !plain {
		return place.text + " = " + p.expr(s.Value).text
	}
	if n, isConst := ir.ConstInt(b.Y); isConst && n == 1 && b.Op == ir.Add {
		return place.text + "++"
	}
	y := p.expr(b.Y)
	if b.T.IsInteger() {
		y = p.exact(y, b.T)
	}
	return place.text + " " + op + "= " + y.text
}

func (p *printer) assignSlice(s *ir.Assign) {
	r, ok := s.Place.(*ir.Ref)
	if !ok {
		p.fail(s.At, "a slice in memory: not supported by opencl: an address there belongs to no memory object")
		return
	}
	x, name := p.slice(s.Value), p.Of[r.Var]
	if ir.ExprVars(s.Value).Has(r.Var) { // the parts change one after the other
		x.len = p.constantOf(s.At, x.len.text, i64, name+"_newlen")
		x.cap = p.constantOf(s.At, x.cap.text, i64, name+"_newcap")
	}
	p.printf(s.At, "%s = %s;", name, x.ptr.text)
	p.printf(s.At, "%s_len = %s;", name, x.len.text)
	p.printf(s.At, "%s_cap = %s;", name, x.cap.text)
}

func (p *printer) ifElse(s *ir.If) {
	if len(s.Then) == 0 && len(s.Else) > 0 {
		s = &ir.If{Cond: &ir.Unary{Op: ir.Not, X: s.Cond, At: s.At}, Then: s.Else, At: s.At}
	}
	if p.meetsInList(s.Then) || p.meetsInList(s.Else) {
		p.branches(s)
		return
	}
	cond := p.expr(s.Cond).text
	p.printf(s.At, "if (%s) {", cond)
	before := p.open
	p.block(s.Then)
	for len(s.Else) > 0 {
		then := p.open
		p.open = before
		next, ok := s.Else[0].(*ir.If)
		if !ok || len(s.Else) > 1 || p.needsStatements(next.Cond) || len(next.Then) == 0 {
			p.printf(ir.Pos{}, "} else {")
			p.block(s.Else)
			p.open = union(then, p.open)
			break
		}
		p.printf(s.At, "} else if (%s) {", p.expr(next.Cond).text)
		p.block(next.Then)
		p.open = union(then, p.open)
		s = next
	}
	p.printf(ir.Pos{}, "}")
}

// branches prints a test that all threads of a team make alike, with the team meeting in a branch,
// as loops that run once or not at all.
//
// PoCL 3.1 gives wrong results, or ends, where a barrier is in a branch (it runs the threads of a
// team as loops between barriers); in loops it does what it is to do.
func (p *printer) branches(s *ir.If) {
	cond := p.expr(s.Cond)
	if len(s.Else) > 0 {
		cond = p.constantOf(s.At, cond.text, boolean, "chosen")
	}
	before := p.open
	p.runOnce(s.At, cond.text, s.Then)
	if len(s.Else) > 0 {
		then := p.open
		p.open = before
		p.runOnce(s.At, "!"+cond.at(precUnary), s.Else)
		p.open = union(then, p.open)
	}
}

// runOnce prints a loop that runs list once where cond holds.
func (p *printer) runOnce(at ir.Pos, cond string, list []ir.Stmt) {
	p.Push()
	name := p.Fresh("once")
	p.jumps = append(p.jumps, &target{loop: true})
	p.printf(at, "for (int %s = %s; %s > 0; %s--) {", name, cond, name, name)
	p.block(list)
	p.printf(ir.Pos{}, "}")
	p.jumps = p.jumps[:len(p.jumps)-1]
	p.Pop()
}

func (p *printer) returns(s *ir.Return) {
	if p.fn == nil {
		if p.meetsLater {
			p.fail(s.At, "return in a kernel whose threads meet: not supported by opencl: all threads of a team must reach a barrier")
		}
		p.printf(s.At, "return;")
		return
	}
	if p.fn.structure == "" {
		if len(s.Results) == 0 {
			p.printf(s.At, "return;")
			return
		}
		p.printf(s.At, "return %s;", p.expr(s.Results[0]).text)
		return
	}
	var out []string
	for _, e := range s.Results {
		if e.Type().Kind == ir.Slice {
			x := p.slice(e)
			out = append(out, x.ptr.text, x.len.text, x.cap.text)
			continue
		}
		out = append(out, p.expr(e).text)
	}
	p.printf(s.At, "return (%s){%s};", p.fn.structure, strings.Join(out, ", "))
}
