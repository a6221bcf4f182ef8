package opencl

import (
	"fmt"
	"regexp"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// program prints every kernel, and the functions that they call.
func (p kernelsPrinter) program() {
	for _, l := range p.prog.Launches { // first, so that they keep their names
		p.entries = append(p.entries, Entry{Name: p.names.Fresh(l.Name), Launch: l})
	}
	behind := false
	for i := range p.entries {
		p.kernel(&p.entries[i], behind)
		behind = behind || p.entries[i].Fault
	}
}

// start begins a function: its variables may take no name of the file.
func (p kernelsPrinter) start(fn *instance, list []ir.Stmt) (restore func()) {
	outer := p.body
	hidden := map[string]bool{"fault": true, "failed": true}
	for name := range p.hidden {
		hidden[name] = true
	}
	p.body = &body{Names: cprint.NewNames(hidden, reserved), Writer: cprint.Writer{Depth: 1, Lines: p.opt.Lines}, spaces: map[*ir.Var]space{},
		ranges: map[*ir.Var]interval{}, inits: map[*ir.Var]ir.Expr{}, taken: ir.AddressTaken(list), meetings: meetings{meet: &meeting{}}, fn: fn}
	p.jumps = cprint.NewJumps(reserved, p.runsOnce)
	p.Push()
	return func() { p.body = outer }
}

// prepare analyses the body of a function whose parameters have their spaces.
func (p kernelsPrinter) prepare(list []ir.Stmt) {
	p.survey(list)
	p.checked = p.checked && !p.opt.Exits()
	p.findSpaces(list)
	changed := ir.Assigned(list)
	for _, v := range p.taken.List() {
		changed.Add(v)
	}
	p.learn(list, changed)
}

// kernel prints one launch. behind says that a launch before it has checks.
func (p kernelsPrinter) kernel(e *Entry, behind bool) {
	l := e.Launch
	defer p.start(nil, l.Body)()
	p.arguments(ir.Used(l.Body))
	p.prepare(l.Body)
	for _, v := range p.teamVars(l) {
		align, more := cprint.TeamAlign(v.Type)
		suffix := ""
		if more {
			suffix = fmt.Sprintf(" __attribute__((aligned(%d)))", align)
		}
		e.TeamMemory = cprint.AlignUp(e.TeamMemory, align) + v.Type.Size
		p.Printf(v.At, "local %s%s;", p.declarator(v.Type, p.Declare(v), global), suffix)
	}
	if p.checked && p.meetsLater {
		e.TeamMemory += 8
	}
	p.checks().openMeetings(l.At)
	if p.checked && p.callsFail(l.Body) {
		p.Printf(l.At, "bool failed = false;")
	}
	p.place(l.At)
	p.stmts(l.Body)
	p.checks().closeMeetings()
	head := ""
	if behind && cprint.MayNotEnd(l.Body) {
		head = p.endBehind(e)
	}
	params := p.layout(e)
	e.warps = p.warps
	fmt.Fprintf(&p.functions, "\n%skernel void %s(%s)\n{\n%s%s}\n", p.size(), e.Name, cprint.WrapLines(params, 100), head, p.Out.String())
}

// endBehind returns the text that ends a launch where a check of one before it has failed: its data
// are undefined, and a loop over them may never end. Where other teams of the launch may fail
// meanwhile, the threads of a team agree.
func (p kernelsPrinter) endBehind(e *Entry) string {
	if !p.fault {
		p.fault = true
		return "\tif (fault->site != 0)\n\t\treturn;\n"
	}
	e.TeamMemory = cprint.AlignUp(e.TeamMemory, 4) + 4
	name := p.Fresh("stopped")
	return fmt.Sprintf("\tlocal uint %s;\n\tif (get_local_id(0) == 0)\n\t\t%[1]s = fault->site;\n\tbarrier(CLK_LOCAL_MEM_FENCE);\n\tif (%[1]s != 0)\n\t\treturn;\n", name)
}

// teamVars are the variables in team memory, which OpenCL C declares at the top of a kernel.
func (p kernelsPrinter) teamVars(l *ir.Launch) []*ir.Var {
	out := append([]*ir.Var{}, l.Team...)
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Var.Space == ir.Team {
			out = append(out, d.Var)
		}
		return true
	})
	return out
}

// callsFail reports whether a function that list calls may fail.
func (p kernelsPrinter) callsFail(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Call); ok {
			found = found || checksIn(c.Fn.Body)
		}
		return !found
	})
	return found
}

// arguments names the parameters and scratchpads that the body uses.
func (p kernelsPrinter) arguments(used *ir.VarSet) {
	vars := append([]*ir.Var{}, p.prog.Params...)
	for i := range p.prog.Scratch {
		vars = append(vars, p.prog.Scratch[i].Var)
	}
	p.offsets = map[*ir.Var]string{}
	for _, v := range vars {
		if !used.Has(v) {
			continue
		}
		p.params = append(p.params, v)
		name := p.Declare(v)
		switch v.Type.Kind {
		case ir.Pointer:
			p.spaces[v], p.offsets[v] = global, p.Fresh(name+"_at")
		case ir.Slice:
			p.spaces[v], p.offsets[v] = global, name+"_at"
		}
	}
}

// identifiers are the words of a text.
var identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// layout returns the parameters of the kernel that its text uses.
func (p kernelsPrinter) layout(e *Entry) []string {
	text := map[string]bool{}
	for _, w := range identifiers.FindAllString(p.Out.String(), -1) {
		text[w] = true
	}
	var out []string
	add := func(kind ArgKind, v *ir.Var, size ir.Bytes, text string) {
		e.Args = append(e.Args, Argument{Kind: kind, Var: v, Size: size})
		out = append(out, text)
	}
	for _, v := range p.params {
		name := p.Of[v]
		if !isAddress(v.Type) {
			add(Value, v, v.Type.Size, p.declarator(v.Type, name, unknown))
			continue
		}
		add(Memory, v, 8, "global "+p.pointee(v.Type.Elem)+" *"+name)
		add(Offset, v, 8, "long "+p.offsets[v])
		if v.Type.Kind == ir.Slice && text[name+"_len"] {
			add(Length, v, 8, "long "+name+"_len")
		}
		if v.Type.Kind == ir.Slice && text[name+"_cap"] {
			add(Capacity, v, 8, "long "+name+"_cap")
		}
	}
	if e.Fault = p.fault; p.fault {
		add(Fault, nil, 8, "global "+p.checks().record()+" *fault")
	}
	return out
}

// place prints where the memory of each argument begins.
func (p kernelsPrinter) place(at ir.Pos) {
	for _, v := range p.params {
		if isAddress(v.Type) {
			p.Printf(at, "%s = %s(%s, %s, %s);", p.Of[v], p.piece("AT", atText), p.pointee(v.Type.Elem), p.Of[v], p.offsets[v])
		}
	}
}
