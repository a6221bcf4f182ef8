package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Deferral is a kernel with nested(cpu) as an accelerator and CPU workers run it. Iterations of
// the parallel loop whose nested loop is long are not run by the accelerator: it puts their numbers
// into a list, and CPU workers run them afterwards, from their beginning. What an iteration does
// before the nested loop changes no memory, so that nothing of a deferred iteration has happened.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section
// 5.6.1; differs: the context of an iteration is its number, and workers begin when the accelerator
// has finished, as both may update the same memory.
type Deferral struct {
	// Device is the kernel of the accelerator. Its last two parameters are the list, a slice with
	// room for as many iterations as it has elements, the others run in place; and a slice whose
	// only element counts, from 0, the iterations that were to go there. The task directive says
	// nothing of the two.
	Device *ir.Kernel
	// Rest runs the iterations of a list, which is its last parameter, on CPU workers.
	Rest *ir.Kernel
	// Trips is the number of iterations of the parallel loop, over the parameters of the kernel.
	Trips ir.Expr
}

// The names of the parameters of a Deferral.
const (
	deferredList  = "gompss.deferred"
	deferredCount = "gompss.deferredCount"
)

// DeferToCPU returns the parts of a kernel with nested(cpu), nil for every other, and for one that
// runs on CPU workers alone. Errors: an ErrorList that says why no iteration can be deferred, and
// where.
func DeferToCPU(k *ir.Kernel) (*Deferral, error) {
	asked := nestedAs(k, ir.NestedCPU)
	if len(asked) == 0 {
		return nil, nil
	}
	d := &cpuDeferral{Work: partOf(k, "device code"), found: map[ir.Pos]bool{}}
	out := &Deferral{Trips: d.find(asked[0])}
	if len(d.Errors) == 0 {
		d.f.Body = d.part(d.f.Body, nil)
		for _, g := range asked {
			if !d.found[g.At] {
				d.refuse(g.At, "no iteration of loop "+d.f.Var.Text()+" runs it just once, outside of other loops and functions")
			}
		}
	}
	if len(d.Errors) > 0 {
		return nil, diag.Sorted(d.Errors)
	}
	out.Device, out.Rest = d.Kernel, restOnCPU(k)
	kinds := &out.Device.Target.Kinds
	if *kinds = slices.DeleteFunc(slices.Clone(*kinds), func(kind string) bool { return kind == "smp" }); len(*kinds) == 0 && len(k.Target.Kinds) == 0 {
		*kinds = []string{"acc"}
	}
	if len(*kinds) == 0 {
		return nil, nil
	}
	return out, nil
}

// nestedAs returns the loops of k, and of what it calls, with a strategy.
func nestedAs(k *ir.Kernel, kind ir.NestedKind) (out []*ir.For) {
	find := func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Nested.Kind == kind {
			out = append(out, f)
		}
		return true
	}
	ir.WalkStmts(k.Body, find)
	for _, f := range k.Funcs {
		ir.WalkStmts(f.Body, find)
	}
	return out
}

// refuseCross refuses nested(cross).
func refuseCross(k *ir.Kernel) error {
	l := mapping.NewWork(k, "device code")
	for _, g := range nestedAs(k, ir.NestedCross) {
		l.NotYet(g.At, "nested(cross), as an accelerator and CPU workers take from no common list while both run; "+
			"write nested(cpu), where the workers run the deferred iterations, or nested(host), where the accelerator does")
	}
	if len(l.Errors) == 0 {
		return nil
	}
	return diag.Sorted(l.Errors)
}

// A cpuDeferral makes the kernel of the accelerator.
type cpuDeferral struct {
	*mapping.Work
	f           *ir.For         // the parallel loop
	own         *ir.VarSet      // variables of an iteration
	list, count *ir.Var         // parameters
	found       map[ir.Pos]bool // loops with nested(cpu) in f
}

func (d *cpuDeferral) refuse(at ir.Pos, why string) {
	d.Refuse(at, "nested(cpu)", why, "write nested(host), where the accelerator runs the long loops itself, or nested(inline)")
}

// find finds the parallel loop around g, and returns the number of its iterations.
func (d *cpuDeferral) find(g *ir.For) ir.Expr {
	f, before, why := lastLoop(d.Kernel)
	if f == nil {
		d.refuse(g.At, "CPU workers cannot run parts of the kernel: "+why)
		return nil
	}
	switch of := f.Directive; {
	case len(d.Kernel.Prints) > 0:
		why = "the kernel prints"
	case len(d.Kernel.Globals) > 0:
		why = "the kernel reads package variables, whose values are those at the submission"
	case of.Parts&ir.Loop != 0:
		why = "loop " + f.Var.Name + " around it is descriptive"
	case !forms.ForThreads(f):
		why = "loop " + f.Var.Name + " around it is not shared by threads"
	case of.Collapse > 1:
		why = "loop " + f.Var.Name + " around it is collapsed"
	case len(of.DistArrays) > 0:
		why = "loop " + f.Var.Name + " around it keeps parts of arrays on chip"
	}
	for _, a := range d.Kernel.Task.Accesses {
		if a.Relaxed() {
			why = "clause " + a.Mode.String() + " lets other tasks come between the two parts"
		}
	}
	if why != "" {
		d.refuse(g.At, why)
		return nil
	}
	d.f = f
	d.own = ir.Declared(f.Body)
	for _, v := range f.Directive.Private {
		d.own.Add(v)
	}
	out := d.trips(g, before)
	d.list = addParam(d.Work, deferredList)
	d.count = addParam(d.Work, deferredCount)
	return out
}

// trips is the number of iterations of the parallel loop, over the parameters.
func (d *cpuDeferral) trips(g *ir.For, before []ir.Stmt) ir.Expr {
	known, taken := values{}, ir.AddressTaken(d.Kernel.Body)
	for _, p := range d.Kernel.Params {
		known[p] = build.Ref(p, p.At)
	}
	for _, s := range before {
		known.track(s, taken)
	}
	bounds := []ir.Expr{known.of(d.f.Lo), known.of(d.f.Hi), known.of(d.f.Step)}
	for _, e := range bounds {
		if e == nil || !evaluable(e) {
			d.refuse(g.At, "the number of iterations of loop "+d.f.Var.Text()+" around it is not known at the launch")
			return nil
		}
	}
	return build.Trips(d.f, build.ToInt(bounds[0]), build.ToInt(bounds[1]), build.ToInt(bounds[2]))
}

// part returns list, a part of an iteration behind the statements before, with a test in front of
// each loop with nested(cpu).
func (d *cpuDeferral) part(list, before []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			out = append(out, &ir.Block{Label: s.Label, Body: d.part(s.Body, before), At: s.At})
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: d.part(s.Then, before), Else: d.part(s.Else, before), At: s.At})
		case *ir.For:
			if s.Directive == nil || s.Directive.Nested.Kind != ir.NestedCPU {
				out = append(out, s)
				break
			}
			d.found[s.At] = true
			out = append(out, d.deferring(s, before)...)
		default:
			out = append(out, s)
		}
		before = append(before[:len(before):len(before)], s)
	}
	return out
}

// deferring returns nested loop g behind a test that puts the iteration into the list.
func (d *cpuDeferral) deferring(g *ir.For, before []ir.Stmt) []ir.Stmt {
	at := g.At
	if len(g.Directive.Lastprivate) > 0 {
		d.refuse(at, "it has lastprivate")
	}
	if s := d.changesMemory(before); s != nil {
		d.refuse(at, "a deferred iteration is run from its beginning, and "+s.Pos().String()+" changes memory before it")
	}
	deserves := g.Directive.If
	if deserves == nil {
		trips := build.Trips(g, build.ToInt(build.Copy(g.Lo)), build.ToInt(build.Copy(g.Hi)), build.ToInt(build.Copy(g.Step)))
		deserves = build.Compare(ir.Gt, trips, build.Int(forms.ShortRow, at), at)
	}
	v := d.Local("context", ir.Int64Type, at)
	mine := func() ir.Expr { return build.Ref(v, at) }
	count := build.Index(build.Ref(d.count, at), build.Int(0, at), at)
	room := build.Convert(ir.Int64Type, &ir.Len{X: build.Ref(d.list, at), At: at}, at)
	store := []ir.Stmt{build.Assign(build.Index(build.Ref(d.list, at), build.ToInt(mine()), at), d.number(at), at), &ir.Continue{Label: d.f.Label, At: at}}
	inPlace := *g
	own := *g.Directive
	own.Nested.Kind, own.If = ir.NestedLanes, nil
	inPlace.Directive = &own
	return []ir.Stmt{&ir.If{Cond: deserves, At: at, Then: []ir.Stmt{
		build.Decl(v, nil, at),
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: count, Value: &ir.Const{T: ir.Int64Type, Bits: 1, At: at}, Old: mine(), At: at},
		&ir.If{Cond: build.Compare(ir.Lt, mine(), room, at), Then: store, At: at},
	}}, &inPlace}
}

// number is the number of the iteration of the parallel loop.
func (d *cpuDeferral) number(at ir.Pos) ir.Expr {
	from := build.Binary(ir.Sub, build.ToInt(build.Ref(d.f.Var, at)), build.ToInt(build.Copy(d.f.Lo)), at)
	if step, ok := query.Int64(d.f.Step); ok && step == 1 {
		return build.Convert(ir.Int64Type, from, at)
	}
	n := &ir.Binary{Op: ir.Div, X: from, Y: build.ToInt(build.Copy(d.f.Step)), T: ir.IntType, At: at}
	return build.Convert(ir.Int64Type, n, at)
}

// changesMemory returns a statement of list that changes more than variables of the iteration,
// before what follows list; nil where there is none. What a branch does that then ends the
// iteration is before nothing.
func (d *cpuDeferral) changesMemory(list []ir.Stmt) ir.Stmt {
	e := &analysis.Effects{Shared: func(v *ir.Var) bool { return !d.own.Has(v) }}
	for _, s := range list {
		if branch, ok := s.(*ir.If); ok {
			for _, side := range [][]ir.Stmt{branch.Then, branch.Else} {
				if at := d.changesMemory(side); at != nil && !d.endsIteration(side) {
					return at
				}
			}
			continue
		}
		t := e.Stmts([]ir.Stmt{s})
		reduces := false
		for _, r := range nestedReductions(s) {
			reduces = reduces || !query.IsRef(r.Place) || !d.own.Has(ir.RootVar(r.Place))
		}
		if !t.Writes.Empty() || t.Atomics || t.Calls || reduces {
			return s
		}
	}
	return nil
}

// endsIteration reports whether list ends with a jump to the next iteration.
func (d *cpuDeferral) endsIteration(list []ir.Stmt) bool {
	n := len(list) - 1
	if n < 0 || query.JumpsOut(&ir.Block{Body: list[:n], At: list[0].Pos()}) {
		return false
	}
	c, ok := list[n].(*ir.Continue)
	return ok && c.Label == d.f.Label
}

// nestedReductions returns what the loops in s add up.
func nestedReductions(s ir.Stmt) (out []ir.Reduction) {
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok && f.Directive != nil {
			out = append(out, f.Directive.Reductions...)
		}
		return true
	})
	return out
}

// partOf returns a copy of k for a part of its work: the task of k has the clauses that say when it
// is submitted, and as which tasks.
func partOf(k *ir.Kernel, target string) *mapping.Work {
	l := mapping.NewWork(k, target)
	l.Kernel.Task.If, l.Kernel.Task.Loop = nil, nil
	return l
}

// addParam adds a slice behind the parameters of the Go function.
func addParam(l *mapping.Work, name string) *ir.Var {
	v := l.Variable(name, ir.SliceOf(ir.Int64Type), ir.Param, l.Kernel.At)
	l.Kernel.Params = append(slices.Clone(l.Kernel.Params), v)
	return v
}

// restOnCPU returns the kernel that runs the iterations of a list. Requires: the parallel loop of k
// is lastLoop.
func restOnCPU(k *ir.Kernel) *ir.Kernel {
	l := partOf(k, "vector code")
	list := addParam(l, deferredList)
	f, _, _ := lastLoop(l.Kernel)
	c, at := l.Local("context", ir.IntType, f.At), f.At
	number := build.ToInt(build.Index(build.Ref(list, at), build.Ref(c, at), at))
	value := build.Binary(ir.Add, build.ToInt(f.Lo), build.Binary(ir.Mul, number, build.ToInt(f.Step), at), at)
	f.Body = append([]ir.Stmt{build.Decl(f.Var, build.Convert(f.Var.Type, value, at), at)}, f.Body...)
	f.Var, f.Lo, f.Hi, f.Step, f.Rel = c, build.Int(0, at), &ir.Len{X: build.Ref(list, at), At: at}, build.Int(1, at), ir.Lt
	for _, g := range nestedAs(l.Kernel, ir.NestedCPU) {
		g.Directive.Nested.Kind = ir.NestedInline
	}
	l.Kernel.Name, l.Kernel.Target.Kinds = k.Name+" behind nested(cpu)", []string{"smp"}
	return l.Kernel
}
