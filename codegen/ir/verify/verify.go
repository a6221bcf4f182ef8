// Package verify checks the rules of the IR: types agree, places are places, labels and variables
// are in scope. A violation is a bug of the pass that made the IR.
package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A Error is one violation of the rules of the IR: a bug of the pass that made it.
type Error struct {
	Name string // of the kernel or program
	At   ir.Pos
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("ir: %s: %s: %s", e.Name, e.At, e.What) }

// Kernel checks the loop IR of k: types agree, places are places, labels and variables are in
// scope, every node has a position, and no node of the device IR occurs.
//
// Errors: all problems, each a *Error, joined.
func Kernel(k *ir.Kernel) error {
	v := newVerifier(k.Name, k.NumVars)
	for _, f := range k.Funcs {
		v.function(f)
	}
	v.open()
	v.params(k.Params, k.At)
	v.target(&k.Target)
	v.task(&k.Task)
	v.list(k.Body)
	v.close()
	return errors.Join(v.problems...)
}

// Program checks the device IR of p as Kernel checks loop IR, and that no directive is
// left.
func Program(p *ir.Program) error {
	v := newVerifier(p.Name, p.NumVars)
	v.context = inDevice
	for _, f := range p.Funcs {
		v.function(f)
	}
	v.open()
	v.params(p.Params, firstPos(p))
	for i := range p.Scratch {
		v.scratchpad(&p.Scratch[i], len(p.Launches))
	}
	names := map[string]bool{}
	for _, l := range p.Launches {
		if names[l.Name] {
			v.fail(l.At, "two launches are named %q", l.Name)
		}
		names[l.Name] = true
		v.launch(l)
	}
	v.close()
	return errors.Join(v.problems...)
}

func firstPos(p *ir.Program) ir.Pos {
	if p.Kernel != nil {
		return p.Kernel.At
	}
	return ir.Pos{}
}

// A context is where code of one kernel or program stands.
type context int

const (
	onHost context = 1 << iota // an expression for the host: no memory, no grid
	inDevice
	inFunction
	withWarps // shuffles and warp barriers are announced
)

// expressions verifies the expressions of one kernel or program, and the variables in them.
type expressions struct {
	name     string
	context  context
	numVars  int
	ids      map[int]*ir.Var
	scopes   []map[*ir.Var]bool
	problems []error
}

func (v *expressions) is(p context) bool { return v.context&p != 0 }

// set puts code in a context, or out of it.
func (v *expressions) set(p context, on bool) {
	v.context &^= p
	if on {
		v.context |= p
	}
}

// verifier verifies one kernel or program.
type verifier struct {
	expressions
	grid    *ir.Launch        // whose body is looked at
	funcs   map[*ir.Func]bool // those already seen: callees come first
	results []*ir.Type
	labels  []target
}

func newVerifier(name string, numVars int) *verifier {
	return &verifier{expressions: expressions{name: name, numVars: numVars, ids: map[int]*ir.Var{}}, funcs: map[*ir.Func]bool{}}
}

// target is a label that statements inside may jump to.
type target struct {
	label *ir.Label
	loop  bool
}

func (v *expressions) fail(at ir.Pos, format string, args ...any) {
	v.problems = append(v.problems, &Error{Name: v.name, At: at, What: fmt.Sprintf(format, args...)})
}

func (v *expressions) open() { v.scopes = append(v.scopes, map[*ir.Var]bool{}) }

func (v *expressions) close() { v.scopes = v.scopes[:len(v.scopes)-1] }

func (v *expressions) declare(x *ir.Var, at ir.Pos, spaces ...ir.Space) {
	switch {
	case x == nil:
		v.fail(at, "a declaration without a variable")
		return
	case x.Type == nil || x.Type.Kind == ir.Invalid:
		v.fail(at, "variable %s has no type", x.Name)
	case !slices.Contains(spaces, x.Space):
		v.fail(at, "variable %s is declared here but lives in space %d", x.Name, x.Space)
	case v.declared(x):
		v.fail(at, "variable %s is declared twice", x.Name)
	}
	v.identify(x, at)
	v.scopes[len(v.scopes)-1][x] = true
}

func (v *expressions) identify(x *ir.Var, at ir.Pos) {
	if x.ID < 0 || x.ID >= v.numVars {
		v.fail(at, "variable %s has ID %d of %d", x.Name, x.ID, v.numVars)
	}
	if y := v.ids[x.ID]; y != nil && y != x {
		v.fail(at, "variables %s and %s share ID %d", y.Name, x.Name, x.ID)
	}
	v.ids[x.ID] = x
}

func (v *expressions) declared(x *ir.Var) bool {
	for _, s := range v.scopes {
		if s[x] {
			return true
		}
	}
	return false
}

func (v *expressions) use(x *ir.Var, at ir.Pos) {
	switch {
	case x == nil:
		v.fail(at, "a reference without a variable")
	case !v.declared(x):
		v.fail(at, "variable %s is not declared here", x.Name)
	}
}

func (v *verifier) params(list []*ir.Var, at ir.Pos) {
	for _, p := range list {
		v.declare(p, at, ir.Param)
	}
}

func (v *verifier) function(f *ir.Func) {
	if v.funcs[f] {
		v.fail(f.At, "function %s is listed twice", f.Name)
	}
	v.results = f.Results
	v.set(inFunction|withWarps, true) // whether a launch that calls it may use warps is the launch's own business
	v.open()
	v.params(f.Params, f.At)
	v.list(f.Body)
	v.close()
	v.results, v.grid = nil, nil
	v.set(inFunction|withWarps, false)
	v.funcs[f] = true
}

func (v *verifier) scratchpad(s *ir.Scratchpad, launches int) {
	if s.Var == nil {
		v.fail(ir.Pos{}, "a scratchpad without a variable")
		return
	}
	v.declare(s.Var, s.Var.At, ir.Scratch)
	if s.Var.Type == nil || s.Var.Type.Kind != ir.Slice {
		v.fail(s.Var.At, "scratchpad %s is not a slice", s.Var.Name)
	}
	if s.Launch < 0 || s.Launch >= launches {
		v.fail(s.Var.At, "scratchpad %s asks launch %d of %d", s.Var.Name, s.Launch, launches)
	}
	v.hostInt(s.Count, s.Var.At, "count", true)
}

func (v *verifier) launch(l *ir.Launch) {
	for _, b := range []struct {
		e    ir.Expr
		what string
	}{{l.Trip, "trip"}, {l.TeamTrip, "team trip"}, {l.MaxTeams, "max teams"}, {l.MaxThreads, "max threads"}} {
		v.hostInt(b.e, l.At, b.what, false)
	}
	if l.ExtraWarps < 0 || l.ExtraWarps > 0 && !l.Warps {
		v.fail(l.At, "%d extra warps in a launch of warps %v", l.ExtraWarps, l.Warps)
	}
	if l.When != nil {
		v.set(onHost, true)
		v.boolean(l.When, "guard of a launch")
		v.set(onHost, false)
	}
	if l.Width < 0 || l.ResidentTeams < 0 || l.Reread < 0 {
		v.fail(l.At, "%d iterations a thread, %d resident teams, %d bytes reread", l.Width, l.ResidentTeams, l.Reread)
	}
	v.grid = l
	v.set(withWarps, l.Warps)
	v.open()
	for _, t := range l.Team {
		v.declare(t, l.At, ir.Team)
	}
	v.list(l.Body)
	v.close()
}

// hostInt checks an integer that the host evaluates before a launch.
func (v *verifier) hostInt(e ir.Expr, at ir.Pos, what string, required bool) {
	if e == nil {
		if required {
			v.fail(at, "no %s", what)
		}
		return
	}
	v.set(onHost, true)
	v.integer(e, what)
	v.set(onHost, false)
}

func (v *verifier) target(t *ir.Target) {
	for _, r := range t.Resources {
		v.hostInt(r.Tokens, ir.Pos{}, "tokens", true)
	}
	if n := t.Native; n != nil {
		for _, e := range append(n.Items[:len(n.Items):len(n.Items)], n.Team...) {
			v.hostInt(e, ir.Pos{}, "extent of ndrange", true)
		}
		v.hostInt(n.Shared, ir.Pos{}, "shared memory", false)
	}
	for _, list := range [][]ir.Region{t.CopyIn, t.CopyOut, t.CopyInOut} {
		for i := range list {
			v.region(&list[i])
		}
	}
}

func (v *verifier) task(t *ir.Task) {
	for i := range t.Accesses {
		v.region(&t.Accesses[i].Region)
	}
	v.hostInt(t.Priority, ir.Pos{}, "priority", false)
	for _, e := range []ir.Expr{t.If, t.Final} {
		if e != nil {
			v.boolean(e, "condition")
		}
	}
}

func (v *verifier) region(r *ir.Region) {
	v.use(r.Var, r.At)
	if r.When != nil {
		v.boolean(r.When, "condition of a region")
	}
	for _, e := range r.Shape {
		v.hostInt(e, r.At, "extent", false)
	}
	for _, d := range r.Dims {
		v.hostInt(d.Lo, r.At, "bound", false)
		v.hostInt(d.Hi, r.At, "bound", false)
	}
}
