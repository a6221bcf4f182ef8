package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// warp is the number of lanes of a warp, on every GPU of NVIDIA.
const warp = 32

// expr prints e. The result may be right modulo a power of two only: number gives the exact one.
func (p *printer) expr(e ir.Expr) val {
	if e.Type() == nil {
		panic(fmt.Sprintf("gompss: bug: cuda: expression %T at %s has no type", e, e.Pos()))
	}
	if v, ok := p.folded(e); ok {
		return v
	}
	switch e := e.(type) {
	case *ir.Const:
		return p.constant(e)
	case *ir.Ref:
		return p.ref(e)
	case *ir.Unary:
		return p.unary(e)
	case *ir.Binary:
		return p.binary(e)
	case *ir.Convert:
		return p.convert(e)
	case *ir.Math:
		return p.math(e)
	case *ir.Query:
		return p.query(e)
	case *ir.Select:
		return p.selection(e)
	case *ir.Composite:
		return p.composite(e)
	case *ir.Shuffle:
		return p.shuffle(e)
	}
	return p.memory(e)
}

// folded prints what has one value only, whatever the arguments: an operation, or a flag, that the
// ranges decide.
func (p *printer) folded(e ir.Expr) (val, bool) {
	switch x := e.(type) {
	case *ir.Binary:
		if x.T.Kind == ir.Bool {
			return p.foldedBool(e)
		}
	case *ir.Ref:
		return p.foldedBool(e)
	default:
		return val{}, false
	}
	r := p.ranges.of(e)
	if !r.known || r.lo != r.hi || hasChecks(e) {
		return val{}, false
	}
	return p.constant(&ir.Const{T: e.Type(), Bits: uint64(r.lo), At: e.Pos()}), true
}

func (p *printer) foldedBool(e ir.Expr) (val, bool) {
	if e.Type().Kind != ir.Bool || hasChecks(e) {
		return val{}, false
	}
	yes, known := p.decided(e)
	return value(strconv.FormatBool(yes), precPostfix, boolean), known
}

// peek prints e without a trace, for its C++ type.
func (p *printer) peek(e ir.Expr) val {
	sites, fault, err := len(p.sites), p.fault, p.err
	v := p.expr(e)
	p.sites, p.fault, p.err = p.sites[:sites], fault, err
	return v
}

func (p *printer) ref(e *ir.Ref) val {
	if init := p.inlined[e.Var]; init != nil {
		return p.expr(init)
	}
	if s := p.flat[e.Var]; s != nil {
		return value(p.wholeSlice(e.Var, s), precPostfix, other)
	}
	name, ok := p.Of[e.Var]
	if !ok {
		p.fail(e.At, "variable %s is not declared", e.Var.Name)
	}
	ct := ctypeOf(e.Var.Type)
	if p.narrow[e.Var] {
		ct = i32
	}
	return value(name, precPostfix, ct)
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

func (p *printer) query(e *ir.Query) val {
	switch e.What {
	case ir.ThreadNum:
		return value("threadIdx.x", precPostfix, u32)
	case ir.NumThreads:
		return value("blockDim.x", precPostfix, u32)
	case ir.TeamNum:
		return value("blockIdx.x", precPostfix, u32)
	case ir.NumTeams:
		return value("gridDim.x", precPostfix, u32)
	case ir.Lane:
		return value(fmt.Sprintf("threadIdx.x %% %d", warp), precMul, u32)
	}
	return value(strconv.Itoa(warp), precPostfix, i32)
}

// selection prints cond ? x : y.
func (p *printer) selection(e *ir.Select) val {
	if yes, known := p.decided(e.Cond); known && !hasChecks(e.Cond) {
		if yes {
			return p.expr(e.X)
		}
		return p.expr(e.Y)
	}
	cond := p.expr(e.Cond)
	var x, y val
	if e.Type().IsInteger() {
		x, y = p.alike(e.X, e.Y)
	} else {
		x, y = p.expr(e.X), p.expr(e.Y)
	}
	ct := x.ct
	if e.Type().IsInteger() {
		ct = common(x.ct, y.ct)
	}
	return value(cond.at(precLOr)+" ? "+x.at(precLOr)+" : "+y.at(precCond), precCond, ct)
}

// convert prints Go's conversion; nothing where the C++ value stays the same and its type does not
// matter.
func (p *printer) convert(e *ir.Convert) val {
	from, to := e.X.Type(), e.T
	ct := ctypeOf(to)
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
	return p.number(e.X).cast(p.typed(ct))
}

// convertInt prints a conversion between integers: a signed type takes any value that fits it as it
// is; an unsigned one is named, as the arithmetic that follows depends on it.
func (p *printer) convertInt(e *ir.Convert, ct ctype) val {
	from, to := e.X.Type(), e.T
	v := p.expr(e.X)
	if v.bits != exact && v.bits >= width(to) && !(width(to) == 64) {
		v.bits = width(to) // the cast below takes the low bits
		return val{text: "(" + p.typed(ct).String() + ")" + v.at(precUnary), prec: precUnary, ct: ct, bits: exact}
	}
	v = p.exact(v, from)
	fits := p.ranges.of(e.X).within(typeRange(to))
	if v.ct == ct || to.IsSigned() && fits && (ct.bits() >= 32 || cprint.IsNumber(v.text)) {
		return v
	}
	return v.cast(p.typed(ct))
}

// reinterpret prints a conversion between types of one representation: structs with different
// names, pointers.
func (p *printer) reinterpret(e *ir.Convert) val {
	v := p.expr(e.X)
	from, to := p.typeName(e.X.Type()), p.typeName(e.T)
	if from == to {
		return v
	}
	if e.T.Kind == ir.Pointer {
		return value("("+to+")"+v.at(precUnary), precUnary, other)
	}
	p.fail(e.At, "conversion from %s to %s: not supported yet by cuda", e.X.Type(), e.T)
	return v
}

func (p *printer) floatToInt(e *ir.Convert) val {
	name, ct := "go_int64", i64
	switch {
	case e.T.Kind == ir.Uint64:
		name, ct = "go_uint64", u64
	case e.T.Kind != ir.Int64 && e.T.Kind != ir.Uint32:
		name, ct = "go_int32", i32
	}
	v := value(p.call(name, p.expr(e.X).text), precPostfix, ct)
	if want := ctypeOf(e.T); want != ct {
		return v.cast(p.typed(want))
	}
	return v
}

// composite prints a literal as an expression.
func (p *printer) composite(e *ir.Composite) val {
	name := p.typeName(e.T)
	list := p.braces(e)
	if e.T.Kind == ir.Array {
		list = "{" + list + "}"
	}
	return value(name+list, precPostfix, other)
}

// braces prints the elements of a literal; C++ refuses conversions in it that may lose something.
func (p *printer) braces(e *ir.Composite) string {
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
			return "{" + p.braces(c) + "}"
		}
		return p.braces(c)
	}
	if !t.IsInteger() {
		return p.expr(x).text
	}
	v, want := p.number(x), ctypeOf(t)
	if _, isConst := x.(*ir.Const); isConst || v.ct == want || v.ct.isInt() && v.ct.bits() < want.bits() && (!v.ct.isUnsigned() == !want.isUnsigned() || v.ct.isUnsigned()) {
		return v.text
	}
	return v.cast(p.typed(want)).text
}

// assigned prints e where a variable of C++ type ct takes it: bits that C++ drops then need no
// cast.
func (p *printer) assigned(e ir.Expr, ct ctype) string {
	v := p.expr(e)
	if v.bits != exact && v.bits < ct.bits() {
		v = p.exact(v, e.Type())
	}
	return v.text
}

func (p *printer) shuffle(e *ir.Shuffle) val {
	x, ct := p.number(e.X), ctypeOf(e.X.Type())
	if ct == other {
		p.fail(e.At, "shuffle of %s: not supported yet by cuda", e.X.Type())
		return x
	}
	wide := ct.promote()
	x = p.widenTo(x, wide)
	out := value(p.shuffled(e, x), precPostfix, wide)
	if wide != ct {
		return out.cast(p.typed(ct))
	}
	return out
}

// widenTo casts an argument of an overloaded function to the type that chooses the right one.
func (p *printer) widenTo(x val, ct ctype) val {
	if x.ct == ct {
		return x
	}
	return x.cast(p.typed(ct))
}

func (p *printer) shuffled(e *ir.Shuffle, x val) string {
	by := p.number(e.By)
	if p.ranges.of(e.By).within(span(0, warp-1)) {
		name := [...]string{"__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__shfl_sync"}[e.Kind]
		return p.call(name, "0xffffffff", x.text, by.text)
	}
	lane := fmt.Sprintf("(int64)(threadIdx.x %% %d)", warp)
	p.use("int64")
	switch e.Kind {
	case ir.ShuffleFrom:
		return p.call("go_shuffle", x.text, by.text)
	case ir.ShuffleXor:
		return p.call("go_shuffle", x.text, lane+" ^ "+by.at(precUnary))
	case ir.ShuffleUp:
		return p.call("go_shuffle", x.text, lane+" - "+by.at(precMul))
	}
	return p.call("go_shuffle", x.text, lane+" + "+by.at(precMul))
}
