package task

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// This file gives kernels the package variables that they read.
//
// Their values are those at submission, or of a replay, on every device: the contract of the launch
// is proved for them, accelerators and vector code are given them. The Go function reads the
// variables themselves, so that it only runs where there is no vector code and they are what they
// were (interpret.go). What goes by value is copied when it has changed, and an unchanged copy is
// used again: a submission allocates nothing then. Large arrays and structs are buffers in their
// own place, which tasks read as they do a slice that is an argument.

// A Variable says where a package variable is that a kernel reads.
type Variable struct {
	Name    string
	Pointer any // to the variable
}

// A variable is a package variable of a kernel.
type variable struct {
	name string
	of   ir.Global
	at   pointer // nil until the program has said where it is
	nils bool    // a pointer that the kernel compares with nil
	last atomic.Pointer[[]byte]
}

// BindVariable tells k, made by NewKernel, where a package variable is that it reads: reflection
// finds functions alone. The wrappers that gompss gen writes do that themselves. It is to be called
// before tasks of k are submitted.
//
// Errors: k reads no variable of that name; pointer does not point at one of its type.
func (k *Kernel) BindVariable(name string, pointer any) error {
	i := slices.IndexFunc(k.variables, func(v *variable) bool { return v.name == name })
	if i < 0 {
		return fmt.Errorf("task: kernel %s: package variable %s: the kernel does not read it", k.name, name)
	}
	v, p := k.variables[i], reflect.ValueOf(pointer)
	if p.Kind() != reflect.Pointer || p.IsNil() || !fits(p.Type().Elem(), v.of.Type) {
		return fmt.Errorf("task: kernel %s: package variable %s: %T is no pointer to a %s", k.name, name, pointer, typeText(v.of.Type))
	}
	v.at = p.UnsafePointer()
	return nil
}

// takeVariables notes the variables that k reads.
func (k *Kernel) takeVariables(known []Variable) error {
	for _, g := range k.ir.Globals {
		k.variables = append(k.variables, &variable{name: g.Var.Name, of: g, nils: comparedWithNil(k.ir, g.Var)})
	}
	for _, x := range known {
		if err := k.BindVariable(x.Name, x.Pointer); err != nil {
			return err
		}
	}
	return nil
}

// checkVariables returns an error where it is not known where a variable is.
func (k *Kernel) checkVariables() error {
	for _, v := range k.variables {
		if v.at == nil && !v.printed() {
			return fmt.Errorf("task: kernel %s (%s:%d): package variable %s: reflection does not find it by its name: call BindVariable(%q, &%s), or the wrapper that gompss gen writes",
				k.name, k.pos.File, k.pos.Line, v.name, v.name, v.name)
		}
	}
	return nil
}

// bindVariables adds the values of the variables to the arguments of r.
func (t *buffers) bindVariables(r *record) error {
	for _, v := range r.kernel.variables { // a pointer may point into one of these, and the first use is to be of the whole
		if v.of.Var.Type.Kind != ir.Slice || v.printed() {
			continue
		}
		if _, where := v.argument(); where.len > 0 {
			if _, _, err := t.locate(where, r.scope); err != nil {
				return fmt.Errorf("package variable %s: %w", v.name, err)
			}
		}
	}
	for _, v := range r.kernel.variables {
		a, where := t.argumentOf(r, v)
		if isMemory(a.Type) {
			if a.Type.Kind == ir.Pointer && where.base == nil && !v.nils {
				return fmt.Errorf("package variable %s is a nil pointer", v.name)
			}
			if err := t.bindMemory(r, &a, where); err != nil {
				return fmt.Errorf("package variable %s: %w", v.name, err)
			}
		} else if err := t.checkApart(r, v); err != nil && !v.printed() {
			return err
		}
		r.args.List = append(r.args.List, a)
	}
	return nil
}

// printed reports whether v is an argument for what the kernel prints, and no variable.
func (v *variable) printed() bool { return v.name == printing.Buffer || v.name == printing.Task }

// argumentOf is argument for a task r.
func (t *buffers) argumentOf(r *record, v *variable) (devices.Arg, memory) {
	switch v.name {
	case printing.Buffer:
		return t.printArgument(r, v)
	case printing.Task:
		return devices.Arg{Type: v.of.Type, Bits: r.scratch.printed}, memory{}
	}
	return v.argument()
}

func isMemory(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }

// argument returns the value of v now; where is the memory of what is a buffer.
func (v *variable) argument() (a devices.Arg, where memory) {
	t := v.of.Var.Type
	a.Type = t
	switch {
	case v.of.Shared:
		where = memory{base: v.at, len: 1, cap: 1, elem: t.Elem.Size}
		if t.Kind == ir.Slice {
			where.len, where.cap = v.of.Type.Len, v.of.Type.Len
		}
	case isMemory(t):
		where = memoryAt(v.at, t)
	case t.IsScalar():
		a.Bits = scalarAt(v.at, t)
	default:
		a.Blob = v.value()
	}
	return a, where
}

// value returns an immutable copy of v, an array or struct.
func (v *variable) value() []byte {
	now := variableBytes(v.at, v.of.Type.Size)
	if last := v.last.Load(); last != nil && bytes.Equal(*last, now) {
		return *last
	}
	copied := bytes.Clone(now)
	v.last.Store(&copied)
	return copied
}

// checkApart returns an error where an argument of r is memory of v, which the kernel would read as
// it was before.
func (t *buffers) checkApart(r *record, v *variable) error {
	lo := uintptr(v.at)
	hi := lo + uintptr(v.of.Type.Size)
	for i := range r.kernel.params {
		a := &r.args.List[i]
		if !a.InMemory() {
			continue
		}
		from := t.byID(a.Buffer).lo() + uintptr(a.Offset)
		if from < hi && lo < from+uintptr(deps.Bytes(max(a.Len, 1))*a.Type.Elem.Size) {
			return r.kernel.badArg(i, "is memory of package variable "+v.name+", which the kernel reads by its name too: pass it as another argument")
		}
	}
	return nil
}

// variableChanged returns a variable of k whose value is not the one in args any more, nil where
// there is none.
func (t *buffers) variableChanged(k *Kernel, args []devices.Arg) *variable {
	for i, v := range k.variables {
		was := &args[len(k.params)+i]
		a, where := v.argument()
		same := a.Bits == was.Bits && bytes.Equal(a.Blob, was.Blob)
		if isMemory(a.Type) {
			same = was.Nil == (where.base == nil) && was.Len == where.len
			if same && where.len > 0 {
				b, first, err := t.find(where)
				same = err == nil && b != nil && b.id == was.Buffer && deps.Bytes(first)*b.elem == was.Offset
			}
		}
		if !same {
			return v
		}
	}
	return nil
}

// readsAlike reports whether v reads the package variables that k reads, in the same way.
func (k *Kernel) readsAlike(v *Kernel) bool {
	return slices.EqualFunc(k.variables, v.variables, func(a, b *variable) bool {
		return a.name == b.name && a.of.Shared == b.of.Shared && a.at == b.at
	})
}
