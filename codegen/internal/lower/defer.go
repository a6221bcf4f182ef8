package lower

import (
	"math"
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// roomUnknown is how many iterations of one loop can wait for the loop behind it where their number
// is not known at the launch; more run in place.
const roomUnknown = 1 << 16

// deferNested gives nested loops to a loop behind the loop around them, or behind a part of it: an
// iteration whose nested loop deserves it stores what the rest of it needs, its context, and goes
// on with the next; then teams take contexts and share out their nested loops. The host does not
// look between the two. With nested(host) the contexts of all teams lie in device memory, and the
// loop behind is one of the league; with nested(cta) those of a team lie in its memory, and it runs
// them itself after each block of iterations. With nested(auto) the longest loops wait in device
// memory, and the lanes of a warp share the others in place.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, sections
// 5.4.3, 5.5.1 and 5.5.3; differs: a context that finds no room runs in place, and no kernel is
// started for a bundle of a team.
func (l *lowering) deferNested() {
	chooseNested(l)
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
	if !forThreads(f) {
		return []ir.Stmt{f}
	}
	first := *f
	var before, behind []ir.Stmt
	var ofTeam []*deferral
	for {
		x := &deferral{deferrals: d, f: &first}
		if !x.find(first.Body, nil) {
			break
		}
		kind := x.g.Directive.Nested.Kind
		why := x.refusal()
		if kind == ir.NestedAuto && d.loops > 0 {
			why = "one team runs all of it"
		}
		if why != "" {
			if kind != ir.NestedAuto {
				d.Refuse(x.g.At, "nested("+kind.String()+")", why, "write nested(inline), which runs it in the thread that meets it")
				return []ir.Stmt{f}
			}
			first.Body = x.replaced([]ir.Stmt{x.inPlace()})
			continue
		}
		count, own, loop := x.split()
		first.Body = own
		if x.ofTeam {
			ofTeam = append(ofTeam, x)
		}
		before, behind = append(before, count...), append(behind, loop...)
	}
	if len(ofTeam) > 0 {
		return append(before, append([]ir.Stmt{inBlocks(d.lowering, &first, ofTeam)}, behind...)...)
	}
	return append(append(before, &first), behind...)
}

// A deferral is one nested loop of f that is deferred.
type deferral struct {
	*deferrals
	f, g     *ir.For
	rest     []ir.Stmt // what an iteration does behind g
	captured []*ir.Var
	again    []ir.Stmt // slices that are made again of what is captured
	count    *ir.Var
	room     ir.Expr   // number of contexts that there is memory for
	memory   []*ir.Var // of the contexts, by captured
	ofTeam   bool      // the team that met g runs it
}

// find looks for the first loop to defer in list, behind which an iteration goes on with rest.
func (x *deferral) find(list, rest []ir.Stmt) bool {
	for i, s := range list {
		after := append(slices.Clone(list[i+1:]), rest...)
		switch s := s.(type) {
		case *ir.For:
			if d := s.Directive; d != nil && d.Parts&ir.Parallel != 0 {
				switch d.Nested.Kind {
				case ir.NestedHost, ir.NestedCTA, ir.NestedAuto:
					x.g, x.rest, x.ofTeam = s, after, d.Nested.Kind == ir.NestedCTA
					return true
				}
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
	case d.Collapse > 1:
		return "the loop around it is collapsed"
	case x.ofTeam && d.Parts&ir.Distribute == 0:
		return "the loop around it is shared by one team"
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
		if r := sliceOf(x.f.Body, v); r != nil {
			own = append([]ir.Stmt{build.Assign(build.Ref(v, v.At), r, v.At)}, own...) // it needs the bounds
		}
	}
	taken := ir.AddressTaken(x.f.Body)
	for _, v := range ir.Free(own).List() {
		if !inner.Has(v) {
			continue
		}
		if r := sliceOf(x.f.Body, v); r != nil {
			x.again = append(x.again, build.Decl(v, r, v.At))
			continue
		}
		if !v.Type.IsScalar() {
			return "its context has " + v.Name + ", which is no scalar"
		}
		if taken.Has(v) {
			return "its context has " + v.Name + ", whose address is taken"
		}
		x.captured = append(x.captured, v)
	}
	return ""
}

// split returns what declares the number of contexts, the body of f that stores them, and the loop
// over them.
func (x *deferral) split() (count, body, loop []ir.Stmt) {
	at := x.g.At
	x.count = x.Local("deferred", ir.IntType, at)
	if x.ofTeam {
		x.inTeamMemory()
		x.Decide(at, "loop "+x.g.Var.Name, "a loop of the team behind each block of loop "+x.f.Var.Name, "nested(cta) says so", "nested(inline)")
		return nil, x.storing(), nil
	}
	x.inDeviceMemory()
	why := "nested(host) says so"
	if x.g.Directive.Nested.Kind == ir.NestedAuto {
		why = "those of " + strconv.Itoa(teamRow) + " iterations or more would hold up the other lanes"
	}
	x.Decide(at, "loop "+x.g.Var.Name, "a loop behind loop "+x.f.Var.Name+", whose teams share out the long ones", why, "nested(inline)")
	var zero ir.Expr // device memory begins as zero
	if x.loops > 0 {
		zero = build.Int(0, at)
	}
	d := x.f.Directive
	c := x.Local("context", ir.IntType, at)
	later := &ir.For{Label: x.f.Label, Var: c, Lo: build.Int(0, at), Step: build.Int(1, at), Rel: ir.Lt, Body: x.later(c), At: x.f.At,
		Hi:        build.IntMath(ir.IMin, build.Ref(x.count, at), x.room),
		Directive: &ir.Directive{Parts: ir.Teams | ir.Distribute, Text: d.Text, At: d.At, Sharing: ir.Sharing{Shared: d.Shared, Reductions: d.Reductions}, ThreadLimit: build.Int(teamLanes, at)}}
	loop = x.CopyOf([]ir.Stmt{later}, &x.Kernel.NumVars)
	if most := x.mostTrips(); most != nil { // of slices too short for a long loop nothing waits
		loop = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Ge, most, build.Int(x.least(), at), at), Then: loop, At: at}}
	}
	return []ir.Stmt{build.Decl(x.count, zero, at)}, x.storing(), loop
}

// least is the trip count from which a nested loop waits, where no clause says more.
func (x *deferral) least() int64 {
	switch {
	case x.g.Directive.Nested.Kind == ir.NestedAuto:
		return teamRow
	case x.g.Directive.If != nil:
		return 1
	}
	return shortRow + 1
}

// mostTrips is how many iterations the nested loop can have, as its indices stay in slices; nil
// where nothing tells at the launch.
func (x *deferral) mostTrips() ir.Expr {
	if step, ok := query.Int64(x.g.Step); !ok || step != 1 || x.g.Rel != ir.Lt || x.g.Directive.If != nil && x.g.Directive.Nested.Kind != ir.NestedAuto {
		return nil
	}
	return indexedBy(x.g, x.f.Body)
}

// inDeviceMemory places the contexts: one for each iteration of f, or for each nested loop that is
// long enough where their indices together are those of a slice.
func (x *deferral) inDeviceMemory() {
	at := x.g.At
	room := build.Trips(x.f, build.ToInt(x.f.Lo), build.ToInt(x.f.Hi), build.ToInt(x.f.Step))
	known := ofParams(room)
	if most := x.mostTrips(); known && most != nil {
		long := &ir.Binary{Op: ir.Div, X: most, Y: build.Int(x.least(), at), T: ir.IntType, At: at}
		room = build.IntMath(ir.IMin, room, build.Binary(ir.Add, long, build.Int(1, at), at))
	}
	x.room = build.IntMath(ir.IMax, room, build.Int(1, at))
	if !known {
		x.room = build.Int(roomUnknown, at)
	}
	for _, v := range x.captured {
		c := x.Local(v.Name+"Context", ir.ArrayOf(v.Type, math.MaxInt32), v.At)
		x.memory, x.rooms[c] = append(x.memory, c), x.room
		x.contexts = append(x.contexts, build.Decl(c, nil, v.At))
	}
}

// ofParams reports whether e is made of parameters and constants alone.
func ofParams(e ir.Expr) bool {
	return query.LoadFree(e) && !slices.ContainsFunc(ir.ExprVars(e).List(), func(v *ir.Var) bool { return v.Space != ir.Param })
}

// storing is the body of f in which iterations whose nested loop deserves it store their context.
func (x *deferral) storing() []ir.Stmt {
	at := x.g.At
	mine := x.Local("context", ir.IntType, at)
	var store []ir.Stmt
	for i, v := range x.captured {
		store = append(store, build.Assign(build.Index(build.Ref(x.memory[i], at), build.Ref(mine, at), at), build.Ref(v, at), at))
	}
	store = append(store, &ir.Continue{Label: x.f.Label, At: at})
	return x.replaced([]ir.Stmt{
		&ir.If{Cond: x.deserves(), At: at, Then: []ir.Stmt{
			build.Decl(mine, nil, at),
			&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: build.Ref(x.count, at), Value: build.Int(1, at), Old: build.Ref(mine, at), At: at},
			&ir.If{Cond: build.Compare(ir.Lt, build.Ref(mine, at), x.room, at), Then: store, At: at},
		}},
		x.inPlace(),
	})
}

// deserves is the condition under which the nested loop waits.
func (x *deferral) deserves() ir.Expr {
	at, d := x.g.At, x.g.Directive
	trips := build.Trips(x.g, build.ToInt(x.g.Lo), build.ToInt(x.g.Hi), build.ToInt(x.g.Step))
	if d.If == nil || d.Nested.Kind == ir.NestedAuto {
		return build.Compare(ir.Ge, trips, build.Int(max(x.least(), shortRow+1), at), at)
	}
	return d.If
}

// inPlace is the nested loop of an iteration that does not wait.
func (x *deferral) inPlace() ir.Stmt {
	d := *x.g.Directive
	if d.Nested.Kind != ir.NestedAuto {
		d.If = nil
	}
	d.Nested = ir.Nested{Kind: ir.NestedLanes}
	c := *x.g
	c.Directive = &d
	return &c
}

// replaced is the body of f with list in the place of the nested loop.
func (x *deferral) replaced(list []ir.Stmt) []ir.Stmt {
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if g, ok := s.(*ir.For); ok && g.Var == x.g.Var {
			return list
		}
		return []ir.Stmt{s}
	}}).CopyStmts(x.f.Body)
}

// later is what a team does with context c: it shares out the nested loop, and then goes on as its
// iteration.
func (x *deferral) later(c *ir.Var) []ir.Stmt {
	at := x.g.At
	var body []ir.Stmt
	mine := map[*ir.Var]*ir.Var{}
	for i, v := range x.captured {
		own := x.Local(v.Name, v.Type, at)
		mine[v] = own
		body = append(body, build.Decl(own, build.Index(build.Ref(x.memory[i], at), build.Ref(c, at), at), at))
	}
	rest := slices.Concat(x.again, sharedByTeam(x.lowering, x.g), restByTeam(x.lowering, x.rest))
	return append(body, build.WithVars(mine).CopyStmts(rest)...)
}
