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

// Args are the arguments of a kernel at the device that runs it: see devices.ScalarArg,
// devices.SliceArg and devices.PointerArg.
type Args = devices.Args

// A SourceFile is a file of Go source, with the name that errors contain.
type SourceFile = codegen.File

// newKernel returns the kernel of specification s.
func newKernel(s KernelSpec) (*Kernel, error) { return newKernelIn(s, "") }

// newKernelIn is newKernel for a wrapper in the generated file with name generated.
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

// A KernelSpec describes a kernel by its source and its Go function. Generated code contains
// KernelSpecs.
type KernelSpec struct {
	// Name is the name of the function in Files. For an instance of a generic kernel, TypeArgs are
	// its type arguments.
	Name     string
	TypeArgs []string
	// Files are the Go files with the kernel and the functions that it calls. Files of other
	// packages carry their package path.
	Files []SourceFile
	// Sources is the codegen.Package.Hash of the source from which Go, Split and Trips were
	// generated, "" if it is unknown. These functions contain copies of the kernel's code.
	// Accelerators and vector code use Files, so Files with another hash are refused. If the file
	// that calls MustKernel is still at the path where it was built, MustKernel also compares the
	// other packages of the module. Lines are the CodeLines of that source: they map a line in a
	// panic of Split to the line of the same code in Files.
	Sources, Lines string
	// Go runs the function on the CPU.
	Go func(a *Args)
	// Split runs iterations lo to hi-1 of the kernel's one parallel loop, and Trips returns their
	// number. Both are nil if the kernel cannot be split.
	Split func(a *Args, lo, hi int64)
	Trips func(a *Args) int64
	// Part is the counterpart of Split for a kernel with nested(cpu) whose atomics require that one
	// worker runs all parts in order; nil if there is a Split.
	Part func(a *Args, lo, hi int64)
	// Natives are hand-written variants for kinds of devices, such as CUDA C++ or a cubin for
	// "cuda".
	Natives []devices.Native
	// Versions are alternative kernels for the same task: see Kernel.AddVersion.
	Versions []*Kernel
	// Variables are the package variables that the kernel and the functions that it calls read.
	Variables []Variable
	// Constants are the constants of other packages that the kernel uses. Files contain their
	// values; NewKernel refuses a kernel if the program has different values.
	Constants []Constant
}

// A Kernel is a function that tasks can run on any device. It does not belong to a runtime.
type Kernel struct {
	description *kernels.Kernel
	call        string // how errors refer to the kernel
}

// NewKernel returns the kernel of Go function fn. fn must be a top-level function without type
// parameters. files are the source files of its package that contain it and the functions that it
// calls. CPU workers call fn itself, by reflection. BindVariable must be called for each package
// variable that fn reads.
//
// Errors: a codegen.ErrorList with all errors in the code that the kernel reaches. A kernel that
// cannot run on accelerators is not an error: it runs on the CPU, and Refused returns the reason.
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

// literalName matches the names that Go gives to function literals: that of the enclosing function
// and a number.
var literalName = regexp.MustCompile(`\.func\d+(\.|$)`)

// MustKernel returns the kernel of specification s, for generated code. It panics if the source has
// errors, which the generator has excluded. If the source has changed since the code was generated,
// it ends the program with one line on standard error instead, because a stack trace would not help
// the author.
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

// exit ends the program. Tests replace it.
var exit = func(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

// Name returns the name of the kernel.
func (k *Kernel) Name() string { return k.description.Name }

// Warnings returns the compiler's warnings about the kernel's package.
func (k *Kernel) Warnings() []codegen.Diagnostic { return k.description.Warnings }

// Refused returns the reason why the kernel has no variant for accelerators, nil if it has one.
func (k *Kernel) Refused() error {
	if k.description.Deferral != nil {
		return nil
	}
	return k.description.Device.Refused
}

// IR returns the kernel's loop IR. The caller must not change it.
func (k *Kernel) IR() *ir.Kernel { return k.description.IR }

// functionName returns the full name of a top-level function.
func functionName(v reflect.Value) string {
	name := values.NameOfFunction(v)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// reflectedCall returns a Go variant that calls fn by reflection with the resolved arguments.
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

// A Call is a kernel together with options, ready to be submitted.
type Call struct {
	kernel  *Kernel
	options []Option
}

// With returns the kernel with options for its next tasks, such as label, priority, places and
// tokens. The accesses are those of the kernel.
func (k *Kernel) With(options ...Option) Call { return Call{k, options} }

// Submit is Kernel.Submit with the options of c.
func (c Call) Submit(at Submitter, args ...any) (Task, error) {
	return c.kernel.submit(at, args, c.options)
}

// Submit submits a task that runs the kernel with args on a suitable device, after the earlier
// tasks that its accesses depend on. Slices and pointers are passed by reference: the program must
// not touch the memory of the accesses before the task has finished (Runtime.Wait, WaitOn).
//
// Errors: wrong number or types of arguments; regions outside of slices; accesses that leave their
// slice or region with these arguments (a *codegen.AccessError); no suitable device; more tokens
// than exist; a working set that fits on no device. After an error nothing has been written.
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
	sk, _ := s.RT.Skipper.(*skipper)
	if sk != nil && g == nil && s.Program() && sk.skipsKernel(s.RT, k.description, args, options) {
		return Task{}, nil
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
		if sk != nil && !wait {
			sk.learn(r, args, options)
		}
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

// submitUnlocked is submit for a task that several goroutines may prepare concurrently. It takes
// the submission lock only once.
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

// describeCall is describeKernel. For a task of the program it releases the submission lock
// meanwhile, so that several goroutines can prepare tasks concurrently, and reacquires it.
// Requires: s.Submitting held.
func describeCall(s *engine.Scope, r *engine.Record, args []any, options []Option) (wait bool, err error) {
	if !s.Program() || r.Kernel.Reduces {
		return describeKernel(s.RT, r, args, options)
	}
	s.Submitting.Unlock()
	wait, err = describeKernel(s.RT, r, args, options)
	if again := s.LockSubmission(s.RT.ContextOf(r.Group)); again != nil {
		spin.Lock(&s.Submitting) // the caller of a failed describeCall expects the lock to be held
		if err == nil {
			err = again
		}
	}
	return wait, err
}

// describeKernel fills r from the arguments and the directives of its kernel. wait is true if its
// if clause is false: the submitter then waits until the task has finished.
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

// refusedKernel returns why with the name of the kernel, the label of the task if it has one, and
// the line that submits it.
func refusedKernel(r *engine.Record, why error) error {
	where := fmt.Sprintf("kernel %s", r.Kernel.Name)
	if r.Label != "" && r.Label != r.Kernel.Name {
		where = r.Label + ": " + where
	}
	if r.Pos.File != "" {
		where += fmt.Sprintf(" (%s:%d)", r.Pos.File, r.Pos.Line)
	}
	if pos := callerPos(); pos.File != "" {
		return fmt.Errorf("task: %s: %w (submitted at %s:%d)", where, why, pos.File, pos.Line)
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

// bindArguments sets the arguments of r. Slices and pointers become buffers with offsets.
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

// bindOne appends a as the argument for parameter i. where is the memory of a slice or pointer.
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

// bindMemory sets the buffer, offset, length and capacity of a. An empty slice needs no buffer.
// What lies behind a slice belongs to other tasks, and need not be on the device: the capacity of a
// parameter is its length. Kernels that copy between slices tell by the capacities where these
// overlap, and get those of the program.
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
	a.Cap = min(m.Cap, b.Len-first) // the kernel must not access memory beyond the buffer
	if !r.Kernel.IR.Copies {
		a.Cap = a.Len
	}
	return nil
}

// AddVersion makes v, whose target directive contains implements(k), an alternative version of k:
// tasks of k run v on the kinds of devices that v names. If there are several versions for a kind,
// the first one added runs; k itself runs only if there is none. The accesses of the task are those
// of k. AddVersion must be called before tasks of k are submitted.
//
// Errors: v does not name k, or its parameters differ from those of k.
func (k *Kernel) AddVersion(v *Kernel) error { return k.description.AddVersion(v.description) }

// AddNative makes n a variant of k: tasks of k run it on devices of its kind. If n has no Shape,
// the ndrange clause of k gives the shape. AddNative must be called before tasks of k are
// submitted.
//
// Errors: k already has a variant for that kind, or there is no shape.
func (k *Kernel) AddNative(n Native) error { return k.description.AddNative(n) }

// Instances are the kernels of one generic function, one for each list of type arguments, created
// at first use. The zero value is ready to use; several goroutines may use it.
type Instances struct {
	made sync.Map // instanceKey -> *instance
}

// maxTypeArgs is the maximum number of type arguments of a kernel.
const maxTypeArgs = 8

type instanceKey [maxTypeArgs]reflect.Type

type instance struct {
	once   sync.Once
	kernel *Kernel
	err    error
}

// Kernel returns the kernel for the given type arguments. spec returns its specification without
// TypeArgs.
//
// Errors: types that the constraints or the dialect do not permit, or that the kernel's package
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

// typeArgument returns t as the package of the kernel would write it.
func typeArgument(t reflect.Type) string {
	if t.Name() != "" {
		return t.Name()
	}
	return t.String()
}

// The following functions pass the package variables that a kernel reads to its tasks.
//
// On every device the kernel sees the values of the variables at submission or replay: the contract
// of the launch is proved for these values, and accelerators and vector code receive them. The Go
// function reads the variables directly. It therefore runs only if there is no vector code and the
// variables have not changed since (package cpucode). A variable that is passed by value is copied
// when it has changed; while it is unchanged, its last copy is used again and a submission
// allocates nothing. Large arrays and structs are buffers at their own address, which tasks read
// like a slice argument.

// BindVariable sets the address of a package variable that kernel k, made by NewKernel, reads:
// reflection finds only functions. The wrappers that gompss gen writes do this themselves.
// BindVariable must be called before tasks of k are submitted.
//
// Errors: k reads no variable of that name, or pointer does not point to a variable of its type.
func (k *Kernel) BindVariable(name string, pointer any) error {
	return k.description.BindVariable(name, pointer)
}

// bindVariables appends the values of the variables to the arguments of r.
func bindVariables(t *memory.Table, r *engine.Record) error {
	for _, v := range r.Kernel.Variables { // a pointer may refer to a part of one of these, and the buffer must be the whole
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

// argumentOf returns the argument of task r for variable v.
func argumentOf(t *memory.Table, r *engine.Record, v *values.Global) (devices.Arg, values.Range) {
	switch v.Name {
	case printing.Buffer:
		return printArgument(t, r, v)
	case printing.Task:
		return devices.Arg{Type: v.Of.Type, Bits: r.Scratch.Printed}, values.Range{}
	}
	return v.Argument()
}

// checkApart returns an error if an argument of r overlaps with the memory of v. The kernel would
// read the variable as it was at submission, without the writes through the argument.
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

// printArgument returns the arguments that hold the output of a task. They are empty for a child
// task: its output is part of that of its parent.
func printArgument(t *memory.Table, r *engine.Record, v *values.Global) (a devices.Arg, where values.Range) {
	a.Type = v.Of.Type
	if r.Scope.Program() {
		words, task := r.RT.Printer.Bind(r.Kernel.IR)
		where = values.MemoryAt(values.Pointer(&words), a.Type)
		r.Scratch.Printed = task
	}
	return a, where
}
