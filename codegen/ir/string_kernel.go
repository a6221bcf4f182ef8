package ir

import (
	"fmt"
	"strings"
)

// String returns the loop IR as Go-like text: functions called first, then the kernel with its
// directives.
func (k *Kernel) String() string {
	t := newText()
	for _, f := range k.Funcs {
		t.function(f)
	}
	t.push()
	params := t.params(k.Params)
	t.targetLine(&k.Target)
	t.taskLine(&k.Task, k.Params)
	t.line("func %s(%s) {", k.Name, params)
	t.need(k.Body, nil)
	t.body(k.Body)
	t.line("}")
	t.pop()
	return t.b.String()
}

// String returns the device IR as text: scratch memory, functions, then each launch with its grid.
func (p *Program) String() string {
	t := newText()
	t.line("program %s(%s)%s", p.Name, t.params(p.Params), suffix(p.FastMath, " fastmath"))
	for i := range p.Scratch {
		s := &p.Scratch[i]
		t.line("scratch %s %s count %s of launch %d%s", t.declare(s.Var), s.Var.Type, t.expr(s.Count, 0), s.Launch, suffix(s.Unset, " unset"))
	}
	for _, f := range p.Funcs {
		t.b.WriteByte('\n')
		t.function(f)
	}
	for _, l := range p.Launches {
		t.b.WriteByte('\n')
		t.launch(l)
	}
	return t.b.String()
}

func (t *text) launch(l *Launch) {
	head := "launch " + l.Name
	for _, part := range []struct {
		word string
		e    Expr
	}{{" when ", l.When}, {" trip ", l.Trip}, {" team trip ", l.TeamTrip}, {" teams <= ", l.MaxTeams}, {" threads <= ", l.MaxThreads}} {
		if part.e != nil {
			head += part.word + t.expr(part.e, 4)
		}
	}
	if l.Width > 1 {
		head += fmt.Sprintf(" by %d", l.Width)
	}
	if l.Exact > 0 {
		head += fmt.Sprintf(" threads = %d", l.Exact)
	}
	if l.ResidentTeams > 0 {
		head += fmt.Sprintf(" resident teams %d", l.ResidentTeams)
	}
	if l.Reread > 0 {
		head += fmt.Sprintf(" rereads %d", l.Reread)
	}
	t.line("%s {", head+suffix(l.Resident, " resident")+suffix(l.Cooperative, " cooperative")+suffix(l.Warps, " warps")+suffix(l.ExtraWarps > 0, fmt.Sprintf(" and %d more", l.ExtraWarps)))
	t.push()
	t.depth++
	for _, v := range l.Team {
		t.line("team %s %s", t.declare(v), v.Type)
	}
	t.need(l.Body, nil)
	t.stmts(l.Body)
	t.depth--
	t.pop()
	t.line("}")
}

func (t *text) function(f *Func) {
	t.push()
	params, results := t.params(f.Params), resultTypes(f.Results)
	t.line("func %s(%s)%s {", f.Name, params, results)
	t.need(f.Body, nil)
	t.body(f.Body)
	t.line("}")
	t.pop()
}

func (t *text) params(vars []*Var) string {
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = t.declare(v) + " " + v.Type.String()
	}
	return strings.Join(out, ", ")
}

func resultTypes(types []*Type) string {
	out := make([]string, len(types))
	for i, r := range types {
		out[i] = r.String()
	}
	switch len(types) {
	case 0:
		return ""
	case 1:
		return " " + out[0]
	}
	return " (" + strings.Join(out, ", ") + ")"
}

func suffix(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

func (t *text) targetLine(d *Target) {
	if !d.Present {
		return
	}
	c := clauses{head: "//omp:target"}
	c.add("device", strings.Join(d.Kinds, ", "))
	var tokens []string
	for _, r := range d.Resources {
		tokens = append(tokens, r.Kind+": "+t.expr(r.Tokens, 0))
	}
	c.add("resources", strings.Join(tokens, ", "))
	c.add("copy_in", t.regions(d.CopyIn))
	c.add("copy_out", t.regions(d.CopyOut))
	c.add("copy_inout", t.regions(d.CopyInOut))
	c.word(d.NoCopyDeps, "no_copy_deps")
	c.add("implements", d.Implements)
	c.word(d.FastMath, "fastmath")
	c.word(d.Contract, "contract")
	c.word(d.NoBounds, "check(none)")
	c.word(d.OverlapOK, "overlap(ok)")
	addNative(t, &c, d.Native)
	t.line("%s", c.head)
}

func addNative(t *text, c *clauses, n *Native) {
	if n == nil {
		return
	}
	c.add("native", fmt.Sprintf("%q", n.File))
	shape := []string{fmt.Sprint(len(n.Items))}
	for _, e := range append(n.Items[:len(n.Items):len(n.Items)], n.Team...) {
		shape = append(shape, t.expr(e, 0))
	}
	c.add("ndrange", strings.Join(shape, ", "))
	c.add("shmem", t.orEmpty(n.Shared))
}

func (t *text) taskLine(d *Task, params []*Var) {
	if !d.Present {
		return
	}
	c := clauses{head: "//omp:task"}
	for _, a := range d.Accesses {
		arg := t.region(a.Region)
		if a.Op != NoOp {
			arg = a.Op.String() + ": " + arg
		}
		c.add(strings.ToLower(fmt.Sprint(a.Mode)), arg)
	}
	c.word(d.Inferred, "/* inferred */")
	c.add("priority", t.orEmpty(d.Priority))
	c.add("if", t.orEmpty(d.If))
	c.add("final", t.orEmpty(d.Final))
	c.word(d.Untied, "untied")
	if d.Label != "" {
		c.add("label", fmt.Sprintf("%q", d.Label))
	}
	if l := d.Loop; l != nil {
		c.add("taskloop", params[l.Lo].Name+":"+params[l.Hi].Name)
		c.add("grainsize", t.orEmpty(l.Grain))
	}
	t.line("%s", c.head)
}

// clauses gathers the clauses of one directive line.
type clauses struct{ head string }

func (c *clauses) add(name, arg string) {
	if arg != "" {
		c.head += " " + name + "(" + arg + ")"
	}
}

func (c *clauses) word(on bool, name string) { c.head += suffix(on, " "+name) }

func (t *text) orEmpty(e Expr) string {
	if e == nil {
		return ""
	}
	return t.expr(e, 0)
}

func (t *text) regions(list []Region) string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = t.region(r)
	}
	return strings.Join(out, ", ")
}

func (t *text) region(r Region) string {
	var b strings.Builder
	for _, n := range r.Shape {
		b.WriteString("[" + t.optional(n) + "]")
	}
	b.WriteString(t.name(r.Var))
	for _, d := range r.Dims {
		b.WriteString("[" + t.optional(d.Lo))
		if d.Hi != nil {
			b.WriteString(":" + t.expr(d.Hi, 1))
		}
		b.WriteString("]")
	}
	return b.String()
}

// String returns the directive from its fields, in a fixed order of clauses, without "//omp:".
func (d *Directive) String() string { return (&text{}).directive(d) }

func (t *text) directive(d *Directive) string {
	if d == nil {
		return "<nil>"
	}
	c := clauses{head: d.Parts.String()}
	if d.Collapse > 1 {
		c.add("collapse", fmt.Sprint(d.Collapse))
	}
	c.add("num_teams", t.orEmpty(d.NumTeams))
	c.add("thread_limit", t.orEmpty(d.ThreadLimit))
	c.add("num_threads", t.orEmpty(d.NumThreads))
	c.add("if", t.orEmpty(d.If))
	c.add("dist_schedule", t.schedule(d.DistSchedule))
	c.add("schedule", t.schedule(d.Schedule))
	t.choices(&c, d)
	c.add("private", t.vars(d.Private))
	c.add("firstprivate", t.vars(d.Firstprivate))
	c.add("lastprivate", t.vars(d.Lastprivate))
	c.add("shared", t.vars(d.Shared))
	for _, r := range d.Reductions {
		c.add("reduction", suffix(d.Scan != nil, "inscan, ")+t.reduction(r))
	}
	for _, a := range d.DistArrays {
		c.add(a.Kind.String(), "["+t.expr(a.Chunk, 0)+"]"+t.name(a.Var))
	}
	c.word(d.Nowait, "nowait")
	return c.head
}

// choices adds the clauses whose argument is a word or a number.
func (t *text) choices(c *clauses, d *Directive) {
	if d.Mode != ModeAuto {
		c.add("mode", d.Mode.String())
	}
	if d.Bind != BindNone {
		c.add("bind", d.Bind.String())
	}
	if d.Nested.Kind != NestedNone {
		c.add("nested", d.Nested.Kind.String()+suffix(d.Nested.Boost, ", boost"))
	}
	if d.Simdlen > 0 {
		c.add("simdlen", fmt.Sprint(d.Simdlen))
	}
	if d.Safelen > 0 {
		c.add("safelen", fmt.Sprint(d.Safelen))
	}
}

func (t *text) schedule(s Schedule) string {
	switch {
	case s.Kind == ScheduleNone:
		return ""
	case s.Chunk == nil:
		return s.Kind.String()
	}
	return s.Kind.String() + ", " + t.expr(s.Chunk, 0)
}

func (t *text) vars(list []*Var) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = t.name(v)
	}
	return strings.Join(out, ", ")
}

func (t *text) reduction(r Reduction) string {
	s := r.Op.String() + ": " + t.expr(r.Place, 0)
	if r.Index != nil {
		s += ", " + t.expr(r.Index, 0)
	}
	return s
}
