package kernels

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/values"
)

// A param holds the known facts about a parameter before there is an argument.
type param struct {
	name string
	Type *ir.Type
	Nils bool // a pointer that may be nil
	Of   int  // the argument that it is, or is a leaf of
}

// A given holds the known facts about an argument of a submission: it is the parameter first, or
// its leaves are the parameters from there.
type given struct {
	Type   *ir.Type
	want   reflect.Type // nil where fits must look
	First  int
	Leaves []ir.Leaf // of a struct that is split
}

// takeParams notes the parameters of the kernel and the arguments that it is submitted with.
func (k *Kernel) takeParams() {
	for _, p := range k.IR.GoParams() {
		g := given{Type: p.Type, want: values.GoType(p.Type), First: p.First}
		if ir.IsSplit(p.Type) {
			g.Leaves = ir.Leaves(p.Type)
		}
		for _, v := range k.IR.Params[p.First : p.First+p.Count] {
			k.Params = append(k.Params, param{v.Name, v.Type, values.MayBeNil(k.IR, v), len(k.Given)})
		}
		k.Given = append(k.Given, g)
	}
}

// Matches checks the Go function against its declared source.
func (k *Kernel) Matches(t reflect.Type) error {
	if t.NumIn() != len(k.Given) || t.NumOut() != 0 || t.IsVariadic() {
		return fmt.Errorf("task: kernel %s: the function is %s, the source has %s and no results", k.Name, t, values.Count(len(k.Given), "parameter"))
	}
	for i, p := range k.IR.GoParams() {
		if !values.Fits(t.In(i), p.Type) {
			return fmt.Errorf("task: kernel %s: parameter %s: the function has %s, the source %s", k.Name, p.Name, t.In(i), values.TypeText(p.Type))
		}
		k.Given[i].want = t.In(i)
	}
	return nil
}

func (k *Kernel) CheckArgs(args []any) error {
	if len(args) != len(k.Given) {
		return &values.ArgumentError{Kernel: k.Name, Pos: k.Pos, What: fmt.Sprintf("%s, want %d", values.Count(len(args), "argument"), len(k.Given))}
	}
	for i, x := range args {
		g := &k.Given[i]
		t := reflect.TypeOf(x)
		if t == nil || t != g.want && (g.want != nil || !values.Fits(t, g.Type)) {
			return &values.ArgumentError{Kernel: k.Name, Pos: k.Pos, Param: k.IR.GoParams()[i].Name, Index: i, What: fmt.Sprintf("is %s, want %s", typeName(t), values.TypeText(g.Type))}
		}
	}
	return k.checkVariables()
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "nil"
	}
	return t.String()
}

// BadArg returns an error about parameter i.
func (k *Kernel) BadArg(i int, what string) error {
	return &values.ArgumentError{Kernel: k.Name, Pos: k.Pos, Param: k.Params[i].name, Index: k.Params[i].Of, What: what}
}

// Grainsize returns the least number of iterations of a task for args, 1 without a clause.
func (k *Kernel) Grainsize(args []any) (int, error) {
	e := k.IR.Task.Loop.Grain
	if e == nil {
		return 1, nil
	}
	list := make([]devices.Arg, len(k.IR.Params))
	for i, x := range args {
		if g := &k.Given[i]; g.Leaves == nil {
			list[g.First], _ = values.Argument(x, g.Type)
		} else {
			for n, leaf := range values.LeavesAt(x, g.Leaves) {
				list[g.First+n], _ = values.ArgumentAt(leaf, g.Leaves[n].Type)
			}
		}
	}
	bits, err := ir.Eval(e, &values.Arguments{Params: k.IR.Params, List: list})
	if err != nil {
		return 0, fmt.Errorf("task: kernel %s (%s:%d): grainsize clause: %w", k.Name, k.Pos.File, k.Pos.Line, err)
	}
	return max(1, int(int64(bits))), nil
}

// BindVariable says where a package variable is that k reads.
func (k *Kernel) BindVariable(name string, pointer any) error {
	i := slices.IndexFunc(k.Variables, func(v *values.Global) bool { return v.Name == name })
	if i < 0 {
		return fmt.Errorf("task: kernel %s: package variable %s: the kernel does not read it", k.Name, name)
	}
	v, p := k.Variables[i], reflect.ValueOf(pointer)
	if p.Kind() != reflect.Pointer || p.IsNil() || !values.Fits(p.Type().Elem(), v.Of.Type) {
		return fmt.Errorf("task: kernel %s: package variable %s: %T is no pointer to a %s", k.Name, name, pointer, values.TypeText(v.Of.Type))
	}
	v.At = p.UnsafePointer()
	return nil
}

// takeVariables notes the variables that k reads.
func (k *Kernel) takeVariables(known []values.Variable) error {
	for _, g := range k.IR.Globals {
		k.Variables = append(k.Variables, &values.Global{Name: g.Var.Name, Of: g, Nils: values.MayBeNil(k.IR, g.Var)})
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
	for _, v := range k.Variables {
		if v.At == nil && !v.Printed() {
			return fmt.Errorf("task: kernel %s (%s:%d): package variable %s: reflection does not find it by its name: call BindVariable(%q, &%s), or the wrapper that gompss gen writes",
				k.Name, k.Pos.File, k.Pos.Line, v.Name, v.Name, v.Name)
		}
	}
	return nil
}

// readsAlike reports whether v reads the package variables that k reads, in the same way.
func (k *Kernel) readsAlike(v *Kernel) bool {
	return slices.EqualFunc(k.Variables, v.Variables, func(a, b *values.Global) bool {
		return a.Name == b.Name && a.Of.Shared == b.Of.Shared && a.At == b.At
	})
}
