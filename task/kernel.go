package task

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
)

// Args are the arguments of a kernel where it runs: see devices.ScalarArg, devices.SliceArg and
// devices.PointerArg.
type Args = devices.Args

// A SourceFile is a file of Go source, by its name in errors.
type SourceFile = codegen.File

// newKernel returns the kernel that s describes.
func newKernel(s KernelSpec) (*Kernel, error) { return newKernelIn(s, "") }

// newKernelIn is newKernel for a wrapper in a generated file.
func newKernelIn(s KernelSpec, generated string) (*Kernel, error) {
	of := kernels.Spec{Name: s.Name, TypeArgs: s.TypeArgs, Files: s.Files, Sources: s.Sources, Lines: s.Lines, Go: s.Go, Split: s.Split, Part: s.Part, Trips: s.Trips,
		Natives: s.Natives, Variables: s.Variables, Constants: s.Constants, Generated: generated}
	for _, v := range s.Versions {
		of.Versions = append(of.Versions, v.description)
	}
	k, err := kernels.New(&of)
	if err != nil {
		return nil, err
	}
	return &Kernel{description: k, call: "Kernel.Submit of " + s.Name}, nil
}

// A KernelSpec describes a kernel by its source and its Go function, as generated code does.
type KernelSpec struct {
	// Name of the function in Files. For an instance of a generic kernel, TypeArgs are the types it
	// is for.
	Name     string
	TypeArgs []string
	// Files are the Go files that hold the kernel and what it calls: those of one package, and those
	// of other packages, which carry the path of theirs.
	Files []SourceFile
	// Sources is the codegen.Package.Hash of the kernel that Go, Split and Trips were made from, ""
	// where it is unknown: they hold copies of its code, so that Files with another hash, which
	// accelerators and vector code would run, are refused. MustKernel, called from a file that is
	// where it was built, compares the other packages of the module there, too. Lines are its
	// CodeLines then: where the function stands elsewhere now, a panic in Split names the line that
	// its code is on in Files.
	Sources, Lines string
	// Go runs the function on the CPU.
	Go func(a *Args)
	// Split runs iterations lo to hi of the one parallel loop of the kernel, and Trips says how
	// many there are. Both are nil when the kernel cannot be cut.
	Split func(a *Args, lo, hi int64)
	Trips func(a *Args) int64
	// Part is Split of a kernel with nested(cpu) whose parts one worker has to run, one after the
	// other, as they have atomics; nil where there is a Split.
	Part func(a *Args, lo, hi int64)
	// Natives are variants written by hand for kinds of devices, such as CUDA C++ or a cubin for
	// "cuda".
	Natives []devices.Native
	// Versions are other kernels for the same task: see Kernel.AddVersion.
	Versions []*Kernel
	// Variables are the package variables that the kernel reads, itself or in what it calls.
	Variables []Variable
	// Constants are those of other packages that the kernel uses: Files hold their values, and a
	// kernel with other values than the program has is refused.
	Constants []Constant
}

// A Kernel is a function that tasks run on any device. It belongs to no runtime.
type Kernel struct {
	description *kernels.Kernel
	call        string // what a mistake in a submission names
}

// NewKernel returns the kernel of a Go function: fn, which must be top level and not generic, with
// the source files of its package that hold it and what it calls. On the CPU fn itself is called,
// by reflection. Of package variables that it reads BindVariable has to tell.
//
// Errors: a codegen.ErrorList with all that is wrong in what the kernel reaches. A kernel that
// cannot run on accelerators is no error: it runs on the CPU, and Refused returns the reason.
func NewKernel(fn any, files ...SourceFile) (*Kernel, error) {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return nil, fmt.Errorf("task: new kernel: %T is not a function", fn)
	}
	name := functionName(v)
	switch full := values.NameOfFunction(v); {
	case strings.HasSuffix(full, "]"):
		return nil, fmt.Errorf("task: new kernel: %s is generic: want MustKernel with TypeArgs, or the wrapper that gompss gen writes", full)
	case literalName.MatchString(full):
		return nil, fmt.Errorf("task: new kernel: %s is a function literal: want a top-level function", full)
	case len(files) == 0:
		return nil, fmt.Errorf("task: kernel %s: no source files: want those that hold it and what it calls", name)
	}
	k, err := newKernel(KernelSpec{Name: name, Files: files, Go: reflectedCall(v)})
	if err != nil {
		return nil, err
	}
	if err := k.description.Matches(v.Type()); err != nil {
		return nil, err
	}
	return k, nil
}

// literalName matches how Go names function literals: after the function around, with a number.
var literalName = regexp.MustCompile(`\.func\d+(\.|$)`)

// MustKernel returns the kernel that s describes. It panics when the source is wrong: s comes from
// a generator that has checked it. Where the source has changed since, which the author has to mend
// and no stack explains, it ends the program with one line on standard error.
func MustKernel(s KernelSpec) *Kernel {
	_, generated, _, _ := runtime.Caller(1)
	k, err := newKernelIn(s, generated)
	if err != nil {
		if stale := (*kernels.StaleError)(nil); errors.As(err, &stale) {
			exit(stale.Error())
		}
		if text := err.Error(); strings.HasPrefix(text, "task: ") {
			panic(text)
		}
		panic(fmt.Sprintf("task: kernel %s: %v", s.Name, err))
	}
	return k
}

// exit ends the program; tests replace it.
var exit = func(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

// Name returns the name of the kernel.
func (k *Kernel) Name() string { return k.description.Name }

// Warnings returns the compiler's warnings about the kernel's package.
func (k *Kernel) Warnings() []codegen.Diagnostic { return k.description.Warnings }

// Refused returns why the kernel has no variant for accelerators, nil when it has.
func (k *Kernel) Refused() error {
	if k.description.Deferral != nil {
		return nil
	}
	return k.description.Device.Refused
}

// IR returns the kernel's loop IR, which must not be changed.
func (k *Kernel) IR() *ir.Kernel { return k.description.IR }

// functionName returns the name of a top-level function.
func functionName(v reflect.Value) string {
	name := values.NameOfFunction(v)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// reflectedCall returns a Go variant that calls fn with the arguments resolved by reflection.
func reflectedCall(fn reflect.Value) func(*Args) {
	t := fn.Type()
	return func(a *Args) {
		in, next := make([]reflect.Value, t.NumIn()), 0
		for i := range in {
			in[i], next = values.ValueOfArg(a, next, t.In(i))
		}
		fn.Call(in)
	}
}

// A Call is a kernel with options, ready to be submitted.
type Call struct {
	kernel  *Kernel
	options []Option
}

// With returns the kernel with options for its next tasks: label, priority, places, tokens.
// Accesses are the kernel's.
func (k *Kernel) With(options ...Option) Call { return Call{k, options} }

// Submit is Kernel.Submit with the options of c.
func (c Call) Submit(at Submitter, args ...any) (Task, error) {
	return c.kernel.submit(at, args, c.options)
}

// Submit submits a task that runs the kernel with args on a device that it may run on, after the
// tasks submitted before that its accesses depend on. Slices and pointers are passed by reference:
// what the accesses name must not be touched before the task has finished (Runtime.Wait, WaitOn).
//
// Errors: the number and types of arguments, nil pointers that the kernel does not ask for, regions
// outside of slices, accesses that with these arguments would leave their slice or region (a
// *codegen.AccessError), no device that may run it, tokens that can never be had, a working set
// that fits no device; nothing has been written then.
func (k *Kernel) Submit(at Submitter, args ...any) (Task, error) { return k.submit(at, args, nil) }

func (k *Kernel) submit(at Submitter, args []any, options []Option) (Task, error) {
	if k == nil {
		return Task{}, misuse("Kernel.Submit", errNilKernel)
	}
	if c, ok := at.(*Collector); ok {
		return collected(c, k.call, func(at Submitter) (Task, error) { return k.submit(at, args, options) })
	}
	s, g, err := submitterOf(k.call, at)
	if err != nil {
		return Task{}, err
	}
	if rec := recorderOf(s); rec != nil {
		return Task{}, rec.kernelStep(k, g, args, options)
	}
	if err := k.description.CheckArgs(args); err != nil {
		return Task{}, err
	}
	if k.description.Deferral != nil && defers(s.RT, k.description, options) {
		return submitDeferral(s, g, k, args, options)
	}
	if s.Program() && s.RT.Topology.Accelerators && !k.description.Reduces && s.RT.World == nil {
		return k.submitUnlocked(s, g, args, options)
	}
	r, err := s.Begin(g, engine.KernelBody)
	if err != nil {
		return Task{}, err
	}
	r.Kernel, r.Pos, r.Label = k.description, k.description.Pos, k.description.IR.Task.Label
	s.RT.Callers.Enter()
	defer s.RT.Callers.Leave()
	wait, err := describeCall(s, r, args, options)
	if err != nil {
		return handle(s.Abort(r, err))
	}
	if wait {
		r.Traits.Set(life.Undeferred, true)
	}
	if err := blocksWorker(r); err != nil {
		return handle(s.Abort(r, refusedKernel(r, err)))
	}
	if s.RT.World != nil && s.Program() {
		if here, err := placeInWorld(s, r); !here {
			return handle(s.Abort(r, err))
		}
	}
	t := s.Commit(r)
	if wait {
		return Task{t}, t.Err()
	}
	return Task{t}, nil
}

// submitUnlocked is submit for a task that several goroutines may describe at once, and that needs
// the lock of submission only once.
func (k *Kernel) submitUnlocked(s *engine.Scope, g *engine.Group, args []any, options []Option) (Task, error) {
	s.RT.Virtual.Spend()
	r, err := s.OpenUnlocked(k.description, g)
	if err != nil {
		return Task{}, err
	}
	wait, err := describeKernel(s.RT, r, args, options)
	if err != nil {
		return handle(s.AbortUnlocked(r, err))
	}
	if wait {
		r.Traits.Set(life.Undeferred, true)
	}
	if err := blocksWorker(r); err != nil {
		return handle(s.AbortUnlocked(r, refusedKernel(r, err)))
	}
	t, err := s.CommitUnlocked(r)
	if wait && err == nil {
		err = t.Err()
	}
	return Task{t}, err
}

// describeCall is describeKernel, for a task of the program without the lock of submission, which
// is had again afterwards: several goroutines describe their tasks at once. Requires: submitting
// held.
func describeCall(s *engine.Scope, r *engine.Record, args []any, options []Option) (wait bool, err error) {
	if !s.Program() || r.Kernel.Reduces {
		return describeKernel(s.RT, r, args, options)
	}
	s.Submitting.Unlock()
	wait, err = describeKernel(s.RT, r, args, options)
	if again := s.LockSubmission(s.RT.ContextOf(r.Group)); again != nil {
		spin.Lock(&s.Submitting) // for a caller that gives up
		if err == nil {
			err = again
		}
	}
	return wait, err
}

// describeKernel fills r from the arguments and the directives of its kernel. wait says that its if
// clause is false: the submitter does not continue before the task has finished.
func describeKernel(rt *engine.Runtime, r *engine.Record, args []any, options []Option) (wait bool, err error) {
	defer catchBug(r.Kernel.Name, &err)
	r.Merged = r.Scope.Memory.Merged.Load()
	r.Scratch = kernels.ScratchPool.Get().(*kernels.Scratch)
	defer func() { kernels.ScratchPool.Put(r.Scratch); r.Scratch = nil }()
	if err := bindArguments(&rt.Buffers, r, args); err != nil {
		return false, err
	}
	if err := errors.Join(bindVariables(&rt.Buffers, r), checkCapacities(r)); err != nil {
		return false, refusedKernel(r, err)
	}
	if err := evaluateClauses(rt, r); err != nil {
		return false, refusedKernel(r, err)
	}
	wait, err = evaluateTaskClauses(r.Detail)
	if err != nil {
		return false, refusedKernel(r, err)
	}
	if err := coverError(r.Scope, r); err != nil {
		return false, refusedKernel(r, err)
	}
	if r.Kind == engine.GoBody {
		return wait, describeDeferral(rt, r, options)
	}
	if err := errors.Join(kernelOptions(rt, r, options), checkRetry(r, nil)); err != nil {
		return false, refusedKernel(r, err)
	}
	r.KeepUnordered()
	return wait, placeKernel(rt, r)
}

// refusedKernel says which kernel, and which task of it where that has a label, could not be
// submitted, and why.
func refusedKernel(r *engine.Record, why error) error {
	where := fmt.Sprintf("kernel %s", r.Kernel.Name)
	if r.Label != "" && r.Label != r.Kernel.Name {
		where = r.Label + ": " + where
	}
	if r.Pos.File != "" {
		where += fmt.Sprintf(" (%s:%d)", r.Pos.File, r.Pos.Line)
	}
	return fmt.Errorf("task: %s: %w", where, why)
}

var errKernelAccess = errors.New("options: the accesses of a kernel are those of its task directive")

func kernelOptions(rt *engine.Runtime, r *engine.Record, options []Option) error {
	for i := range options {
		if options[i].isAccess() {
			return errKernelAccess
		}
		if err := applyOption(rt, r, &options[i]); err != nil {
			return err
		}
	}
	return nil
}

// bindArguments makes the arguments of r; slices and pointers become buffers with offsets.
func bindArguments(t *memory.Table, r *engine.Record, args []any) error {
	k := r.Kernel
	for i, x := range args {
		g := &k.Given[i]
		if g.Leaves == nil {
			a, where := values.Argument(x, g.Type)
			if err := bindOne(t, r, g.First, a, where); err != nil {
				return err
			}
			continue
		}
		for n, at := range values.LeavesAt(x, g.Leaves) {
			a, where := values.ArgumentAt(at, g.Leaves[n].Type)
			if err := bindOne(t, r, g.First+n, a, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindOne takes a, in the memory where if it is a slice or pointer, as the argument for parameter
// i.
func bindOne(t *memory.Table, r *engine.Record, i int, a devices.Arg, where values.Range) error {
	p := &r.Kernel.Params[i]
	if p.Type.Kind == ir.Pointer && where.Base == nil && !p.Nils {
		return r.Kernel.BadArg(i, "is a nil pointer")
	}
	if values.IsMemory(p.Type) {
		if err := bindMemory(t, r, &a, where); err != nil {
			return r.Kernel.BadArg(i, err.Error())
		}
	}
	r.Args.List = append(r.Args.List, a)
	return nil
}

// bindMemory fills in where the memory of a is. An empty slice needs no buffer.
func bindMemory(t *memory.Table, r *engine.Record, a *devices.Arg, m values.Range) error {
	a.Nil = m.Base == nil
	a.Len, a.Cap = m.Len, m.Cap
	if m.Len == 0 {
		a.Cap = 0
		return nil
	}
	b, first, err := t.Locate(m, &r.Scope.Memory)
	if err != nil {
		return err
	}
	a.Buffer, a.Offset = b.ID, deps.Bytes(first)*b.Elem
	a.Cap = min(m.Cap, b.Len-first) // no kernel reaches out of the buffer
	return nil
}

// AddVersion makes v, whose target directive says implements(k), another version of k: a task of k
// runs v on the kinds of devices that v names. Of several versions for one kind the one added first
// runs, and k itself only where none does. What the task accesses is what k says. It is to be
// called before tasks of k are submitted.
//
// Errors: v says nothing of k, or its parameters are others.
func (k *Kernel) AddVersion(v *Kernel) error { return k.description.AddVersion(v.description) }

// AddNative makes n a variant of k: the tasks of k run it on devices of its kind. Without a Shape
// the clause ndrange of k gives one. It is to be called before tasks of k are submitted.
//
// Errors: k has a variant for that kind already, or nothing gives a shape.
func (k *Kernel) AddNative(n Native) error { return k.description.AddNative(n) }

// Instances are the kernels of one generic function, one for each list of type arguments, made at
// its first use. The zero value is ready; it may be used by several goroutines.
type Instances struct {
	made sync.Map // instanceKey -> *instance
}

// maxTypeArgs bounds the type arguments of a kernel.
const maxTypeArgs = 8

type instanceKey [maxTypeArgs]reflect.Type

type instance struct {
	once   sync.Once
	kernel *Kernel
	err    error
}

// Kernel returns the kernel for the given type arguments; spec describes it, but for TypeArgs.
//
// Errors: types that the constraints or the dialect do not allow, or that the kernel's package
// cannot name.
func (g *Instances) Kernel(spec func() KernelSpec, types ...reflect.Type) (*Kernel, error) {
	if len(types) > maxTypeArgs {
		return nil, fmt.Errorf("task: kernel %s: %d type arguments, and %d is the limit", spec().Name, len(types), maxTypeArgs)
	}
	var key instanceKey
	copy(key[:], types)
	x, ok := g.made.Load(key)
	if !ok {
		x, _ = g.made.LoadOrStore(key, &instance{})
	}
	i := x.(*instance)
	i.once.Do(func() {
		s := spec()
		for _, t := range types {
			if devices.HoldsAddress(t) {
				i.err = fmt.Errorf("task: kernel %s: type argument %s: it is or holds slices or pointers, which are arguments of their own: write it in the type of the parameter, as []T is", s.Name, t)
				return
			}
			s.TypeArgs = append(s.TypeArgs, typeArgument(t))
		}
		i.kernel, i.err = newKernel(s)
	})
	return i.kernel, i.err
}

// typeArgument returns t as the package of the kernel writes it.
func typeArgument(t reflect.Type) string {
	if t.Name() != "" {
		return t.Name()
	}
	return t.String()
}

// What follows gives kernels the package variables that they read.
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
func bindVariables(t *memory.Table, r *engine.Record) error {
	for _, v := range r.Kernel.Variables { // a pointer may point into one of these, and the first use is to be of the whole
		if v.Of.Var.Type.Kind != ir.Slice || v.Printed() {
			continue
		}
		if _, where := v.Argument(); where.Len > 0 {
			if _, _, err := t.Locate(where, &r.Scope.Memory); err != nil {
				return fmt.Errorf("package variable %s: %w", v.Name, err)
			}
		}
	}
	for _, v := range r.Kernel.Variables {
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
		r.Args.List = append(r.Args.List, a)
	}
	return nil
}

// argumentOf is argument for a task r.
func argumentOf(t *memory.Table, r *engine.Record, v *values.Global) (devices.Arg, values.Range) {
	switch v.Name {
	case printing.Buffer:
		return printArgument(t, r, v)
	case printing.Task:
		return devices.Arg{Type: v.Of.Type, Bits: r.Scratch.Printed}, values.Range{}
	}
	return v.Argument()
}

// checkApart returns an error where an argument of r is memory of v, which the kernel would read as
// it was before.
func checkApart(t *memory.Table, r *engine.Record, v *values.Global) error {
	lo := uintptr(v.At)
	hi := lo + uintptr(v.Of.Type.Size)
	for i := range r.Kernel.Params {
		a := &r.Args.List[i]
		if !a.InMemory() {
			continue
		}
		from := t.ByID(a.Buffer).Lo() + uintptr(a.Offset)
		if from < hi && lo < from+uintptr(deps.Bytes(max(a.Len, 1))*a.Type.Elem.Size) {
			return r.Kernel.BadArg(i, "is memory of package variable "+v.Name+", which the kernel reads by its name too: pass it as another argument")
		}
	}
	return nil
}

// printArgument returns the arguments that hold what a task prints. Those of a task of a body are
// empty: what it accesses is part of what the task around it does.
func printArgument(t *memory.Table, r *engine.Record, v *values.Global) (a devices.Arg, where values.Range) {
	a.Type = v.Of.Type
	if r.Scope.Program() {
		words, task := r.RT.Printer.Bind(r.Kernel.IR)
		where = values.MemoryAt(values.Pointer(&words), a.Type)
		r.Scratch.Printed = task
	}
	return a, where
}
