package frontend

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
)

// The bounds of inlining: a function literal may be handed to itself, and bodies that call others
// twice double.
const (
	maxInlineDepth = 100
	maxInlined     = 10_000
)

// A resultPlace says what a return does. In a function of its own it returns. In a body that is
// inlined it assigns to vars and leaves the body.
type resultPlace struct {
	types  []*ir.Type
	named  []*ir.Var // the named results of a function
	vars   []*ir.Var // of an inlined body
	inline bool
	label  *ir.Label // of the inlined body
}

// inline emits the body of in with the given arguments, and returns its results.
func (b *builder) inline(in *inlinable, values []ir.Expr, bodies map[int]*inlinable, e *ast.CallExpr) []ir.Expr {
	sig, list, body := b.declarationOf(in)
	busy := b.u.busy
	if body == nil || !b.mayInline(in, e) {
		b.keep(values...)
		return b.badResults(e)
	}
	at := b.pos(e.Pos())
	label := &ir.Label{}
	results := &resultPlace{inline: true, label: label}
	caller := b.env
	b.env = b.frameOf(in, results)
	b.env.exits = len(b.exits)
	b.resultVars(sig, list.Results, results, at)
	inside := b.collect(func() {
		b.bind(sig, values, bodies, at)
		b.out = append(b.out, b.body(body)...)
	})
	b.env = caller
	b.u.nesting--
	b.u.busy = busy
	if block := closeBody(inside, results, at); block.Label == nil && len(block.Body) == 1 {
		b.emit(block.Body[0])
	} else {
		b.emit(block)
	}
	out := make([]ir.Expr, len(results.vars))
	for i, v := range results.vars {
		out[i] = &ir.Ref{Var: v, At: at}
	}
	return out
}

// closeBody wraps an inlined body, without the jump to its end that would stand at its end.
func closeBody(inside []ir.Stmt, r *resultPlace, at ir.Pos) *ir.Block {
	if n := len(inside); n > 0 {
		if jump, ok := inside[n-1].(*ir.Break); ok && jump.Label == r.label {
			inside = inside[:n-1]
		}
	}
	block := &ir.Block{Body: inside, At: at}
	ir.WalkStmts(inside, func(s ir.Stmt) bool {
		if jump, ok := s.(*ir.Break); ok && jump.Label == r.label {
			block.Label = r.label
		}
		return true
	})
	return block
}

// declarationOf returns the signature and the body of in; the body is nil where there is none,
// which is reported.
func (b *builder) declarationOf(in *inlinable) (*types.Signature, *ast.FuncType, *ast.BlockStmt) {
	if in.lit != nil {
		sig, _ := b.u.p.Info.TypeOf(in.lit).(*types.Signature)
		if sig == nil {
			return nil, nil, nil
		}
		return sig, in.lit.Type, in.lit.Body
	}
	decl := b.u.p.Funcs[in.fn]
	if decl == nil || decl.Body == nil {
		return nil, nil, nil
	}
	return in.fn.Signature(), decl.Type, decl.Body
}

// mayInline counts an inlining, and reports one too many and a recursion.
func (b *builder) mayInline(in *inlinable, e *ast.CallExpr) bool {
	if in.fn != nil && b.recursive(in.fn, e.Pos()) {
		return false
	}
	if b.u.nesting >= maxInlineDepth || b.u.inlined >= maxInlined {
		b.fail(e.Pos(), "call of "+in.name, "function literals are inlined, and these calls never end or are too many",
			"write a loop or a top-level function without function parameters")
		return false
	}
	b.u.nesting++
	b.u.inlined++
	if in.fn != nil {
		b.u.busy = append(slices.Clone(b.u.busy), in.fn)
	} else {
		b.u.busy = in.busy
	}
	return true
}

func (b *builder) frameOf(in *inlinable, results *resultPlace) *frame {
	f := &frame{vars: map[types.Object]*ir.Var{}, bodies: map[types.Object]*inlinable{}, places: map[types.Object]ir.Expr{}, results: results}
	if in.lit != nil {
		f.outer, f.types = in.env, in.env.types
		return f
	}
	f.types = typingOf(in.fn, in.args)
	return f
}

// resultVars declares what holds the results, before the body.
func (b *builder) resultVars(sig *types.Signature, list *ast.FieldList, r *resultPlace, at ir.Pos) {
	places := fieldTypes(list)
	for i := range sig.Results().Len() {
		o := sig.Results().At(i)
		t := b.typeAt(o.Type(), places[i].Pos())
		name := o.Name()
		if name == "" {
			name = "result"
		}
		v := b.zeroVar(name, t, at).Var
		if o.Name() != "" {
			b.mean(o, v)
			r.named = append(r.named, v)
		}
		r.vars, r.types = append(r.vars, v), append(r.types, t)
	}
}

// bind gives the parameters of an inlined body their arguments.
func (b *builder) bind(sig *types.Signature, values []ir.Expr, bodies map[int]*inlinable, at ir.Pos) {
	if sig.Recv() != nil && len(values) > 0 {
		b.bindOne(sig.Recv(), values[0], at)
		values = values[1:]
	}
	for i := range min(sig.Params().Len(), len(values)) {
		if in := bodies[i]; in != nil {
			b.env.bodies[sig.Params().At(i)] = in
			continue
		}
		b.bindOne(sig.Params().At(i), values[i], at)
	}
}

// bindOne gives the parameter o of an inlined body its argument.
func (b *builder) bindOne(o *types.Var, value ir.Expr, at ir.Pos) {
	if b.pointTo(o, value) {
		return
	}
	if r, ok := value.(*ir.Ref); ok && b.u.fixed[r.Var] && b.u.p.Fates.Fate(o) == (source.Fate{}) {
		b.env.vars[o] = r.Var // two names of one value
		return
	}
	v := b.newVar(o.Name(), value.Type(), ir.Local, at)
	b.mean(o, v)
	b.emit(&ir.Decl{Var: v, Init: value, At: at})
}
