package frontend

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A switching is a switch statement under construction.
type switching struct {
	clauses []*ast.CaseClause
	tag     ir.Expr // nil without a tag
	at      ir.Pos
}

// switchStmt emits a switch as a chain of Ifs.
func (b *builder) switchStmt(s *ast.SwitchStmt, label string) {
	at := b.pos(s.Pos())
	l := &ir.Label{Name: label}
	list, used := b.within(exit{name: label, label: l}, func() []ir.Stmt {
		return b.collect(func() {
			if s.Init != nil {
				b.stmt(s.Init, "")
			}
			w := &switching{at: at}
			for _, c := range s.Body.List {
				if clause, ok := c.(*ast.CaseClause); ok {
					w.clauses = append(w.clauses, clause)
				}
			}
			if s.Tag != nil {
				w.tag = b.tag(s.Tag, w.clauses)
			}
			b.out = append(b.out, b.chain(w, 0)...)
		})
	})
	if !used {
		l = nil
	}
	if l == nil && len(list) == 1 {
		b.emit(list[0])
		return
	}
	b.emit(&ir.Block{Label: l, Body: list, At: at})
}

// tag returns the value that cases are compared with. It is evaluated once, before the values of
// the cases, which may call what changes a variable.
func (b *builder) tag(e ast.Expr, clauses []*ast.CaseClause) ir.Expr {
	x := b.expr(e)
	if _, isVar := x.(*ir.Ref); b.fixed(x) || isVar && !b.callsIn(clauses) {
		return x
	}
	return b.temp("tag", x, x.Pos())
}

// callsIn reports whether a value of a case may call a function.
func (b *builder) callsIn(clauses []*ast.CaseClause) bool {
	for _, c := range clauses {
		for _, v := range c.List {
			if b.u.p.Info.Types[v].Value == nil && containsCall(v) {
				return true
			}
		}
	}
	return false
}

func containsCall(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, ok := n.(*ast.CallExpr)
		found = found || ok
		return !found
	})
	return found
}

// chain returns the test of clause i and all that follow; the default comes last.
func (b *builder) chain(w *switching, i int) []ir.Stmt {
	for i < len(w.clauses) && w.clauses[i].List == nil {
		i++
	}
	if i == len(w.clauses) {
		for j, c := range w.clauses {
			if c.List == nil {
				return b.clause(w, j)
			}
		}
		return nil
	}
	return b.collect(func() {
		out := &ir.If{Cond: b.cases(w, w.clauses[i].List), At: b.pos(w.clauses[i].Pos())}
		out.Then = b.clause(w, i)
		out.Else = b.chain(w, i+1)
		b.emit(out)
	})
}

// cases returns the condition of a clause: the tag is one of the values.
func (b *builder) cases(w *switching, values []ast.Expr) ir.Expr {
	cond := b.oneCase(w, values[0])
	for _, v := range values[1:] {
		cond = b.shortCircuit(ir.LOr, cond, func() ir.Expr { return b.oneCase(w, v) }, b.pos(v.Pos()))
	}
	return cond
}

func (b *builder) oneCase(w *switching, e ast.Expr) ir.Expr {
	if w.tag == nil {
		return b.condition(e)
	}
	x := b.converted(e, w.tag.Type())
	if isBad(x, w.tag) || !ir.Same(x.Type(), w.tag.Type()) {
		b.keep(x)
		return query.BadValue(ir.BoolType, b.pos(e.Pos()))
	}
	return b.equal(ir.Eq, build.Copy(w.tag), x, b.pos(e.Pos()))
}

// Clause returns the body of clause i, and those that it falls through to.
func (b *builder) clause(w *switching, i int) []ir.Stmt {
	var out []ir.Stmt
	for ; i < len(w.clauses); i++ {
		body := w.clauses[i].Body
		out = append(out, b.list(body)...)
		if !fallsThrough(body) {
			return out
		}
		b.u.inlined++ // the next body is there twice
		if b.u.inlined > maxInlined {
			b.fail(w.clauses[i].Pos(), "switch", "too many bodies fall through to others", "write the bodies as functions")
			return out
		}
	}
	return out
}

func fallsThrough(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	last := body[len(body)-1]
	for {
		l, ok := last.(*ast.LabeledStmt)
		if !ok {
			break
		}
		last = l.Stmt
	}
	jump, ok := last.(*ast.BranchStmt)
	return ok && jump.Tok == token.FALLTHROUGH
}
