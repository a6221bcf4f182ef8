package lower

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/order"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An item is one reduced place with its private copy.
type item struct {
	ir.Reduction
	acc, idx *ir.Var // the copy, of the place's type; idx for MinLoc and MaxLoc
	lo, n    int64   // the reduced part of a fixed array, in scalars; n is 0 for a scalar

	part, idxPart part // where the teams store their values
}

// reductions are the reductions of one construct.
type reductions struct {
	items     []item
	decls     []ir.Stmt // of the copies
	perThread bool      // each thread has its own result
	league    bool      // the results of the teams are combined
	inBlocks  bool      // in the order of package order
	blocks    *blocks   // the loop, if inBlocks is set
}

// maxWarps is the maximum number of warps of a team that uses shuffles, and maxTeam the maximum
// number of threads of any team.
const (
	maxWarps = 32
	maxTeam  = 1024
)

// startReductions creates the copies, initialised with the identity, and inserts them into body.
func (l *lowering) startReductions(list []ir.Reduction, body *[]ir.Stmt, at ir.Pos) *reductions {
	out := &reductions{}
	c := &copies{lowering: l, at: at, vars: map[*ir.Var]*ir.Var{}, parts: map[*ir.Var][][2]int64{}}
	for _, r := range list {
		it := item{Reduction: r}
		whole := l.reducedPlace(&it)
		if whole == nil {
			continue
		}
		it.Place = whole
		if it.acc = c.shared(whole, &it); it.acc == nil {
			it.acc = c.add(whole, startValue(it.Op, whole.Type(), at))
		}
		c.part(&it)
		if r.Index != nil {
			it.idx = c.add(r.Index, build.Identity(ir.Min, r.Index.Type(), at))
		}
		out.items = append(out.items, it)
	}
	out.decls = c.decls
	if len(out.items) > 0 {
		*body = c.rewrite(*body)
	}
	return out
}

// copies are the private copies of the reduced places of one construct.
type copies struct {
	*lowering
	at    ir.Pos
	decls []ir.Stmt
	vars  map[*ir.Var]*ir.Var    // of places that are variables
	other []placeCopy            // of other places, such as *p
	parts map[*ir.Var][][2]int64 // of arrays: the parts that the copy represents
}

// shared returns the copy of an array of which another part is already reduced, after adding the
// initial value of this part.
func (c *copies) shared(place ir.Expr, it *item) *ir.Var {
	r, ok := place.(*ir.Ref)
	if !ok || c.vars[r.Var] == nil {
		return nil
	}
	acc := c.vars[r.Var]
	for _, s := range c.decls {
		if d := s.(*ir.Decl); d.Var == acc {
			start := startValue(it.Op, place.Type(), c.at).(*ir.Composite)
			lo, hi := it.elements()
			copy(d.Init.(*ir.Composite).Elems[lo:hi], start.Elems[lo:])
		}
	}
	return acc
}

// part records the elements of an array that it combines.
func (c *copies) part(it *item) {
	if v := query.RefVar(it.Place); v != nil && it.n > 0 {
		lo, hi := it.elements()
		c.parts[v] = append(c.parts[v], [2]int64{lo, hi})
	}
}

// elements returns the range of array elements, which may be arrays, that it combines.
func (it *item) elements() (lo, hi int64) {
	each := scalarsIn(it.Place.Type().Elem)
	return it.lo / each, (it.lo + it.n) / each
}

type placeCopy struct {
	place ir.Expr
	acc   *ir.Var
}

func (c *copies) add(place, init ir.Expr) *ir.Var {
	name := "part"
	if root := ir.RootVar(place); root != nil {
		name = root.Name
	}
	v := c.Local(name, place.Type(), c.at)
	c.decls = append(c.decls, build.Decl(v, init, c.at))
	if r, ok := place.(*ir.Ref); ok {
		c.vars[r.Var] = v
	} else {
		c.other = append(c.other, placeCopy{place, v})
	}
	return v
}

// rewrite returns list with the places replaced by their copies. An array element outside the
// combined parts is not replaced.
func (c *copies) rewrite(list []ir.Stmt) []ir.Stmt {
	stays := map[*ir.Var]*ir.Var{} // names for the arrays themselves, whose names the copies take
	apart := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		for _, o := range c.other {
			if query.Same(e, o.place) {
				return build.Ref(o.acc, e.Pos())
			}
		}
		x, ok := e.(*ir.Index)
		if v := refVarOf(x, ok); v != nil && c.beside(v, x.I) {
			if stays[v] == nil {
				name := *v
				stays[v] = &name
			}
			return &ir.Index{X: build.Ref(stays[v], x.At), I: x.I, Checked: x.Checked, At: x.At}
		}
		return e
	}}
	list = apart.CopyStmts(list)
	to := maps.Clone(c.vars)
	for v, name := range stays {
		to[name] = v
	}
	return build.WithVars(to).CopyStmts(list)
}

func refVarOf(x *ir.Index, ok bool) *ir.Var {
	if !ok {
		return nil
	}
	return query.RefVar(x.X)
}

// beside reports whether element i of v is in none of the combined parts.
func (c *copies) beside(v *ir.Var, i ir.Expr) bool {
	at, ok := query.Int64(i)
	return ok && len(c.parts[v]) > 0 && !slices.ContainsFunc(c.parts[v], func(p [2]int64) bool { return p[0] <= at && at < p[1] })
}

// reducedPlace returns the place that the copy represents: a whole array even if only a part of it
// is reduced.
func (l *lowering) reducedPlace(it *item) ir.Expr {
	place := it.Place
	if rs, ok := place.(*ir.Reslice); ok {
		lo, okLo := query.Int64(forms.OrZero(rs.Lo))
		hi, okHi := int64(0), false
		if rs.X.Type().Kind == ir.Array {
			hi, okHi = rs.X.Type().Len, true
			if rs.Hi != nil {
				hi, okHi = query.Int64(rs.Hi)
			}
		}
		if !okLo || !okHi {
			panic("gompss: bug: the front end let a reduction of a part pass that is not constant")
		}
		each := scalarsIn(rs.X.Type().Elem)
		it.lo, it.n = lo*each, (hi-lo)*each
		return rs.X
	}
	if t := place.Type(); t.Kind == ir.Array {
		it.n = scalarsIn(t)
	} else if !t.IsScalar() {
		panic("gompss: bug: the front end let a reduction of type " + typeName(t) + " pass")
	}
	return place
}

// scalarsIn returns the number of scalars in a scalar, an array or an array of arrays; scalarOf
// returns their type.
func scalarsIn(t *ir.Type) int64 {
	if t.Kind != ir.Array {
		return 1
	}
	return t.Len * scalarsIn(t.Elem)
}

func scalarOf(t *ir.Type) *ir.Type {
	for t.Kind == ir.Array {
		t = t.Elem
	}
	return t
}

// scalarAt returns scalar number e of array x, which may be an array of arrays.
func scalarAt(x, e ir.Expr, at ir.Pos) ir.Expr {
	elem := x.Type().Elem
	if elem.Kind != ir.Array {
		return build.Index(x, e, at)
	}
	each := build.Int(scalarsIn(elem), at)
	part := func(op ir.Op) ir.Expr { return &ir.Binary{Op: op, X: e, Y: each, T: ir.IntType, At: at} }
	return scalarAt(build.Index(x, part(ir.Div), at), part(ir.Rem), at)
}

// startValue returns a value of type t that consists of identities of op.
func startValue(op ir.Op, t *ir.Type, at ir.Pos) ir.Expr {
	if t.Kind != ir.Array {
		return build.Identity(op, t, at)
	}
	c := &ir.Composite{T: t, At: at}
	for range t.Len {
		c.Elems = append(c.Elems, startValue(op, t.Elem, at))
	}
	return c
}

// scalar is one value to combine over a team: it is in acc (and idx) of every thread.
type scalar struct {
	op       ir.Op
	acc, idx *ir.Var
	n        int  // distinguishes the slots of one construct
	lanes    bool // a slot for each lane of the blocks of a group
}

// combiner combines the parts of reductions over the threads of a team and over the teams.
type combiner struct {
	*teamLaunch
	*placement
	*barriers
	*leader
	last *ir.If // the code of the last team after the latest reduction over the league
}

// The contents of the slots of a reduction.
const (
	slotValue = "reduce"
	slotIndex = "reduce index"
)

func (c *combiner) accSlot(s scalar, at ir.Pos) *ir.Var {
	return c.slots(slotValue, s, s.acc.Type, at)
}

func (c *combiner) idxSlot(s scalar, at ir.Pos) *ir.Var {
	return c.slots(slotIndex, s, s.idx.Type, at)
}

// slotOf names the slots of the values, or the indices, of one sum.
func slotOf(what string, elem *ir.Type, n int) crews.Slot {
	return crews.Slot{What: what, Kind: elem.Kind, N: n}
}

// slots returns the team memory with a value for each lane of s, or for each thread or warp. Loops
// of a launch that combine one after the other share it.
func (c *combiner) slots(what string, s scalar, elem *ir.Type, at ir.Pos) *ir.Var {
	typ := c.slotType(elem)
	if s.lanes {
		typ = ir.ArrayOf(elem, order.LastLanes)
	}
	v := c.Slot(slotOf(what, elem, s.n), typ, "slots", at)
	if typ.Size > v.Type.Size {
		v.Type = typ
	}
	return v
}

func (c *combiner) slotType(elem *ir.Type) *ir.Type {
	if c.Shuffles() {
		return ir.ArrayOf(elem, maxWarps)
	}
	if n, ok := query.Int64(forms.OrZero(c.Launch.MaxThreads)); ok && n > 0 && n < maxTeam {
		return ir.ArrayOf(elem, (n+31)/32*32) // a team of whole warps may have more threads than requested
	}
	return ir.ArrayOf(elem, maxTeam)
}

// slotsOf returns the team memory that finishing r uses, so that it is available when the construct
// starts.
func (c *combiner) slotsOf(r *reductions) []*ir.Var {
	var out []*ir.Var
	if c.seg.whole != nil {
		return nil // its barriers separate the uses of the slots
	}
	for i, it := range r.items {
		s := scalar{op: it.Op, acc: it.acc, idx: it.idx, n: i, lanes: r.inBlocks}
		if it.n > 0 {
			s.acc = &ir.Var{Type: scalarOf(it.acc.Type)}
		}
		if !s.lanes {
			s.n = c.slotNumber(r.items, i)
		}
		out = append(out, c.accSlot(s, it.At))
		if it.idx != nil {
			out = append(out, c.idxSlot(s, it.At))
		}
	}
	return out
}

// allSlots is slotsOf for a parallel body and the worksharing loops in it, some of which may run in
// blocks.
func (c *combiner) allSlots(s *ir.Construct, r *reductions, inBlocks func(*ir.For) bool) []*ir.Var {
	out := c.slotsOf(r)
	ir.WalkStmts(s.Body, func(st ir.Stmt) bool {
		f, ok := st.(*ir.For)
		if !ok || f.Directive == nil || f.Directive.Parts&ir.Workshare == 0 {
			return true
		}
		var body []ir.Stmt
		red := c.lowering.startReductions(f.Directive.Reductions, &body, f.At)
		out = append(out, c.slotsOf(red)...)
		if inBlocks(f) {
			red.inBlocks = true
			out = append(out, c.slotsOf(red)...)
		}
		return true
	})
	return out
}

// finishReductions combines the copies and applies them to their places once. barrier returns a
// barrier.
func (c *combiner) finishReductions(r *reductions, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if len(r.items) == 0 {
		return nil
	}
	if own, others := c.mixed(r); len(own) > 0 {
		x, y := *r, *r
		x.items, y.items, x.league = own, others, false
		out := c.finishReductions(&x, at, barrier)
		return append(append(out, barrier(at)...), c.finishReductions(&y, at, barrier)...) // they use the same slots
	}
	c.sums.note(r)
	var out []ir.Stmt
	switch {
	case r.blocks != nil && r.blocks.by == byLeague:
		return r.blocks.finishLeague(barrier)
	case r.blocks != nil:
		out = r.blocks.finishTeam()
	case r.perThread:
		out = append(out, c.overTeam(r.items, at, barrier)...)
		c.Decide(at, "reduction", "over the team", how(c.Shuffles()), "")
	}
	if r.league && !c.Single && !c.ofTeam(r) {
		if c.lowering.opt.AtomicReductions && c.haveAtomics(r) {
			out = append(out, c.byAtomics(r, at)...)
		} else {
			out = append(out, c.overLeague(r, at, barrier)...)
		}
		if !r.perThread {
			out = c.called(nil, out, at)
		}
		return out
	}
	if c.Leads() && !r.perThread {
		return append(out, c.updates(r.items, at)...)
	}
	before := c.open.clone()
	apply := c.apply(r.items, at)
	if !r.perThread { // the combination contained no barrier
		x := c.Effects.Stmts(apply)
		c.open = before
		out = append(out, c.sync(x, true, at)...)
		c.open.solo.Add(x)
	}
	return append(out, apply...)
}

func how(shuffles bool) string {
	if shuffles {
		return "shuffles in each warp, then team memory"
	}
	return "a tree in team memory: teams need not be whole warps"
}

// overTeam sets the copy of every thread to the combination of all threads' copies.
func (c *combiner) overTeam(items []item, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if w := c.seg.whole; w != nil {
		return w.reduce(c, items, at, barrier)
	}
	var scalars []scalar
	var out []ir.Stmt
	for i, it := range items {
		if it.n == 0 {
			scalars = append(scalars, scalar{op: it.Op, acc: it.acc, idx: it.idx, n: c.slotNumber(items, i)})
		}
	}
	for len(scalars) > 0 {
		if len(out) > 0 {
			out = append(out, barrier(at)...) // they use the same slots
		}
		n := min(len(scalars), c.atOnce())
		out = append(out, c.combineTeam(scalars[:n], at, barrier)...)
		scalars = scalars[n:]
	}
	before := len(out) > 0 && len(items) > c.atOnce() // scalars have used the slots of arrays
	for i, it := range items {
		if it.n > 0 {
			if before {
				out = append(out, barrier(at)...)
				before = false // the loop over elements ends with a barrier
			}
			out = append(out, c.overElements(it, c.slotNumber(items, i), at, barrier)...)
		}
	}
	return out
}

// atOnce returns the number of values that a team combines together: their slots fill a quarter of
// its memory.
func (c *combiner) atOnce() int {
	slots := c.slotType(ir.Float64Type).Size
	return max(int(c.Device().Memory.StaticShared/4/slots), 1)
}

// slotNumber returns the number of the slots of items[i]. If there is no room for all, scalars that
// are combined together have different numbers, and arrays, which are combined one after the other,
// reuse those of finished scalars.
func (c *combiner) slotNumber(items []item, i int) int {
	if len(items) <= c.atOnce() {
		return i
	}
	n := 0
	for _, it := range items[:i] {
		if it.n == 0 {
			n++
		}
	}
	return n % c.atOnce()
}

// overElements combines an array copy element by element.
func (c *combiner) overElements(it item, n int, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	e := c.Local("e", ir.IntType, at)
	x := c.Local("x", scalarOf(it.acc.Type), at)
	place := func() ir.Expr { return scalarAt(build.Ref(it.acc, at), build.Ref(e, at), at) }
	body := []ir.Stmt{build.Decl(x, place(), at)}
	body = append(body, c.combineTeam([]scalar{{op: it.Op, acc: x, n: n}}, at, barrier)...)
	body = append(body, build.Assign(place(), build.Ref(x, at), at))
	body = append(body, barrier(at)...)
	return []ir.Stmt{elements(it, e, body, at)}
}

func elements(it item, e *ir.Var, body []ir.Stmt, at ir.Pos) ir.Stmt {
	return &ir.For{Label: &ir.Label{}, Var: e, Lo: build.Int(it.lo, at), Hi: build.Int(it.lo+it.n, at), Step: build.Int(1, at),
		Rel: ir.Lt, Body: body, At: at}
}

// combineTeam sets acc of every thread to the combination of all values, in the order of the
// threads. Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017,
// section 3.6.3; differs: every thread reads the warps' results, so one barrier suffices.
func (c *combiner) combineTeam(list []scalar, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if !c.Shuffles() {
		return c.tree(list, at, barrier)
	}
	c.Launch.Warps = true
	out := c.overWarp(list, at)
	warp := build.Binary(ir.Div, build.Query(ir.ThreadNum, at), build.Query(ir.WarpSize, at), at)
	var store []ir.Stmt
	for _, s := range list {
		store = append(store, c.toSlot(s, warp, at)...)
	}
	lead := build.Compare(ir.Eq, build.Query(ir.Lane, at), build.Int(0, at), at)
	out = append(out, &ir.If{Cond: lead, Then: store, At: at})
	out = append(out, barrier(at)...)
	w := c.Local("w", ir.IntType, at)
	var read, more []ir.Stmt
	for _, s := range list {
		read = append(read, c.fromSlot(s, build.Int(0, at), at)...)
		more = append(more, c.foldSlot(s, build.Ref(w, at), at)...)
		c.readSlot(s, at)
	}
	warps := build.Binary(ir.Div, build.Query(ir.NumThreads, at), build.Query(ir.WarpSize, at), at)
	loop := &ir.For{Label: &ir.Label{}, Var: w, Lo: build.Int(1, at), Hi: warps, Step: build.Int(1, at), Rel: ir.Lt, Body: more,
		At: at}
	return append(append(out, read...), loop)
}

// readSlot records that all threads read the slots after the last barrier.
func (c *combiner) readSlot(s scalar, at ir.Pos) {
	c.open.all.Reads.AddVar(c.accSlot(s, at))
	if s.idx != nil {
		c.open.all.Reads.AddVar(c.idxSlot(s, at))
	}
}

// overWarp combines the values of a warp in its lane 0.
func (c *combiner) overWarp(list []scalar, at ir.Pos) []ir.Stmt {
	d := c.Local("d", ir.IntType, at)
	var body []ir.Stmt
	for _, s := range list {
		other := c.Local("other", s.acc.Type, at)
		body = append(body, build.Decl(other, &ir.Shuffle{Kind: ir.ShuffleDown, X: build.Ref(s.acc, at), By: build.Ref(d, at), At: at}, at))
		var otherIdx *ir.Var
		if s.idx != nil {
			otherIdx = c.Local("otherIndex", s.idx.Type, at)
			body = append(body, build.Decl(otherIdx, &ir.Shuffle{Kind: ir.ShuffleDown, X: build.Ref(s.idx, at), By: build.Ref(d, at), At: at}, at))
		}
		body = append(body, fold(s, build.Ref(other, at), refOr(otherIdx, at), at)...)
	}
	half := func(x ir.Expr) ir.Expr { return build.Binary(ir.Div, x, build.Int(2, at), at) }
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Gt, build.Ref(d, at), build.Int(0, at), at), Body: body,
		Post: []ir.Stmt{build.Assign(build.Ref(d, at), half(build.Ref(d, at)), at)}, At: at}
	return []ir.Stmt{&ir.Block{Body: []ir.Stmt{build.Decl(d, half(build.Query(ir.WarpSize, at)), at), loop}, At: at}}
}

func refOr(v *ir.Var, at ir.Pos) ir.Expr {
	if v == nil {
		return nil
	}
	return build.Ref(v, at)
}

// tree combines in team memory, for teams of any number of threads.
func (c *combiner) tree(list []scalar, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	me := build.Query(ir.ThreadNum, at)
	var out, fold, read []ir.Stmt
	d := c.Local("d", ir.IntType, at)
	mate := build.Binary(ir.Add, me, build.Ref(d, at), at)
	for _, s := range list {
		out = append(out, c.toSlot(s, me, at)...)
		fold = append(fold, c.fromSlot(s, me, at)...)
		fold = append(fold, c.foldSlot(s, mate, at)...)
		fold = append(fold, c.toSlot(s, me, at)...)
		read = append(read, c.fromSlot(s, build.Int(0, at), at)...)
	}
	out = append(out, barrier(at)...)
	twice := build.Binary(ir.Mul, build.Ref(d, at), build.Int(2, at), at)
	within := build.Binary(ir.And, me, build.Binary(ir.Sub, twice, build.Int(1, at), at), at) // valid because twice is a power of two
	leads := build.Compare(ir.Eq, within, build.Int(0, at), at)
	has := build.Compare(ir.Lt, mate, build.Query(ir.NumThreads, at), at)
	step := append([]ir.Stmt{&ir.If{Cond: build.Compare(ir.LAnd, leads, has, at), Then: fold, At: at}}, barrier(at)...)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(d, at), build.Query(ir.NumThreads, at), at), Body: step,
		Post: []ir.Stmt{build.Assign(build.Ref(d, at), twice, at)}, At: at}
	out = append(out, build.Decl(d, build.Int(1, at), at), loop)
	for _, s := range list {
		c.readSlot(s, at)
	}
	return append(out, read...)
}

func (c *combiner) toSlot(s scalar, i ir.Expr, at ir.Pos) []ir.Stmt {
	out := []ir.Stmt{build.Assign(build.Index(build.Ref(c.accSlot(s, at), at), i, at), build.Ref(s.acc, at), at)}
	if s.idx != nil {
		out = append(out, build.Assign(build.Index(build.Ref(c.idxSlot(s, at), at), i, at), build.Ref(s.idx, at), at))
	}
	return out
}

func (c *combiner) fromSlot(s scalar, i ir.Expr, at ir.Pos) []ir.Stmt {
	out := []ir.Stmt{build.Assign(build.Ref(s.acc, at), build.Index(build.Ref(c.accSlot(s, at), at), i, at), at)}
	if s.idx != nil {
		out = append(out, build.Assign(build.Ref(s.idx, at), build.Index(build.Ref(c.idxSlot(s, at), at), i, at), at))
	}
	return out
}

func (c *combiner) foldSlot(s scalar, i ir.Expr, at ir.Pos) []ir.Stmt {
	var other ir.Expr
	if s.idx != nil {
		other = build.Index(build.Ref(c.idxSlot(s, at), at), i, at)
	}
	return fold(s, build.Index(build.Ref(c.accSlot(s, at), at), i, at), other, at)
}

// fold returns code that combines another value into s.
func fold(s scalar, value, idx ir.Expr, at ir.Pos) []ir.Stmt {
	if s.idx == nil {
		return []ir.Stmt{build.Assign(build.Ref(s.acc, at), build.Combine(s.op, build.Ref(s.acc, at), value, at), at)}
	}
	better := build.Compare(beats(s.op), value, build.Ref(s.acc, at), at)
	tie := build.Compare(ir.LAnd, build.Compare(ir.Eq, value, build.Ref(s.acc, at), at), build.Compare(ir.Lt, idx, build.Ref(s.idx, at), at), at)
	return []ir.Stmt{&ir.If{Cond: build.Compare(ir.LOr, better, tie, at), At: at,
		Then: []ir.Stmt{build.Assign(build.Ref(s.idx, at), idx, at), build.Assign(build.Ref(s.acc, at), value, at)}}}
}

func beats(op ir.Op) ir.Op {
	if op == ir.MinLoc {
		return ir.Lt
	}
	return ir.Gt
}

// apply combines the results, which all threads have, into their places: each thread into its copy
// of a replicated variable, thread 0 into memory.
func (c *combiner) apply(items []item, at ir.Pos) []ir.Stmt {
	var all, one []ir.Stmt
	for _, it := range items {
		if v := ir.RootVar(it.Place); v != nil && !c.IsShared(v) {
			all = append(all, c.update(it, at)...)
			continue
		}
		one = append(one, c.update(it, at)...)
	}
	if len(one) > 0 {
		c.open.solo.Add(c.Effects.Stmts(one))
		all = append(all, &ir.If{Cond: build.Compare(ir.Eq, build.Query(ir.ThreadNum, at), build.Int(0, at), at), Then: one, At: at})
	}
	return all
}

// updates applies results in one thread.
func (c *combiner) updates(items []item, at ir.Pos) []ir.Stmt {
	var out []ir.Stmt
	for _, it := range items {
		out = append(out, c.update(it, at)...)
	}
	return out
}

// update applies one result. If values are equal, a location from before the construct remains, as
// in Go.
func (c *combiner) update(it item, at ir.Pos) []ir.Stmt {
	place, before := forms.MasterOf(it.Place), c.before(it.Place)
	switch {
	case it.idx != nil:
		index := forms.MasterOf(it.Index)
		out := []ir.Stmt{&ir.If{Cond: build.Compare(beats(it.Op), build.Ref(it.acc, at), before, at), At: at,
			Then: []ir.Stmt{build.Assign(index, build.Ref(it.idx, at), at), build.Assign(place, build.Ref(it.acc, at), at)}}}
		choice := out[0].(*ir.If)
		if !query.Same(place, before) {
			choice.Else = append(choice.Else, build.Assign(place, before, at))
		}
		if was := c.before(it.Index); !query.Same(index, was) {
			choice.Else = append(choice.Else, build.Assign(index, was, at))
		}
		return out
	case it.n > 0:
		e := c.Local("e", ir.IntType, at)
		elem := scalarAt(place, build.Ref(e, at), at)
		value := build.Combine(it.Op, elem, scalarAt(build.Ref(it.acc, at), build.Ref(e, at), at), at)
		return []ir.Stmt{elements(it, e, []ir.Stmt{build.Assign(elem, value, at)}, at)}
	}
	return []ir.Stmt{build.Assign(place, build.Combine(it.Op, before, build.Ref(it.acc, at), at), at)}
}

// sums returns the parts of a thread.
func (r *reductions) sums() []strategy.Sum {
	var out []strategy.Sum
	for _, it := range r.items {
		out = append(out, strategy.Sum{Acc: it.acc, Idx: it.idx, N: it.n})
	}
	return out
}
