package opencl

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// atomic prints an atomic operation: a builtin where there is one, else a loop around
// compare-and-swap. Reads and writes are volatile, which no compiler merges, tears or moves past
// each other.
func (p *printer) atomic(s *ir.Atomic) {
	if v := ir.RootVar(s.Place); v != nil && v.Space == ir.Local || p.placeSpace(s.Place) == private {
		p.unshared(s)
		return
	}
	if s.Ordered {
		p.printf(s.At, "%s;", p.fence(s.At))
		defer func() { p.printf(s.At, "%s;", p.fence(s.At)) }()
	}
	switch s.Kind {
	case ir.AtomicRead:
		p.keep(s, value("*"+p.pointerTo(s.Place, p.typeName(s.Place.Type())), precUnary, ctypeOf(s.Place.Type())))
	case ir.AtomicWrite:
		v := p.expr(s.Value).text
		p.printf(s.At, "*%s = %s;", p.pointerTo(s.Place, p.typeName(s.Place.Type())), v)
	case ir.AtomicCompare:
		p.compareSwap(s)
	default:
		p.update(s)
	}
}

// fence prints what orders memory for all teams.
func (p *printer) fence(at ir.Pos) string {
	switch p.opt.Fence {
	case C11Fence:
		return "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)"
	case PTXFence:
		return `asm volatile("membar.gl;" ::: "memory")`
	case HostFence:
		return "mem_fence(CLK_GLOBAL_MEM_FENCE)"
	}
	p.fail(at, "memory ordered among teams: the device has no fence for that")
	return ""
}

// pointerTo prints a volatile pointer to a place as one of another type.
func (p *printer) pointerTo(place ir.Expr, as string) string {
	if ctypeOf(place.Type()) == other {
		p.fail(place.Pos(), "atomic operation on %s: not supported by opencl", place.Type())
	}
	addr := p.expr(&ir.AddrOf{X: place, At: place.Pos()}).at(precUnary)
	return fmt.Sprintf("(volatile %s%s *)%s", p.placeSpace(place).qualifier(), as, addr)
}

// keep prints the statement that assigns the result of an operation to s.Old, or drops it.
func (p *printer) keep(s *ir.Atomic, v val) {
	if s.Old == nil {
		p.printf(s.At, "%s;", v.text)
		return
	}
	p.printf(s.At, "%s = %s;", p.expr(s.Old).text, v.text)
}

// builtins are the operations on integers of 32 bits (atomic_) and 64 (atom_).
var builtins = map[ir.Op]string{ir.Add: "add", ir.Sub: "sub", ir.And: "and", ir.Or: "or", ir.Xor: "xor", ir.AndNot: "and", ir.Min: "min", ir.Max: "max",
	ir.NoOp: "xchg"}

// builtin returns the name of an operation on an integer, and notes the extension of those with 64
// bits.
func (p *printer) builtin(name string, bits int) string {
	if bits == 32 {
		return "atomic_" + name
	}
	switch name {
	case "add", "sub", "xchg", "cmpxchg":
		p.needs["cl_khr_int64_base_atomics"] = true
	default:
		p.needs["cl_khr_int64_extended_atomics"] = true
	}
	return "atom_" + name
}

func (p *printer) update(s *ir.Atomic) {
	t := s.Place.Type()
	native := t.IsInteger() && width(t) >= 32 && builtins[s.Op] != "" && !(s.Swapped && s.Op == ir.Sub)
	if !native || s.After && s.Op == ir.NoOp {
		p.loop(s, func(old ir.Expr) ir.Expr { return combined(s, old) })
		return
	}
	v := s.Value
	if s.Op == ir.AndNot {
		v = &ir.Unary{Op: ir.Com, X: v, At: v.Pos()}
	}
	if s.After {
		v = p.once(v, "value")
	}
	text := fmt.Sprintf("%s(%s, %s)", p.builtin(builtins[s.Op], width(t)), p.pointerTo(s.Place, p.typeName(t)), p.asGo(p.number(v), t).text)
	if !s.After {
		p.keep(s, value(text, precPostfix, ctypeOf(t)))
		return
	}
	before := &ir.Var{Name: "before", Type: t, Space: ir.Local, At: s.At}
	p.printf(s.At, "const %s %s = %s;", p.typeName(t), p.declare(before), text)
	after := *s
	after.Value = v
	if s.Op == ir.AndNot {
		after.Op = ir.And
	}
	p.stmt(&ir.Assign{Place: s.Old, Value: combined(&after, &ir.Ref{Var: before, At: s.At}), At: s.At})
}

// compareSwap prints if place == compare { place = value }. Floats are compared as numbers, not as
// bits.
func (p *printer) compareSwap(s *ir.Atomic) {
	t := s.Place.Type()
	if t.IsInteger() && width(t) >= 32 && !s.After {
		p.keep(s, value(fmt.Sprintf("%s(%s, %s, %s)", p.builtin("cmpxchg", width(t)), p.pointerTo(s.Place, p.typeName(t)),
			p.asGo(p.number(s.Compare), t).text, p.asGo(p.number(s.Value), t).text), precPostfix, ctypeOf(t)))
		return
	}
	compare := p.once(s.Compare, "compare")
	p.loop(s, func(old ir.Expr) ir.Expr {
		same := &ir.Binary{Op: ir.Eq, X: old, Y: compare, T: ir.BoolType, At: s.At}
		return &ir.Select{Cond: same, X: s.Value, Y: old, At: s.At}
	})
}

// loop prints an update by a function of the old value, which reads variables that do not change
// meanwhile.
func (p *printer) loop(s *ir.Atomic, next func(old ir.Expr) ir.Expr) {
	t := s.Place.Type()
	ct := ctypeOf(t)
	bits := max(ct.bits(), 32)
	word := unsignedOf(bits)
	keep := s.Value
	s.Value = p.once(s.Value, "value") // next reads the statement
	defer func() { s.Value = keep }()
	p.Push()
	defer p.Pop()
	old, set := &ir.Var{Name: "old", Type: t, Space: ir.Local, At: s.At}, &ir.Var{Name: "set", Type: t, Space: ir.Local, At: s.At}
	part := ct.bits() < 32
	place := p.pointerTo(s.Place, word.String())
	p.printf(s.At, "{")
	p.depth++
	at, seen, was := p.Fresh("word"), p.Fresh("seen"), p.Fresh("was")
	shift := ""
	pointer := "volatile " + p.placeSpace(s.Place).qualifier() + word.String() + " *"
	if part { // a part of a word of 32 bits
		shift = p.Fresh("shift")
		p.printf(s.At, "const ulong at = (ulong)%s;", place)
		p.printf(s.At, "%s%s = (%s)(at & ~3ul);", pointer, at, pointer)
		p.printf(s.At, "const uint %s = (uint)(at & 3) * 8;", shift)
	} else {
		p.printf(s.At, "%s%s = %s;", pointer, at, place)
	}
	p.printf(s.At, "%s %s = *%s, %s;", word, seen, at, was)
	name, result := p.declare(old), p.declare(set)
	p.printf(s.At, "%s %s, %s;", p.typeName(t), name, result)
	p.printf(s.At, "do {")
	p.depth++
	p.printf(s.At, "%s = %s;", was, seen)
	p.printf(s.At, "%s = %s;", name, p.fromWord(t, was, shift))
	p.printf(s.At, "%s = %s;", result, p.expr(next(&ir.Ref{Var: old, At: s.At})).text)
	swapped := toWord(t, result)
	if part {
		mask := fmt.Sprintf("0x%xu", uint32(1)<<ct.bits()-1)
		swapped = fmt.Sprintf("(%s & ~(%s << %s)) | ((uint)%s & %s) << %s", was, mask, shift, result, mask, shift)
	}
	p.printf(s.At, "%s = %s(%s, %s, %s);", seen, p.builtin("cmpxchg", bits), at, was, swapped)
	p.depth--
	p.printf(s.At, "} while (%s != %s);", seen, was)
	if s.Old != nil {
		value := name
		if s.After {
			value = result
		}
		p.printf(s.At, "%s = %s;", p.expr(s.Old).text, value)
	}
	p.depth--
	p.printf(s.At, "}")
}

// fromWord prints the value that a word holds.
func (p *printer) fromWord(t *ir.Type, word, shift string) string {
	switch ct := ctypeOf(t); {
	case t.IsFloat():
		return "as_" + ct.String() + "(" + word + ")"
	case shift != "":
		return fmt.Sprintf("(%s)(%s >> %s)", p.typeName(t), word, shift)
	case ct.isSigned():
		return "(" + ct.String() + ")" + word
	}
	return word
}

func toWord(t *ir.Type, name string) string {
	switch t.Kind {
	case ir.Float32:
		return "as_uint(" + name + ")"
	case ir.Float64:
		return "as_ulong(" + name + ")"
	}
	return "(" + unsignedOf(width(t)).String() + ")" + name
}

// once returns e, or a variable that is declared with its value where it is more than a constant or
// a variable of the thread.
func (p *printer) once(e ir.Expr, name string) ir.Expr {
	switch x := e.(type) {
	case nil, *ir.Const:
		return e
	case *ir.Ref:
		if x.Var.Space != ir.Team && !isAddress(x.Var.Type) {
			return e
		}
	}
	v := &ir.Var{Name: name, Type: e.Type(), Space: ir.Local, At: e.Pos()}
	text := p.expr(e).text
	p.printf(e.Pos(), "const %s = %s;", p.declaration(v, p.declare(v)), text)
	return &ir.Ref{Var: v, At: e.Pos()}
}

// combined returns the new value of an update.
func combined(s *ir.Atomic, old ir.Expr) ir.Expr {
	if s.Op == ir.NoOp {
		return s.Value
	}
	x, y, t := old, s.Value, old.Type()
	if s.Swapped {
		x, y = y, x
	}
	switch s.Op {
	case ir.Min, ir.Max:
		fns := map[ir.Op][2]ir.MathFn{ir.Min: {ir.IMin, ir.FMin}, ir.Max: {ir.IMax, ir.FMax}}[s.Op]
		fn := fns[0]
		if t.IsFloat() {
			fn = fns[1]
		}
		return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: t, At: s.At}
	}
	return &ir.Binary{Op: s.Op, X: x, Y: y, T: t, At: s.At}
}

// unshared prints the operation on a variable that no other thread sees.
func (p *printer) unshared(s *ir.Atomic) {
	set := &ir.Assign{Place: s.Place, Value: s.Value, At: s.At}
	if s.Kind == ir.AtomicUpdate || s.Kind == ir.AtomicCapture {
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
