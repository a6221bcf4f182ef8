package calls

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
)

// The bounds of inlining: a function literal may be handed to itself, and bodies that call others
// twice double.
const (
	maxInlineDepth = 100
	MaxInlined     = 10_000
)

// Inline emits the body of in with the given arguments, and returns its results.
func (b *Caller) inline(in *scope.Function, values []ir.Expr, bodies map[int]*scope.Function, e *ast.CallExpr) []ir.Expr {
	sig, list, body := b.declarationOf(in)
	busy := b.Busy
	if body == nil || !b.mayInline(in, e) {
		b.Keep(values...)
		return b.badResults(e)
	}
	at := b.Pos(e.Pos())
	label := &ir.Label{}
	results := &scope.ResultPlace{Inline: true, Label: label}
	caller := b.Env
	b.Env = b.frameOf(in, results)
	b.Env.Exits = len(b.Exits)
	b.resultVars(sig, list.Results, results, at)
	inside := b.Collect(func() {
		b.bind(sig, values, bodies, at)
		b.Out = append(b.Out, b.Block(body)...)
	})
	b.Env = caller
	b.Nesting--
	b.Busy = busy
	if block := closeBody(inside, results, at); block.Label == nil && len(block.Body) == 1 {
		b.Emit(block.Body[0])
	} else {
		b.Emit(block)
	}
	out := make([]ir.Expr, len(results.Vars))
	for i, v := range results.Vars {
		out[i] = &ir.Ref{Var: v, At: at}
	}
	return out
}

// closeBody wraps an inlined body, without the jump to its end that would stand at its end.
func closeBody(inside []ir.Stmt, r *scope.ResultPlace, at ir.Pos) *ir.Block {
	if n := len(inside); n > 0 {
		if jump, ok := inside[n-1].(*ir.Break); ok && jump.Label == r.Label {
			inside = inside[:n-1]
		}
	}
	block := &ir.Block{Body: inside, At: at}
	ir.WalkStmts(inside, func(s ir.Stmt) bool {
		if jump, ok := s.(*ir.Break); ok && jump.Label == r.Label {
			block.Label = r.Label
		}
		return true
	})
	return block
}

// declarationOf returns the signature and the body of in; the body is nil where there is none,
// which is reported.
func (b *Caller) declarationOf(in *scope.Function) (*types.Signature, *ast.FuncType, *ast.BlockStmt) {
	if in.Lit != nil {
		sig, _ := b.Program.Info.TypeOf(in.Lit).(*types.Signature)
		if sig == nil {
			return nil, nil, nil
		}
		return sig, in.Lit.Type, in.Lit.Body
	}
	decl := b.Program.Funcs[in.Fn]
	if decl == nil || decl.Body == nil {
		return nil, nil, nil
	}
	return in.Fn.Signature(), decl.Type, decl.Body
}

// mayInline counts an inlining, and reports one too many and a recursion.
func (b *Caller) mayInline(in *scope.Function, e *ast.CallExpr) bool {
	if in.Fn != nil && b.recursive(in.Fn, e.Pos()) {
		return false
	}
	if b.Nesting >= maxInlineDepth || b.Inlined >= MaxInlined {
		b.Fail(e.Pos(), "call of "+in.Name, "function literals are inlined, and these calls never end or are too many",
			"write a loop or a top-level function without function parameters")
		return false
	}
	b.Nesting++
	b.Inlined++
	if in.Fn != nil {
		b.Busy = append(slices.Clone(b.Busy), in.Fn)
	} else {
		b.Busy = in.Busy
	}
	return true
}

func (b *Caller) frameOf(in *scope.Function, results *scope.ResultPlace) *scope.Frame {
	f := &scope.Frame{Vars: map[types.Object]*ir.Var{}, Bodies: map[types.Object]*scope.Function{}, Places: map[types.Object]ir.Expr{}, Results: results}
	if in.Lit != nil {
		f.Outer, f.Types = in.Env, in.Env.Types
		return f
	}
	f.Types = scope.TypingOf(in.Fn, in.Args)
	return f
}

// resultVars declares the variables of the results, before the body.
func (b *Caller) resultVars(sig *types.Signature, list *ast.FieldList, r *scope.ResultPlace, at ir.Pos) {
	places := scope.FieldTypes(list)
	for i := range sig.Results().Len() {
		o := sig.Results().At(i)
		t := b.TypeAt(o.Type(), places[i].Pos())
		name := o.Name()
		if name == "" {
			name = "result"
		}
		v := b.ZeroVar(name, t, at).Var
		if o.Name() != "" {
			b.Mean(o, v)
			r.Named = append(r.Named, v)
		}
		r.Vars, r.Types = append(r.Vars, v), append(r.Types, t)
	}
}

// bind gives the parameters of an inlined body their arguments.
func (b *Caller) bind(sig *types.Signature, values []ir.Expr, bodies map[int]*scope.Function, at ir.Pos) {
	if sig.Recv() != nil && len(values) > 0 {
		b.bindOne(sig.Recv(), values[0], at)
		values = values[1:]
	}
	for i := range min(sig.Params().Len(), len(values)) {
		if in := bodies[i]; in != nil {
			b.Env.Bodies[sig.Params().At(i)] = in
			continue
		}
		b.bindOne(sig.Params().At(i), values[i], at)
	}
}

// bindOne gives the parameter o of an inlined body its argument.
func (b *Caller) bindOne(o *types.Var, value ir.Expr, at ir.Pos) {
	if b.PointTo(o, value) {
		return
	}
	if r, ok := value.(*ir.Ref); ok && b.Unit.Fixed[r.Var] && b.Program.Usages.Of(o) == (source.Usage{}) {
		b.Env.Vars[o] = r.Var // two names of one value
		return
	}
	v := b.NewVar(o.Name(), value.Type(), ir.Local, at)
	b.Mean(o, v)
	b.Emit(&ir.Decl{Var: v, Init: value, At: at})
}
