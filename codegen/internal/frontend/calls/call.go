package calls

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/passes"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Single returns the one value of a call.
func (b *Caller) Single(e *ast.CallExpr) ir.Expr {
	if values := b.Call(e); len(values) == 1 {
		return values[0]
	}
	return b.Bad(e)
}

// Call returns the values of a call, a conversion included. The call itself is emitted.
func (b *Caller) Call(e *ast.CallExpr) []ir.Expr {
	fun := ast.Unparen(e.Fun)
	tv := b.Program.Info.Types[fun]
	switch {
	case tv.IsType():
		return []ir.Expr{builtins{b}.conversion(e, tv.Type)}
	case tv.IsBuiltin():
		return builtins{b}.builtin(e, builtinName(fun))
	}
	in := b.callee(fun)
	switch {
	case in == nil:
		b.LookInside(e)
		b.BadStmt(e.Pos())
		return nil
	case in.Fn != nil && isLibrary(in.Fn):
		return b.libraryCall(in.Fn, e)
	}
	sig, ok := b.signature(e.Fun)
	if !ok || in.Lit == nil && in.Fn == nil {
		b.Unknown(e.Pos())
		b.BadStmt(e.Pos())
		return nil
	}
	values, bodies := b.arguments(sig, e)
	values = in.WithReceiver(values)
	if in.Lit != nil || len(bodies) > 0 || prints(b, in.Fn) || slices.ContainsFunc(values, func(v ir.Expr) bool { return exprs.SplitPlace(v) != nil }) {
		return b.inline(in, values, in.OfParameters(bodies), e)
	}
	return b.callFunction(in, values, e)
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
func (b *Caller) signature(fun ast.Expr) (*types.Signature, bool) {
	t := b.Program.Info.TypeOf(fun)
	if t == nil {
		return nil, false
	}
	sig, ok := t.Underlying().(*types.Signature)
	return sig, ok
}

// callee returns the target of a call of fun; nil, with the error reported, where there is none.
func (b *Caller) callee(fun ast.Expr) *scope.Function {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.FuncLit:
		b.captures(fun)
		return &scope.Function{Lit: fun, Env: b.Env, Name: "func", Busy: slices.Clone(b.Busy)}
	case *ast.IndexExpr:
		if !scope.IsFunction(b.Program.Info.TypeOf(fun.X)) { // an element of an array of functions
			break
		}
		return b.callee(fun.X)
	case *ast.IndexListExpr:
		return b.callee(fun.X)
	case *ast.Ident:
		return b.named(fun, fun)
	case *ast.SelectorExpr:
		if sel := b.Program.Info.Selections[fun]; sel != nil {
			return b.method(fun, sel)
		}
		if b.Blame(fun) {
			return nil
		}
		return b.named(fun.Sel, fun)
	}
	if b.Blame(fun) {
		return nil
	}
	b.Fail(fun.Pos(), "call", "what is called here is known only when the kernel runs", "call a top-level function or a function literal by name")
	return nil
}

// Named returns the function that a name stands for.
func (b *Caller) named(id *ast.Ident, e ast.Expr) *scope.Function {
	switch o := b.Program.Info.Uses[id].(type) {
	case *types.Func:
		in := &scope.Function{Fn: o.Origin(), Name: o.Name()}
		if args := b.Program.Info.Instances[id].TypeArgs; args != nil {
			for i := range args.Len() {
				in.Args = append(in.Args, b.Env.Types.Closed(args.At(i)))
			}
		}
		return in
	case *types.Var:
		for f := b.Env; f != nil; f = f.Outer {
			if in := f.Bodies[o]; in != nil {
				return in
			}
		}
		if !scope.IsFunction(o.Type()) {
			b.Unknown(id.Pos())
			return nil
		}
		b.unboundFunction(id, o)
		return nil
	}
	b.Unknown(e.Pos())
	return nil
}

func (b *Caller) unboundFunction(id *ast.Ident, o *types.Var) {
	if scope.IsGlobal(o) {
		b.NoVariable(id, o)
		return
	}
	if b.Refused(o.Type()) {
		b.Unknown(id.Pos())
		return
	}
	b.Fail(id.Pos(), "call of "+id.Name, "which function it is is known only when the kernel runs",
		"assign a function literal to a local once (f := func...), or pass it to a helper")
}

// arguments returns the values for the parameters of sig; for parameters that are functions, the
// function instead.
func (b *Caller) arguments(sig *types.Signature, e *ast.CallExpr) ([]ir.Expr, map[int]*scope.Function) {
	if len(e.Args) == 1 {
		if inner, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr); ok && exprs.IsTuple(b.Program.Info.TypeOf(inner)) {
			return b.spread(sig, b.Call(inner), e), nil
		}
	}
	n := sig.Params().Len()
	if len(e.Args) > n && !sig.Variadic() {
		b.Unknown(e.Pos())
		b.LookInside(e)
		return nil, nil
	}
	values := make([]ir.Expr, 0, n)
	bodies := map[int]*scope.Function{}
	var rest []ir.Expr
	for i, a := range e.Args {
		variadic := sig.Variadic() && i >= n-1 && !e.Ellipsis.IsValid()
		t := paramType(sig, i, variadic)
		if scope.IsFunction(t) {
			in := b.bodyOf(a)
			if in == nil {
				in = &scope.Function{}
			}
			bodies[i] = in
			values = append(values, nil)
			continue
		}
		v := b.SplitPointer(a, t)
		if v == nil {
			v = b.ExprAs(a, b.TypeAt(t, a.Pos()))
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
func (b *Caller) withVariadic(sig *types.Signature, values, rest []ir.Expr, e *ast.CallExpr) []ir.Expr {
	n := sig.Params().Len()
	if !sig.Variadic() || len(values) == n {
		return values
	}
	at := b.Pos(e.Pos())
	t := b.TypeAt(sig.Params().At(n-1).Type(), e.Pos())
	if len(rest) == 0 || t.Kind != ir.Slice {
		return append(values, &ir.Const{T: t, At: at})
	}
	array := b.Temp("args", &ir.Composite{T: ir.ArrayOf(t.Elem, int64(len(rest))), Elems: rest, At: at}, at)
	return append(values, &ir.Reslice{X: array, At: at})
}

// spread passes on the values of f(g()).
func (b *Caller) spread(sig *types.Signature, got []ir.Expr, e *ast.CallExpr) []ir.Expr {
	if !sig.Variadic() || len(got) < sig.Params().Len()-1 {
		return got
	}
	fixed := sig.Params().Len() - 1
	return b.withVariadic(sig, slices.Clone(got[:fixed]), got[fixed:], e)
}

// bodyOf returns the function that an argument is.
func (b *Caller) bodyOf(e ast.Expr) *scope.Function {
	if b.IsNil(e) {
		b.Fail(e.Pos(), "nil function", "a function is no value on a device", "pass a function literal")
		return nil
	}
	in := b.callee(e)
	if in != nil && in.Fn != nil && isLibrary(in.Fn) {
		b.Fail(e.Pos(), "function "+in.Fn.Name(), "library functions are operations of the device and have no body to pass",
			"wrap it: func(x float64) float64 { return math."+in.Fn.Name()+"(x) }")
		return nil
	}
	if in != nil && in.Recv != nil && !b.Fixed(in.Recv) {
		in.Recv = b.Temp("receiver", in.Recv, b.Pos(e.Pos())) // Go evaluates it here
	}
	return in
}

// callFunction emits the call of a top-level function.
func (b *Caller) callFunction(in *scope.Function, values []ir.Expr, e *ast.CallExpr) []ir.Expr {
	f := b.function(in.Fn, in.Args, e.Pos())
	if f == nil || len(values) != len(f.Params) {
		b.Keep(values...)
		return b.badResults(e)
	}
	at := b.Pos(e.Pos())
	call := &ir.Call{Fn: f, Args: values, At: at}
	var out []ir.Expr
	for _, t := range f.Results {
		r := b.ZeroVar(f.Name+"Result", t, at)
		r.Var.Source = callText(f.Name, values)
		call.Results = append(call.Results, r.Var)
		out = append(out, r)
	}
	b.Emit(call)
	return out
}

// callText returns the text of a call in messages, with its arguments if they are short.
func callText(name string, values []ir.Expr) string {
	const longest = 60
	var args []string
	for _, v := range values {
		args = append(args, query.Source(v))
	}
	if text := name + "(" + strings.Join(args, ", ") + ")"; len(text) <= longest {
		return text
	}
	return name + "(...)"
}

// badResults stands for the results of a call that an error was reported for.
func (b *Caller) badResults(e *ast.CallExpr) []ir.Expr {
	b.BadStmt(e.Pos())
	tuple, ok := b.Program.Info.TypeOf(e).(*types.Tuple)
	if !ok {
		return []ir.Expr{b.Bad(e)}
	}
	var out []ir.Expr
	for i := range tuple.Len() {
		t, _ := b.Env.Types.Convert(tuple.At(i).Type())
		out = append(out, query.BadValue(t, b.Pos(e.Pos())))
	}
	return out
}

// function returns the IR of f with type arguments args, building it at its first call; nil where
// that is not possible.
func (b *Caller) function(f *types.Func, args []types.Type, at token.Pos) *ir.Func {
	if b.recursive(f, at) {
		return nil
	}
	for _, i := range b.Unit.Funcs {
		if i.Fn == f && slices.EqualFunc(i.Args, args, types.Identical) {
			return i.Made
		}
	}
	decl := b.Program.Funcs[f]
	if decl == nil || decl.Body == nil {
		b.Fail(at, "call of "+f.Name(), "it has no body in Go", "write it in Go")
		return nil
	}
	i := &scope.Instance{Fn: f, Args: args}
	b.Unit.Funcs = append(b.Unit.Funcs, i)
	b.Busy = append(b.Busy, f)
	made := b.make(f, args, decl)
	b.Busy = b.Busy[:len(b.Busy)-1]
	i.Made = made
	b.Kernel.Funcs = append(b.Kernel.Funcs, made)
	return made
}

// anew returns a builder of another body of the kernel.
func (b *Caller) anew(y *typing.Converter) *Caller { return b.another(b.NewBody(y)) }

// make builds a function.
func (b *Caller) make(f *types.Func, args []types.Type, decl *ast.FuncDecl) *ir.Func {
	b = b.anew(scope.TypingOf(f, args))
	out := &ir.Func{Name: b.functionName(f, args), At: b.Pos(decl.Name.Pos())}
	out.Params = append(b.receiver(f.Signature(), decl), b.Parameters(f.Signature(), decl)...)
	b.Env.Results = &scope.ResultPlace{}
	var named []ir.Stmt
	places := scope.FieldTypes(decl.Type.Results)
	for i := range f.Signature().Results().Len() {
		o := f.Signature().Results().At(i)
		t := b.TypeAt(o.Type(), places[i].Pos())
		out.Results = append(out.Results, t)
		if o.Name() != "" {
			v := b.Variable(o, t, ir.Local)
			named = append(named, &ir.Decl{Var: v, At: v.At})
			b.Env.Results.Named = append(b.Env.Results.Named, v)
		}
	}
	b.Env.Results.Types = out.Results
	out.Body = append(named, b.Block(decl.Body)...)
	passes.Of(b.Unit).CheckEscapes(out.Params, out.Body)
	return out
}

// recursive reports a call of a function that is being built.
func (b *Caller) recursive(f *types.Func, at token.Pos) bool {
	i := slices.Index(b.Busy, f)
	if i < 0 {
		return false
	}
	var path []string
	for _, g := range b.Busy[i:] {
		path = append(path, g.Name())
	}
	path = append(path, f.Name())
	b.Fail(at, "recursion", strings.Join(path, " calls ")+", and there is no stack on a device",
		"write a loop, with an array for what is still to do")
	return true
}

// functionName returns a name for an instance of f that no other function of the kernel has.
func (b *Caller) functionName(f *types.Func, args []types.Type) string {
	base := typing.InstanceName(receiverName(f)+f.Name(), args)
	name := base
	for n := 2; b.Names[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	b.Names[name] = true
	return name
}
