package calls

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// builtins makes the conversions of a body, and the calls of Go's builtin functions.
type builtins struct{ *Caller }

// refusedBuiltins gives, for each builtin outside the dialect, the reason and the replacement.
var refusedBuiltins = map[string][2]string{
	"append":  {"slices do not grow on a device", "pass a slice that is long enough and count what is in it"},
	"delete":  {"there are no maps on a device", "use slices and indices"},
	"close":   {"there are no channels on a device", "write results into a slice"},
	"panic":   {"a kernel cannot unwind", "write an error code to an element of a slice parameter"},
	"recover": {"a kernel cannot unwind", "leave it out: a failing task returns its error"},
	"print":   {"it does not end its line, and the lines of threads are put in order", "write println"},
}

// builtin returns the values of the call of a builtin function.
func (b builtins) builtin(e *ast.CallExpr, name string) []ir.Expr {
	_, refused := refusedBuiltins[name]
	if len(e.Args) == 0 && !refused && name != "println" { // reported by go/types
		return b.badResults(e)
	}
	switch name {
	case "len", "cap":
		return []ir.Expr{b.length(e, name)}
	case "min", "max":
		return []ir.Expr{b.minMax(e, name)}
	case "complex":
		return []ir.Expr{b.complexOf(e)}
	case "real", "imag":
		return []ir.Expr{b.partOf(e, name)}
	case "new":
		return []ir.Expr{b.newValue(e)}
	case "make":
		return []ir.Expr{b.makeSlice(e)}
	case "copy":
		if len(e.Args) == 2 {
			return []ir.Expr{b.copySlices(e)}
		}
		return b.badResults(e)
	case "println":
		printCall(b.Caller, e, name)
		return nil
	case "clear":
		b.clearSlice(e)
		return nil
	}
	if why, ok := refusedBuiltins[name]; ok {
		b.Fail(e.Pos(), name, why[0], why[1])
	} else {
		b.Fail(e.Pos(), name, "it works on memory that the compiler does not see", "use slices and indices")
	}
	if name != "panic" && name != "print" && name != "println" {
		b.LookInside(e)
	}
	return b.badResults(e)
}

func (b builtins) length(e *ast.CallExpr, name string) ir.Expr {
	at := b.Pos(e.Pos())
	x := b.Expr(e.Args[0])
	t := x.Type()
	if t.Kind == ir.Pointer {
		t = t.Elem
	}
	switch {
	case t.Kind == ir.Array:
		return build.Int(t.Len, at)
	case t.Kind == ir.Slice && name == "len":
		return &ir.Len{X: x, At: at}
	case t.Kind == ir.Slice:
		return &ir.Cap{X: x, At: at}
	}
	return b.Bad(e)
}

// minMax returns the smallest or largest of the arguments.
func (b builtins) minMax(e *ast.CallExpr, name string) ir.Expr {
	t := b.TypeOf(e)
	fn := map[string][2]ir.MathFn{"min": {ir.IMin, ir.FMin}, "max": {ir.IMax, ir.FMax}}[name][exprs.BoolBits(t.IsFloat())]
	var out ir.Expr
	for _, a := range e.Args {
		x := b.Converted(a, t)
		if !t.IsInteger() && !t.IsFloat() || !ir.Same(x.Type(), t) {
			return b.Bad(e, out, x)
		}
		if out == nil {
			out = x
			continue
		}
		out = &ir.Math{Fn: fn, Args: []ir.Expr{out, x}, T: t, At: b.Pos(e.Pos())}
	}
	return out
}

// complexOf returns complex(x, y).
func (b builtins) complexOf(e *ast.CallExpr) ir.Expr {
	t := b.TypeOf(e)
	if !t.Complex || len(e.Args) != 2 {
		return b.Bad(e)
	}
	out := &ir.Composite{T: t, At: b.Pos(e.Pos())}
	for i, a := range e.Args {
		x := b.Converted(a, t.Fields[i].Type)
		if !ir.Same(x.Type(), t.Fields[i].Type) {
			return b.Bad(e, x)
		}
		out.Elems = append(out.Elems, x)
	}
	return out
}

// partOf returns real(z) or imag(z).
func (b builtins) partOf(e *ast.CallExpr, name string) ir.Expr {
	z := b.Expr(e.Args[0])
	if !z.Type().Complex {
		return b.Bad(e, z)
	}
	re, im := b.Parts(z)
	if name == "real" {
		return re
	}
	return im
}

// Converted returns e as type t: a constant takes the type.
func (b *Caller) Converted(e ast.Expr, t *ir.Type) ir.Expr {
	if v := b.Program.Info.Types[e].Value; v != nil {
		if bits, ok := exprs.ConstantBits(v, t); ok {
			return &ir.Const{T: t, Bits: bits, At: b.Pos(e.Pos())}
		}
	}
	return b.ExprAs(e, t)
}

// newValue returns the address of a new variable: new(T), or new(x).
func (b builtins) newValue(e *ast.CallExpr) ir.Expr {
	at := b.Pos(e.Pos())
	if tv := b.Program.Info.Types[e.Args[0]]; tv.IsType() {
		t := b.TypeAt(tv.Type, e.Args[0].Pos())
		if t.Kind == ir.Invalid {
			return b.Bad(e)
		}
		return &ir.AddrOf{X: b.ZeroVar("value", t, at), At: at}
	}
	x := b.Expr(e.Args[0])
	if scope.IsBad(x) {
		return b.Bad(e)
	}
	return &ir.AddrOf{X: b.Temp("value", x, at), At: at}
}

// makeSlice returns make([]T, n) and make([]T, n, c) where the capacity is a constant.
func (b builtins) makeSlice(e *ast.CallExpr) ir.Expr {
	t := b.TypeOf(e)
	if t.Kind != ir.Slice {
		return b.Bad(e)
	}
	size := e.Args[len(e.Args)-1]
	n, known := int64(0), false
	if v := b.Program.Info.Types[size].Value; len(e.Args) > 1 && v != nil {
		n, known = constant.Int64Val(constant.ToInt(v))
	}
	at := b.Pos(e.Pos())
	switch {
	case !known:
		b.Fail(e.Pos(), "make", "its size is not a constant, and a device allocates nothing", "pass a slice parameter, or make a constant size")
		return b.Bad(e)
	case n < 0 || n > typing.MaxTypeSize/int64(t.Elem.Size):
		b.Fail(e.Pos(), "make", "the slice is larger than 1 TiB", "make it smaller")
		return b.Bad(e)
	case n == 0:
		return &ir.Const{T: t, At: at}
	}
	out := &ir.Reslice{X: b.ZeroVar("made", ir.ArrayOf(t.Elem, n), at), At: at}
	if len(e.Args) == 3 {
		out.Hi = b.Expr(e.Args[1])
		out.Checked = b.Checked() && !exprs.BoundsKnown(out.X.Type(), out.Hi, false)
	}
	return out
}

// conversion returns T(x).
func (b builtins) conversion(e *ast.CallExpr, to types.Type) ir.Expr {
	if b.Blame(e.Fun) || len(e.Args) != 1 {
		return b.Bad(e)
	}
	t := b.TypeAt(to, e.Fun.Pos())
	if t.Kind == ir.Invalid {
		return b.Bad(e)
	}
	if t.Kind == ir.Float32 {
		if narrow := b.narrowCall(e.Args[0], t, b.Pos(e.Pos())); narrow != nil {
			return narrow
		}
	}
	x := b.Converted(e.Args[0], t)
	return b.convertValue(x, t, e)
}

func (b builtins) convertValue(x ir.Expr, t *ir.Type, e *ast.CallExpr) ir.Expr {
	from, at := x.Type(), b.Pos(e.Pos())
	number := func(t *ir.Type) bool { return t.IsInteger() || t.IsFloat() }
	c, isConst := x.(*ir.Const)
	switch {
	case scope.IsBad(x):
		return b.Bad(e)
	case isConst && number(from) && number(t):
		return &ir.Const{T: t, Bits: ir.FoldConvert(t, from, c.Bits), At: at}
	case from.Complex && t.Complex:
		return b.ConvertComplex(x, t, at)
	case ir.Same(from, t) && !t.IsFloat():
		return x // the same bits under another name
	case ir.Same(from, t), number(from) && number(t):
		return &ir.Convert{T: t, X: x, At: at}
	case from.Kind == ir.Slice && t.Kind == ir.Array && ir.Same(from.Elem, t.Elem):
		return b.arrayOf(x, t, at)
	}
	instead := "convert element by element"
	if from.Kind == ir.Slice && t.Kind == ir.Pointer && t.Elem.Kind == ir.Array {
		n := strconv.FormatInt(t.Elem.Len, 10)
		instead = "write the slice s[:" + n + ":" + n + "], or the array " + t.Elem.String() + "(s)"
	}
	b.Fail(e.Pos(), "conversion from "+from.String()+" to "+t.String(), "it is not in the dialect", instead)
	return b.Bad(e, x)
}

// narrowCall returns the float32 form of math.F(float64(x)), whose result is rounded to the float32
// type t; nil where e is not of this form.
func (b builtins) narrowCall(e ast.Expr, t *ir.Type, at ir.Pos) ir.Expr {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn := b.mathCallee(call.Fun)
	if !narrowFn(fn) {
		return nil
	}
	sources := make([]ast.Expr, len(call.Args))
	wide := true
	for i, a := range call.Args {
		if sources[i] = b.narrowSource(a); sources[i] == nil {
			return nil
		}
		wide = wide && b.Program.Info.Types[a].Value != nil
	}
	if wide {
		return nil
	}
	out := &ir.Math{Fn: fn, T: t, At: at}
	for _, s := range sources {
		out.Args = append(out.Args, b.Converted(s, ir.Float32Type))
	}
	if fn == ir.FMin || fn == ir.FMax {
		return b.infinityFirst(fn, out.Args, at)
	}
	return out
}

// mathCallee returns the function of package math that fun names, NoMath where it names none.
func (b builtins) mathCallee(fun ast.Expr) ir.MathFn {
	id, ok := ast.Unparen(fun).(*ast.Ident)
	if sel, isSel := ast.Unparen(fun).(*ast.SelectorExpr); isSel {
		id, ok = sel.Sel, true
	}
	if !ok {
		return ir.NoMath
	}
	if f, isFunc := b.Program.Info.Uses[id].(*types.Func); isFunc && packagePath(f) == "math" {
		return Library(f)
	}
	return ir.NoMath
}

// narrowSource returns the float32 value that a float64 argument is: x of float64(x), or a constant
// that a float32 holds exactly. nil where it is neither.
func (b builtins) narrowSource(e ast.Expr) ast.Expr {
	if v := b.Program.Info.Types[e].Value; v != nil {
		wide, _ := constant.Float64Val(constant.ToFloat(v))
		if float64(float32(wide)) != wide {
			return nil
		}
		return e
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !b.Program.Info.Types[call.Fun].IsType() {
		return nil
	}
	from := b.Program.Info.TypeOf(call.Args[0])
	if t, err := b.Env.Types.Convert(from); err != nil || t.Kind != ir.Float32 {
		return nil
	}
	return call.Args[0]
}
