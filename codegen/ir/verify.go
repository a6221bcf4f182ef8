package ir

import (
	"errors"
	"fmt"
	"slices"
)

// A VerifyError is one violation of the rules of the IR: a bug of the pass that made it.
type VerifyError struct {
	Name string // of the kernel or program
	At   Pos
	What string
}

func (e *VerifyError) Error() string { return fmt.Sprintf("ir: %s: %s: %s", e.Name, e.At, e.What) }

// VerifyKernel checks the loop IR of k: types agree, places are places, labels and variables are in
// scope, every node has a position, and no node of the device IR occurs.
//
// Errors: all problems, each a *VerifyError, joined.
func VerifyKernel(k *Kernel) error {
	v := &verifier{name: k.Name, numVars: k.NumVars, ids: map[int]*Var{}, funcs: map[*Func]bool{}}
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

// VerifyProgram checks the device IR of p as VerifyKernel checks loop IR, and that no directive is
// left.
func VerifyProgram(p *Program) error {
	v := &verifier{name: p.Name, numVars: p.NumVars, ids: map[int]*Var{}, funcs: map[*Func]bool{}, device: true}
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

func firstPos(p *Program) Pos {
	if p.Kernel != nil {
		return p.Kernel.At
	}
	return Pos{}
}

// verifier walks one kernel or program.
type verifier struct {
	name     string
	device   bool
	host     bool    // an expression for the host: no memory, no grid
	warps    bool    // shuffles and warp barriers are announced
	grid     *Launch // whose body is looked at
	numVars  int
	ids      map[int]*Var
	funcs    map[*Func]bool // those already seen: callees come first
	inFunc   bool
	results  []*Type
	scopes   []map[*Var]bool
	labels   []target
	problems []error
}

// target is a label that statements inside may jump to.
type target struct {
	label *Label
	loop  bool
}

func (v *verifier) fail(at Pos, format string, args ...any) {
	v.problems = append(v.problems, &VerifyError{Name: v.name, At: at, What: fmt.Sprintf(format, args...)})
}

func (v *verifier) open()  { v.scopes = append(v.scopes, map[*Var]bool{}) }
func (v *verifier) close() { v.scopes = v.scopes[:len(v.scopes)-1] }

func (v *verifier) declare(x *Var, at Pos, spaces ...Space) {
	switch {
	case x == nil:
		v.fail(at, "a declaration without a variable")
		return
	case x.Type == nil || x.Type.Kind == Invalid:
		v.fail(at, "variable %s has no type", x.Name)
	case !slices.Contains(spaces, x.Space):
		v.fail(at, "variable %s is declared here but lives in space %d", x.Name, x.Space)
	case v.declared(x):
		v.fail(at, "variable %s is declared twice", x.Name)
	}
	v.identify(x, at)
	v.scopes[len(v.scopes)-1][x] = true
}

func (v *verifier) identify(x *Var, at Pos) {
	if x.ID < 0 || x.ID >= v.numVars {
		v.fail(at, "variable %s has ID %d of %d", x.Name, x.ID, v.numVars)
	}
	if y := v.ids[x.ID]; y != nil && y != x {
		v.fail(at, "variables %s and %s share ID %d", y.Name, x.Name, x.ID)
	}
	v.ids[x.ID] = x
}

func (v *verifier) declared(x *Var) bool {
	for _, s := range v.scopes {
		if s[x] {
			return true
		}
	}
	return false
}

func (v *verifier) use(x *Var, at Pos) {
	switch {
	case x == nil:
		v.fail(at, "a reference without a variable")
	case !v.declared(x):
		v.fail(at, "variable %s is not declared here", x.Name)
	}
}

func (v *verifier) params(list []*Var, at Pos) {
	for _, p := range list {
		v.declare(p, at, Param)
	}
}

func (v *verifier) function(f *Func) {
	if v.funcs[f] {
		v.fail(f.At, "function %s is listed twice", f.Name)
	}
	v.inFunc, v.results = true, f.Results
	v.warps = true // whether a launch that calls it may is the launch's own business
	v.open()
	v.params(f.Params, f.At)
	v.list(f.Body)
	v.close()
	v.inFunc, v.results, v.warps, v.grid = false, nil, false, nil
	v.funcs[f] = true
}

func (v *verifier) scratchpad(s *Scratchpad, launches int) {
	if s.Var == nil {
		v.fail(Pos{}, "a scratchpad without a variable")
		return
	}
	v.declare(s.Var, s.Var.At, Scratch)
	if s.Var.Type == nil || s.Var.Type.Kind != Slice {
		v.fail(s.Var.At, "scratchpad %s is not a slice", s.Var.Name)
	}
	if s.Launch < 0 || s.Launch >= launches {
		v.fail(s.Var.At, "scratchpad %s asks launch %d of %d", s.Var.Name, s.Launch, launches)
	}
	v.hostInt(s.Count, s.Var.At, "count", true)
}

func (v *verifier) launch(l *Launch) {
	for _, b := range []struct {
		e    Expr
		what string
	}{{l.Trip, "trip"}, {l.TeamTrip, "team trip"}, {l.MaxTeams, "max teams"}, {l.MaxThreads, "max threads"}} {
		v.hostInt(b.e, l.At, b.what, false)
	}
	if l.ExtraWarps < 0 || l.ExtraWarps > 0 && !l.Warps {
		v.fail(l.At, "%d extra warps in a launch of warps %v", l.ExtraWarps, l.Warps)
	}
	if l.When != nil {
		v.host = true
		v.boolean(l.When, "guard of a launch")
		v.host = false
	}
	if l.Width < 0 || l.Abreast < 0 {
		v.fail(l.At, "%d iterations a thread, %d teams abreast", l.Width, l.Abreast)
	}
	v.warps, v.grid = l.Warps, l
	v.open()
	for _, t := range l.Team {
		v.declare(t, l.At, Team)
	}
	v.list(l.Body)
	v.close()
}

// hostInt checks an integer that the host evaluates before a launch.
func (v *verifier) hostInt(e Expr, at Pos, what string, required bool) {
	if e == nil {
		if required {
			v.fail(at, "no %s", what)
		}
		return
	}
	v.host = true
	v.integer(e, what)
	v.host = false
}

func (v *verifier) target(t *Target) {
	for _, r := range t.Resources {
		v.hostInt(r.Tokens, Pos{}, "tokens", true)
	}
	if n := t.Native; n != nil {
		for _, e := range append(n.Items[:len(n.Items):len(n.Items)], n.Team...) {
			v.hostInt(e, Pos{}, "extent of ndrange", true)
		}
		v.hostInt(n.Shared, Pos{}, "shared memory", false)
	}
	for _, list := range [][]Region{t.CopyIn, t.CopyOut, t.CopyInOut} {
		for i := range list {
			v.region(&list[i])
		}
	}
}

func (v *verifier) task(t *Task) {
	for i := range t.Accesses {
		v.region(&t.Accesses[i].Region)
	}
	v.hostInt(t.Priority, Pos{}, "priority", false)
	for _, e := range []Expr{t.If, t.Final} {
		if e != nil {
			v.boolean(e, "condition")
		}
	}
}

func (v *verifier) region(r *Region) {
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
