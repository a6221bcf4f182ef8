package task

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
)

// Args are the arguments of a kernel where it runs: see devices.ScalarArg, devices.SliceArg and
// devices.PointerArg.
type Args = devices.Args

// A SourceFile is a file of Go source, by its name in errors.
type SourceFile = codegen.File

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
	// accelerators and vector code would run, are refused. Lines are its CodeLines then: where the
	// function stands elsewhere now, a panic in Split names the line that its code is on in Files.
	Sources, Lines string
	// Go runs the function on the CPU.
	Go func(a *Args)
	// Split runs iterations lo to hi of the one parallel loop of the kernel, and Trips says how
	// many there are. Both are nil when the kernel cannot be cut.
	Split func(a *Args, lo, hi int64)
	Trips func(a *Args) int64
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

// A Constant says whether a constant of another package has the value that a kernel was made with.
type Constant struct {
	Name string
	Same bool
}

// A Kernel is a function that tasks run on any device. It belongs to no runtime.
type Kernel struct {
	name      string
	call      string // what a mistake in a submission names
	hash      uint64 // of name and position
	pos       ir.Pos
	device    devices.Kernel
	ir        *ir.Kernel
	contract  *codegen.Contract
	overlaps  *codegen.Overlaps // nil where arguments may overlap
	params    []param           // of the loop IR
	given     []given           // the arguments of a submission
	warnings  []codegen.Diagnostic
	versions  []*Kernel        // others for the same task
	variables []*values.Global // of the package: arguments behind those for params
	reduces   bool             // a task of it has reductions
	atomics   bool             // it has some, which neither its Go function nor its vector code makes
}

// A param holds the known facts about a parameter before there is an argument.
type param struct {
	name string
	typ  *ir.Type
	nils bool // a pointer that the kernel compares with nil
	of   int  // the argument that it is, or is a leaf of
}

// A given holds the known facts about an argument of a submission: it is the parameter first, or
// its leaves are the parameters from there.
type given struct {
	typ    *ir.Type
	want   reflect.Type // nil where fits must look
	first  int
	leaves []ir.Leaf // of a struct that is split
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
	if err := k.matches(v.Type()); err != nil {
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
	k, err := newKernel(s)
	if err != nil {
		if stale := (*staleError)(nil); errors.As(err, &stale) {
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

func newKernel(s KernelSpec) (*Kernel, error) {
	if s.Go == nil {
		return nil, fmt.Errorf("task: kernel %s: no Go function", s.Name)
	}
	pkg, err := codegen.LoadKernel(s.Name, s.Files...)
	if s.Sources != "" && pkg != nil && s.Sources != pkg.Hash(s.Name) {
		return nil, &staleError{spec: s}
	}
	if i := slices.IndexFunc(s.Constants, func(c Constant) bool { return !c.Same }); i >= 0 {
		return nil, &staleError{s, s.Constants[i].Name}
	}
	if err != nil {
		return nil, err
	}
	var loop *ir.Kernel
	if len(s.TypeArgs) > 0 {
		loop, err = pkg.Instance(s.Name, s.TypeArgs...)
	} else {
		loop, err = pkg.Kernel(s.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	loop, err = printingKernel(loop, s)
	if err != nil {
		return nil, err
	}
	k := &Kernel{name: s.Name, call: "Kernel.Submit of " + s.Name, hash: hashOf(s.Name + loop.At.String()), pos: loop.At, ir: loop, contract: codegen.NewContract(loop), overlaps: codegen.NewOverlaps(loop), warnings: pkg.Warnings()}
	k.device = devices.Kernel{Name: s.Name, Pos: loop.At, Loop: loop, Go: s.Go, Split: s.Split, Trips: s.Trips, Hidden: len(loop.Globals)}
	if s.Lines != "" {
		now := pkg.CodeLines(s.Name)
		k.device.MovedLine = func(function string, line int) int {
			if !strings.HasSuffix(function, "."+codegen.RangeName(s.Name)) {
				return line
			}
			return cmp.Or(codegen.MovedLine(s.Lines, now, line), k.pos.Line)
		}
	}
	k.keepOrder()
	if k.device.Refused = k.nativeOnly(); k.device.Refused == nil {
		k.lower()
	}
	k.atomics = hasAtomics(loop)
	k.reduces = slices.ContainsFunc(loop.Task.Accesses, func(a ir.Access) bool { return a.Mode == deps.Reduction })
	k.takeParams()
	if err := k.takeNatives(s.Natives); err != nil {
		return nil, err
	}
	if err := k.takeVariables(s.Variables); err != nil {
		return nil, err
	}
	for _, v := range s.Versions {
		if err := k.AddVersion(v); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// takeParams notes the parameters of the kernel and the arguments that it is submitted with.
func (k *Kernel) takeParams() {
	for _, p := range k.ir.GoParams() {
		g := given{typ: p.Type, want: values.GoType(p.Type), first: p.First}
		if ir.IsSplit(p.Type) {
			g.leaves = ir.Leaves(p.Type)
		}
		for _, v := range k.ir.Params[p.First : p.First+p.Count] {
			k.params = append(k.params, param{v.Name, v.Type, values.ComparedWithNil(k.ir, v), len(k.given)})
		}
		k.given = append(k.given, g)
	}
}

// keepOrder takes care that Split cuts a descriptive loop only where its iterations are
// independent: not at all, or where the arguments show it.
func (k *Kernel) keepOrder() {
	conds, why := codegen.Independent(k.ir)
	if why != "" {
		k.device.Split, k.device.Trips = nil, nil
	}
	trips := k.device.Trips
	if trips == nil || len(conds) == 0 {
		return
	}
	k.device.Trips = func(a *Args) int64 {
		env := &values.Arguments{Params: k.ir.Params, List: a.List}
		for _, c := range conds {
			if bits, err := ir.Eval(c, env); err != nil || bits == 0 {
				return 1 // the Go function runs all of it
			}
		}
		return trips(a)
	}
}

// A staleError means that the source which the kernel of a wrapper reaches in its files is not the
// source that its Go functions were made from.
type staleError struct {
	spec     KernelSpec
	constant string // of another package, which has another value now; "" where something else has changed
}

func (e *staleError) Error() string {
	generated, file := "its wrapper", "./..."
	if len(e.spec.Files) > 0 {
		file = e.spec.Files[0].Name
		generated = codegen.GeneratedName(file)
	}
	why := "the kernel, or what it uses, has changed"
	if e.constant != "" {
		why = "constant " + e.constant + ", which it uses, has another value now"
	}
	return fmt.Sprintf("task: kernel %s: %s is stale: %s: run %s %s", e.spec.Name, generated, why, codegen.GenerateCommand, file)
}

// hasAtomics reports whether k, or a function that it calls, has an atomic directive.
func hasAtomics(k *ir.Kernel) bool {
	found := false
	visit := func(s ir.Stmt) bool { _, ok := s.(*ir.Atomic); found = found || ok; return !found }
	ir.WalkStmts(k.Body, visit)
	for _, f := range k.Funcs {
		ir.WalkStmts(f.Body, visit)
	}
	return found
}

// lower makes the accelerator variant. Where there is none, the kernel knows why.
func (k *Kernel) lower() {
	k.device.Portable = portable(k.ir)
	lowered, err := codegen.Lower(k.ir, codegen.LowerOptions{})
	if err != nil {
		k.device.Refused = err
		return
	}
	k.device.Program = lowered.Program
	k.unchecked()
	if codegen.OrderShows(k.ir) == "" {
		k.device.Candidates = sync.OnceValue(k.candidates)
	}
}

// mostCandidates is how many ways to lower a kernel are tried, the compiler's first choice
// included.
const mostCandidates = 4

// candidates lowers k in other ways that leave the same bits.
func (k *Kernel) candidates() (out []devices.Candidate) {
	list, err := codegen.Variants(k.ir, k.contract.Unchecked(k.ir), codegen.LowerOptions{}, mostCandidates)
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: kernel %s: other candidates: %v", k.name, err))
	}
	for _, c := range list {
		out = append(out, devices.Candidate{Name: c.Choice.String(), Program: c.Program, Unchecked: c.Unchecked})
	}
	return out
}

// teamForms are the options of the forms of devices.Kernel.Portable.
var teamForms = map[devices.TeamForm]codegen.LowerOptions{
	devices.AnyTeams:      {Target: "opencl", NoShuffles: true},
	devices.WholeTeams:    {Target: "opencl", NoShuffles: true, TeamUnit: 32},
	devices.SubgroupTeams: {Target: "opencl", TeamUnit: 32},
}

// portable returns what lowers k for devices without all operations of warps, once for each form.
func portable(k *ir.Kernel) func(devices.TeamForm) (*ir.Program, error) {
	forms := map[devices.TeamForm]func() (*ir.Program, error){}
	for form, opt := range teamForms {
		forms[form] = sync.OnceValues(func() (*ir.Program, error) {
			lowered, err := codegen.Lower(k, opt)
			if err != nil {
				return nil, err
			}
			return lowered.Program, nil
		})
	}
	return func(form devices.TeamForm) (*ir.Program, error) { return forms[form]() }
}

// unchecked makes the variant of accelerators without the checks that the host makes at each
// launch.
func (k *Kernel) unchecked() {
	free := k.contract.Unchecked(k.ir)
	if free == nil {
		return
	}
	lowered, err := codegen.Lower(free, codegen.LowerOptions{})
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: kernel %s without checks: %v", k.name, err))
	}
	k.device.Unchecked, k.device.Proves = lowered.Program, k.proves
	k.device.PortableUnchecked = portable(free)
}

// proves reports whether a launch with these arguments needs no check that the host makes.
func (k *Kernel) proves(args []devices.Arg) bool {
	d := scratchPool.Get().(*submitScratch)
	d.env.Params, d.env.List = k.ir.Params, args
	d.proof.Load(k.ir, k.contract, &d.env)
	ok := d.proof.Proves()
	d.env.List = nil
	scratchPool.Put(d)
	return ok
}

// Name returns the name of the kernel.
func (k *Kernel) Name() string { return k.name }

// Warnings returns the compiler's warnings about the kernel's package.
func (k *Kernel) Warnings() []codegen.Diagnostic { return k.warnings }

// Refused returns why the kernel has no variant for accelerators, nil when it has.
func (k *Kernel) Refused() error { return k.device.Refused }

// IR returns the kernel's loop IR, which must not be changed.
func (k *Kernel) IR() *ir.Kernel { return k.ir }

// matches checks the Go function against its declared source.
func (k *Kernel) matches(t reflect.Type) error {
	if t.NumIn() != len(k.given) || t.NumOut() != 0 || t.IsVariadic() {
		return fmt.Errorf("task: kernel %s: the function is %s, the source has %s and no results", k.name, t, count(len(k.given), "parameter"))
	}
	for i, p := range k.ir.GoParams() {
		if !values.Fits(t.In(i), p.Type) {
			return fmt.Errorf("task: kernel %s: parameter %s: the function has %s, the source %s", k.name, p.Name, t.In(i), values.TypeText(p.Type))
		}
		k.given[i].want = t.In(i)
	}
	return nil
}

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
	s, g, err := submitterOf(k.call, at)
	if err != nil {
		return Task{}, err
	}
	if s.records != nil {
		return Task{}, s.records.kernelStep(k, g, args, options)
	}
	if err := k.checkArgs(args); err != nil {
		return Task{}, err
	}
	if s.program() && s.rt.topology.accelerators && !k.reduces && s.rt.world == nil {
		return k.submitUnlocked(s, g, args, options)
	}
	r, err := s.begin(g, kernelBody)
	if err != nil {
		return Task{}, err
	}
	r.kernel, r.pos, r.label = k, k.pos, k.ir.Task.Label
	s.rt.callers.Enter()
	defer s.rt.callers.Leave()
	wait, err := s.describe(r, args, options)
	if err != nil {
		return s.abort(r, err)
	}
	if wait {
		r.traits.Set(life.Undeferred, true)
	}
	if err := r.blocksWorker(); err != nil {
		return s.abort(r, r.refused(err))
	}
	if s.rt.world != nil && s.program() {
		if here, err := s.placeInWorld(r); !here {
			return s.abort(r, err)
		}
	}
	t := s.commit(r)
	if wait {
		return t, t.Err()
	}
	return t, nil
}

// submitUnlocked is submit for a task that several goroutines may describe at once, and that needs
// the lock of submission only once.
func (k *Kernel) submitUnlocked(s *Scope, g *Group, args []any, options []Option) (Task, error) {
	s.rt.virtual.Spend()
	r, err := s.openUnlocked(k, g)
	if err != nil {
		return Task{}, err
	}
	wait, err := s.rt.describeKernel(r, args, options)
	if err != nil {
		return s.abortUnlocked(r, err)
	}
	if wait {
		r.traits.Set(life.Undeferred, true)
	}
	if err := r.blocksWorker(); err != nil {
		return s.abortUnlocked(r, r.refused(err))
	}
	t, err := s.commitUnlocked(r)
	if wait && err == nil {
		err = t.Err()
	}
	return t, err
}

// describe is describeKernel, for a task of the program without the lock of submission, which is
// had again afterwards: several goroutines describe their tasks at once. Requires: submitting held.
func (s *Scope) describe(r *record, args []any, options []Option) (wait bool, err error) {
	if !s.program() || r.kernel.reduces {
		return s.rt.describeKernel(r, args, options)
	}
	s.submitting.Unlock()
	wait, err = s.rt.describeKernel(r, args, options)
	if again := s.lockSubmission(s.rt.contextOf(r.group)); again != nil {
		spin.Lock(&s.submitting) // for a caller that gives up
		if err == nil {
			err = again
		}
	}
	return wait, err
}

func (k *Kernel) checkArgs(args []any) error {
	if len(args) != len(k.given) {
		return &ArgumentError{Kernel: k.name, Pos: k.pos, What: fmt.Sprintf("%s, want %d", count(len(args), "argument"), len(k.given))}
	}
	for i, x := range args {
		g := &k.given[i]
		t := reflect.TypeOf(x)
		if t == nil || t != g.want && (g.want != nil || !values.Fits(t, g.typ)) {
			return &ArgumentError{Kernel: k.name, Pos: k.pos, Param: k.ir.GoParams()[i].Name, Index: i, What: fmt.Sprintf("is %s, want %s", typeName(t), values.TypeText(g.typ))}
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

// badArg returns an error about parameter i.
func (k *Kernel) badArg(i int, what string) error {
	return &ArgumentError{Kernel: k.name, Pos: k.pos, Param: k.params[i].name, Index: k.params[i].of, What: what}
}

// describeKernel fills r from the arguments and the directives of its kernel. wait says that its if
// clause is false: the submitter does not continue before the task has finished.
func (rt *Runtime) describeKernel(r *record, args []any, options []Option) (wait bool, err error) {
	defer catchBug(r.kernel.name, &err)
	r.merged = r.scope.memory.Merged.Load()
	r.scratch = scratchPool.Get().(*submitScratch)
	defer func() { scratchPool.Put(r.scratch); r.scratch = nil }()
	if err := bindArguments(&rt.buffers, r, args); err != nil {
		return false, err
	}
	if err := errors.Join(bindVariables(&rt.buffers, r), r.checkCapacities()); err != nil {
		return false, r.refused(err)
	}
	if err := rt.evaluate(r); err != nil {
		return false, r.refused(err)
	}
	wait, err = r.evaluateClauses()
	if err != nil {
		return false, r.refused(err)
	}
	if err := r.scope.covers(r); err != nil {
		return false, r.refused(err)
	}
	if err := errors.Join(rt.kernelOptions(r, options), r.checkRetry(nil)); err != nil {
		return false, r.refused(err)
	}
	r.keepUnordered()
	return wait, rt.placeKernel(r)
}

// refused says which kernel, and which task of it where that has a label, could not be submitted,
// and why.
func (r *record) refused(why error) error {
	where := fmt.Sprintf("kernel %s", r.kernel.name)
	if r.label != "" && r.label != r.kernel.name {
		where = r.label + ": " + where
	}
	if r.pos.File != "" {
		where += fmt.Sprintf(" (%s:%d)", r.pos.File, r.pos.Line)
	}
	return fmt.Errorf("task: %s: %w", where, why)
}

func (rt *Runtime) kernelOptions(r *record, options []Option) error {
	for i := range options {
		if options[i].isAccess() {
			return errors.New("options: the accesses of a kernel are those of its task directive")
		}
		if err := rt.applyOne(r, &options[i]); err != nil {
			return err
		}
	}
	return nil
}

// bindArguments makes the arguments of r; slices and pointers become buffers with offsets.
func bindArguments(t *memory.Table, r *record, args []any) error {
	k := r.kernel
	for i, x := range args {
		g := &k.given[i]
		if g.leaves == nil {
			a, where := values.Argument(x, g.typ)
			if err := bindOne(t, r, g.first, a, where); err != nil {
				return err
			}
			continue
		}
		for n, at := range values.LeavesAt(x, g.leaves) {
			a, where := values.ArgumentAt(at, g.leaves[n].Type)
			if err := bindOne(t, r, g.first+n, a, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindOne takes a, in the memory where if it is a slice or pointer, as the argument for parameter
// i.
func bindOne(t *memory.Table, r *record, i int, a devices.Arg, where values.Range) error {
	p := &r.kernel.params[i]
	if p.typ.Kind == ir.Pointer && where.Base == nil && !p.nils {
		return r.kernel.badArg(i, "is a nil pointer")
	}
	if values.IsMemory(p.typ) {
		if err := bindMemory(t, r, &a, where); err != nil {
			return r.kernel.badArg(i, err.Error())
		}
	}
	r.args.List = append(r.args.List, a)
	return nil
}

// bindMemory fills in where the memory of a is. An empty slice needs no buffer.
func bindMemory(t *memory.Table, r *record, a *devices.Arg, m values.Range) error {
	a.Nil = m.Base == nil
	a.Len, a.Cap = m.Len, m.Cap
	if m.Len == 0 {
		a.Cap = 0
		return nil
	}
	b, first, err := t.Locate(m, &r.scope.memory)
	if err != nil {
		return err
	}
	a.Buffer, a.Offset = b.ID, deps.Bytes(first)*b.Elem
	a.Cap = min(m.Cap, b.Len-first) // no kernel reaches out of the buffer
	return nil
}
