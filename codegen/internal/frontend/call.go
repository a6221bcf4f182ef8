package frontend

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// single returns the one value of a call.
func (b *builder) single(e *ast.CallExpr) ir.Expr {
	if values := b.call(e); len(values) == 1 {
		return values[0]
	}
	return b.bad(e)
}

// call returns the values of a call, a conversion included. The call itself is emitted.
func (b *builder) call(e *ast.CallExpr) []ir.Expr {
	fun := ast.Unparen(e.Fun)
	tv := b.u.p.Info.Types[fun]
	switch {
	case tv.IsType():
		return []ir.Expr{b.conversion(e, tv.Type)}
	case tv.IsBuiltin():
		return b.builtin(e, builtinName(fun))
	}
	in := b.callee(fun)
	switch {
	case in == nil:
		b.lookInside(e)
		b.hole(e.Pos())
		return nil
	case in.fn != nil && isLibrary(in.fn):
		return b.libraryCall(in.fn, e)
	}
	sig, ok := b.signature(e.Fun)
	if !ok || in.lit == nil && in.fn == nil {
		b.unknown(e.Pos())
		b.hole(e.Pos())
		return nil
	}
	values, bodies := b.arguments(sig, e)
	values = in.withReceiver(values)
	if in.lit != nil || len(bodies) > 0 || slices.ContainsFunc(values, func(v ir.Expr) bool { return splitPlace(v) != nil }) {
		return b.inline(in, values, in.ofParameters(bodies), e)
	}
	return b.callFunction(in, values, e)
}

// lookInside builds the arguments of a call that is not possible, for the errors in them.
func (b *builder) lookInside(e *ast.CallExpr) {
	for _, a := range e.Args {
		if tv := b.u.p.Info.Types[a]; tv.IsValue() && !isFunction(tv.Type) && !b.isNil(a) && !isTuple(tv.Type) && !isText(tv.Type) {
			b.keep(b.expr(a))
		}
	}
}

// isText reports whether t is a string: what is called, to print as a rule, is refused already.
func isText(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

func isTuple(t types.Type) bool {
	_, ok := t.(*types.Tuple)
	return ok
}

func builtinName(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return "unsafe." + fun.Sel.Name
	}
	return ""
}

// signature returns the type of the function that is called, its type arguments in place.
func (b *builder) signature(fun ast.Expr) (*types.Signature, bool) {
	t := b.u.p.Info.TypeOf(fun)
	if t == nil {
		return nil, false
	}
	sig, ok := t.Underlying().(*types.Signature)
	return sig, ok
}

// An inlinable is a function that can be called: a function literal with the frame that it was made
// in, or a top-level function with its type arguments.
type inlinable struct {
	lit  *ast.FuncLit
	env  *frame
	fn   *types.Func
	args []types.Type
	recv ir.Expr // of a method, nil where it is an argument or there is none
	name string
	busy []*types.Func // what was under construction where a literal stands: its calls count as made there
}

// callee returns what fun calls; nil, and the error reported, where that is not possible.
func (b *builder) callee(fun ast.Expr) *inlinable {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.FuncLit:
		b.captures(fun)
		return &inlinable{lit: fun, env: b.env, name: "func", busy: slices.Clone(b.u.busy)}
	case *ast.IndexExpr:
		if !isFunction(b.u.p.Info.TypeOf(fun.X)) { // an element of an array of functions
			break
		}
		return b.callee(fun.X)
	case *ast.IndexListExpr:
		return b.callee(fun.X)
	case *ast.Ident:
		return b.named(fun, fun)
	case *ast.SelectorExpr:
		if sel := b.u.p.Info.Selections[fun]; sel != nil {
			return b.method(fun, sel)
		}
		if b.blame(fun) {
			return nil
		}
		return b.named(fun.Sel, fun)
	}
	if b.blame(fun) {
		return nil
	}
	b.fail(fun.Pos(), "call", "what is called here is known only when the kernel runs", "call a top-level function or a function literal by name")
	return nil
}

// Named returns the function that a name stands for.
func (b *builder) named(id *ast.Ident, e ast.Expr) *inlinable {
	switch o := b.u.p.Info.Uses[id].(type) {
	case *types.Func:
		in := &inlinable{fn: o.Origin(), name: o.Name()}
		if args := b.u.p.Info.Instances[id].TypeArgs; args != nil {
			for i := range args.Len() {
				in.args = append(in.args, b.env.types.Closed(args.At(i)))
			}
		}
		return in
	case *types.Var:
		for f := b.env; f != nil; f = f.outer {
			if in := f.bodies[o]; in != nil {
				return in
			}
		}
		if !isFunction(o.Type()) {
			b.unknown(id.Pos())
			return nil
		}
		b.unboundFunction(id, o)
		return nil
	}
	b.unknown(e.Pos())
	return nil
}

func (b *builder) unboundFunction(id *ast.Ident, o *types.Var) {
	if isGlobal(o) {
		b.noVariable(id, o)
		return
	}
	if b.refused(o.Type()) {
		b.unknown(id.Pos())
		return
	}
	b.fail(id.Pos(), "call of "+id.Name, "which function it is is known only when the kernel runs",
		"assign a function literal to a local once (f := func...), or pass it to a helper")
}

// arguments returns the values for the parameters of sig; for parameters that are functions, the
// function instead.
func (b *builder) arguments(sig *types.Signature, e *ast.CallExpr) ([]ir.Expr, map[int]*inlinable) {
	if len(e.Args) == 1 {
		if inner, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr); ok && isTuple(b.u.p.Info.TypeOf(inner)) {
			return b.spread(sig, b.call(inner), e), nil
		}
	}
	n := sig.Params().Len()
	if len(e.Args) > n && !sig.Variadic() {
		b.unknown(e.Pos())
		b.lookInside(e)
		return nil, nil
	}
	values := make([]ir.Expr, 0, n)
	bodies := map[int]*inlinable{}
	var rest []ir.Expr
	for i, a := range e.Args {
		variadic := sig.Variadic() && i >= n-1 && !e.Ellipsis.IsValid()
		t := paramType(sig, i, variadic)
		if isFunction(t) {
			in := b.bodyOf(a)
			if in == nil {
				in = &inlinable{}
			}
			bodies[i] = in
			values = append(values, nil)
			continue
		}
		v := b.splitPointer(a, t)
		if v == nil {
			v = b.exprAs(a, b.typeAt(t, a.Pos()))
		}
		if variadic {
			rest = append(rest, v)
			continue
		}
		values = append(values, v)
	}
	return b.withVariadic(sig, values, rest, e), bodies
}

func paramType(sig *types.Signature, i int, variadic bool) types.Type {
	last := sig.Params().Len() - 1
	t := sig.Params().At(min(i, last)).Type()
	if s, ok := t.Underlying().(*types.Slice); ok && variadic {
		return s.Elem()
	}
	return t
}

// withVariadic adds the slice of the arguments of a variadic parameter.
func (b *builder) withVariadic(sig *types.Signature, values, rest []ir.Expr, e *ast.CallExpr) []ir.Expr {
	n := sig.Params().Len()
	if !sig.Variadic() || len(values) == n {
		return values
	}
	at := b.pos(e.Pos())
	t := b.typeAt(sig.Params().At(n-1).Type(), e.Pos())
	if len(rest) == 0 || t.Kind != ir.Slice {
		return append(values, &ir.Const{T: t, At: at})
	}
	array := b.temp("args", &ir.Composite{T: ir.ArrayOf(t.Elem, int64(len(rest))), Elems: rest, At: at}, at)
	return append(values, &ir.Reslice{X: array, At: at})
}

// spread passes on the values of f(g()).
func (b *builder) spread(sig *types.Signature, got []ir.Expr, e *ast.CallExpr) []ir.Expr {
	if !sig.Variadic() || len(got) < sig.Params().Len()-1 {
		return got
	}
	fixed := sig.Params().Len() - 1
	return b.withVariadic(sig, slices.Clone(got[:fixed]), got[fixed:], e)
}

// bodyOf returns the function that an argument is.
func (b *builder) bodyOf(e ast.Expr) *inlinable {
	if b.isNil(e) {
		b.fail(e.Pos(), "nil function", "a function is no value on a device", "pass a function literal")
		return nil
	}
	in := b.callee(e)
	if in != nil && in.fn != nil && isLibrary(in.fn) {
		b.fail(e.Pos(), "function "+in.fn.Name(), "library functions are operations of the device and have no body to pass",
			"wrap it: func(x float64) float64 { return math."+in.fn.Name()+"(x) }")
		return nil
	}
	if in != nil && in.recv != nil && !b.fixed(in.recv) {
		in.recv = b.temp("receiver", in.recv, b.pos(e.Pos())) // Go evaluates it here
	}
	return in
}

// An instance is a function of the kernel: a Go function with type arguments.
type instance struct {
	fn   *types.Func
	args []types.Type
	made *ir.Func
}

// callFunction emits the call of a top-level function.
func (b *builder) callFunction(in *inlinable, values []ir.Expr, e *ast.CallExpr) []ir.Expr {
	f := b.function(in.fn, in.args, e.Pos())
	if f == nil || len(values) != len(f.Params) {
		b.keep(values...)
		return b.badResults(e)
	}
	at := b.pos(e.Pos())
	call := &ir.Call{Fn: f, Args: values, At: at}
	var out []ir.Expr
	for _, t := range f.Results {
		r := b.zeroVar(f.Name+"Result", t, at)
		call.Results = append(call.Results, r.Var)
		out = append(out, r)
	}
	b.emit(call)
	return out
}

// badResults stands for the results of a call that an error was reported for.
func (b *builder) badResults(e *ast.CallExpr) []ir.Expr {
	b.hole(e.Pos())
	tuple, ok := b.u.p.Info.TypeOf(e).(*types.Tuple)
	if !ok {
		return []ir.Expr{b.bad(e)}
	}
	var out []ir.Expr
	for i := range tuple.Len() {
		t, _ := b.env.types.Convert(tuple.At(i).Type())
		out = append(out, query.BadValue(t, b.pos(e.Pos())))
	}
	return out
}

// function returns the IR of f with type arguments args, building it at its first call; nil where
// that is not possible.
func (b *builder) function(f *types.Func, args []types.Type, at token.Pos) *ir.Func {
	if b.recursive(f, at) {
		return nil
	}
	for _, i := range b.u.funcs {
		if i.fn == f && slices.EqualFunc(i.args, args, types.Identical) {
			return i.made
		}
	}
	decl := b.u.p.Funcs[f]
	if decl == nil || decl.Body == nil {
		b.fail(at, "call of "+f.Name(), "it has no body in Go", "write it in Go")
		return nil
	}
	i := &instance{fn: f, args: args}
	b.u.funcs = append(b.u.funcs, i)
	b.u.busy = append(b.u.busy, f)
	made := b.make(f, args, decl)
	b.u.busy = b.u.busy[:len(b.u.busy)-1]
	i.made = made
	b.u.k.Funcs = append(b.u.k.Funcs, made)
	return made
}

// anew returns a builder of another body of the kernel.
func (b *builder) anew(y *typing.Converter) *builder { return b.u.builder(y) }

// make builds a function.
func (b *builder) make(f *types.Func, args []types.Type, decl *ast.FuncDecl) *ir.Func {
	b = b.anew(typingOf(f, args))
	out := &ir.Func{Name: b.functionName(f, args), At: b.pos(decl.Name.Pos())}
	out.Params = append(b.receiver(f.Signature(), decl), b.parameters(f.Signature(), decl)...)
	b.env.results = &resultPlace{}
	var named []ir.Stmt
	places := fieldTypes(decl.Type.Results)
	for i := range f.Signature().Results().Len() {
		o := f.Signature().Results().At(i)
		t := b.typeAt(o.Type(), places[i].Pos())
		out.Results = append(out.Results, t)
		if o.Name() != "" {
			v := b.variable(o, t, ir.Local)
			named = append(named, &ir.Decl{Var: v, At: v.At})
			b.env.results.named = append(b.env.results.named, v)
		}
	}
	b.env.results.types = out.Results
	out.Body = append(named, b.body(decl.Body)...)
	b.u.checkEscapes(out.Params, out.Body)
	return out
}

// recursive reports a call of a function that is being built.
func (b *builder) recursive(f *types.Func, at token.Pos) bool {
	i := slices.Index(b.u.busy, f)
	if i < 0 {
		return false
	}
	var path []string
	for _, g := range b.u.busy[i:] {
		path = append(path, g.Name())
	}
	path = append(path, f.Name())
	b.fail(at, "recursion", strings.Join(path, " calls ")+", and there is no stack on a device",
		"write a loop, with an array for what is still to do")
	return true
}

// functionName returns a name for an instance of f that no other function of the kernel has.
func (b *builder) functionName(f *types.Func, args []types.Type) string {
	base := typing.InstanceName(receiverName(f)+f.Name(), args)
	name := base
	for n := 2; b.u.names[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	b.u.names[name] = true
	return name
}
