package frontend

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// body returns the statements of a body.
func (b *builder) body(s *ast.BlockStmt) []ir.Stmt { return b.list(s.List) }

func (b *builder) list(list []ast.Stmt) []ir.Stmt {
	return b.collect(func() {
		for _, s := range list {
			b.stmt(s, "")
		}
	})
}

// stmt emits s, with what the directive above it says. label is the label in front of it.
func (b *builder) stmt(s ast.Stmt, label string) {
	if l, ok := s.(*ast.LabeledStmt); ok {
		b.stmt(l.Stmt, l.Label.Name)
		return
	}
	if !b.spend(s.Pos()) {
		return
	}
	d := b.u.p.Directives[s]
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
func (b *builder) construct(s ast.Stmt, label string, d *syntax.Directive) {
	out := &ir.Construct{Directive: statementDirective(b, d, s.Pos()), At: b.pos(s.Pos())}
	out.Directive.Scan = nil // reported where the clauses are read
	b.exits = append(b.exits, exit{governed: d.Text})
	if block, ok := s.(*ast.BlockStmt); ok {
		out.Body = b.body(block)
	} else {
		out.Body = b.collect(func() { b.plain(s, label, nil) })
	}
	b.exits = b.exits[:len(b.exits)-1]
	b.emit(out)
}

// atomic emits the indivisible operation that s is under the atomic directive d.
func (b *builder) atomic(d *syntax.Directive, s ast.Stmt) {
	before := len(b.u.diags)
	list := b.collect(func() { b.plain(s, "", nil) })
	if len(b.u.diags) > before || query.HolesIn(list, true) || query.BadIn(list) {
		b.out = append(b.out, list...)
		b.hole(s.Pos()) // the operation is not known
		return
	}
	form, at := formOf(d), b.pos(s.Pos())
	calls, list := callsBefore(list)
	b.out = append(b.out, calls...)
	decl, op, where, why := decodeAtomic(form, list, at)
	if why != "" {
		b.u.report(diag.Diagnostic{Pos: where, What: "directive atomic", Why: why, Instead: form.written()})
		b.out = append(b.out, list...)
		return
	}
	if decl != nil {
		b.emit(decl)
	}
	b.emit(op)
}

// plain emits s itself. d governs it where it is a loop.
func (b *builder) plain(s ast.Stmt, label string, d *syntax.Directive) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		b.emit(&ir.Block{Body: b.body(s), At: b.pos(s.Pos())})
	case *ast.ForStmt:
		b.forLoop(s, label, d)
	case *ast.RangeStmt:
		b.rangeLoop(s, label, d)
	case *ast.IfStmt:
		b.ifStmt(s)
	case *ast.SwitchStmt:
		b.switchStmt(s, label)
	case *ast.AssignStmt:
		b.assign(s)
	case *ast.IncDecStmt:
		b.incDec(s)
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
func (b *builder) refuse(s ast.Stmt) {
	b.hole(s.Pos())
	switch s := s.(type) {
	case *ast.GoStmt:
		b.lookInside(s.Call)
		b.fail(s.Pos(), "go statement", "there are no goroutines on a device", "put a parallel directive on a loop or body")
	case *ast.DeferStmt:
		b.lookInside(s.Call)
		b.fail(s.Pos(), "defer", "there is no stack of calls on a device", "call the function at the end")
	case *ast.SelectStmt:
		b.fail(s.Pos(), "select", "there are no channels on a device", "write results into a slice")
	case *ast.SendStmt:
		b.fail(s.Pos(), "send to a channel", "there are no channels on a device", "write results into a slice")
	case *ast.TypeSwitchStmt:
		b.fail(s.Pos(), "type switch", "there are no interface values on a device", "use a concrete type, or a type parameter")
	default:
		b.unknown(s.Pos())
	}
}

// exprStmt emits a call whose results are dropped.
func (b *builder) exprStmt(s *ast.ExprStmt) {
	call, ok := ast.Unparen(s.X).(*ast.CallExpr)
	if !ok {
		b.expr(s.X) // a receive: reported there
		return
	}
	first := len(b.out)
	b.call(call)
	b.dropResults(first)
}

// dropResults removes the variables of the results of the call that was emitted last; what stands
// before first stays.
func (b *builder) dropResults(first int) {
	n := len(b.out) - 1
	if n < first {
		return
	}
	call, ok := b.out[n].(*ir.Call)
	if !ok || n-len(call.Results) < first {
		return
	}
	clear(call.Results)
	b.out = append(b.out[:n-len(call.Results)], call)
}

// declare emits var declarations; constants and types need no code.
func (b *builder) declare(s *ast.DeclStmt) {
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

func (b *builder) declareVars(s *ast.ValueSpec) {
	if s.Type != nil && b.blame(s.Type) {
		b.hole(s.Pos())
		return
	}
	if len(s.Values) > 0 {
		b.define(s.Names, s.Values)
		return
	}
	for _, id := range s.Names {
		o := b.u.p.Info.Defs[id]
		if o == nil {
			continue
		}
		if isFunction(o.Type()) {
			b.refuseFunction(id)
			continue
		}
		t := b.typeAt(o.Type(), s.Type.Pos())
		v := b.variable(o, t, ir.Local)
		b.emit(&ir.Decl{Var: v, At: v.At})
	}
}

// scoped emits what f emits, in a scope of its own where it is more than one statement.
func (b *builder) scoped(at ir.Pos, f func()) {
	list := b.collect(f)
	if len(list) == 1 {
		b.emit(list[0])
		return
	}
	b.emit(&ir.Block{Body: list, At: at})
}

func (b *builder) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		b.scoped(b.pos(s.Pos()), func() {
			b.stmt(s.Init, "")
			b.branches(s)
		})
		return
	}
	b.branches(s)
}

func (b *builder) branches(s *ast.IfStmt) {
	out := &ir.If{Cond: b.condition(s.Cond), At: b.pos(s.Pos())}
	out.Then = b.body(s.Body)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		out.Else = b.body(e)
	case *ast.IfStmt:
		out.Else = b.collect(func() { b.ifStmt(e) })
	}
	b.emit(out)
}

// condition returns a bool.
func (b *builder) condition(e ast.Expr) ir.Expr {
	x := b.expr(e)
	if x.Type().Kind != ir.Bool {
		b.unknown(e.Pos())
		return query.BadValue(ir.BoolType, b.pos(e.Pos()))
	}
	return x
}

// returnStmt ends the function, or leaves the inlined body.
func (b *builder) returnStmt(s *ast.ReturnStmt) {
	b.mayReturn(s)
	r, at := b.env.results, b.pos(s.Pos())
	values := b.returned(s, r)
	if len(values) != len(r.types) {
		b.unknown(s.Pos())
		b.hole(s.Pos())
		return
	}
	if !r.inline {
		b.emit(&ir.Return{Results: values, At: at})
		return
	}
	if len(s.Results) > 0 {
		dests := make([]dest, len(values))
		for i, v := range r.vars {
			dests[i] = dest{place: &ir.Ref{Var: v, At: at}}
		}
		b.assignAll(dests, values, at)
	}
	b.emit(&ir.Break{Label: r.label, At: at})
}

// returned returns the values of a return statement; a bare one returns the named results.
func (b *builder) returned(s *ast.ReturnStmt, r *resultPlace) []ir.Expr {
	var out []ir.Expr
	switch {
	case len(s.Results) == 0:
		for _, v := range r.named {
			out = append(out, &ir.Ref{Var: v, At: b.pos(s.Pos())})
		}
	case len(s.Results) == 1 && isTuple(b.u.p.Info.TypeOf(s.Results[0])):
		if call, ok := ast.Unparen(s.Results[0]).(*ast.CallExpr); ok {
			out = b.call(call)
		}
	default:
		for i, e := range s.Results {
			t := query.BadType
			if i < len(r.types) {
				t = r.types[i]
			}
			out = append(out, b.exprAs(e, t))
		}
	}
	return out
}

// typingOf returns the typing of an instance of f.
func typingOf(f *types.Func, args []types.Type) *typing.Converter {
	y := typing.New()
	params := f.Signature().TypeParams()
	if f.Signature().Recv() != nil {
		params = f.Signature().RecvTypeParams()
	}
	for i := range min(params.Len(), len(args)) {
		y.Args[params.At(i)] = args[i]
	}
	return y
}
