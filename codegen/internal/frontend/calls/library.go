package calls

import (
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"path"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// libraryCall returns the values of the call of a function of math, math/bits or codegen/kernel.
func (b *Caller) libraryCall(f *types.Func, e *ast.CallExpr) []ir.Expr {
	at := b.Pos(e.Pos())
	if packagePath(f) == "fmt" {
		printCall(b, e, "fmt."+f.Name())
		return nil
	}
	if packagePath(f) == source.KernelPath {
		if q, ok := queries[f.Name()]; ok {
			return []ir.Expr{&ir.Query{What: q, At: at}}
		}
		if f.Name() == "Barrier" {
			b.Emit(&ir.Barrier{Scope: ir.TeamBarrier, At: at})
			return nil
		}
	}
	if c := b.special(f, e); c != nil {
		return []ir.Expr{c}
	}
	sig, ok := b.signature(e.Fun)
	if !ok {
		b.Unknown(e.Pos())
		return nil
	}
	values, _ := b.arguments(sig, e)
	if len(values) != sig.Params().Len() || scope.IsBad(values...) {
		b.Keep(values...)
		return b.badResults(e)
	}
	if many := b.wordArithmetic(f, values, at); many != nil {
		return many
	}
	if decl := b.Program.Funcs[f]; decl != nil { // its body travels with the compiler
		return b.callFunction(&scope.Function{Fn: f, Name: f.Name()}, values, e)
	}
	fn := Library(f)
	if fn == ir.NoMath || sig.Results().Len() != 1 {
		b.noLibrary(f, e)
		b.Keep(values...)
		return b.badResults(e)
	}
	if fn == ir.FMin || fn == ir.FMax {
		return []ir.Expr{b.infinityFirst(fn, values, at)}
	}
	return []ir.Expr{&ir.Math{Fn: fn, Args: values, T: b.TypeAt(sig.Results().At(0).Type(), e.Pos()), At: at}}
}

// infinityFirst returns math.Min or math.Max of two values: unlike the builtins, and fn, they give
// the infinity at their end even beside a NaN. Beside a constant that is another number there is no
// difference.
func (b *Caller) infinityFirst(fn ir.MathFn, values []ir.Expr, at ir.Pos) ir.Expr {
	t, sign := values[0].Type(), -1
	if fn == ir.FMax {
		sign = 1
	}
	plain := &ir.Math{Fn: fn, Args: values, T: t, At: at}
	end := &ir.Const{T: t, Bits: ir.FloatBits(t, math.Inf(sign)), At: at}
	for _, x := range values {
		if c, ok := x.(*ir.Const); ok && c.Bits != end.Bits && !math.IsNaN(ir.Float(t, c.Bits)) {
			return plain
		}
	}
	for i, x := range values {
		values[i] = b.Temp("value", x, x.Pos())
	}
	either := build.Compare(ir.LOr, build.Compare(ir.Eq, values[0], end, at), build.Compare(ir.Eq, values[1], end, at), at)
	return &ir.Select{Cond: either, X: end, Y: plain, At: at}
}

func (b *Caller) noLibrary(f *types.Func, e *ast.CallExpr) {
	name := path.Base(packagePath(f)) + "." + f.Name()
	instead, ok := replacements[name]
	if !ok {
		instead = "compute it from functions that have one, or pass it as a parameter"
	}
	b.Fail(e.Pos(), name, "it has no device counterpart", instead)
}

// special returns the calls that are constants: math.NaN() and math.Inf of a constant sign.
func (b *Caller) special(f *types.Func, e *ast.CallExpr) ir.Expr {
	if packagePath(f) != "math" {
		return nil
	}
	switch f.Name() {
	case "NaN":
		return &ir.Const{T: ir.Float64Type, Bits: math.Float64bits(math.NaN()), At: b.Pos(e.Pos())}
	case "Inf":
		if len(e.Args) != 1 {
			return nil
		}
		if v := b.Program.Info.Types[e.Args[0]].Value; v != nil {
			sign := 1
			if constant.Sign(constant.ToInt(v)) < 0 {
				sign = -1
			}
			return &ir.Const{T: ir.Float64Type, Bits: math.Float64bits(math.Inf(sign)), At: b.Pos(e.Pos())}
		}
	}
	return nil
}

// wordArithmetic returns the results of the functions of math/bits that have several: Mul, Add and
// Sub of each width.
func (b *Caller) wordArithmetic(f *types.Func, x []ir.Expr, at ir.Pos) []ir.Expr {
	name := strings.TrimRight(f.Name(), "0123456789")
	if packagePath(f) != "math/bits" || name != "Mul" && name != "Add" && name != "Sub" {
		return nil
	}
	for i := range x {
		x[i] = b.Stable(x[i])
	}
	t := x[0].Type()
	two := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: t, At: at} }
	not := func(x ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Com, X: x, At: at} }
	top := func(x ir.Expr) ir.Expr { return two(ir.Shr, x, build.Int(int64(8*t.Size)-1, at)) }
	switch name {
	case "Mul":
		return []ir.Expr{&ir.Math{Fn: ir.MulHi, Args: x, T: t, At: at}, two(ir.Mul, x[0], x[1])}
	case "Add":
		sum := b.Temp("sum", two(ir.Add, two(ir.Add, x[0], x[1]), x[2]), at)
		return []ir.Expr{sum, top(two(ir.Or, two(ir.And, x[0], x[1]), two(ir.And, two(ir.Or, x[0], x[1]), not(sum))))}
	}
	diff := b.Temp("diff", two(ir.Sub, two(ir.Sub, x[0], x[1]), x[2]), at)
	return []ir.Expr{diff, top(two(ir.Or, two(ir.And, not(x[0]), x[1]), two(ir.And, not(two(ir.Xor, x[0], x[1])), diff)))}
}
