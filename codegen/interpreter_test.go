package codegen_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"reflect"
	"unsafe"
)

// A goInterpreter runs kernels as Go does, from their text: what every target must agree with. It takes the Go that random kernels are made of -
// scalars, slices, arrays of scalars, functions - and shares nothing with the compiler, nor does it need the go command.
type goInterpreter struct {
	info  *types.Info
	decls map[types.Object]*ast.FuncDecl
	funcs map[types.Object]*goFunc
	steps int // left, of statements
}

// A goFunc is a function as closures over its frame.
type goFunc struct {
	params, results []*goCell
	body            func() goJump
	values          []uint64 // what return returns
}

// A goCell is a variable. A function does not call itself, so that one of each is enough.
type goCell struct {
	bits uint64 // of a scalar: extended to 64 bits as its type says, or the bits of a float
	vec  goVec
}

// A goVec is a slice, or an array as a slice of its elements.
type goVec struct {
	base unsafe.Pointer
	len  int
	kind types.BasicKind
}

// A goJump says how a statement ended.
type goJump struct {
	kind  goEnd
	label string
}

type goEnd uint8

const (
	goesOn goEnd = iota
	breaks
	continues
	returns
)

// goPanic is a panic of the kernel, goEndless that it has gone on for too long.
type goPanic struct{ why string }

type goEndless struct{}

var goKinds = map[types.BasicKind]reflect.Type{types.Bool: reflect.TypeFor[bool](), types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
	types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](), types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
	types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](), types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64]()}

// interpret takes the text of a package that imports nothing.
func interpret(text string) (*goInterpreter, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "k.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	g := &goInterpreter{decls: map[types.Object]*ast.FuncDecl{}, funcs: map[types.Object]*goFunc{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}}}
	if _, err := (&types.Config{}).Check("k", fset, []*ast.File{file}, g.info); err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			g.decls[g.info.Defs[f.Name]] = f
		}
	}
	return g, nil
}

// A goRun is how a call ended.
type goRun struct {
	panicked string // why, or ""
	endless  bool
}

// call runs a kernel on arguments, scalars and slices, which it changes.
func (g *goInterpreter) call(name string, steps int, args []any) (run goRun) {
	var f *goFunc
	for o := range g.decls {
		if o.Name() == name {
			f = g.function(o)
		}
	}
	for i, a := range args {
		v := reflect.ValueOf(a)
		if v.Kind() == reflect.Slice {
			kind := types.BasicKind(0)
			for k, t := range goKinds {
				if t == v.Type().Elem() {
					kind = k
				}
			}
			f.params[i].vec = goVec{v.UnsafePointer(), v.Len(), kind}
			continue
		}
		f.params[i].bits = loadGo(valuePointer(v), kindOf(v.Type()))
	}
	g.steps = steps
	defer func() {
		switch r := recover().(type) {
		case nil:
		case goPanic:
			run.panicked = r.why
		case goEndless:
			run.endless = true
		default:
			panic(r)
		}
	}()
	f.body()
	return run
}

func valuePointer(v reflect.Value) unsafe.Pointer {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.UnsafePointer()
}

func kindNamed(name string) types.BasicKind {
	for k, t := range goKinds {
		if t.Name() == name {
			return k
		}
	}
	panic("the interpreter has no " + name)
}

func kindOf(t reflect.Type) types.BasicKind {
	for k, of := range goKinds {
		if of == t {
			return k
		}
	}
	panic("the interpreter has no " + t.String())
}

func (g *goInterpreter) function(o types.Object) *goFunc {
	if f := g.funcs[o]; f != nil {
		return f
	}
	d := g.decls[o]
	f := &goFunc{}
	g.funcs[o] = f
	c := &goCompiler{goInterpreter: g, of: f, cells: map[types.Object]*goCell{}}
	for _, p := range d.Type.Params.List {
		for _, name := range p.Names {
			f.params = append(f.params, c.cell(g.info.Defs[name]))
		}
	}
	if d.Type.Results != nil {
		for _, p := range d.Type.Results.List {
			for _, name := range p.Names {
				f.results = append(f.results, c.cell(g.info.Defs[name]))
			}
		}
	}
	f.body = c.block(d.Body.List)
	return f
}

// A goCompiler makes closures of one function.
type goCompiler struct {
	*goInterpreter
	of    *goFunc
	cells map[types.Object]*goCell
}

func (c *goCompiler) cell(o types.Object) *goCell {
	if c.cells[o] == nil {
		c.cells[o] = &goCell{}
	}
	return c.cells[o]
}

func (c *goCompiler) use(id *ast.Ident) *goCell {
	if o := c.info.Defs[id]; o != nil {
		return c.cell(o)
	}
	return c.cell(c.info.Uses[id])
}

func (c *goCompiler) kind(e ast.Expr) types.BasicKind { return basic(c.info.TypeOf(e)) }

func basic(t types.Type) types.BasicKind {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		panic(fmt.Sprintf("the interpreter has no %s", t))
	}
	switch b.Kind() {
	case types.UntypedBool:
		return types.Bool
	case types.UntypedInt:
		return types.Int
	case types.UntypedFloat:
		return types.Float64
	}
	return b.Kind()
}

func isSigned(k types.BasicKind) bool { return k >= types.Int && k <= types.Int64 }

func isFloat(k types.BasicKind) bool { return k == types.Float32 || k == types.Float64 }

// expr is the value of a scalar expression.
func (c *goCompiler) expr(e ast.Expr) func() uint64 {
	if tv := c.info.Types[e]; tv.Value != nil {
		bits := constantBits(tv.Value, c.kind(e))
		return func() uint64 { return bits }
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.expr(e.X)
	case *ast.Ident:
		v := c.use(e)
		return func() uint64 { return v.bits }
	case *ast.UnaryExpr:
		return c.unary(e)
	case *ast.BinaryExpr:
		return c.binary(e)
	case *ast.IndexExpr:
		x, i := c.slice(e.X), c.index(e.Index)
		return func() uint64 { v := x(); return v.load(v.check(i())) }
	case *ast.CallExpr:
		return c.callExpr(e)
	}
	panic(fmt.Sprintf("the interpreter has no %T", e))
}

func constantBits(v constant.Value, k types.BasicKind) uint64 {
	switch {
	case k == types.Bool:
		if constant.BoolVal(v) {
			return 1
		}
		return 0
	case k == types.Float32:
		x, _ := constant.Float32Val(v)
		return uint64(math.Float32bits(x))
	case k == types.Float64:
		x, _ := constant.Float64Val(v)
		return math.Float64bits(x)
	}
	v = constant.ToInt(v)
	if x, exact := constant.Int64Val(v); exact {
		return uint64(x)
	}
	x, _ := constant.Uint64Val(v)
	return x
}

// index is an integer as an int, very large where it is no int.
func (c *goCompiler) index(e ast.Expr) func() int {
	x, k := c.expr(e), c.kind(e)
	return func() int {
		v := x()
		if !isSigned(k) && v > math.MaxInt64 {
			return math.MaxInt64
		}
		return int(v)
	}
}

func (v goVec) check(i int) int {
	if i < 0 || i >= v.len {
		panic(goPanic{fmt.Sprintf("index %d of %d", i, v.len)})
	}
	return i
}

func (v goVec) at(i int) unsafe.Pointer { return unsafe.Add(v.base, i*int(goKinds[v.kind].Size())) }

func (v goVec) load(i int) uint64 { return loadGo(v.at(i), v.kind) }

func (v goVec) store(i int, bits uint64) {
	reflect.NewAt(goKinds[v.kind], v.at(i)).Elem().Set(fromBits(bits, v.kind))
}

func loadGo(p unsafe.Pointer, k types.BasicKind) uint64 {
	switch k {
	case types.Bool, types.Uint8:
		return uint64(*(*uint8)(p))
	case types.Int8:
		return uint64(*(*int8)(p))
	case types.Int16:
		return uint64(*(*int16)(p))
	case types.Uint16:
		return uint64(*(*uint16)(p))
	case types.Int32:
		return uint64(*(*int32)(p))
	case types.Uint32, types.Float32:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func fromBits(bits uint64, k types.BasicKind) reflect.Value {
	v := reflect.New(goKinds[k]).Elem()
	switch {
	case k == types.Bool:
		v.SetBool(bits != 0)
	case isFloat(k):
		v.SetFloat(toFloat(bits, k))
	case isSigned(k):
		v.SetInt(int64(bits))
	default:
		v.SetUint(bits)
	}
	return v
}

func toFloat(bits uint64, k types.BasicKind) float64 {
	if k == types.Float32 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

func floatBits(x float64, k types.BasicKind) uint64 {
	if k == types.Float32 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// wrapTo cuts an integer to its type.
func wrapTo(bits uint64, k types.BasicKind) uint64 {
	switch k {
	case types.Int8:
		return uint64(int8(bits))
	case types.Int16:
		return uint64(int16(bits))
	case types.Int32:
		return uint64(int32(bits))
	case types.Uint8:
		return uint64(uint8(bits))
	case types.Uint16:
		return uint64(uint16(bits))
	case types.Uint32:
		return uint64(uint32(bits))
	}
	return bits
}

func (c *goCompiler) unary(e *ast.UnaryExpr) func() uint64 {
	x, k := c.expr(e.X), c.kind(e)
	switch {
	case e.Op == token.NOT:
		return func() uint64 { return 1 - x() }
	case e.Op == token.SUB && isFloat(k):
		return func() uint64 { return floatBits(-toFloat(x(), k), k) }
	case e.Op == token.SUB:
		return func() uint64 { return wrapTo(-x(), k) }
	case e.Op == token.XOR:
		return func() uint64 { return wrapTo(^x(), k) }
	}
	return x
}

func (c *goCompiler) binary(e *ast.BinaryExpr) func() uint64 {
	x, y, k := c.expr(e.X), c.expr(e.Y), c.kind(e.X)
	switch e.Op {
	case token.LAND:
		return func() uint64 {
			if x() == 0 {
				return 0
			}
			return y()
		}
	case token.LOR:
		return func() uint64 {
			if x() != 0 {
				return 1
			}
			return y()
		}
	case token.SHL, token.SHR:
		k, yk := c.kind(e), c.kind(e.Y)
		return func() uint64 { return goShift(e.Op, x(), y(), k, yk) }
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return func() uint64 {
			if goCompare(e.Op, x(), y(), k) {
				return 1
			}
			return 0
		}
	}
	return func() uint64 { return goArithmetic(e.Op, x(), y(), k) }
}

func goShift(op token.Token, x, n uint64, k, nk types.BasicKind) uint64 {
	if isSigned(nk) && int64(n) < 0 {
		panic(goPanic{"negative shift"})
	}
	switch {
	case op == token.SHL:
		return wrapTo(x<<n, k)
	case isSigned(k):
		return uint64(int64(x) >> n)
	}
	return x >> n
}

func goCompare(op token.Token, x, y uint64, k types.BasicKind) bool {
	less, equal := x < y, x == y
	switch {
	case isFloat(k):
		a, b := toFloat(x, k), toFloat(y, k)
		if a != a || b != b {
			return op == token.NEQ
		}
		less, equal = a < b, a == b
	case isSigned(k):
		less = int64(x) < int64(y)
	}
	switch op {
	case token.EQL:
		return equal
	case token.NEQ:
		return !equal
	case token.LSS:
		return less
	case token.LEQ:
		return less || equal
	case token.GTR:
		return !less && !equal
	}
	return !less
}

func goArithmetic(op token.Token, x, y uint64, k types.BasicKind) uint64 {
	if isFloat(k) {
		a, b := toFloat(x, k), toFloat(y, k)
		switch op {
		case token.ADD:
			return floatBits(a+b, k)
		case token.SUB:
			return floatBits(a-b, k)
		case token.MUL:
			return floatBits(a*b, k)
		}
		return floatBits(a/b, k)
	}
	switch op {
	case token.ADD:
		return wrapTo(x+y, k)
	case token.SUB:
		return wrapTo(x-y, k)
	case token.MUL:
		return wrapTo(x*y, k)
	case token.AND:
		return x & y
	case token.OR:
		return x | y
	case token.XOR:
		return wrapTo(x^y, k)
	case token.AND_NOT:
		return x &^ y
	}
	if y == 0 {
		panic(goPanic{"division by zero"})
	}
	switch {
	case isSigned(k) && op == token.QUO:
		return wrapTo(uint64(int64(x)/int64(y)), k)
	case isSigned(k):
		return uint64(int64(x) % int64(y))
	case op == token.QUO:
		return x / y
	}
	return x % y
}

// callExpr is a conversion, a builtin, or a function with one result.
func (c *goCompiler) callExpr(e *ast.CallExpr) func() uint64 {
	if c.info.Types[e.Fun].IsType() {
		return c.conversion(e)
	}
	id := ast.Unparen(e.Fun).(*ast.Ident)
	if _, ok := c.info.Uses[id].(*types.Builtin); ok {
		return c.builtin(id.Name, e)
	}
	call := c.calls(e)
	return func() uint64 { return call()[0] }
}

func (c *goCompiler) conversion(e *ast.CallExpr) func() uint64 {
	x, from, to := c.expr(e.Args[0]), c.kind(e.Args[0]), c.kind(e)
	switch {
	case isFloat(from) && isFloat(to):
		return func() uint64 { return floatBits(toFloat(x(), from), to) }
	case isFloat(from):
		return func() uint64 {
			v := toFloat(x(), from)
			if !isSigned(to) && v >= 0 {
				return wrapTo(uint64(v), to)
			}
			return wrapTo(uint64(int64(v)), to)
		}
	case to == types.Float32:
		return func() uint64 {
			if isSigned(from) {
				return uint64(math.Float32bits(float32(int64(x()))))
			}
			return uint64(math.Float32bits(float32(x())))
		}
	case to == types.Float64:
		return func() uint64 {
			if isSigned(from) {
				return math.Float64bits(float64(int64(x())))
			}
			return math.Float64bits(float64(x()))
		}
	}
	return func() uint64 { return wrapTo(x(), to) }
}

// memory is copy or clear.
func (c *goCompiler) memory(name string, e *ast.CallExpr) func() uint64 {
	to := c.slice(e.Args[0])
	size := func(v goVec, n int) int { return n * int(goKinds[v.kind].Size()) }
	if name == "clear" {
		return func() uint64 {
			v := to()
			clear(unsafe.Slice((*byte)(v.base), size(v, v.len)))
			return 0
		}
	}
	from := c.slice(e.Args[1])
	return func() uint64 {
		v, x := to(), from()
		n := min(v.len, x.len)
		copy(unsafe.Slice((*byte)(v.base), size(v, n)), unsafe.Slice((*byte)(x.base), size(v, n)))
		return uint64(n)
	}
}

func (c *goCompiler) builtin(name string, e *ast.CallExpr) func() uint64 {
	if name == "copy" || name == "clear" {
		return c.memory(name, e)
	}
	if name == "len" {
		x := c.slice(e.Args[0])
		return func() uint64 { return uint64(x().len) }
	}
	k := c.kind(e)
	var args []func() uint64
	for _, a := range e.Args {
		args = append(args, c.expr(a))
	}
	return func() uint64 {
		m := args[0]()
		for _, a := range args[1:] {
			v := a()
			switch {
			case isFloat(k) && name == "min":
				m = floatBits(min(toFloat(m, k), toFloat(v, k)), k)
			case isFloat(k):
				m = floatBits(max(toFloat(m, k), toFloat(v, k)), k)
			case goCompare(token.LSS, v, m, k) == (name == "min"):
				m = v
			}
		}
		return m
	}
}

// calls is a function's results.
func (c *goCompiler) calls(e *ast.CallExpr) func() []uint64 {
	f := c.function(c.info.Uses[ast.Unparen(e.Fun).(*ast.Ident)])
	var values []func() goCell
	for _, a := range e.Args {
		if _, ok := c.info.TypeOf(a).Underlying().(*types.Slice); ok {
			x := c.slice(a)
			values = append(values, func() goCell { return goCell{vec: x()} })
			continue
		}
		x := c.expr(a)
		values = append(values, func() goCell { return goCell{bits: x()} })
	}
	return func() []uint64 {
		now := make([]goCell, len(values))
		for i, v := range values {
			now[i] = v()
		}
		for i, p := range f.params {
			*p = now[i]
		}
		for _, r := range f.results {
			r.bits = 0
		}
		f.body()
		return f.values
	}
}

// slice is a slice, or the elements of an array.
func (c *goCompiler) slice(e ast.Expr) func() goVec {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.slice(e.X)
	case *ast.Ident:
		v := c.use(e)
		return func() goVec { return v.vec }
	case *ast.SliceExpr:
		x := c.slice(e.X)
		bound := func(e ast.Expr, none func() int) func() int {
			if e == nil {
				return none
			}
			return c.index(e)
		}
		lo, hi := bound(e.Low, func() int { return 0 }), bound(e.High, func() int { return x().len })
		return func() goVec {
			v, from, to := x(), lo(), hi()
			if from < 0 || to < from || to > v.len {
				panic(goPanic{fmt.Sprintf("part %d:%d of %d", from, to, v.len)})
			}
			return goVec{v.at(from), to - from, v.kind}
		}
	}
	panic(fmt.Sprintf("the interpreter has no slice of %T", e))
}
