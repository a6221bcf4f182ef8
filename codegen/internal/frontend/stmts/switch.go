package stmts

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/frontend/calls"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
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
func (b *Builder) switchStmt(s *ast.SwitchStmt, label string) {
	at := b.Pos(s.Pos())
	l := &ir.Label{Name: label}
	list, used := b.within(scope.Exit{Name: label, Label: l}, func() []ir.Stmt {
		return b.Collect(func() {
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
			b.Out = append(b.Out, b.chain(w, 0)...)
		})
	})
	if !used {
		l = nil
	}
	if l == nil && len(list) == 1 {
		b.Emit(list[0])
		return
	}
	b.Emit(&ir.Block{Label: l, Body: list, At: at})
}

// tag returns the value that cases are compared with. It is evaluated once, before the values of
// the cases, which may call functions that change a variable.
func (b *Builder) tag(e ast.Expr, clauses []*ast.CaseClause) ir.Expr {
	x := b.Expr(e)
	if _, isVar := x.(*ir.Ref); b.Fixed(x) || isVar && !b.callsIn(clauses) {
		return x
	}
	return b.Temp("tag", x, x.Pos())
}

// callsIn reports whether a value of a case may call a function.
func (b *Builder) callsIn(clauses []*ast.CaseClause) bool {
	for _, c := range clauses {
		for _, v := range c.List {
			if b.Program.Info.Types[v].Value == nil && containsCall(v) {
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
func (b *Builder) chain(w *switching, i int) []ir.Stmt {
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
	return b.Collect(func() {
		out := &ir.If{Cond: b.cases(w, w.clauses[i].List), At: b.Pos(w.clauses[i].Pos())}
		out.Then = b.clause(w, i)
		out.Else = b.chain(w, i+1)
		b.Emit(out)
	})
}

// cases returns the condition of a clause: the tag is one of the values.
func (b *Builder) cases(w *switching, values []ast.Expr) ir.Expr {
	cond := b.oneCase(w, values[0])
	for _, v := range values[1:] {
		cond = b.ShortCircuit(ir.LOr, cond, func() ir.Expr { return b.oneCase(w, v) }, b.Pos(v.Pos()))
	}
	return cond
}

func (b *Builder) oneCase(w *switching, e ast.Expr) ir.Expr {
	if w.tag == nil {
		return b.condition(e)
	}
	x := b.Converted(e, w.tag.Type())
	if scope.IsBad(x, w.tag) || !ir.Same(x.Type(), w.tag.Type()) {
		b.Keep(x)
		return query.BadValue(ir.BoolType, b.Pos(e.Pos()))
	}
	return b.Equal(ir.Eq, build.Copy(w.tag), x, b.Pos(e.Pos()))
}

// Clause returns the body of clause i, and those that it falls through to.
func (b *Builder) clause(w *switching, i int) []ir.Stmt {
	var out []ir.Stmt
	for ; i < len(w.clauses); i++ {
		body := w.clauses[i].Body
		out = append(out, b.list(body)...)
		if !fallsThrough(body) {
			return out
		}
		b.Inlined++ // the next body exists twice
		if b.Inlined > calls.MaxInlined {
			b.Fail(w.clauses[i].Pos(), "switch", "too many bodies fall through to others", "write the bodies as functions")
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
