package task

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
)

// This file gives kernels the package variables that they read.
//
// Their values are those at submission, or of a replay, on every device: the contract of the launch
// is proved for them, accelerators and vector code are given them. The Go function reads the
// variables themselves, so that it only runs where there is no vector code and they are what they
// were (package cpucode). What goes by value is copied when it has changed, and an unchanged copy
// is used again: a submission allocates nothing then. Large arrays and structs are buffers in their
// own place, which tasks read as they do a slice that is an argument.

// BindVariable tells k, made by NewKernel, where a package variable is that it reads: reflection
// finds functions alone. The wrappers that gompss gen writes do that themselves. It is to be called
// before tasks of k are submitted.
//
// Errors: k reads no variable of that name; pointer does not point at one of its type.
func (k *Kernel) BindVariable(name string, pointer any) error {
	return k.description.BindVariable(name, pointer)
}

// bindVariables adds the values of the variables to the arguments of r.
func bindVariables(t *memory.Table, r *record) error {
	for _, v := range r.kernel.Variables { // a pointer may point into one of these, and the first use is to be of the whole
		if v.Of.Var.Type.Kind != ir.Slice || v.Printed() {
			continue
		}
		if _, where := v.Argument(); where.Len > 0 {
			if _, _, err := t.Locate(where, &r.scope.memory); err != nil {
				return fmt.Errorf("package variable %s: %w", v.Name, err)
			}
		}
	}
	for _, v := range r.kernel.Variables {
		a, where := argumentOf(t, r, v)
		if values.IsMemory(a.Type) {
			if a.Type.Kind == ir.Pointer && where.Base == nil && !v.Nils {
				return fmt.Errorf("package variable %s is a nil pointer", v.Name)
			}
			if err := bindMemory(t, r, &a, where); err != nil {
				return fmt.Errorf("package variable %s: %w", v.Name, err)
			}
		} else if err := checkApart(t, r, v); err != nil && !v.Printed() {
			return err
		}
		r.args.List = append(r.args.List, a)
	}
	return nil
}

// argumentOf is argument for a task r.
func argumentOf(t *memory.Table, r *record, v *values.Global) (devices.Arg, values.Range) {
	switch v.Name {
	case printing.Buffer:
		return printArgument(t, r, v)
	case printing.Task:
		return devices.Arg{Type: v.Of.Type, Bits: r.scratch.Printed}, values.Range{}
	}
	return v.Argument()
}

// checkApart returns an error where an argument of r is memory of v, which the kernel would read as
// it was before.
func checkApart(t *memory.Table, r *record, v *values.Global) error {
	lo := uintptr(v.At)
	hi := lo + uintptr(v.Of.Type.Size)
	for i := range r.kernel.Params {
		a := &r.args.List[i]
		if !a.InMemory() {
			continue
		}
		from := t.ByID(a.Buffer).Lo() + uintptr(a.Offset)
		if from < hi && lo < from+uintptr(deps.Bytes(max(a.Len, 1))*a.Type.Elem.Size) {
			return r.kernel.BadArg(i, "is memory of package variable "+v.Name+", which the kernel reads by its name too: pass it as another argument")
		}
	}
	return nil
}

// printArgument returns the arguments that hold what a task prints. Those of a task of a body are
// empty: what it accesses is part of what the task around it does.
func printArgument(t *memory.Table, r *record, v *values.Global) (a devices.Arg, where values.Range) {
	a.Type = v.Of.Type
	if r.scope.program() {
		words, task := r.rt.printer.Bind(r.kernel.IR)
		where = values.MemoryAt(values.Pointer(&words), a.Type)
		r.scratch.Printed = task
	}
	return a, where
}
