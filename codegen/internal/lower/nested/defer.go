// Package nested finds nested loops whose length memory decides, and chooses where they run: in
// place, by a team, or in a loop of the league that follows.
package nested

import (
	"math"
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// roomUnknown is the number of iterations of one loop that the loop after it can defer where their
// number is unknown at the launch; further ones run in place.
const roomUnknown = 1 << 16

// Defer moves nested loops into a loop after the enclosing loop, or after a part of it: an
// iteration with a long nested loop stores its context, which is everything that the rest of it
// needs, and its thread continues with the next iteration; then teams take contexts and share their
// nested loops. The host does not intervene between the two. With nested(host) the contexts of all
// teams lie in device memory, and the second loop is one of the league; with nested(cta) those of a
// team lie in its memory, and the team runs them itself after each block of iterations. With
// nested(auto) the longest loops are deferred to device memory, and the lanes of a warp share the
// others in place.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, sections
// 5.4.3, 5.5.1 and 5.5.3; differs: a context that does not fit runs in place, and no kernel is
// started for a bundle of a team.
//
// width, unless it is 0, is the number of lanes that share an iteration with a shorter loop. Defer
// returns the loops for which it can be another.
func Defer(l *mapping.Work, rooms map[*ir.Var]ir.Expr, gpu *target.Target, width target.Width) []Varied {
	chooseNested(l)
	before := mapping.NewWork(l.Kernel, "counts of lengths")
	d := &deferrals{Work: l, rooms: rooms, gpu: gpu, width: width}
	body := d.list(l.Kernel.Body)
	l.Kernel.Body = append(d.contexts, body...)
	if len(d.varied) > 0 {
		d.varied[0].Uncounted = Count(before)
	}
	for i := range d.varied {
		d.varied[i].Uncounted = d.varied[0].Uncounted
	}
	return d.varied
}

// deferrals are the nested loops of a kernel that are deferred.
type deferrals struct {
	*mapping.Work
	gpu      *target.Target
	rooms    map[*ir.Var]ir.Expr // of the memory for contexts: how much there is
	contexts []ir.Stmt           // declarations of the memory for contexts
	loops    int                 // sequential ones around the statement
	width    target.Width        // lanes of an iteration; 0: the model's
	varied   []Varied
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

// loop returns f and, for each nested loop that it defers, the loop that runs the deferred part.
func (d *deferrals) loop(f *ir.For) []ir.Stmt {
	if f.Directive == nil {
		c := *f
		c.Body = d.inLoop(f.Body)
		return []ir.Stmt{&c}
	}
	if !forms.ForThreads(f) {
		return []ir.Stmt{f}
	}
	first := *f
	s := d.sieveOf(f)
	var before, behind []ir.Stmt
	var ofTeam []*deferral
	var deferred []*ir.For // no iteration with a long one continues
	for {
		x := &deferral{deferrals: d, f: &first, sifted: s != nil}
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
			first.Body = x.replaced([]ir.Stmt{x.inPlace(ir.Nested{Kind: ir.NestedLanes})})
			continue
		}
		if short := func(e *ir.For) bool { return asLongAs(f.Body, e, x.g) }; kind == ir.NestedAuto && slices.ContainsFunc(deferred, short) {
			first.Body = x.replaced([]ir.Stmt{x.inPlace(x.byWidth(x.forGroups()))})
			continue
		}
		count, own, loop := x.split()
		if kind == ir.NestedAuto && x.sure {
			deferred = append(deferred, x.g)
		}
		first.Body = own
		if x.ofTeam {
			ofTeam = append(ofTeam, x)
		}
		before, behind = append(before, count...), append(behind, loop...)
	}
	if len(ofTeam) > 0 {
		return append(before, append([]ir.Stmt{inBlocks(d.Work, &first, ofTeam, d.gpu.Tuning.Lanes.Threads)}, behind...)...)
	}
	if s != nil {
		if sifted := s.apply(&first); sifted != nil {
			return append(append(before, sifted), behind...)
		}
	}
	return append(append(before, &first), behind...)
}

// A deferral is one nested loop of f that is deferred.
type deferral struct {
	*deferrals
	f, g     *ir.For
	rest     []ir.Stmt // what an iteration does behind g
	captured []*ir.Var
	again    []ir.Stmt // slices and values that are made again of what is captured
	ofTeam   bool      // the team that met g runs it
	sifted   bool      // threads run iterations up to their nested loops
	count    *ir.Var   // of contexts
	room     ir.Expr   // number of contexts that there is memory for
	sure     bool      // which is one for each iteration
	memory   []*ir.Var // of the contexts, by captured
}

// find returns the first loop to defer in list; rest is the code of an iteration after list.
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

// refusal returns the reason why g cannot be deferred; "" where it can.
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
	if jumpsFrom(own, x.f.Label) {
		return "what follows it leaves a block that it stands in"
	}
	for _, v := range ir.Free(own).List() {
		if r := forms.SliceOf(x.f.Body, v); r != nil {
			own = append([]ir.Stmt{build.Assign(build.Ref(v, v.At), r, v.At)}, own...) // it needs the bounds
		}
	}
	taken := ir.AddressTaken(x.f.Body)
	for _, v := range ir.Free(own).List() {
		if !inner.Has(v) {
			continue
		}
		if init := x.constantBefore(v); init != nil && !taken.Has(v) {
			x.again = append(x.again, build.Decl(v, init, v.At))
			continue
		}
		if r := forms.SliceOf(x.f.Body, v); r != nil {
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

// jumpsFrom reports whether list, or a part of it, jumps to a label that is neither in it nor own.
func jumpsFrom(list []ir.Stmt, own *ir.Label) bool {
	inside, out := map[*ir.Label]bool{own: true}, false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if l := ir.LabelOf(s); l != nil {
			inside[l] = true
		}
		switch s := s.(type) {
		case *ir.Break:
			out = out || !inside[s.Label]
		case *ir.Continue:
			out = out || !inside[s.Label]
		}
		return !out
	})
	return out
}

// constantBefore returns the constant that v of an iteration holds in front of g; nil where it
// holds another value.
func (x *deferral) constantBefore(v *ir.Var) ir.Expr {
	var init ir.Expr
	declared := 0
	assigned := func(list []ir.Stmt) (n int) {
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				if s.Var == v {
					init, declared = s.Init, declared+1
					if init == nil && v.Type.IsScalar() {
						init = build.Zero(v.Type, v.At)
					}
				}
			case *ir.Call, *ir.Atomic:
				if ir.Assigned([]ir.Stmt{s}).Has(v) {
					declared++
				}
			case *ir.Assign:
				if ir.RootVar(s.Place) == v {
					n++
				}
			}
			return true
		})
		return n
	}
	behind := assigned(append([]ir.Stmt{x.g}, x.rest...))
	if all := assigned(x.f.Body); all != behind || declared != 1 || init == nil || !forms.IsConst(init) {
		return nil
	}
	return init
}

// split returns the declarations of the numbers of contexts, the body of f that stores contexts,
// and the loops over them.
func (x *deferral) split() (count, body, loop []ir.Stmt) {
	at := x.g.At
	if x.ofTeam {
		x.inTeamMemory()
		x.Decide(at, "loop "+x.g.Var.Text(), "a loop of the team behind each block of loop "+x.f.Var.Text(), "nested(cta) says so", "nested(inline)")
		return nil, x.storing(), nil
	}
	var zero ir.Expr // device memory begins as zero
	if x.loops > 0 {
		zero = build.Int(0, at)
	}
	x.inDeviceMemory()
	x.explain()
	return []ir.Stmt{build.Decl(x.count, zero, at)}, x.storing(), x.behind()
}

func (x *deferral) explain() {
	at, name := x.g.At, "loop "+x.g.Var.Text()
	why := "those of " + strconv.Itoa(forms.TeamRow) + " iterations or more would hold up the other lanes"
	if x.g.Directive.Nested.Kind != ir.NestedAuto {
		why = "nested(host) says so"
	}
	x.Decide(at, name, "a loop behind loop "+x.f.Var.Text()+", whose teams share out the long ones", why, "nested(inline)")
}

// behind is the loop over the contexts. It is left out where no slice is long enough.
func (x *deferral) behind() []ir.Stmt {
	at, d := x.g.At, x.f.Directive
	c := x.Local("context", ir.IntType, at)
	later := &ir.For{Label: x.f.Label, Var: c, Lo: build.Int(0, at), Hi: x.stored(), Step: build.Int(1, at), Rel: ir.Lt, Body: x.later(c), At: x.f.At,
		Directive: &ir.Directive{Parts: ir.Teams | ir.Distribute, Text: d.Text, At: d.At, Sharing: ir.Sharing{Shared: d.Shared, Reductions: d.Reductions},
			ThreadLimit: build.Int(forms.TeamLanes, at)}}
	loop := x.CopyOf([]ir.Stmt{later}, &x.Kernel.NumVars)
	if most := x.mostTrips(); most != nil {
		loop = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Ge, most, build.Int(x.least(), at), at), Then: loop, At: at}}
	}
	return loop
}

// least is the trip count from which a nested loop is deferred, unless a clause sets another.
func (x *deferral) least() int64 {
	switch {
	case x.g.Directive.Nested.Kind == ir.NestedAuto && x.byThread():
		return forms.ShortRow + 1
	case x.g.Directive.Nested.Kind == ir.NestedAuto:
		return forms.TeamRow
	case x.g.Directive.If != nil:
		return 1
	}
	return forms.ShortRow + 1
}

// mostTrips is the largest number of iterations of the nested loop for which its indices stay in
// slices; nil where the launch does not determine it.
func (x *deferral) mostTrips() ir.Expr {
	if step, ok := query.Int64(x.g.Step); !ok || step != 1 || x.g.Rel != ir.Lt || x.g.Directive.If != nil && x.g.Directive.Nested.Kind != ir.NestedAuto {
		return nil
	}
	return forms.IndexedBy(x.g, x.f.Body)
}

// stored is the number of contexts.
func (x *deferral) stored() ir.Expr {
	if x.sure {
		return build.Ref(x.count, x.g.At)
	}
	return build.IntMath(ir.IMin, build.Ref(x.count, x.g.At), x.room)
}

// inDeviceMemory places the contexts: one for each iteration of f, so that none lacks room, where
// the launch knows their number.
func (x *deferral) inDeviceMemory() {
	at := x.g.At
	room := build.Trips(x.f, build.ToInt(x.f.Lo), build.ToInt(x.f.Hi), build.ToInt(x.f.Step))
	x.count, x.sure = x.Local("deferred", ir.IntType, at), ofParams(room)
	x.room = build.IntMath(ir.IMax, room, build.Int(1, at))
	if !x.sure {
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

// storing is the body of f in which iterations with a long nested loop store their context.
func (x *deferral) storing() []ir.Stmt {
	at, d := x.g.At, x.g.Directive
	deserves, how := d.If, ir.Nested{Kind: ir.NestedLanes}
	if deserves == nil || d.Nested.Kind == ir.NestedAuto {
		deserves = build.Compare(ir.Ge, x.trips(), build.Int(max(x.least(), forms.ShortRow+1), at), at)
	}
	if d.Nested.Kind == ir.NestedAuto {
		how = x.byWidth(x.sure && x.forGroups())
	}
	return x.replaced([]ir.Stmt{&ir.If{Cond: deserves, At: at, Then: x.store()}, x.inPlace(how)})
}

func (x *deferral) trips() ir.Expr {
	return build.Trips(x.g, build.ToInt(x.g.Lo), build.ToInt(x.g.Hi), build.ToInt(x.g.Step))
}

// store stores the context of an iteration, and continues with the next iteration if the context
// fits.
func (x *deferral) store() []ir.Stmt {
	at := x.g.At
	take, mine := number(x.Work, x.count, at)
	var store []ir.Stmt
	for i, v := range x.captured {
		store = append(store, build.Assign(build.Index(build.Ref(x.memory[i], at), mine(), at), build.Ref(v, at), at))
	}
	store = append(store, &ir.Continue{Label: x.f.Label, At: at})
	if !x.sure {
		store = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, mine(), x.room, at), Then: store, At: at}}
	}
	return append(take, store...)
}

// number takes the next number of a context from count, and returns the statements and the number.
// GPUs add to 32 bits of team memory in one instruction, and to 64 in a loop.
func number(l *mapping.Work, count *ir.Var, at ir.Pos) (take []ir.Stmt, mine func() ir.Expr) {
	v := l.Local("context", count.Type, at)
	one := &ir.Const{T: count.Type, Bits: 1, At: at}
	take = []ir.Stmt{build.Decl(v, nil, at), &ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: build.Ref(count, at), Value: one, Old: build.Ref(v, at), At: at}}
	return take, func() ir.Expr { return build.ToInt(build.Ref(v, at)) }
}

// inPlace is the nested loop of an iteration that does not defer it.
func (x *deferral) inPlace(how ir.Nested) ir.Stmt {
	d := *x.g.Directive
	if d.Nested.Kind != ir.NestedAuto {
		d.If = nil
	}
	d.Nested = how
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

// later is the code of a team for context c: the team shares the nested loop, and then continues
// the iteration.
func (x *deferral) later(c *ir.Var) []ir.Stmt {
	at := x.g.At
	var body []ir.Stmt
	mine := map[*ir.Var]*ir.Var{}
	for i, v := range x.captured {
		own := x.Local(v.Name, v.Type, at)
		mine[v] = own
		body = append(body, build.Decl(own, build.Index(build.Ref(x.memory[i], at), build.Ref(c, at), at), at))
	}
	g := sharedByTeam(x.Work, x.g, x.g.Directive.Nested.Kind == ir.NestedAuto)
	rest := slices.Concat(x.again, g, restByTeam(x.Work, x.rest))
	return append(body, build.WithVars(mine).CopyStmts(rest)...)
}

func groupDirective(d *ir.Directive, kind ir.NestedKind) *ir.Directive {
	own := *d
	own.Nested, own.If = ir.Nested{Kind: kind}, nil
	return &own
}

// forGroups reports whether each iteration of f, or what a sieve leaves of it, can belong to a
// group of lanes: all lanes run its computations and share the nested loops, and one lane runs the
// statements that change memory.
func (x *deferral) forGroups() bool {
	if len(ir.AddressTaken(x.f.Body).List()) > 0 {
		return false
	}
	own := ir.Declared(x.f.Body)
	if x.sifted {
		_, rest := split(x.f.Body, nil)
		return x.inGroups(rest, own)
	}
	return x.inGroups(x.f.Body, own)
}

func (x *deferral) inGroups(list []ir.Stmt, own *ir.VarSet) bool {
	list = forms.Flat(list)
	last := len(list) - 1
	for last >= 0 && !containsNested(list[last]) {
		last--
	}
	for i := 0; i <= last; i++ {
		switch s := list[i].(type) {
		case *ir.For:
			if !forms.IsNestedLoop(s) || !x.groupable(s) {
				return false
			}
		case *ir.If:
			if containsNested(s) && (i < last || !x.inGroups(s.Then, own) || !x.inGroups(s.Else, own)) || !containsNested(s) && !forms.LeavesOnly(s, own) {
				return false
			}
		default:
			if !forms.Computes(s, own) {
				return false
			}
		}
	}
	return true
}

func containsNested(s ir.Stmt) bool {
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		found = found || ok && forms.IsNestedLoop(f)
		return !found
	})
	return found
}

// groupable reports whether a group of lanes can share nested loop g.
func (x *deferral) groupable(g *ir.For) bool {
	step, ok := query.Int64(g.Step)
	if !ok || step != 1 || g.Rel != ir.Lt || !g.Var.Type.IsInteger() || g.Var.Type.Kind == ir.Uint64 || query.LeavesLoop(g) || query.JumpsOut(g) {
		return false
	}
	into := &ir.VarSet{}
	for _, r := range g.Directive.Reductions {
		place, ok := r.Place.(*ir.Ref)
		if !ok || r.Index != nil || place.Var.Space != ir.Local || place.Var.Type.Size < 4 || !place.Var.Type.IsInteger() && !place.Var.Type.IsFloat() {
			return false
		}
		switch r.Op {
		case ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor:
		default:
			return false
		}
		into.Add(place.Var)
	}
	inner := ir.Declared(x.f.Body)
	inside := ir.Declared(g.Body)
	inside.Add(g.Var)
	for _, v := range ir.Assigned(g.Body).List() {
		if inner.Has(v) && !inside.Has(v) && !into.Has(v) {
			return false
		}
	}
	return true
}

// InThread is nested loop g under directive d, of any number of iterations, as one thread runs it:
// floats are added in the same order as by lanes and teams.
func InThread(l *mapping.Work, g *ir.For, d *ir.Directive) []ir.Stmt {
	own := *g
	own.Directive = groupDirective(d, ir.NestedInline)
	if step, ok := query.Int64(g.Step); !forms.AddsFloats(d.Reductions) || !ok || step != 1 || g.Rel != ir.Lt {
		return []ir.Stmt{&own}
	}
	r := &threadRowSum{Work: l, g: &own, reductions: d.Reductions, at: g.At}
	return []ir.Stmt{&ir.Block{Body: r.run(), At: g.At}}
}

// A threadRowSum is a nested loop with a sum of floats that one thread runs. Virtual lanes come one
// after the other, in the order in which halves of a block of them meet: a stack holds the sums of
// unpaired halves. It runs where a context does not fit, and on devices without warps: a While is
// not unrolled, so that it takes no registers from the usual path.
type threadRowSum struct {
	*mapping.Work
	g          *ir.For
	reductions []ir.Reduction
	at         ir.Pos

	from, to, step, block, turn *ir.Var
	sums, stacks, totals        []*ir.Var
}

// stackDepth is the number of times that a block of forms.ShortRow lanes is halved, and one;
// shallow that of forms.ShortLanes lanes.
const (
	stackDepth = 6
	shallow    = 4
)

func (r *threadRowSum) ref(v *ir.Var) ir.Expr { return build.Ref(v, r.at) }

func (r *threadRowSum) int(n int64) ir.Expr { return build.Int(n, r.at) }

func (r *threadRowSum) run() []ir.Stmt {
	at := r.at
	local := func(name string) *ir.Var { return r.Local(name, ir.IntType, at) }
	r.from, r.to, r.step, r.block, r.turn = local("from"), local("to"), local("step"), local("block"), local("turn")
	n := build.Binary(ir.Sub, r.ref(r.to), r.ref(r.from), at)
	lanes := build.Choose(build.Compare(ir.Ge, n, r.int(forms.TeamRow), at), r.int(forms.TeamLanes), r.int(forms.ShortLanes), at)
	out := []ir.Stmt{build.Decl(r.from, build.ToInt(r.g.Lo), at), build.Decl(r.to, build.ToInt(r.g.Hi), at), build.Decl(r.step, lanes, at)}
	var add []ir.Stmt
	out = append(out, r.ownCopies()...)
	for _, x := range r.reductions {
		v := x.Place.(*ir.Ref).Var
		total, stack := r.Local(v.Name+"Total", v.Type, at), r.Local(v.Name+"Halves", ir.ArrayOf(v.Type, stackDepth), at)
		r.totals, r.stacks, r.sums = append(r.totals, total), append(r.stacks, stack), append(r.sums, r.Local(v.Name+"Part", v.Type, at))
		out = append(out, build.Decl(total, build.Identity(x.Op, v.Type, at), at), build.Decl(stack, nil, at))
		add = append(add, build.Assign(r.ref(v), build.Combine(x.Op, r.ref(v), r.ref(total), at), at))
	}
	blocks := &ir.For{Label: &ir.Label{}, Var: r.block, Lo: r.int(0), Hi: r.ref(r.step), Step: r.int(forms.ShortRow), Rel: ir.Lt, Unroll: 1, Body: r.inBlock(), At: at}
	return append(append(out, blocks), add...)
}

// ownCopies gives the loop its own copies of its private variables.
func (r *threadRowSum) ownCopies() []ir.Stmt {
	var out []ir.Stmt
	own := map[*ir.Var]*ir.Var{}
	for _, v := range slices.Concat(r.g.Directive.Firstprivate, r.g.Directive.Private) {
		c := r.Local(v.Name, v.Type, r.at)
		own[v] = c
		var init ir.Expr
		if slices.Contains(r.g.Directive.Firstprivate, v) {
			init = r.ref(v)
		}
		out = append(out, build.Decl(c, init, r.at))
	}
	if len(own) > 0 {
		c := *r.g
		c.Body = build.WithVars(own).CopyStmts(r.g.Body)
		r.g = &c
	}
	return out
}

// inBlock adds a block of virtual lanes up and combines it with the blocks before.
func (r *threadRowSum) inBlock() []ir.Stmt {
	at := r.at
	most := build.IntMath(ir.IMin, r.ref(r.step), r.int(forms.ShortRow))
	turns := &ir.For{Label: &ir.Label{}, Var: r.turn, Lo: r.int(0), Hi: most, Step: r.int(1), Rel: ir.Lt, Unroll: 1, Body: r.inLane(), At: at}
	out := []ir.Stmt{turns}
	first := build.Compare(ir.Eq, r.ref(r.block), r.int(0), at)
	for i, x := range r.reductions {
		top := build.Choose(build.Compare(ir.Eq, r.ref(r.step), r.int(forms.ShortLanes), at), build.Index(r.ref(r.stacks[i]), r.int(shallow-1), at),
			build.Index(r.ref(r.stacks[i]), r.int(stackDepth-1), at), at)
		out = append(out, build.Assign(r.ref(r.totals[i]), build.Choose(first, top, build.Combine(x.Op, r.ref(r.totals[i]), build.Copy(top), at), at), at))
	}
	return out
}

// inLane adds one virtual lane up, and combines it with what waits for it.
func (r *threadRowSum) inLane() []ir.Stmt {
	at := r.at
	lane, k, level, left := r.Local("lane", ir.IntType, at), r.Local("k", ir.IntType, at), r.Local("level", ir.IntType, at), r.Local("left", ir.IntType, at)
	binary := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType, At: at} }
	var reversed ir.Expr // the bits of the turn in the other direction
	for bit := range int64(stackDepth - 1) {
		one := binary(ir.And, binary(ir.Shr, r.ref(r.turn), r.int(bit)), r.int(1))
		moved := binary(ir.Shl, one, r.int(stackDepth-2-bit))
		if reversed == nil {
			reversed = moved
		} else {
			reversed = binary(ir.Or, reversed, moved)
		}
	}
	few := build.Compare(ir.Eq, r.ref(r.step), r.int(forms.ShortLanes), at)
	reversed = binary(ir.Shr, reversed, build.Choose(few, r.int(stackDepth-shallow), r.int(0), at))
	out := []ir.Stmt{build.Decl(lane, build.Binary(ir.Add, r.ref(r.block), reversed, at), at)}
	own := map[*ir.Var]*ir.Var{}
	var pop, push []ir.Stmt
	for i, x := range r.reductions {
		v := x.Place.(*ir.Ref).Var
		own[v] = r.sums[i]
		out = append(out, build.Decl(r.sums[i], build.Identity(x.Op, v.Type, at), at))
		waits := func() ir.Expr { return build.Index(r.ref(r.stacks[i]), r.ref(level), at) }
		pop = append(pop, build.Assign(r.ref(r.sums[i]), build.Combine(x.Op, waits(), r.ref(r.sums[i]), at), at))
		push = append(push, build.Assign(waits(), r.ref(r.sums[i]), at))
	}
	body := forms.Widened(r.CopyOf(build.WithVars(own).CopyStmts(r.g.Body), &r.Kernel.NumVars), r.g.Var, k)
	loop := &ir.While{Label: r.g.Label, Cond: build.Compare(ir.Lt, r.ref(k), r.ref(r.to), at), Body: body, At: at,
		Post: []ir.Stmt{build.Assign(r.ref(k), build.Binary(ir.Add, r.ref(k), r.ref(r.step), at), at)}}
	out = append(out, build.Decl(k, build.Binary(ir.Add, r.ref(r.from), r.ref(lane), at), at))
	half := build.Assign(r.ref(left), binary(ir.Shr, r.ref(left), r.int(1)), at)
	up := build.Assign(r.ref(level), build.Binary(ir.Add, r.ref(level), r.int(1), at), at)
	odd := build.Compare(ir.Ne, binary(ir.And, r.ref(left), r.int(1)), r.int(0), at)
	out = append(out, loop, build.Decl(level, r.int(0), at), build.Decl(left, r.ref(r.turn), at),
		&ir.While{Label: &ir.Label{}, Cond: odd, Body: append(pop, up, half), At: at})
	return append(out, push...)
}
