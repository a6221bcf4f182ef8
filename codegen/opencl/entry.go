package opencl

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// program prints every kernel, and the functions that they call.
func (p *printer) program() {
	p.structs.wrapped = ir.ArrayValues(p.prog)
	for _, l := range p.prog.Launches { // first, so that they keep their names
		p.entries = append(p.entries, Entry{Name: p.file.Fresh(l.Name), Launch: l})
	}
	for i := range p.entries {
		p.kernel(&p.entries[i])
	}
}

// start begins a function: its variables may take no name of the file.
func (p *printer) start(fn *instance, list []ir.Stmt) (restore func()) {
	outer := p.body
	hidden := map[string]bool{"fault": true, "failed": true}
	for name := range p.hidden {
		hidden[name] = true
	}
	p.body = &body{names: newNames(hidden), labels: newNames(nil), spaces: map[*ir.Var]space{}, ranges: map[*ir.Var]interval{},
		taken: ir.AddressTaken(list), meet: &meeting{}, fn: fn, depth: 1}
	p.labels.Push()
	p.Push()
	return func() { p.body = outer }
}

// prepare analyses the body of a function whose parameters have their spaces.
func (p *printer) prepare(list []ir.Stmt) {
	p.survey(list)
	p.findSpaces(list)
	changed := ir.Assigned(list)
	for _, v := range p.taken.List() {
		changed.Add(v)
	}
	p.learn(list, changed)
}

// kernel prints one launch.
func (p *printer) kernel(e *Entry) {
	l := e.Launch
	defer p.start(nil, l.Body)()
	p.arguments(ir.Used(l.Body))
	p.prepare(l.Body)
	for _, v := range p.teamVars(l) {
		e.TeamMemory = (e.TeamMemory+v.Type.Align-1)/v.Type.Align*v.Type.Align + v.Type.Size
		p.printf(v.At, "local %s;", p.declarator(v.Type, p.declare(v), global))
	}
	if p.checked && p.meetsLater {
		e.TeamMemory += 8
	}
	p.openMeetings(l.At)
	if p.checked && p.callsFail(l.Body) {
		p.printf(l.At, "bool failed = false;")
	}
	p.place(l.At)
	p.stmts(l.Body)
	p.closeMeetings()
	params := p.layout(e)
	fmt.Fprintf(&p.functions, "\nkernel void %s(%s)\n{\n%s}\n", e.Name, wrapLines(params), p.out.String())
}

// teamVars are the variables in team memory, which OpenCL C declares at the top of a kernel.
func (p *printer) teamVars(l *ir.Launch) []*ir.Var {
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
func (p *printer) callsFail(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Call); ok {
			found = found || p.checksIn(c.Fn.Body)
		}
		return !found
	})
	return found
}

// arguments names the parameters and scratchpads that the body uses.
func (p *printer) arguments(used *ir.VarSet) {
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
		name := p.declare(v)
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
func (p *printer) layout(e *Entry) []string {
	text := map[string]bool{}
	for _, w := range identifiers.FindAllString(p.out.String(), -1) {
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
		add(Fault, nil, 8, "global "+p.piece("gompss_fault", faultText)+" *fault")
	}
	return out
}

// place prints where the memory of each argument begins.
func (p *printer) place(at ir.Pos) {
	for _, v := range p.params {
		if isAddress(v.Type) {
			p.printf(at, "%s = %s(%s, %s, %s);", p.Of[v], p.piece("AT", atText), p.pointee(v.Type.Elem), p.Of[v], p.offsets[v])
		}
	}
}

// wrapLines breaks a list of parameters into lines of at most 110 columns.
func wrapLines(params []string) string {
	var b strings.Builder
	column := 0
	for i, s := range params {
		if i > 0 {
			b.WriteByte(',')
			if column+len(s) > 100 {
				b.WriteString("\n\t")
				column = 4
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s)
		column += len(s) + 2
	}
	return b.String()
}
