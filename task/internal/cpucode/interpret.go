package cpucode

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
)

// This file runs kernels that read package variables, and have no vector code, on CPU workers.
// Their Go function reads the variables themselves, and not the values at submission. So it runs
// while both are the same; else the interpreter runs the kernel on the values at submission, as the
// simulated accelerator would.

// interpreterVariant is the variant in records of tasks that the interpreter ran.
const interpreterVariant = "interpreter"

// A VariableError is the error of a task whose kernel ran as its Go function while the program
// changed a package variable that the function reads: what the task has written is undefined.
type VariableError struct {
	Kernel   string
	Pos      ir.Pos
	Variable string
	Why      error // there is no other variant
	Running  bool  // it changed while the function ran, else before
}

func (e *VariableError) Error() string {
	when := "between its submission and its start"
	if e.Running {
		when = "while it ran"
	}
	return fmt.Sprintf("task: kernel %s (%s:%d): package variable %s was changed %s, and its Go function reads the variable itself (%v): "+
		"change it when the task is done, or pass it as a parameter", e.Kernel, e.Pos.File, e.Pos.Line, e.Variable, when, e.Why)
}

// Unwrap returns why there is no other variant.
func (e *VariableError) Unwrap() error { return e.Why }

// withVariables calls f, which runs the Go function of k, unless package variables are not what
// they were at submission. It returns a *VariableError where they have changed meanwhile.
func (ex *Executor) withVariables(r *Launch, k *kernels.Kernel, why error, f func() error) error {
	if len(k.Variables) == 0 || k.Prints() && k.Device.Program == nil {
		return f()
	}
	if k.Prints() {
		return ex.runInterpreter(r, k)
	}
	if v := VariableChanged(ex.table, k, r.args.List); v != nil {
		return ex.interpret(r, k, v)
	}
	if err := f(); err != nil {
		return err
	}
	if v := VariableChanged(ex.table, k, r.args.List); v != nil {
		return &VariableError{Kernel: k.Name, Pos: k.Pos, Variable: v.Name, Why: why, Running: true}
	}
	return nil
}

// interpret runs the device program of k, whose variable v has changed since the submission of r.
func (ex *Executor) interpret(r *Launch, k *kernels.Kernel, v *values.Global) error {
	if k.Device.Program == nil {
		return &VariableError{Kernel: k.Name, Pos: k.Pos, Variable: v.Name, Why: k.Device.Refused}
	}
	return ex.runInterpreter(r, k)
}

// runInterpreter runs the device program of k.
func (ex *Executor) runInterpreter(r *Launch, k *kernels.Kernel) error {
	code, err := simt.New(k.Device.Program)
	if err != nil {
		return err
	}
	*r.variant = interpreterVariant
	ex.states[r.worker].untypical = true
	_, err = code.Run(interpreterArgs(r.args), simt.Config{Context: r.of.Context()})
	return err
}

// interpreterArgs returns arguments as the interpreter takes them. Those in one buffer share a
// memory.
func interpreterArgs(a *devices.Args) []simt.Arg {
	spans := map[deps.BufferID][2]deps.Bytes{}
	for i := range a.List {
		if arg := &a.List[i]; arg.InMemory() {
			s, seen := spans[arg.Buffer]
			end := arg.Offset + deps.Bytes(max(arg.Len, arg.Cap))*arg.Type.Elem.Size
			if !seen {
				s = [2]deps.Bytes{arg.Offset, end}
			}
			spans[arg.Buffer] = [2]deps.Bytes{min(s[0], arg.Offset), max(s[1], end)}
		}
	}
	memories := map[deps.BufferID]*simt.Memory{}
	out := make([]simt.Arg, len(a.List))
	for i := range a.List {
		arg := &a.List[i]
		out[i] = simt.Arg{Bits: ir.Bits(arg.Bits), Bytes: arg.Blob}
		if !arg.InMemory() {
			continue
		}
		s, memory := spans[arg.Buffer], memories[arg.Buffer]
		if memory == nil {
			// Safe: the span is of arguments, which lie in the buffer that At resolves, and the
			// buffer outlives the task.
			base := (*byte)(unsafe.Add(a.At(arg.Buffer), s[0]))
			memory = &simt.Memory{Name: fmt.Sprintf("buffer %d", arg.Buffer), Bytes: unsafe.Slice(base, s[1]-s[0])}
			memories[arg.Buffer] = memory
		}
		out[i].Memory, out[i].Offset, out[i].Len, out[i].Cap = memory, int64(arg.Offset-s[0]), arg.Len, arg.Cap
	}
	return out
}

// VariableChanged returns a variable of k whose value is not the one in args any more, nil where
// there is none.
func VariableChanged(t *memory.Table, k *kernels.Kernel, args []devices.Arg) *values.Global {
	for i, v := range k.Variables {
		was := &args[len(k.Params)+i]
		a, where := v.Argument()
		same := a.Bits == was.Bits && bytes.Equal(a.Blob, was.Blob)
		if values.IsMemory(a.Type) {
			same = was.Nil == (where.Base == nil) && was.Len == where.Len
			if same && where.Len > 0 {
				b, first, err := t.Find(where)
				same = err == nil && b != nil && b.ID == was.Buffer && deps.Bytes(first)*b.Elem == was.Offset
			}
		}
		if !same {
			return v
		}
	}
	return nil
}
