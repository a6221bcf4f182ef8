package frontend

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/clauses"
	"github.com/gompss/gompss/codegen/internal/frontend/passes"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/stmts"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
)

// build returns the loop IR of kernel f for the given type arguments.
func (p *Package) build(f *types.Func, decl *ast.FuncDecl, args []types.Type) (*ir.Kernel, []diag.Diagnostic) {
	k := &ir.Kernel{Name: typing.InstanceName(f.Name(), args), Package: p.src.Name, At: p.src.Position(decl.Name.Pos())}
	u := &scope.Unit{Program: p.src, Kernel: k, Failed: map[diag.Diagnostic]bool{}, Temps: map[*ir.Var]bool{}, Taken: map[*ir.Var]bool{}, Fixed: map[*ir.Var]bool{}, Names: map[string]bool{k.Name: true},
		Globals: map[*types.Var]*ir.Var{}, Leaves: map[*ir.Var][]*ir.Var{}, Busy: []*types.Func{f}}
	u.Refused = p.refusedLines(decl)
	b := stmts.New(u.NewBody(scope.TypingOf(f, args)))
	k.Params = b.Parameters(f.Signature(), decl)
	u.Incomplete.All = p.src.UnparsedFunction(decl)
	unfit(b.Body, f.Signature(), decl)
	d := p.src.Directives[decl]
	shapes := clauses.ReadFunction(b.Builder, k, d, decl)
	if k.Target.Native == nil { // a native kernel has its source in another file
		k.Body = b.Block(decl.Body)
	}
	if u.Size > source.MaxStatements || !passes.Of(u).CheckSize() {
		return k, u.Diags
	}
	finish(u, shapes)
	if len(k.Prints) > 0 {
		printing.Split(k)
	}
	return k, diag.Folded(slices.DeleteFunc(u.Diags, func(d diag.Diagnostic) bool { return source.Silences(p.src, d) }))
}

// refusedLines returns the lines with errors of go/types in the declarations that decl reaches.
func (p *Package) refusedLines(decl *ast.FuncDecl) map[ir.Pos]bool {
	out := map[ir.Pos]bool{}
	for _, d := range p.src.ErrorsIn(p.reach.ReachOf(decl)) {
		out[ir.Pos{File: d.Pos.File, Line: d.Pos.Line}] = true
	}
	return out
}

// finish runs the passes on a kernel whose bodies are built.
func finish(u *scope.Unit, shapes map[*ir.Var][]ir.Expr) {
	f := &finishing{Pass: passes.Of(u), shapes: shapes}
	for _, p := range finishingPasses {
		p.run(f)
	}
}

// unfit declares the receiver and results, which a kernel must not have, so that errors in its body
// are still found.
func unfit(b *scope.Body, sig *types.Signature, decl *ast.FuncDecl) {
	b.Env.Results = &scope.ResultPlace{}
	if r := sig.Recv(); r != nil {
		t, _ := b.Env.Types.Convert(r.Type())
		b.Variable(r, t, ir.Param)
	}
	for i := range sig.Results().Len() {
		o := sig.Results().At(i)
		t := b.TypeAt(o.Type(), decl.Type.Results.Pos())
		b.Env.Results.Types = append(b.Env.Results.Types, t)
		if o.Name() != "" {
			b.Env.Results.Named = append(b.Env.Results.Named, b.Variable(o, t, ir.Local))
		}
	}
}
