package opencl

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// atomic prints an atomic operation: a builtin where there is one, else a loop around
// compare-and-swap. Reads and writes are volatile, which no compiler merges, tears or moves past
// each other.
func (p atomicsPrinter) atomic(s *ir.Atomic) {
	if v := ir.RootVar(s.Place); v != nil && v.Space == ir.Local || p.placeSpace(s.Place) == private {
		for _, plain := range cprint.Unshared(s) {
			p.stmt(plain)
		}
		return
	}
	if s.Ordered {
		p.Printf(s.At, "%s;", p.fence(s.At))
		defer func() { p.Printf(s.At, "%s;", p.fence(s.At)) }()
	}
	switch s.Kind {
	case ir.AtomicRead:
		p.keep(s, cprint.Value("*"+p.pointerTo(s.Place, p.typeName(s.Place.Type())), cprint.PrecUnary, cprint.TypeOf(s.Place.Type())))
	case ir.AtomicWrite:
		v := p.expr(s.Value).Text
		p.Printf(s.At, "*%s = %s;", p.pointerTo(s.Place, p.typeName(s.Place.Type())), v)
	case ir.AtomicCompare:
		p.compareSwap(s)
	default:
		p.update(s)
	}
}

// fence prints what orders memory for all teams.
func (p atomicsPrinter) fence(at ir.Pos) string {
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
func (p atomicsPrinter) pointerTo(place ir.Expr, as string) string {
	if cprint.TypeOf(place.Type()) == cprint.Other {
		p.fail(place.Pos(), "atomic operation on %s: not supported by opencl", place.Type())
	}
	addr := p.expr(&ir.AddrOf{X: place, At: place.Pos()}).At(cprint.PrecUnary)
	return fmt.Sprintf("(volatile %s%s *)%s", p.placeSpace(place).qualifier(), as, addr)
}

// keep prints the statement that assigns the result of an operation to s.Old, or drops it.
func (p atomicsPrinter) keep(s *ir.Atomic, v cprint.Val) {
	if s.Old == nil {
		p.Printf(s.At, "%s;", v.Text)
		return
	}
	p.Printf(s.At, "%s = %s;", p.expr(s.Old).Text, v.Text)
}

// builtins are the operations on integers of 32 bits (atomic_) and 64 (atom_).
var builtins = map[ir.Op]string{ir.Add: "add", ir.Sub: "sub", ir.And: "and", ir.Or: "or", ir.Xor: "xor", ir.AndNot: "and", ir.Min: "min", ir.Max: "max",
	ir.NoOp: "xchg"}

// builtin returns the name of an operation on an integer, and notes the extension of those with 64
// bits.
func (p atomicsPrinter) builtin(name string, bits int) string {
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

func (p atomicsPrinter) update(s *ir.Atomic) {
	t := s.Place.Type()
	native := t.IsInteger() && cprint.Width(t) >= 32 && builtins[s.Op] != "" && !(s.Swapped && s.Op == ir.Sub)
	if p.addsFloat(s) {
		p.floatAdd(s)
		return
	}
	if !native || s.After && s.Op == ir.NoOp {
		p.loop(s, func(old ir.Expr) ir.Expr { return cprint.Combined(s, old) })
		return
	}
	v := s.Value
	if s.Op == ir.AndNot {
		v = &ir.Unary{Op: ir.Com, X: v, At: v.Pos()}
	}
	if s.After {
		v = p.once(v, "value")
	}
	text := fmt.Sprintf("%s(%s, %s)", p.builtin(builtins[s.Op], cprint.Width(t)), p.pointerTo(s.Place, p.typeName(t)), p.asGo(p.number(v), t).Text)
	if !s.After {
		p.keep(s, cprint.Value(text, cprint.PrecPostfix, cprint.TypeOf(t)))
		return
	}
	before := &ir.Var{Name: "before", Type: t, Space: ir.Local, At: s.At}
	p.Printf(s.At, "const %s %s = %s;", p.typeName(t), p.Declare(before), text)
	after := *s
	after.Value = v
	if s.Op == ir.AndNot {
		after.Op = ir.And
	}
	p.stmt(&ir.Assign{Place: s.Old, Value: cprint.Combined(&after, &ir.Ref{Var: before, At: s.At}), At: s.At})
}

// addsFloat reports whether s adds to a float that the device adds to atomically.
func (p atomicsPrinter) addsFloat(s *ir.Atomic) bool {
	if s.After || s.Op != ir.Add && (s.Op != ir.Sub || s.Swapped) {
		return false
	}
	single, double := GlobalFloat32, GlobalFloat64
	if p.placeSpace(s.Place) == local {
		single, double = TeamFloat32, TeamFloat64
	}
	switch s.Place.Type().Kind {
	case ir.Float32:
		return p.opt.Atomics&single != 0
	case ir.Float64:
		return p.opt.Atomics&double != 0
	}
	return false
}

// floatAddText adds to a float by the instruction of NVIDIA's GPUs.
const floatAddText = `
// NAME adds x to *at, and returns what was there.
T NAME(volatile global T *at, T x)
{
	T was;
	asm volatile("atom.SPACE.add.BITS %0, [%1], %2;" : "=REGISTER"(was) : "l"(at), "REGISTER"(x) : "memory");
	return was;
}
`

// floatAdd prints an addition to a float. A difference is the sum with the negative number.
func (p atomicsPrinter) floatAdd(s *ir.Atomic) {
	t, v := s.Place.Type(), s.Value
	if s.Op == ir.Sub {
		v = &ir.Unary{Op: ir.Neg, X: v, At: v.Pos()}
	}
	if p.opt.Fence == PTXFence {
		name, text := "add_global", strings.NewReplacer("SPACE", "global")
		if p.placeSpace(s.Place) == local {
			name, text = "add_team", strings.NewReplacer("SPACE", "shared", "global", "local")
		}
		bits, register := "f32", "f"
		if t.Kind == ir.Float64 {
			p.needs["cl_khr_fp64"], bits, register = true, "f64", "d"
		}
		body := strings.NewReplacer("BITS", bits, "REGISTER", register).Replace(text.Replace(floatAddText))
		call := p.typed(name, body, cprint.TypeOf(t))
		p.keep(s, cprint.Value(fmt.Sprintf("%s(%s, %s)", call, p.pointerTo(s.Place, p.typeName(t)), p.asGo(p.number(v), t).Text), cprint.PrecPostfix, cprint.TypeOf(t)))
		return
	}
	p.newer = true
	text := fmt.Sprintf("atomic_fetch_add_explicit(%s, %s, memory_order_relaxed, memory_scope_device)",
		p.pointerTo(s.Place, "atomic_"+p.typeName(t)), p.asGo(p.number(v), t).Text)
	p.keep(s, cprint.Value(text, cprint.PrecPostfix, cprint.TypeOf(t)))
}

// compareSwap prints if place == compare { place = value }. Floats are compared as numbers, not as
// bits.
func (p atomicsPrinter) compareSwap(s *ir.Atomic) {
	t := s.Place.Type()
	if t.IsInteger() && cprint.Width(t) >= 32 && !s.After {
		p.keep(s, cprint.Value(fmt.Sprintf("%s(%s, %s, %s)", p.builtin("cmpxchg", cprint.Width(t)), p.pointerTo(s.Place, p.typeName(t)),
			p.asGo(p.number(s.Compare), t).Text, p.asGo(p.number(s.Value), t).Text), cprint.PrecPostfix, cprint.TypeOf(t)))
		return
	}
	compare := p.once(s.Compare, "compare")
	p.loop(s, func(old ir.Expr) ir.Expr {
		return cprint.Swapped(s, old, compare)
	})
}

// loop prints an update by a function of the old value, which reads variables that do not change
// meanwhile.
func (p atomicsPrinter) loop(s *ir.Atomic, next func(old ir.Expr) ir.Expr) {
	t := s.Place.Type()
	ct := cprint.TypeOf(t)
	bits := max(ct.Bits(), 32)
	word := cprint.Unsigned(bits)
	keep := s.Value
	s.Value = p.once(s.Value, "value") // next reads the statement
	defer func() { s.Value = keep }()
	p.Push()
	defer p.Pop()
	old, set := &ir.Var{Name: "old", Type: t, Space: ir.Local, At: s.At}, &ir.Var{Name: "set", Type: t, Space: ir.Local, At: s.At}
	part := ct.Bits() < 32
	place := p.pointerTo(s.Place, dialect.Name(word))
	p.Printf(s.At, "{")
	p.Depth++
	at, seen, was := p.Fresh("word"), p.Fresh("seen"), p.Fresh("was")
	shift := ""
	pointer := "volatile " + p.placeSpace(s.Place).qualifier() + dialect.Name(word) + " *"
	if part { // a part of a word of 32 bits
		shift = p.Fresh("shift")
		p.Printf(s.At, "const ulong at = (ulong)%s;", place)
		p.Printf(s.At, "%s%s = (%s)(at & ~3ul);", pointer, at, pointer)
		p.Printf(s.At, "const uint %s = (uint)(at & 3) * 8;", shift)
	} else {
		p.Printf(s.At, "%s%s = %s;", pointer, at, place)
	}
	p.Printf(s.At, "%s %s = *%s, %s;", dialect.Name(word), seen, at, was)
	name, result := p.Declare(old), p.Declare(set)
	p.Printf(s.At, "%s %s, %s;", p.typeName(t), name, result)
	p.Printf(s.At, "do {")
	p.Depth++
	p.Printf(s.At, "%s = %s;", was, seen)
	p.Printf(s.At, "%s = %s;", name, p.fromWord(t, was, shift))
	p.Printf(s.At, "%s = %s;", result, p.expr(next(&ir.Ref{Var: old, At: s.At})).Text)
	swapped := toWord(t, result)
	if part {
		mask := fmt.Sprintf("0x%xu", uint32(1)<<ct.Bits()-1)
		swapped = fmt.Sprintf("(%s & ~(%s << %s)) | ((uint)%s & %s) << %s", was, mask, shift, result, mask, shift)
	}
	p.Printf(s.At, "%s = %s(%s, %s, %s);", seen, p.builtin("cmpxchg", bits), at, was, swapped)
	p.Depth--
	p.Printf(s.At, "} while (%s != %s);", seen, was)
	if s.Old != nil {
		value := name
		if s.After {
			value = result
		}
		p.Printf(s.At, "%s = %s;", p.expr(s.Old).Text, value)
	}
	p.Depth--
	p.Printf(s.At, "}")
}

// fromWord prints the value that a word holds.
func (p atomicsPrinter) fromWord(t *ir.Type, word, shift string) string {
	switch ct := cprint.TypeOf(t); {
	case t.IsFloat():
		return "as_" + dialect.Name(ct) + "(" + word + ")"
	case shift != "":
		return fmt.Sprintf("(%s)(%s >> %s)", p.typeName(t), word, shift)
	case ct.IsSigned():
		return "(" + dialect.Name(ct) + ")" + word
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
	return "(" + dialect.Name(cprint.Unsigned(cprint.Width(t))) + ")" + name
}

// once returns e, or a variable that is declared with its value where it is more than a constant or
// a variable of the thread.
func (p atomicsPrinter) once(e ir.Expr, name string) ir.Expr {
	switch x := e.(type) {
	case nil, *ir.Const:
		return e
	case *ir.Ref:
		if x.Var.Space != ir.Team && !isAddress(x.Var.Type) {
			return e
		}
	}
	v := &ir.Var{Name: name, Type: e.Type(), Space: ir.Local, At: e.Pos()}
	text := p.expr(e).Text
	p.Printf(e.Pos(), "const %s = %s;", p.declaration(v, p.Declare(v)), text)
	return &ir.Ref{Var: v, At: e.Pos()}
}
