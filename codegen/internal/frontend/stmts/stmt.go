package stmts

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/clauses"
	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Block returns the statements of a body.
func (b *Builder) Block(s *ast.BlockStmt) []ir.Stmt { return b.list(s.List) }

func (b *Builder) list(list []ast.Stmt) []ir.Stmt {
	return b.Collect(func() {
		for _, s := range list {
			b.stmt(s, "")
		}
	})
}

// stmt emits s, transformed by the directive above it. label is the label of s.
func (b *Builder) stmt(s ast.Stmt, label string) {
	if l, ok := s.(*ast.LabeledStmt); ok {
		b.stmt(l.Stmt, l.Label.Name)
		return
	}
	if !b.Spend(s.Pos()) {
		return
	}
	d := b.Program.Directives[s]
	switch {
	case d == nil:
		b.plain(s, label, nil)
	case d.Has("atomic"):
		b.atomic(d, s)
	case d.OnLoop():
		b.plain(s, label, d)
	default:
		b.construct(s, label, d)
	}
}

// construct emits a directive that governs the body or loop s as a whole.
func (b *Builder) construct(s ast.Stmt, label string, d *syntax.Directive) {
	out := &ir.Construct{Directive: clauses.ReadStatement(b.Caller.Builder, d, s.Pos()), At: b.Pos(s.Pos())}
	out.Directive.Scan = nil // reported where the clauses are read
	b.Exits = append(b.Exits, scope.Exit{Governed: d.Text})
	if block, ok := s.(*ast.BlockStmt); ok {
		out.Body = b.Block(block)
	} else {
		out.Body = b.Collect(func() { b.plain(s, label, nil) })
	}
	b.Exits = b.Exits[:len(b.Exits)-1]
	b.Emit(out)
}

// atomic emits the indivisible operation that s is under the atomic directive d.
func (b *Builder) atomic(d *syntax.Directive, s ast.Stmt) {
	before := len(b.Diags)
	list := b.Collect(func() { b.plain(s, "", nil) })
	if len(b.Diags) > before || query.HasBadStmt(list, true) || query.BadIn(list) {
		b.Out = append(b.Out, list...)
		b.BadStmt(s.Pos()) // the operation is not known
		return
	}
	form, at := formOf(d), b.Pos(s.Pos())
	calls, list := callsBefore(list)
	b.Out = append(b.Out, calls...)
	decl, op, where, why := decodeAtomic(form, list, at)
	if why != "" {
		b.Report(diag.Diagnostic{Pos: where, What: "directive atomic", Why: why, Instead: form.written()})
		b.Out = append(b.Out, list...)
		return
	}
	if decl != nil {
		b.Emit(decl)
	}
	b.Emit(op)
}

// plain emits s itself. d governs it where it is a loop.
func (b *Builder) plain(s ast.Stmt, label string, d *syntax.Directive) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		b.Emit(&ir.Block{Body: b.Block(s), At: b.Pos(s.Pos())})
	case *ast.ForStmt:
		loops{b}.forLoop(s, label, d)
	case *ast.RangeStmt:
		loops{b}.rangeLoop(s, label, d)
	case *ast.IfStmt:
		b.ifStmt(s)
	case *ast.SwitchStmt:
		b.switchStmt(s, label)
	case *ast.AssignStmt:
		b.Assign(s)
	case *ast.IncDecStmt:
		b.IncDec(s)
	case *ast.DeclStmt:
		b.declare(s)
	case *ast.ExprStmt:
		b.exprStmt(s)
	case *ast.ReturnStmt:
		b.returnStmt(s)
	case *ast.BranchStmt:
		b.branch(s)
	case *ast.EmptyStmt:
	default:
		b.refuse(s)
	}
}

// refuse reports a statement that is not in the dialect.
func (b *Builder) refuse(s ast.Stmt) {
	b.BadStmt(s.Pos())
	switch s := s.(type) {
	case *ast.GoStmt:
		b.LookInside(s.Call)
		b.Fail(s.Pos(), "go statement", "there are no goroutines on a device", "put a parallel directive on a loop or body")
	case *ast.DeferStmt:
		b.LookInside(s.Call)
		b.Fail(s.Pos(), "defer", "there is no stack of calls on a device", "call the function at the end")
	case *ast.SelectStmt:
		b.Fail(s.Pos(), "select", "there are no channels on a device", "write results into a slice")
	case *ast.SendStmt:
		b.Fail(s.Pos(), "send to a channel", "there are no channels on a device", "write results into a slice")
	case *ast.TypeSwitchStmt:
		b.Fail(s.Pos(), "type switch", "there are no interface values on a device", "use a concrete type, or a type parameter")
	default:
		b.Unknown(s.Pos())
	}
}

// exprStmt emits a call whose results are dropped.
func (b *Builder) exprStmt(s *ast.ExprStmt) {
	call, ok := ast.Unparen(s.X).(*ast.CallExpr)
	if !ok {
		b.Expr(s.X) // a receive: reported there
		return
	}
	first := len(b.Out)
	b.Call(call)
	b.dropResults(first)
}

// dropResults removes the variables of the results of the call that was emitted last, but no
// statement before first.
func (b *Builder) dropResults(first int) {
	n := len(b.Out) - 1
	if n < first {
		return
	}
	call, ok := b.Out[n].(*ir.Call)
	if !ok || n-len(call.Results) < first {
		return
	}
	clear(call.Results)
	b.Out = append(b.Out[:n-len(call.Results)], call)
}

// declare emits var declarations; constants and types need no code.
func (b *Builder) declare(s *ast.DeclStmt) {
	gen, ok := s.Decl.(*ast.GenDecl)
	if !ok || gen.Tok != token.VAR {
		return
	}
	for _, spec := range gen.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			b.declareVars(v)
		}
	}
}

func (b *Builder) declareVars(s *ast.ValueSpec) {
	if s.Type != nil && b.Blame(s.Type) {
		b.BadStmt(s.Pos())
		return
	}
	if len(s.Values) > 0 {
		b.Define(s.Names, s.Values)
		return
	}
	for _, id := range s.Names {
		o := b.Program.Info.Defs[id]
		if o == nil {
			continue
		}
		if scope.IsFunction(o.Type()) {
			b.RefuseFunction(id)
			continue
		}
		t := b.TypeAt(o.Type(), s.Type.Pos())
		v := b.Variable(o, t, ir.Local)
		b.Emit(&ir.Decl{Var: v, At: v.At})
	}
}

// scoped emits the statements of f, in a scope of their own if there is more than one.
func (b *Builder) scoped(at ir.Pos, f func()) {
	list := b.Collect(f)
	if len(list) == 1 {
		b.Emit(list[0])
		return
	}
	b.Emit(&ir.Block{Body: list, At: at})
}

func (b *Builder) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		b.scoped(b.Pos(s.Pos()), func() {
			b.stmt(s.Init, "")
			b.branches(s)
		})
		return
	}
	b.branches(s)
}

func (b *Builder) branches(s *ast.IfStmt) {
	out := &ir.If{Cond: b.condition(s.Cond), At: b.Pos(s.Pos())}
	out.Then = b.Block(s.Body)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		out.Else = b.Block(e)
	case *ast.IfStmt:
		out.Else = b.Collect(func() { b.ifStmt(e) })
	}
	b.Emit(out)
}

// condition returns a bool.
func (b *Builder) condition(e ast.Expr) ir.Expr {
	x := b.Expr(e)
	if x.Type().Kind != ir.Bool {
		b.Unknown(e.Pos())
		return query.BadValue(ir.BoolType, b.Pos(e.Pos()))
	}
	return x
}

// returnStmt ends the function, or leaves the inlined body.
func (b *Builder) returnStmt(s *ast.ReturnStmt) {
	b.mayReturn(s)
	r, at := b.Env.Results, b.Pos(s.Pos())
	values := b.returned(s, r)
	if len(values) != len(r.Types) {
		b.Unknown(s.Pos())
		b.BadStmt(s.Pos())
		return
	}
	if !r.Inline {
		b.Emit(&ir.Return{Results: values, At: at})
		return
	}
	if len(s.Results) > 0 {
		dests := make([]scope.Dest, len(values))
		for i, v := range r.Vars {
			dests[i] = scope.Dest{Place: &ir.Ref{Var: v, At: at}}
		}
		b.AssignAll(dests, values, at)
	}
	b.Emit(&ir.Break{Label: r.Label, At: at})
}

// returned returns the values of a return statement; a bare one returns the named results.
func (b *Builder) returned(s *ast.ReturnStmt, r *scope.ResultPlace) []ir.Expr {
	var out []ir.Expr
	switch {
	case len(s.Results) == 0:
		for _, v := range r.Named {
			out = append(out, &ir.Ref{Var: v, At: b.Pos(s.Pos())})
		}
	case len(s.Results) == 1 && exprs.IsTuple(b.Program.Info.TypeOf(s.Results[0])):
		if call, ok := ast.Unparen(s.Results[0]).(*ast.CallExpr); ok {
			out = b.Call(call)
		}
	default:
		for i, e := range s.Results {
			t := query.BadType
			if i < len(r.Types) {
				t = r.Types[i]
			}
			out = append(out, b.ExprAs(e, t))
		}
	}
	return out
}
