package cuda

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// atomic prints an atomic operation: one instruction where the hardware has it, else atomic_update
// of the prelude. Reads and writes are volatile, which no compiler merges, tears or moves past each
// other.
func (p atomicsPrinter) atomic(s *ir.Atomic) {
	if v := ir.RootVar(s.Place); v != nil && v.Space == ir.Local {
		for _, plain := range cprint.Unshared(s) {
			p.stmt(plain)
		}
		return
	}
	if s.Ordered {
		p.Printf(s.At, "__threadfence();")
		defer p.Printf(s.At, "__threadfence();")
	}
	switch s.Kind {
	case ir.AtomicRead:
		p.keep(s, p.volatile(s.Place))
	case ir.AtomicWrite:
		ct := cprint.TypeOf(s.Place.Type())
		p.Printf(s.At, "%s = %s;", p.volatile(s.Place).Text, p.assigned(s.Value, ct))
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

func (p atomicsPrinter) volatile(place ir.Expr) cprint.Val {
	ct := cprint.TypeOf(place.Type())
	return cprint.Value(fmt.Sprintf("*(volatile %s*)%s", p.typeName(place.Type()), p.address(place)), cprint.PrecUnary, ct)
}

// address prints &place.
func (p atomicsPrinter) address(place ir.Expr) string {
	if cprint.TypeOf(place.Type()) == cprint.Other {
		p.fail(place.Pos(), "atomic operation on %s: not supported", place.Type())
	}
	return p.places().addressOf(&ir.AddrOf{X: place, At: place.Pos()}).At(cprint.PrecUnary)
}

// keep prints the statement that assigns the result of an operation to s.Old, or drops it.
func (p atomicsPrinter) keep(s *ir.Atomic, v cprint.Val) {
	if s.Old == nil {
		p.Printf(s.At, "%s;", v.Text)
		return
	}
	if old := p.old; old != nil {
		p.old = nil
		p.Printf(s.At, "%s = %s;", p.declarator(old.Type, p.Declare(old)), v.Text)
		return
	}
	p.Printf(s.At, "%s = %s;", p.expr(s.Old).Text, v.Text)
}

// The names of the operations that the hardware has, by the kinds of integers and floats that they
// exist for.
var nativeAtomics = map[ir.Op]string{ir.Add: "atomicAdd", ir.Sub: "atomicAdd", ir.And: "atomicAnd", ir.Or: "atomicOr",
	ir.Xor: "atomicXor", ir.AndNot: "atomicAnd", ir.Min: "atomicMin", ir.Max: "atomicMax"}

// isNative reports whether the hardware has s.
func isNative(s *ir.Atomic) bool {
	t := s.Place.Type()
	if cprint.Width(t) < 32 || nativeAtomics[s.Op] == "" || s.Swapped && s.Op == ir.Sub {
		return false
	}
	return t.IsInteger() || s.Op == ir.Add || s.Op == ir.Sub
}

// update prints place = place op value.
func (p atomicsPrinter) update(s *ir.Atomic) {
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
	p.keep(s, p.loop(s, name, func(old ir.Expr) ir.Expr { return cprint.Combined(s, old) }))
}

// addAndFetch prints old = (place += value): the hardware returns the value before, to which the
// sum is done again.
func (p atomicsPrinter) addAndFetch(s *ir.Atomic) {
	once := *s
	once.Value = p.once(s.Value, "value")
	before, v := p.native(&once), p.number(once.Value)
	if ct := cprint.TypeOf(s.Place.Type()); ct.IsInt() {
		before = dialect.Cast(before, p.typed(cprint.Unsigned(ct.Bits()))) // wraps around
	}
	p.keep(s, dialect.Join(ir.Add, before, v, before.Type))
}

// native prints the operation of the hardware. The type of the address chooses it; sums, and bit
// operations, of signed 64-bit integers are those of unsigned ones.
func (p atomicsPrinter) native(s *ir.Atomic) cprint.Val {
	t := s.Place.Type()
	ct := cprint.TypeOf(t)
	as := ct
	if ct == cprint.I64 && s.Op != ir.Min && s.Op != ir.Max {
		as = cprint.U64
	}
	addr := p.address(s.Place)
	if as != ct {
		addr = "(" + dialect.Name(p.typed(as)) + "*)" + addr
	}
	v := p.maths().argument(p.operand(s), as)
	return cprint.Value(p.call(nativeAtomics[s.Op], addr, v), cprint.PrecPostfix, as)
}

// operand prints the value that the hardware's operation takes: subtraction adds the negative, &^
// is & of the complement.
func (p atomicsPrinter) operand(s *ir.Atomic) cprint.Val {
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
func (p atomicsPrinter) exchange(s *ir.Atomic) {
	ct := cprint.TypeOf(s.Place.Type())
	if s.After {
		p.fail(s.At, "atomic exchange that keeps the new value")
	}
	if ct == cprint.I32 || ct == cprint.U32 || ct == cprint.F32 || ct == cprint.U64 {
		p.keep(s, cprint.Value(p.call("atomicExch", p.address(s.Place), p.maths().argument(p.number(s.Value), ct)), cprint.PrecPostfix, ct))
		return
	}
	p.keep(s, p.loop(s, "atomic_update", func(ir.Expr) ir.Expr { return s.Value }))
}

// compareSwap prints if place == compare { place = value }. Floats are compared as numbers, not as
// bits.
func (p atomicsPrinter) compareSwap(s *ir.Atomic) {
	t := s.Place.Type()
	ct := cprint.TypeOf(t)
	if !t.IsInteger() || cprint.Width(t) < 32 || s.After {
		name := "atomic_update"
		if s.After {
			name = "atomic_updated"
		}
		p.keep(s, p.loop(s, name, func(old ir.Expr) ir.Expr {
			return cprint.Swapped(s, old, s.Compare)
		}))
		return
	}
	as, addr := ct, p.address(s.Place)
	if ct == cprint.I64 {
		as, addr = cprint.U64, "("+dialect.Name(p.typed(cprint.U64))+"*)"+addr
	}
	old := p.maths().argument(p.number(s.Compare), as)
	p.keep(s, cprint.Value(p.call("atomicCAS", addr, old, p.maths().argument(p.number(s.Value), as)), cprint.PrecPostfix, ct))
}

// loop prints an update by a function of the old value. What the function reads is evaluated once,
// before.
func (p atomicsPrinter) loop(s *ir.Atomic, name string, next func(old ir.Expr) ir.Expr) cprint.Val {
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
	param := p.Declare(old)
	result := p.assigned(next(&ir.Ref{Var: old, At: s.At}), cprint.TypeOf(t))
	addr := p.address(s.Place)
	return cprint.Value(p.call(name, addr, fmt.Sprintf("[=](%s %s) -> %s { return %s; }", ct, param, ct, result)), cprint.PrecPostfix, cprint.TypeOf(t))
}

// once returns e, or a variable that is declared with its value where it is more than a name or a
// constant.
func (p atomicsPrinter) once(e ir.Expr, name string) ir.Expr {
	switch e.(type) {
	case *ir.Const, *ir.Ref:
		return e
	}
	v := &ir.Var{Name: name, Type: e.Type(), Space: ir.Local, At: e.Pos()}
	text := p.valueFor(e, v)
	p.Printf(e.Pos(), "const %s = %s;", p.declarator(v.Type, p.Declare(v)), text)
	return &ir.Ref{Var: v, At: e.Pos()}
}
