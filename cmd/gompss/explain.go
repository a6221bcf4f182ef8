package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/internal/source"
)

// emitters print one stage of a kernel; "" is the explanation.
var emitters = map[string]func(k *ir.Kernel, w io.Writer) error{
	"":       emitDecisions,
	"ir":     emitLoopIR,
	"device": emitDeviceIR,
	"cuda":   emitCUDA,
	"opencl": emitOpenCL,
	"asm":    emitAssembly,
}

func explain(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	kernel := flags.String("kernel", "", "")
	emit := flags.String("emit", "", "")
	tags := flags.String("tags", source.GoTags(), "")
	sizes := sizeFlags{}
	flags.Var(sizes, "size", "")
	places, err := parseAround(flags, args)
	if err != nil {
		return err
	}
	emitter, known := emitters[*emit]
	if !known {
		return usageError("-emit %s: want ir, device, cuda, opencl or asm", *emit)
	}
	targets, err := findTargets(places)
	if err != nil {
		return err
	}
	e := &explainRun{build: source.WithTags(*tags), kernel: *kernel, sizes: sizes, emit: emitter, positions: *emit == "", stdout: stdout, stderr: stderr}
	var errs []error
	for _, t := range targets {
		errs = append(errs, e.target(t))
	}
	if e.printed == 0 && errors.Join(errs...) == nil {
		return e.nothing(places)
	}
	return errors.Join(errs...)
}

// A sizeFlags has the values of parameters that -size gives.
type sizeFlags map[string]int64

// Set reads NAME=NUMBER.
func (s sizeFlags) Set(text string) error {
	name, number, _ := strings.Cut(text, "=")
	n, err := strconv.ParseInt(number, 0, 64)
	if err != nil || name == "" {
		return errors.New("want a parameter and its value, as in -size n=4096")
	}
	s[name] = n
	return nil
}

func (s sizeFlags) String() string { return "" }

// of returns k with the sizes that it has, of those that a launch may know.
func (s sizeFlags) of(k *ir.Kernel) *ir.Kernel {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if len(s) == 0 || err != nil { // which explain reports
		return k
	}
	values := map[int]ir.Bits{}
	for _, i := range lowered.Sizes() {
		if n, ok := s[k.Params[i].Name]; ok {
			values[i] = ir.Normal(k.Params[i].Type, ir.Bits(n))
		}
	}
	if len(values) == 0 {
		return k
	}
	return specialise.WithSizes(k, values)
}

// parseAround lets flags stand behind and between the files, too.
func parseAround(flags *flag.FlagSet, args []string) (places []string, err error) {
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, usageError("%v", err)
		}
		if args = flags.Args(); len(args) > 0 {
			places, args = append(places, args[0]), args[1:]
		}
	}
	return places, nil
}

// explainRun carries the options of one call.
type explainRun struct {
	build          *build.Context
	kernel         string // "" for all
	sizes          sizeFlags
	emit           func(k *ir.Kernel, w io.Writer) error
	positions      bool // are in what is printed, for people
	stdout, stderr io.Writer
	printed        int
	there          []string // kernels of the files that were looked at
}

// namedKernel is a function below a directive of kernels.
var namedKernel = regexp.MustCompile(`(?m)^//omp:(?:target|task)\b.*\n(?://.*\n)*func ([\pL_][\pL\p{Nd}_]*)`)

// nothing is the error of places without what was asked for.
func (e *explainRun) nothing(places []string) error {
	where := strings.Join(places, ", ")
	if where == "" {
		where = "."
	}
	if e.kernel != "" {
		if len(e.there) == 0 {
			return fmt.Errorf("gompss: %s: no kernel %s", where, e.kernel)
		}
		slices.Sort(e.there)
		return fmt.Errorf("gompss: %s: no kernel %s: there are %s", where, e.kernel, strings.Join(slices.Compact(e.there), ", "))
	}
	return errors.New(noKernels(places))
}

// target explains the files of a folder that are asked for.
func (e *explainRun) target(t target) error {
	found, err := source.ReadFolder(e.build, t.dir)
	if err != nil {
		return err
	}
	pkg, errs := found.Built, []error{found.ErrorsOf(t.files)}
	for _, f := range found.Excluded {
		if slices.Contains(t.files, f.Name) {
			errs = append(errs, excludedError(e.build, filepath.Join(t.dir, f.Name)))
		}
	}
	for _, f := range pkg {
		if t.files == nil || slices.Contains(t.files, f.Name) {
			for _, m := range namedKernel.FindAllStringSubmatch(f.Text, -1) {
				e.there = append(e.there, m[1])
			}
		}
		if found.Broken[f.Name] != nil {
			continue
		}
		if t.files == nil && (source.HasKernels(f) || codegen.HasDirectives(f.Text)) && e.mayHave(f) || slices.Contains(t.files, f.Name) {
			errs = append(errs, e.file(t.dir, f.Name, pkg))
		}
	}
	return errors.Join(errs...)
}

// mayHave reports whether the kernel that is asked for may stand in f: of a folder, the other files
// need not be right.
func (e *explainRun) mayHave(f codegen.File) bool {
	name, _, _ := strings.Cut(e.kernel, "[")
	return strings.Contains(f.Text, name)
}

func (e *explainRun) file(dir, name string, pkg []codegen.File) error {
	stdout, stderr := e.stdout, io.Writer(&source.Placed{Dir: dir, To: e.stderr})
	if e.positions {
		stdout = &source.Placed{Dir: dir, To: stdout}
	}
	loaded, kernels, err := e.load(dir, name, pkg, stderr)
	errs := []error{err}
	for _, k := range kernels {
		if e.printed++; e.printed > 1 {
			fmt.Fprintln(stdout)
		}
		errs = append(errs, e.emit(e.sizes.of(k), stdout))
		if source, _, _ := strings.Cut(k.Name, "["); e.positions {
			writeNotes(stdout, loaded.Notes(source))
		}
	}
	all := source.InFolder(dir, errors.Join(errs...))
	if err != nil && e.kernel != "" && len(kernels) == 0 {
		return errors.Join(all, fmt.Errorf("gompss explain: kernel %s: nothing is decided before these errors are mended", e.kernel))
	}
	return all
}

// writeNotes prints what is worth knowing of the kernel above.
func writeNotes(w io.Writer, notes []codegen.Diagnostic) {
	for _, n := range notes {
		fmt.Fprintf(w, "  %s\n", n.Error())
	}
}

// load returns the kernels of a file of a package, or the one that is named, none if it is not
// there; of a generic kernel the instance with the types in brackets, as in Copy[float32], or
// without them one that was made to check it. Beside an error there may be kernels that nothing is
// wrong with.
func (e *explainRun) load(dir, file string, pkg []codegen.File, warnings io.Writer) (*codegen.Package, []*ir.Kernel, error) {
	sources, err := codegen.SourcesFor(file, pkg, source.ModuleOf(e.build, dir).Files)
	if err != nil {
		return nil, nil, err
	}
	generic, types, isInstance := strings.Cut(strings.TrimSuffix(e.kernel, "]"), "[")
	loaded, err := codegen.LoadFile(file, sources...)
	if loaded != nil && e.kernel != "" { // the others do not count
		loaded, err = codegen.LoadKernel(generic, sources...)
	}
	if loaded == nil {
		return nil, nil, err
	}
	if e.kernel != "" {
		needed := loaded.Files(generic)
		sources = slices.DeleteFunc(slices.Clone(sources), func(f codegen.File) bool { return f.Name != file && !slices.Contains(needed, f.Name) })
	}
	for _, w := range slices.Concat(constraintWarnings(file, sources), loaded.Warnings()) {
		if !loaded.Silences(w) {
			fmt.Fprintln(warnings, w.Error())
		}
	}
	if isInstance {
		if !strings.Contains(sources[0].Text, "func "+generic+"[") {
			return nil, nil, nil
		}
		k, err := loaded.Instance(generic, typeArguments(types)...)
		if err != nil {
			return nil, nil, err
		}
		return loaded, []*ir.Kernel{k}, nil
	}
	return loaded, kernelsOf(loaded, file, e.kernel), err
}

// kernelsOf returns the kernels of a file, or the one of a name, in the order in which they stand
// there.
func kernelsOf(loaded *codegen.Package, file, name string) []*ir.Kernel {
	kernels := slices.DeleteFunc(loaded.Kernels(), func(k *ir.Kernel) bool {
		return k.At.File != file || name != "" && k.Name != name
	})
	for generic, k := range loaded.Samples() {
		if k != nil && k.At.File == file && (name == "" || name == generic) {
			kernels = append(kernels, k)
		}
	}
	slices.SortFunc(kernels, func(a, b *ir.Kernel) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return kernels
}

// typeArguments takes the list of types between brackets apart.
func typeArguments(list string) []string {
	var out []string
	from, depth := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			out = append(out, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return out
}

func emitDecisions(k *ir.Kernel, w io.Writer) error {
	kinds := k.Target.Kinds
	if onCPU := slices.Contains(kinds, "smp"); onCPU && len(kinds) == 1 {
		lines := append(codegen.ExplainAccesses(k), cpuDecision(k))
		_, err := fmt.Fprintf(w, "kernel %s: on CPU workers alone: device(smp) says so\n  %s\n", k.Name, strings.Join(lines, "\n  "))
		return err
	} else if !onCPU && len(kinds) > 0 {
		return emitMapping(k, w, "CPU: it does not run there: device("+strings.Join(kinds, ", ")+") says so")
	}
	return emitMapping(k, w, cpuDecision(k))
}

// emitMapping prints what was decided for accelerators, and a line for the CPU.
func emitMapping(k *ir.Kernel, w io.Writer, onCPU string) error {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		return err
	}
	if _, err = io.WriteString(w, lowered.Explain()); err != nil {
		return err
	}
	checks, err := gpuChecks(k, lowered.Program)
	if err != nil {
		return err
	}
	forms, err := expected(k)
	if err != nil {
		return err
	}
	for _, line := range slices.Concat(codegen.ExplainAccesses(k), checks, forms, tuned(k.Name), onOpenCL(k), []string{onCPU}) {
		if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
			return err
		}
	}
	writeNotes(w, lowered.Notes)
	return nil
}

// onOpenCL says that a kernel for accelerators of every kind has no form for OpenCL, and why.
func onOpenCL(k *ir.Kernel) []string {
	kinds := k.Target.Kinds
	if len(kinds) > 0 && !slices.Contains(kinds, "acc") && !slices.Contains(kinds, "opencl") {
		return nil
	}
	if err := emitOpenCL(k, io.Discard); err != nil {
		return []string{"OpenCL: it does not run there: " + strings.TrimPrefix(err.Error(), "opencl: kernel "+k.Name+": ")}
	}
	return nil
}

// gpuChecks says of a kernel with checks what makes them: what can fail on a GPU is waited for by
// the host.
func gpuChecks(k *ir.Kernel, p *ir.Program) ([]string, error) {
	var out []string
	if free := codegen.NewContract(k).Unchecked(k); free != nil {
		lowered, err := codegen.Lower(free, codegen.LowerOptions{})
		if err != nil {
			return nil, err
		}
		p = lowered.Program
		out = append(out, "GPU: checks of affine accesses -> made by the host before each launch, and left out where all are in range")
	}
	if proved, guards := cuda.Proved(p); len(guards) > 0 {
		p = proved
		var tests []string
		for _, g := range guards {
			tests = append(tests, ir.ExprString(g))
		}
		out = append(out, "GPU: index checks -> made by the host before each launch, and left out where this holds: "+atMost(strings.Join(tests, "; "), 160))
	}
	source, err := cuda.Print(p, cuda.Options{})
	if err != nil {
		return out, nil // -emit cuda gives the reason
	}
	if len(source.Sites) > 0 {
		out = append(out, "GPU: checks of "+sitesOf(source.Sites)+" -> made there: dependent tasks start only after the host has seen the kernel finish")
	}
	return out, nil
}

// atMost is text, or its first n characters.
func atMost(text string, n int) string {
	if len(text) > n {
		return text[:n] + " ..."
	}
	return text
}

// sitesOf names the first checks.
func sitesOf(list []cuda.Site) string {
	const most = 3
	var out []string
	for _, s := range list {
		name := fmt.Sprintf("%s at %v", s.What, s.Pos)
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if n := len(out) - most; n > 0 {
		out = append(out[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

func emitLoopIR(k *ir.Kernel, w io.Writer) error {
	_, err := io.WriteString(w, k.String())
	return err
}

func emitDeviceIR(k *ir.Kernel, w io.Writer) error {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, lowered.Program.String())
	return err
}

func emitCUDA(k *ir.Kernel, w io.Writer) error {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		return err
	}
	source, err := cuda.Print(lowered.Program, cuda.Options{})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, source.Text)
	return err
}

// emitOpenCL prints the text for a GPU that has what OpenCL C 1.2 lets it have.
func emitOpenCL(k *ir.Kernel, w io.Writer) error {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32})
	if err != nil {
		return err
	}
	source, err := opencl.Print(lowered.Program, opencl.Options{Fence: opencl.HostFence, RoundedDivide: true})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, source.Text)
	return err
}
