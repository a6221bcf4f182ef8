package cuda

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// atomic prints an atomic operation: one instruction where the hardware has it, else atomic_update
// of the prelude. Reads and writes are volatile, which no compiler merges, tears or moves past each
// other.
func (p *printer) atomic(s *ir.Atomic) {
	if v := ir.RootVar(s.Place); v != nil && v.Space == ir.Local {
		p.private(s)
		return
	}
	if s.Ordered {
		p.printf(s.At, "__threadfence();")
		defer p.printf(s.At, "__threadfence();")
	}
	switch s.Kind {
	case ir.AtomicRead:
		p.keep(s, p.volatile(s.Place))
	case ir.AtomicWrite:
		ct := ctypeOf(s.Place.Type())
		p.printf(s.At, "%s = %s;", p.volatile(s.Place).text, p.assigned(s.Value, ct))
	case ir.AtomicCompare:
		p.compareSwap(s)
	default:
		if s.Op == ir.NoOp {
			p.exchange(s)
			return
		}
		p.update(s)
	}
}

func (p *printer) volatile(place ir.Expr) val {
	ct := ctypeOf(place.Type())
	return value(fmt.Sprintf("*(volatile %s*)%s", p.typeName(place.Type()), p.address(place)), precUnary, ct)
}

// address prints &place.
func (p *printer) address(place ir.Expr) string {
	if ctypeOf(place.Type()) == other {
		p.fail(place.Pos(), "atomic operation on %s: not supported", place.Type())
	}
	return p.addressOf(&ir.AddrOf{X: place, At: place.Pos()}).at(precUnary)
}

// keep prints the statement that assigns the result of an operation to s.Old, or drops it.
func (p *printer) keep(s *ir.Atomic, v val) {
	if s.Old == nil {
		p.printf(s.At, "%s;", v.text)
		return
	}
	if old := p.old; old != nil {
		p.old = nil
		p.printf(s.At, "%s = %s;", p.declarator(old.Type, p.declare(old)), v.text)
		return
	}
	p.printf(s.At, "%s = %s;", p.expr(s.Old).text, v.text)
}

// The names of the operations that the hardware has, by the kinds of integers and floats that they
// exist for.
var nativeAtomics = map[ir.Op]string{ir.Add: "atomicAdd", ir.Sub: "atomicAdd", ir.And: "atomicAnd", ir.Or: "atomicOr",
	ir.Xor: "atomicXor", ir.AndNot: "atomicAnd", ir.Min: "atomicMin", ir.Max: "atomicMax"}

// isNative reports whether the hardware has s.
func isNative(s *ir.Atomic) bool {
	t := s.Place.Type()
	if width(t) < 32 || nativeAtomics[s.Op] == "" || s.Swapped && s.Op == ir.Sub {
		return false
	}
	return t.IsInteger() || s.Op == ir.Add || s.Op == ir.Sub
}

// update prints place = place op value.
func (p *printer) update(s *ir.Atomic) {
	if isNative(s) && !s.After {
		p.keep(s, p.native(s))
		return
	}
	if s.After && s.Op == ir.Add && isNative(s) {
		p.addAndFetch(s)
		return
	}
	name := "atomic_update"
	if s.After {
		name = "atomic_updated"
	}
	p.keep(s, p.loop(s, name, func(old ir.Expr) ir.Expr { return combined(s, old) }))
}

// addAndFetch prints old = (place += value): the hardware returns the value before, to which the
// sum is done again.
func (p *printer) addAndFetch(s *ir.Atomic) {
	once := *s
	once.Value = p.once(s.Value, "value")
	before, v := p.native(&once), p.number(once.Value)
	if ct := ctypeOf(s.Place.Type()); ct.isInt() {
		before = before.cast(p.typed(unsigned(ct.bits()))) // wraps around
	}
	p.keep(s, join(ir.Add, before, v, before.ct))
}

// native prints the operation of the hardware. The type of the address chooses it; sums, and bit
// operations, of signed 64-bit integers are those of unsigned ones.
func (p *printer) native(s *ir.Atomic) val {
	t := s.Place.Type()
	ct := ctypeOf(t)
	as := ct
	if ct == i64 && s.Op != ir.Min && s.Op != ir.Max {
		as = u64
	}
	addr := p.address(s.Place)
	if as != ct {
		addr = "(" + p.typed(as).String() + "*)" + addr
	}
	v := p.argument(p.operand(s), as)
	return value(p.call(nativeAtomics[s.Op], addr, v), precPostfix, as)
}

// operand prints the value that the hardware's operation takes: subtraction adds the negative, &^
// is & of the complement.
func (p *printer) operand(s *ir.Atomic) val {
	at := s.Value.Pos()
	switch s.Op {
	case ir.Sub:
		return p.number(&ir.Unary{Op: ir.Neg, X: s.Value, At: at})
	case ir.AndNot:
		return p.number(&ir.Unary{Op: ir.Com, X: s.Value, At: at})
	}
	return p.number(s.Value)
}

// exchange prints old = place; place = value.
func (p *printer) exchange(s *ir.Atomic) {
	ct := ctypeOf(s.Place.Type())
	if s.After {
		p.fail(s.At, "atomic exchange that keeps the new value")
	}
	if ct == i32 || ct == u32 || ct == f32 || ct == u64 {
		p.keep(s, value(p.call("atomicExch", p.address(s.Place), p.argument(p.number(s.Value), ct)), precPostfix, ct))
		return
	}
	p.keep(s, p.loop(s, "atomic_update", func(ir.Expr) ir.Expr { return s.Value }))
}

// compareSwap prints if place == compare { place = value }. Floats are compared as numbers, not as
// bits.
func (p *printer) compareSwap(s *ir.Atomic) {
	t := s.Place.Type()
	ct := ctypeOf(t)
	if !t.IsInteger() || width(t) < 32 || s.After {
		name := "atomic_update"
		if s.After {
			name = "atomic_updated"
		}
		p.keep(s, p.loop(s, name, func(old ir.Expr) ir.Expr {
			same := &ir.Binary{Op: ir.Eq, X: old, Y: s.Compare, T: ir.BoolType, At: s.At}
			return &ir.Select{Cond: same, X: s.Value, Y: old, At: s.At}
		}))
		return
	}
	as, addr := ct, p.address(s.Place)
	if ct == i64 {
		as, addr = u64, "("+p.typed(u64).String()+"*)"+addr
	}
	old := p.argument(p.number(s.Compare), as)
	p.keep(s, value(p.call("atomicCAS", addr, old, p.argument(p.number(s.Value), as)), precPostfix, ct))
}

// loop prints an update by a function of the old value. What the function reads is evaluated once,
// before.
func (p *printer) loop(s *ir.Atomic, name string, next func(old ir.Expr) ir.Expr) val {
	t := s.Place.Type()
	fixed := *s
	fixed.Value = p.once(s.Value, "value")
	if s.Compare != nil {
		fixed.Compare = p.once(s.Compare, "compare")
	}
	keep := *s
	*s = fixed // next reads the statement
	defer func() { *s = keep }()
	old := &ir.Var{Name: "old", Type: t, Space: ir.Local, At: s.At}
	p.Push()
	defer p.Pop()
	ct := p.typeName(t)
	param := p.declare(old)
	result := p.assigned(next(&ir.Ref{Var: old, At: s.At}), ctypeOf(t))
	addr := p.address(s.Place)
	return value(p.call(name, addr, fmt.Sprintf("[=](%s %s) -> %s { return %s; }", ct, param, ct, result)), precPostfix, ctypeOf(t))
}

// once returns e, or a variable that is declared with its value where it is more than a name or a
// constant.
func (p *printer) once(e ir.Expr, name string) ir.Expr {
	switch e.(type) {
	case *ir.Const, *ir.Ref:
		return e
	}
	v := &ir.Var{Name: name, Type: e.Type(), Space: ir.Local, At: e.Pos()}
	text := p.valueFor(e, v)
	p.printf(e.Pos(), "const %s = %s;", p.declarator(v.Type, p.declare(v)), text)
	return &ir.Ref{Var: v, At: e.Pos()}
}

// combined returns the new value of an update.
func combined(s *ir.Atomic, old ir.Expr) ir.Expr {
	x, y := old, s.Value
	if s.Swapped {
		x, y = y, x
	}
	t := old.Type()
	switch s.Op {
	case ir.Min, ir.Max:
		return &ir.Math{Fn: extremeOf(s.Op, t), Args: []ir.Expr{x, y}, T: t, At: s.At}
	}
	return &ir.Binary{Op: s.Op, X: x, Y: y, T: t, At: s.At}
}

func extremeOf(op ir.Op, t *ir.Type) ir.MathFn {
	fns := map[ir.Op][2]ir.MathFn{ir.Min: {ir.IMin, ir.FMin}, ir.Max: {ir.IMax, ir.FMax}}[op]
	if t.IsFloat() {
		return fns[1]
	}
	return fns[0]
}

// private prints the operation on a variable that no other thread sees; the hardware's atomics
// cannot reach it.
func (p *printer) private(s *ir.Atomic) {
	set := &ir.Assign{Place: s.Place, Value: s.Value, At: s.At}
	if s.Kind == ir.AtomicUpdate || s.Kind == ir.AtomicCapture && s.Op != ir.NoOp {
		set.Value = combined(s, s.Place)
	}
	if s.Old != nil && !s.After {
		p.stmt(&ir.Assign{Place: s.Old, Value: s.Place, At: s.At})
	}
	switch s.Kind {
	case ir.AtomicRead:
	case ir.AtomicCompare:
		same := &ir.Binary{Op: ir.Eq, X: s.Place, Y: s.Compare, T: ir.BoolType, At: s.At}
		p.stmt(&ir.If{Cond: same, Then: []ir.Stmt{set}, At: s.At})
	default:
		p.stmt(set)
	}
	if s.Old != nil && s.After {
		p.stmt(&ir.Assign{Place: s.Old, Value: s.Place, At: s.At})
	}
}
