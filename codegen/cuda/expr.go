package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// Warp is the number of threads of a warp of every GPU that the texts are for.
const Warp = 32

// expr prints e. The result may be right modulo a power of two only: number gives the exact one.
func (p *printer) expr(e ir.Expr) cprint.Val {
	if e.Type() == nil {
		panic(fmt.Sprintf("gompss: bug: cuda: expression %T at %s has no type", e, e.Pos()))
	}
	if v, ok := p.values().folded(e); ok {
		return v
	}
	switch e := e.(type) {
	case *ir.Const:
		return p.constant(e)
	case *ir.Ref:
		return p.ref(e)
	case *ir.Unary:
		return p.arith().unary(e)
	case *ir.Binary:
		return p.arith().binary(e)
	case *ir.Convert:
		return p.values().convert(e)
	case *ir.Math:
		return p.maths().math(e)
	case *ir.Query:
		return p.values().query(e)
	case *ir.Select:
		return p.values().selection(e)
	case *ir.Composite:
		return p.values().composite(e)
	case *ir.Shuffle:
		return p.values().shuffle(e)
	}
	return p.places().memory(e)
}

// folded prints what has one value only, whatever the arguments: an operation, or a flag, that the
// ranges decide.
func (p valuesPrinter) folded(e ir.Expr) (cprint.Val, bool) {
	switch x := e.(type) {
	case *ir.Binary:
		if x.T.Kind == ir.Bool {
			return p.foldedBool(e)
		}
	case *ir.Ref:
		if x.Var.Type.Kind == ir.Bool {
			return p.foldedBool(e)
		}
		if p.ranges.team == 0 || x.Var.Space != ir.Local || !x.Var.Type.IsInteger() || p.inits[x.Var] == nil || cprint.HasChecks(p.inits[x.Var]) {
			return cprint.Val{}, false
		}
	default:
		return cprint.Val{}, false
	}
	r := p.ranges.of(e)
	if !r.known || r.lo != r.hi || cprint.HasChecks(e) {
		return cprint.Val{}, false
	}
	return p.constant(&ir.Const{T: e.Type(), Bits: uint64(r.lo), At: e.Pos()}), true
}

func (p valuesPrinter) foldedBool(e ir.Expr) (cprint.Val, bool) {
	if e.Type().Kind != ir.Bool || cprint.HasChecks(e) {
		return cprint.Val{}, false
	}
	yes, known := p.decided(e)
	return cprint.Value(strconv.FormatBool(yes), cprint.PrecPostfix, cprint.Bool), known
}

// peek prints e without a trace, for its C++ type.
func (p *printer) peek(e ir.Expr) cprint.Val {
	sites, fault, err := len(p.sites), p.fault, p.err
	v := p.expr(e)
	p.sites, p.fault, p.err = p.sites[:sites], fault, err
	return v
}

func (p *printer) ref(e *ir.Ref) cprint.Val {
	if init := p.inlined[e.Var]; init != nil {
		return p.expr(init)
	}
	if s := p.flat[e.Var]; s != nil {
		return cprint.Value(p.places().wholeSlice(e.Var, s), cprint.PrecPostfix, cprint.Other)
	}
	name, ok := p.Of[e.Var]
	if !ok {
		p.fail(e.At, "variable %s is not declared", e.Var.Name)
	}
	ct := cprint.TypeOf(e.Var.Type)
	if p.narrow[e.Var] {
		ct = cprint.I32
	}
	return cprint.Value(name, cprint.PrecPostfix, ct)
}

// call prints the call of a prelude or CUDA function.
func (p *printer) call(name string, args ...string) string {
	return p.use(name) + "(" + strings.Join(args, ", ") + ")"
}

// site numbers a check and returns the number.
func (p *printer) site(kind SiteKind, at ir.Pos, what ir.Expr) string {
	p.fault = true
	s := Site{Pos: at, Kind: kind, What: ir.Source(what)}
	p.sites = append(p.sites, s)
	return strconv.Itoa(len(p.sites))
}

func (p valuesPrinter) query(e *ir.Query) cprint.Val {
	switch e.What {
	case ir.ThreadNum:
		return cprint.Value("threadIdx.x", cprint.PrecPostfix, cprint.U32)
	case ir.NumThreads:
		return cprint.Value("blockDim.x", cprint.PrecPostfix, cprint.U32)
	case ir.TeamNum:
		return cprint.Value("blockIdx.x", cprint.PrecPostfix, cprint.U32)
	case ir.NumTeams:
		return cprint.Value("gridDim.x", cprint.PrecPostfix, cprint.U32)
	case ir.Lane:
		return cprint.Value(fmt.Sprintf("threadIdx.x %% %d", Warp), cprint.PrecMul, cprint.U32)
	}
	return cprint.Value(strconv.Itoa(Warp), cprint.PrecPostfix, cprint.I32)
}

// selection prints cond ? x : y.
func (p valuesPrinter) selection(e *ir.Select) cprint.Val {
	if yes, known := p.decided(e.Cond); known && !cprint.HasChecks(e.Cond) {
		if yes {
			return p.expr(e.X)
		}
		return p.expr(e.Y)
	}
	cond := p.expr(e.Cond)
	var x, y cprint.Val
	if e.Type().IsInteger() {
		x, y = p.arith().alike(e.X, e.Y)
	} else {
		x, y = p.expr(e.X), p.expr(e.Y)
	}
	ct := x.Type
	if e.Type().IsInteger() {
		ct = cprint.Common(x.Type, y.Type)
	}
	return cprint.Value(cond.At(cprint.PrecLOr)+" ? "+x.At(cprint.PrecLOr)+" : "+y.At(cprint.PrecCond), cprint.PrecCond, ct)
}

// convert prints Go's conversion; nothing where the C++ value stays the same and its type does not
// matter.
func (p valuesPrinter) convert(e *ir.Convert) cprint.Val {
	from, to := e.X.Type(), e.T
	ct := cprint.TypeOf(to)
	switch {
	case !to.IsScalar() || !from.IsScalar():
		return p.reinterpret(e)
	case from.IsInteger() && to.IsInteger():
		return p.convertInt(e, ct)
	case from.IsFloat() && to.IsInteger():
		return p.floatToInt(e)
	case from.Kind == to.Kind:
		return p.expr(e.X)
	}
	return dialect.Cast(p.number(e.X), p.typed(ct))
}

// convertInt prints a conversion between integers: a signed type takes any value that fits it as it
// is; an unsigned one is named, as the arithmetic that follows depends on it.
func (p valuesPrinter) convertInt(e *ir.Convert, ct cprint.Type) cprint.Val {
	from, to := e.X.Type(), e.T
	v := p.expr(e.X)
	if v.Bits != cprint.Exact && v.Bits >= cprint.Width(to) && !(cprint.Width(to) == 64) {
		v.Bits = cprint.Width(to) // the cast below takes the low bits
		return cprint.Val{Text: "(" + dialect.Name(p.typed(ct)) + ")" + v.At(cprint.PrecUnary), Prec: cprint.PrecUnary, Type: ct, Bits: cprint.Exact}
	}
	v = p.exact(v, from)
	fits := p.ranges.of(e.X).within(typeRange(to))
	if v.Type == ct || to.IsSigned() && fits && (ct.Bits() >= 32 || cprint.IsNumber(v.Text)) {
		return v
	}
	return dialect.Cast(v, p.typed(ct))
}

// reinterpret prints a conversion between types of one representation: structs with different
// names, pointers.
func (p valuesPrinter) reinterpret(e *ir.Convert) cprint.Val {
	v := p.expr(e.X)
	from, to := p.typeName(e.X.Type()), p.typeName(e.T)
	if from == to {
		return v
	}
	if e.T.Kind == ir.Pointer {
		return cprint.Value("("+to+")"+v.At(cprint.PrecUnary), cprint.PrecUnary, cprint.Other)
	}
	p.fail(e.At, "conversion from %s to %s: not supported yet by cuda", e.X.Type(), e.T)
	return v
}

func (p valuesPrinter) floatToInt(e *ir.Convert) cprint.Val {
	name, ct := "go_int64", cprint.I64
	switch {
	case e.T.Kind == ir.Uint64:
		name, ct = "go_uint64", cprint.U64
	case e.T.Kind != ir.Int64 && e.T.Kind != ir.Uint32:
		name, ct = "go_int32", cprint.I32
	}
	v := cprint.Value(p.call(name, p.expr(e.X).Text), cprint.PrecPostfix, ct)
	if want := cprint.TypeOf(e.T); want != ct {
		return dialect.Cast(v, p.typed(want))
	}
	return v
}

// composite prints a literal as an expression.
func (p valuesPrinter) composite(e *ir.Composite) cprint.Val {
	name := p.typeName(e.T)
	list := p.braces(e)
	if e.T.Kind == ir.Array {
		list = "{" + list + "}"
	}
	return cprint.Value(name+list, cprint.PrecPostfix, cprint.Other)
}

// braces prints the elements of a literal; C++ refuses conversions in it that may lose something.
func (p valuesPrinter) braces(e *ir.Composite) string {
	out := make([]string, len(e.Elems))
	for i, x := range e.Elems {
		t := e.T.Elem
		if e.T.Kind == ir.Struct {
			t = e.T.Fields[i].Type
		}
		out[i] = p.element(x, t)
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func (p *printer) element(x ir.Expr, t *ir.Type) string {
	if c, ok := x.(*ir.Composite); ok {
		if t.Kind == ir.Array && p.isWrapped(t) {
			return "{" + p.values().braces(c) + "}"
		}
		return p.values().braces(c)
	}
	if !t.IsInteger() {
		return p.expr(x).Text
	}
	v, want := p.number(x), cprint.TypeOf(t)
	if _, isConst := x.(*ir.Const); isConst || v.Type == want || v.Type.IsInt() && v.Type.Bits() < want.Bits() && (!v.Type.IsUnsigned() == !want.IsUnsigned() || v.Type.IsUnsigned()) {
		return v.Text
	}
	return dialect.Cast(v, p.typed(want)).Text
}

// assigned prints e where a variable of C++ type ct takes it: bits that C++ drops then need no
// cast.
func (p *printer) assigned(e ir.Expr, ct cprint.Type) string {
	v := p.expr(e)
	if v.Bits != cprint.Exact && v.Bits < ct.Bits() {
		v = p.exact(v, e.Type())
	}
	return v.Text
}

func (p valuesPrinter) shuffle(e *ir.Shuffle) cprint.Val {
	x, ct := p.number(e.X), cprint.TypeOf(e.X.Type())
	if ct == cprint.Other {
		p.fail(e.At, "shuffle of %s: not supported yet by cuda", e.X.Type())
		return x
	}
	wide := ct.Promote()
	x = p.widenTo(x, wide)
	out := cprint.Value(p.shuffled(e, x), cprint.PrecPostfix, wide)
	if wide != ct {
		return dialect.Cast(out, p.typed(ct))
	}
	return out
}

// widenTo casts an argument of an overloaded function to the type that chooses the right one.
func (p valuesPrinter) widenTo(x cprint.Val, ct cprint.Type) cprint.Val {
	if x.Type == ct {
		return x
	}
	return dialect.Cast(x, p.typed(ct))
}

func (p valuesPrinter) shuffled(e *ir.Shuffle, x cprint.Val) string {
	by := p.number(e.By)
	if p.ranges.of(e.By).within(span(0, Warp-1)) {
		name := [...]string{"__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__shfl_sync"}[e.Kind]
		return p.call(name, "0xffffffff", x.Text, by.Text)
	}
	lane := fmt.Sprintf("(int64)(threadIdx.x %% %d)", Warp)
	p.use("int64")
	switch e.Kind {
	case ir.ShuffleFrom:
		return p.call("go_shuffle", x.Text, by.Text)
	case ir.ShuffleXor:
		return p.call("go_shuffle", x.Text, lane+" ^ "+by.At(cprint.PrecUnary))
	case ir.ShuffleUp:
		return p.call("go_shuffle", x.Text, lane+" - "+by.At(cprint.PrecMul))
	}
	return p.call("go_shuffle", x.Text, lane+" + "+by.At(cprint.PrecMul))
}
