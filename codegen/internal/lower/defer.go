package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// maxDeferred is how many iterations of one loop can wait for the loop behind it; more run in
// place.
const maxDeferred = 1 << 16

// longNested is the most iterations of a nested loop that always run in place: those of a warp
// (DIALECT.md, section 3).
const longNested = 32

// deferNested gives nested loops with nested(host) to a loop of their own behind the loop around
// them: an iteration whose nested loop is long stores what the rest of it needs, its context, and
// goes on with the next; then each team takes contexts and shares out their nested loops. The host
// does not look between the two.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, sections
// 5.4.3 and 5.5.3; differs: a context that finds no room runs in place.
func (l *lowering) deferNested() {
	d := &deferrals{lowering: l}
	body := d.list(l.Kernel.Body)
	l.Kernel.Body = append(d.contexts, body...)
}

// deferrals are the nested loops of a kernel that are deferred.
type deferrals struct {
	*lowering
	contexts []ir.Stmt // declarations of the memory for contexts
	loops    int       // sequential ones around the statement
}

func (d *deferrals) list(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: d.list(s.Then), Else: d.list(s.Else), At: s.At})
		case *ir.Block:
			out = append(out, &ir.Block{Label: s.Label, Body: d.list(s.Body), At: s.At})
		case *ir.While:
			c := *s
			c.Body = d.inLoop(s.Body)
			out = append(out, &c)
		case *ir.For:
			out = append(out, d.loop(s)...)
		default:
			out = append(out, s)
		}
	}
	return out
}

func (d *deferrals) inLoop(list []ir.Stmt) []ir.Stmt {
	d.loops++
	defer func() { d.loops-- }()
	return d.list(list)
}

// loop returns f and, for each nested loop that it defers, the loop behind it.
func (d *deferrals) loop(f *ir.For) []ir.Stmt {
	if f.Directive == nil {
		c := *f
		c.Body = d.inLoop(f.Body)
		return []ir.Stmt{&c}
	}
	if f.Directive.Parts&(ir.Parallel|ir.Workshare) != ir.Parallel|ir.Workshare {
		return []ir.Stmt{f}
	}
	first := *f
	var before, behind []ir.Stmt
	for {
		x := &deferral{deferrals: d, f: &first}
		if !x.find(first.Body, nil) {
			break
		}
		if why := x.refusal(); why != "" {
			d.Refuse(x.g.At, "nested(host)", why, "write nested(inline), which runs it in the thread that meets it")
			return []ir.Stmt{f}
		}
		count, own, loop := x.split()
		first.Body = own
		before, behind = append(before, count), append(behind, loop)
	}
	return append(append(before, &first), behind...)
}

// A deferral is one nested loop of f that is deferred.
type deferral struct {
	*deferrals
	f, g     *ir.For
	rest     []ir.Stmt // what an iteration does behind g
	captured []*ir.Var
	count    *ir.Var
	memory   []*ir.Var // of the contexts, by captured
}

// find looks for the first loop to defer in list, behind which an iteration goes on with rest.
func (x *deferral) find(list, rest []ir.Stmt) bool {
	for i, s := range list {
		after := append(slices.Clone(list[i+1:]), rest...)
		switch s := s.(type) {
		case *ir.For:
			if d := s.Directive; d != nil && d.Parts&ir.Parallel != 0 && d.Nested.Kind == ir.NestedHost && !d.Nested.Boost {
				x.g, x.rest = s, after
				return true
			}
		case *ir.Block:
			if x.find(s.Body, after) {
				return true
			}
		case *ir.If:
			if x.find(s.Then, after) || x.find(s.Else, after) {
				return true
			}
		}
	}
	return false
}

// refusal says why g cannot be deferred; "" where it can.
func (x *deferral) refusal() string {
	d := x.f.Directive
	switch {
	case len(d.Lastprivate) > 0 || len(x.g.Directive.Lastprivate) > 0:
		return "it has lastprivate, or the loop around it"
	case len(d.DistArrays) > 0:
		return "the loop around it keeps parts of arrays on chip"
	}
	inner := ir.Declared(x.f.Body)
	inner.Add(x.f.Var)
	for _, list := range [][]*ir.Var{d.Private, d.Firstprivate} {
		for _, v := range list {
			inner.Add(v)
		}
	}
	own := append([]ir.Stmt{x.g}, x.rest...)
	for _, v := range ir.Free(own).List() {
		if !inner.Has(v) {
			continue
		}
		if !v.Type.IsScalar() {
			return "its context has " + v.Name + ", which is no scalar"
		}
		x.captured = append(x.captured, v)
	}
	return ""
}

// split returns the declaration of the number of contexts, the body of f that stores them, and the
// loop over them.
func (x *deferral) split() (count ir.Stmt, body []ir.Stmt, loop ir.Stmt) {
	at := x.g.At
	x.count = x.Local("deferred", ir.IntType, at)
	var zero ir.Expr // device memory begins as zero
	if x.loops > 0 {
		zero = build.Int(0, at)
	}
	for _, v := range x.captured {
		c := x.Local(v.Name+"Context", ir.ArrayOf(v.Type, maxDeferred), v.At)
		x.memory = append(x.memory, c)
		x.contexts = append(x.contexts, build.Decl(c, nil, v.At))
	}
	x.Decide(at, "loop "+x.g.Var.Name, "a loop behind loop "+x.f.Var.Name+", whose teams share out the long ones",
		"nested(host) says so", "nested(inline)")
	loop = x.later()
	return build.Decl(x.count, zero, at), x.storing(), loop
}

// storing is the body of f in which iterations with a long nested loop store their context.
func (x *deferral) storing() []ir.Stmt {
	at, d := x.g.At, *x.g.Directive
	long := d.If
	if long == nil {
		long = build.Compare(ir.Gt, build.Trips(x.g, build.ToInt(x.g.Lo), build.ToInt(x.g.Hi), build.ToInt(x.g.Step)), build.Int(longNested, at), at)
	}
	mine := x.Local("context", ir.IntType, at)
	var store []ir.Stmt
	for i, v := range x.captured {
		store = append(store, build.Assign(build.Index(build.Ref(x.memory[i], at), build.Ref(mine, at), at), build.Ref(v, at), at))
	}
	store = append(store, &ir.Continue{Label: x.f.Label, At: at})
	d.Nested, d.If = ir.Nested{Kind: ir.NestedInline}, nil
	inline := *x.g
	inline.Directive = &d
	instead := []ir.Stmt{
		&ir.If{Cond: long, At: at, Then: []ir.Stmt{
			build.Decl(mine, nil, at),
			&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: build.Ref(x.count, at), Value: build.Int(1, at), Old: build.Ref(mine, at), At: at},
			&ir.If{Cond: build.Compare(ir.Lt, build.Ref(mine, at), build.Int(maxDeferred, at), at), Then: store, At: at},
		}},
		&inline,
	}
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if g, ok := s.(*ir.For); ok && g.Var == x.g.Var {
			return instead
		}
		return []ir.Stmt{s}
	}}).CopyStmts(x.f.Body)
}

// later is the loop over the contexts: each team shares out the nested loop of one, and then goes
// on as its iteration.
func (x *deferral) later() ir.Stmt {
	at, d := x.g.At, x.f.Directive
	c := x.Local("context", ir.IntType, at)
	var body []ir.Stmt
	mine := map[*ir.Var]*ir.Var{}
	for i, v := range x.captured {
		own := x.Local(v.Name, v.Type, at)
		mine[v] = own
		body = append(body, build.Decl(own, build.Index(build.Ref(x.memory[i], at), build.Ref(c, at), at), at))
	}
	inner := *x.g.Directive
	inner.Parts = inner.Parts&^(ir.Teams|ir.Distribute) | ir.Parallel | ir.Workshare
	inner.Nested, inner.If = ir.Nested{}, nil
	shared := *x.g
	shared.Directive = &inner
	rest := append([]ir.Stmt{&shared}, x.rest...)
	body = append(body, build.WithVars(mine).CopyStmts(rest)...)
	loop := &ir.For{Label: x.f.Label, Var: c, Lo: build.Int(0, at), Step: build.Int(1, at), Rel: ir.Lt, Body: body, At: x.f.At,
		Hi:        build.IntMath(ir.IMin, build.Ref(x.count, at), build.Int(maxDeferred, at)),
		Directive: &ir.Directive{Parts: ir.Teams | ir.Distribute, Text: d.Text, At: d.At, Shared: d.Shared, Reductions: d.Reductions}}
	return x.CopyOf([]ir.Stmt{loop}, &x.Kernel.NumVars)[0]
}
