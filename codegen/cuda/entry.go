package cuda

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// program prints every function and kernel.
func (p kernelsPrinter) program() {
	for _, l := range p.prog.Launches { // first, so that they keep their names
		p.entries = append(p.entries, Entry{Name: p.names.Fresh(l.Name), Launch: l})
	}
	for _, f := range p.prog.Funcs {
		p.function(f)
	}
	behind := false
	for i := range p.entries {
		p.kernel(&p.entries[i], behind)
		behind = behind || p.entries[i].Fault
	}
	for name := range p.names.Innermost() {
		p.used[name] = true
	}
}

// start begins a function: its variables may take no name of the file.
func (p kernelsPrinter) start(f *ir.Func) {
	p.body = body{sliceParams: sliceParams{flat: map[*ir.Var]*flatSlice{}, copied: map[*ir.Var]*flatSlice{}}, fn: f, jumps: cprint.NewJumps(nil, nil)}
	p.Lines = p.opt.Lines
	hidden := map[string]bool{"fault": true}
	if p.opt.Early {
		hidden["early"] = true
	}
	for name := range p.hidden {
		hidden[name] = true
	}
	p.Names = cprint.NewNames(hidden, reserved)
	p.Push()
}

// function prints a device function. A function with several results returns a struct of them.
func (p kernelsPrinter) function(f *ir.Func) {
	p.start(f)
	name := p.names.Fresh(f.Name)
	p.funcNames[f] = name
	p.analyse(f.Body, nil, p.opt.Index32, &ir.Launch{})
	var params []string
	for _, v := range f.Params {
		params = append(params, p.declarator(v.Type, p.Declare(v)))
	}
	p.Depth = 1
	p.stmts(f.Body)
	if p.fault {
		p.faulting[f] = true
		params = append(params, p.use("gompss_fault")+"* fault")
	}
	head := fmt.Sprintf("\n__device__ %s %s(%s)\n{\n", p.resultType(f, name), name, strings.Join(params, ", "))
	p.functions.WriteString(head + p.Out.String() + "}\n")
}

// resultType prints the type that f returns, and its definition.
func (p kernelsPrinter) resultType(f *ir.Func, name string) string {
	switch len(f.Results) {
	case 0:
		return "void"
	case 1:
		return p.typeName(f.Results[0])
	}
	p.results[f] = p.names.Fresh(name + "_results")
	var b strings.Builder
	for i, t := range f.Results {
		fmt.Fprintf(&b, "\t%s;\n", p.declarator(t, fmt.Sprintf("r%d", i)))
	}
	fmt.Fprintf(&p.structs.Text, "\nstruct %s {\n%s};\n", p.results[f], b.String())
	return p.results[f]
}

// kernel prints one launch. Where a part of the team or the whole grid meets beside checks, which
// end threads, it is printed again with barriers that see that. behind says that a launch before it
// has checks.
func (p kernelsPrinter) kernel(e *Entry, behind bool) {
	before := p.checkpoint()
	p.start(nil)
	p.launch(e)
	if p.fault && (p.named != nil || p.grid) {
		gates := p.named != nil
		p.rewind(before)
		p.start(nil)
		p.gates, p.ends = gates, true
		p.launch(e)
	}
	if behind && cprint.MayNotEnd(e.Launch.Body) {
		p.endBehind(e.Launch)
	}
	e.Fault = p.fault
	e.Promises = p.ranges.promises()
	e.MaxThreads = p.maxThreads(e.Launch)
	p.entry(e)
}

// launch prints the body of a launch, which says which arguments are used.
func (p kernelsPrinter) launch(e *Entry) {
	l := e.Launch
	e.TeamMemory = 0
	if p.rows = nil; p.opt.Align > 0 {
		p.rows = rowLengths(l.Body)
	}
	p.pending = asyncCopies(l.Body)
	if p.words = (words{}); p.opt.Align > 0 {
		p.words = findWords(l.Body, p.rows)
	}
	p.analyse(l.Body, p.prog.Params, p.opt.Index32, l)
	p.declareParams(l.Body)
	p.arith().findDivisors(l.Body)
	p.Depth = 1
	for _, v := range l.Team {
		align, more := cprint.TeamAlign(v.Type)
		prefix := "__shared__"
		if more {
			prefix += fmt.Sprintf(" __align__(%d)", align)
		}
		e.TeamMemory = cprint.AlignUp(e.TeamMemory, align) + v.Type.Size
		p.Printf(v.At, "%s %s;", prefix, p.declarator(v.Type, p.Declare(v)))
	}
	if p.gates {
		p.openGates(e)
	}
	p.head = p.copies(l.Body)
	p.stmts(l.Body)
}

// endBehind ends a launch where a check of one before it has failed: its data are undefined, and a
// loop over them may never end. Where other teams of the launch may fail meanwhile, the threads of
// a team agree; teams that wait for each other cannot.
func (p kernelsPrinter) endBehind(l *ir.Launch) {
	failed := "fault->site != 0"
	switch {
	case p.fault && l.Cooperative:
		return
	case p.fault:
		failed = "__syncthreads_or(" + failed + ")"
	}
	p.use("gompss_fault")
	p.fault = true
	p.head = "\tif (" + failed + ")\n\t\treturn;\n" + p.head
}

// openGates declares the memory of the gates, at which threads wait where some may have ended.
func (p kernelsPrinter) openGates(e *Entry) {
	const size, align = 8, 4 // of gompss_gate
	p.gate = p.Fresh("gates")
	e.TeamMemory = cprint.AlignUp(e.TeamMemory, align) + size*maxGates
	at := e.Launch.At
	p.Printf(at, "__shared__ %s %s[%d];", p.use("gompss_gate"), p.gate, maxGates)
	p.Printf(at, "if (threadIdx.x < %d)", maxGates)
	p.Printf(at, "\t%s[threadIdx.x] = {0u, 0u};", p.gate)
	p.Printf(at, "__syncthreads();")
}

// maxGates is one more than the greatest number of a barrier of a part of the team in a kernel with
// checks.
const maxGates = 4

// entry puts the function of a launch together.
func (p kernelsPrinter) entry(e *Entry) {
	p.unchanging = readOnly(e.Launch.Body, p.prog.Params, p.prog.Funcs)
	if p.opt.Early { // loads of what never changes may be moved in front of the wait
		p.unchanging = nil
	}
	params := p.arguments(e, ir.Used(e.Launch.Body))
	if p.opt.Align > 0 {
		p.head = p.aligned(e) + p.head
	}
	if p.opt.Early {
		p.head = "\tif (early)\n\t\t" + p.use("gompss_early") + "();\n" + p.head
	}
	bounds := ""
	if e.MaxThreads > 0 {
		bounds = fmt.Sprintf(" __launch_bounds__(%d)", e.MaxThreads)
		if e.Launch.ResidentTeams > 0 {
			bounds = fmt.Sprintf(" __launch_bounds__(%d, %s)", e.MaxThreads, p.residentTeams(e))
		}
	}
	head := fmt.Sprintf("\nextern \"C\" __global__ void%s\n%s(%s)\n{\n", bounds, e.Name, cprint.WrapLines(params, 110))
	p.functions.WriteString(head + p.head + p.Out.String() + "}\n")
}

// everyoneRuns is the number of threads that a multiprocessor of every generation runs at once.
const everyoneRuns = 1024

// residentTeams is the number of teams that a multiprocessor should run at once: fewer where that
// has no room for so many threads.
func (p kernelsPrinter) residentTeams(e *Entry) string {
	n := e.Launch.ResidentTeams
	if n*e.MaxThreads <= everyoneRuns {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s(%d, %d)", p.use("gompss_resident_teams"), n, e.MaxThreads)
}

// maxThreads returns the constant bound of the threads of a team.
func (p *file) maxThreads(l *ir.Launch) int {
	if c, ok := l.MaxThreads.(*ir.Const); ok && int64(c.Bits) > 0 && int64(c.Bits) <= maxTeam {
		return min(int(c.Bits)+l.ExtraWarps*Warp, maxTeam)
	}
	return p.opt.MaxThreads
}

// declareParams names the parameters and scratchpads. Slices are taken apart.
func (p kernelsPrinter) declareParams(list []ir.Stmt) {
	for _, v := range p.globals() {
		if v.Type.Kind != ir.Slice {
			p.Declare(v)
			continue
		}
		name := p.Declare(v)
		p.flat[v] = &flatSlice{ptr: name, len: p.Fresh(name + "_len"), cap: p.Fresh(name + "_cap")}
	}
}

func (p *file) globals() []*ir.Var {
	vars := append([]*ir.Var{}, p.prog.Params...)
	for i := range p.prog.Scratch {
		vars = append(vars, p.prog.Scratch[i].Var)
	}
	return vars
}

// copies makes variables of the slice parameters that the kernel changes; the text goes before the
// body.
func (p kernelsPrinter) copies(list []ir.Stmt) string {
	changed := ir.Assigned(list)
	for _, v := range ir.AddressTaken(list).List() {
		changed.Add(v)
	}
	var b strings.Builder
	for _, v := range p.globals() {
		s := p.flat[v]
		if s == nil || !changed.Has(v) {
			continue
		}
		whole := p.places().wholeSlice(v, s)
		name := p.Fresh(v.Name + "_now")
		p.copied[v], p.Of[v] = s, name
		delete(p.flat, v)
		fmt.Fprintf(&b, "\t%s %s = %s;\n", p.typeName(v.Type), name, whole)
	}
	return b.String()
}

// arguments lays out the parameters of the kernel that its body uses.
func (p kernelsPrinter) arguments(e *Entry, used *ir.VarSet) []string {
	var out []string
	add := func(kind ArgKind, v *ir.Var, size, align ir.Bytes, text string, narrow bool) {
		at := cprint.AlignUp(e.ArgsSize, align)
		e.Args = append(e.Args, Argument{Kind: kind, Var: v, Offset: at, Size: size, Narrow: narrow})
		e.ArgsSize = at + size
		out = append(out, text)
	}
	for _, v := range p.globals() {
		if !used.Has(v) {
			continue
		}
		if s := p.slice(v); s != nil {
			p.sliceArguments(v, s, add)
			continue
		}
		size, align := v.Type.Size, v.Type.Align
		if p.narrow[v] {
			size, align = 4, 4
		}
		add(Value, v, size, align, p.declaration(v, p.Of[v]), p.narrow[v])
	}
	for _, d := range p.divisors {
		if d.used {
			add(Divisor, nil, 8, 4, p.use("gompss_divisor")+" "+d.name, false)
			e.Args[len(e.Args)-1].Of = d.of
		}
	}
	if p.fault {
		add(Fault, nil, 8, 8, p.use("gompss_fault")+"* fault", false)
	}
	if p.opt.Early {
		add(Early, nil, 4, 4, "int early", false)
	}
	return out
}

func (p kernelsPrinter) slice(v *ir.Var) *flatSlice {
	if s := p.copied[v]; s != nil {
		return s
	}
	return p.flat[v]
}

type addArgument func(kind ArgKind, v *ir.Var, size, align ir.Bytes, text string, narrow bool)

func (p kernelsPrinter) sliceArguments(v *ir.Var, s *flatSlice, add addArgument) {
	size := ir.Bytes(p.places().lengthType().Bits() / 8)
	if s.has(usePtr) {
		text := p.typeName(v.Type.Elem) + "* " + s.ptr
		if p.unchanging[v] && !s.has(useWhole) {
			text = "const " + p.typeName(v.Type.Elem) + "* __restrict__ " + s.ptr
		}
		add(Data, v, 8, 8, text, s.has(useLimited))
	}
	if s.has(useLen) {
		add(Length, v, size, size, dialect.Name(p.places().lengthType())+" "+s.len, p.opt.Index32)
	}
	if s.has(useCap) {
		add(Capacity, v, size, size, dialect.Name(p.places().lengthType())+" "+s.cap, p.opt.Index32)
	}
}
