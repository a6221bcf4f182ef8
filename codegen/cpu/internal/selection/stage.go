package selection

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/internal/values"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A Selector selects the code of one stage.
type Selector struct {
	statements
	tripLo, tripHi *ir.Var // the range of iterations of the chunk
	Sums           []image.Sum
}

// A Setup contains the inputs of a Selector.
type Setup struct {
	*prepare.Result
	Options image.Options
	Frame   stages.Frame
	Stages  []*image.Stage
	Sites   []image.Site // of the earlier stages
	Steps   int          // the expected number of instructions
}

// New returns the selector of a stage with the given number of unrolled copies, or, if single is
// set, for scalar code.
func New(c Setup, s *image.Stage, unroll int, single bool) *Selector {
	o := c.Options
	bytes := o.VectorWidth().Bytes()
	if single {
		bytes = min(bytes, 32)
	}
	code := mach.New(image.BlockLayout, max(c.Steps, 256))
	code.Listing = o.Text
	g := &Selector{}
	g.Scalars = values.New(memory.New(protocol.New(vector.New(code, c.Kernel, vector.Machine{ISA: o.ISA, AVX512: o.AVX512, Bytes: bytes}, unroll), c.Sites, o.StopAlways), c.Result, c.Frame))
	g.Single, g.locked, g.past = single, s.Again, o.Past
	g.lanesFor, g.proved, g.nested, g.Round = map[*ir.For]bool{}, map[*ir.For]vcode.Reg{}, c.Stages, 1
	g.Values, g.bodies = g, g
	g.SetContexts(g.remember)
	return g
}

// remember returns a function that enters the current context and returns a function to leave it.
func (g *Selector) remember(values bool) (enter func() (leave func())) {
	now := g.context()
	if values {
		now.loops, now.homes = slices.Clone(now.loops), maps.Clone(now.homes) // code in between changes both
	} else {
		now.loops, now.homes = nil, nil
	}
	return func() func() {
		then := g.context()
		g.enterContext(now)
		return func() { g.enterContext(then) }
	}
}

// Select selects the stage and its out-of-line code.
func (g *Selector) Select(s *image.Stage) {
	s.Sums = nil
	g.enter(s, g.Frame)
	if s.Loop != nil {
		g.parallelStage(s, g.Frame)
	} else {
		g.sequentialStage(s, g.Frame)
	}
	g.Sums = s.Sums
	g.done()
}

// sequentialStage selects a stage that runs once. Loops in it that a directive declares parallel
// run on this goroutine alone, as lanes.
func (g *Selector) sequentialStage(s *image.Stage, f stages.Frame) {
	g.chooseInside(s.Body)
	g.list(s.Body)
	g.leaveStage(s, f)
	if s.Next == nil {
		return
	}
	step, ok := ir.ConstStep(s.Next)
	if !ok || s.Next.Rel == ir.Ne {
		g.Refuse(s.Next.At, "the parallel loop needs a constant step and <, <=, > or >=: write its end so")
	}
	lo := g.NewGeneral()
	g.Move(lo, g.General(s.Next.Lo))
	g.WriteWord(image.WordTrips, g.Trips(s.Next, lo, step))
}

// parallelStage selects the code that runs iterations lo to hi of a parallel loop.
func (g *Selector) parallelStage(s *image.Stage, f stages.Frame) {
	g.inLoop = true
	g.refuseShared(s.Loop)
	g.openLeague(s, f)
	if g.Single {
		g.SawLanes, g.SawLoop = 1, s.Loop.At
		g.uniformFor(g.cut(s.Loop))
		g.closeLeague(s)
		return
	}
	lanes := analysis.ChooseLanes(s.Loop)
	if lanes == s.Loop {
		g.lanesFor[s.Loop] = true
	} else {
		g.lanesFor[lanes] = true
		g.chooseInside(s.Loop.Body)
	}
	cut := g.cut(s.Loop)
	if cut != g.ParallelLanes {
		if t := g.tileOf(s.Loop, lanes); t != nil {
			g.tiled(t)
		}
		g.proveNest(cut)
	}
	g.forStmt(cut)
	g.closeLeague(s)
}

// chooseInside chooses the form of each outermost parallel loop in body.
func (g *Selector) chooseInside(body []ir.Stmt) {
	for _, s := range body {
		if f, ok := ir.ParallelLoop(s); ok {
			if !analysis.HoldsLanes(g.lanesFor, f) {
				g.lanesFor[analysis.ChooseLanes(f)] = true
			}
			if g.lanesFor[f] {
				continue
			}
		}
		ir.Lists(s, g.chooseInside)
	}
}

// done ends the code and appends the out-of-line code.
func (g *Selector) done() {
	if len(g.PastStores) > 0 {
		g.Fence()
	}
	g.WriteStatus(0)
	g.Return()
	g.SeldomFromHere()
	g.SelectBehind()
	g.YieldRoutines()
}

// cut returns the loop restricted to the iterations of the block.
func (g *Selector) cut(s *ir.For) *ir.For {
	_, ok := ir.ConstStep(s)
	if !ok || s.Rel == ir.Ne {
		g.Refuse(s.At, "the parallel loop needs a constant step and <, <=, > or >=: write its end so")
	}
	g.tripLo = g.WordVar("trip_lo", image.WordLo, s.At)
	g.tripHi = g.WordVar("trip_hi", image.WordHi, s.At)
	g.MarkSafe(s)
	c := analysis.Between(s, g.tripLo, g.tripHi)
	if g.lanesFor[s] {
		g.lanesFor[c] = true
		g.ParallelLanes, g.ParallelLo = c, s.Lo
	}
	return c
}

// enter loads the variables of the stage from the block.
func (g *Selector) enter(s *image.Stage, f stages.Frame) {
	uses := ir.Free(s.Body)
	if s.Next != nil {
		for _, e := range []ir.Expr{s.Next.Lo, s.Next.Hi} {
			for _, v := range ir.ExprVars(e).List() {
				uses.Add(v)
			}
		}
	}
	for _, v := range uses.List() {
		word, ok := f.Word[v]
		if !ok || g.Homes[v] != nil || ir.Declared(s.Body).Has(v) {
			continue
		}
		g.Homes[v] = g.LoadWord(v, word)
		g.Entered = append(g.Entered, v)
	}
}

// leaveStage stores the variables that the stage has set and others use.
func (g *Selector) leaveStage(s *image.Stage, f stages.Frame) {
	changed := ir.Assigned(s.Body)
	for _, st := range s.Body {
		if d, ok := st.(*ir.Decl); ok {
			changed.Add(d.Var)
		}
	}
	for _, v := range changed.List() {
		if f.Inner[v] {
			continue
		}
		if word, ok := f.Word[v]; ok && v.Space != ir.Param || ok && g.Homes[v] != nil {
			g.StoreWord(g.Home(v, v.At), v.Type, word)
		}
	}
}

// refuseShared refuses a parallel loop that assigns to a variable that its iterations share.
func (g *Selector) refuseShared(f *ir.For) {
	inside := ir.Declared(f.Body)
	reduced := map[*ir.Var]bool{}
	for _, r := range analysis.ReductionsOf(f) {
		reduced[ir.RootVar(r.Place)] = true
		if r.Index != nil {
			reduced[ir.RootVar(r.Index)] = true
		}
	}
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) && !reduced[v] && v != f.Var {
			g.Refuse(f.At, "%s is shared by the iterations and assigned: write a reduction or private(%s)", v.Name, v.Name)
		}
	}
}

// tiled runs the rows of the chunk that form whole tiles, and leaves the others. The loop over
// lanes is the outer one here, so that data that all rows read stay in the caches.
func (g *Selector) tiled(t *analysis.Tile) {
	step, _ := ir.ConstStep(t.Rows)
	lo, hi := g.Homes[g.tripLo].General, g.Homes[g.tripHi].General
	rest := g.NewLabel()
	whole := g.NewGeneral()
	g.Move(whole, hi)
	g.Subtract(whole, lo)
	g.AndConst(whole, -int64(t.Most))
	g.Test(whole)
	g.Jump(mach.CondLE, rest)
	g.Add(whole, lo)
	end := g.Variable(g.tripHi)
	g.Homes[end] = &memory.Home{General: whole, Length: vcode.NoReg}
	g.proveCorners(t, analysis.Between(t.Rows, g.tripLo, end), rest)
	rows := analysis.Between(t.Rows, g.tripLo, end)
	rows.Var = g.Variable(t.Rows.Var)
	rows.Step = &ir.Const{T: ir.IntType, Bits: uint64(step * int64(t.Most)), At: rows.At}
	rows.Body = t.Jam(g.Variable, rows.Var, step)
	lanes := *t.Lanes
	lanes.Body = []ir.Stmt{rows}
	g.lanesFor[&lanes] = true
	g.Note("the loop at %s takes %d rows at once, %d vectors of each", t.Rows.At, t.Most, t.Copies)
	unroll, round := g.Unroll, g.Round
	g.Unroll = t.Copies
	g.forStmt(&lanes)
	g.Unroll, g.Round = unroll, max(round, int64(t.Most))
	g.WriteWord(image.WordLo, whole)
	g.Place(rest)
	g.loadAgain()
}

// loadAgain reloads the variables that outlive the stage from the block, so that the preceding code
// need not keep them in registers.
func (g *Selector) loadAgain() {
	for _, v := range g.Entered {
		g.Homes[v] = g.LoadWord(v, g.Frame.Word[v])
	}
	for word, v := range []*ir.Var{image.WordLo: g.tripLo, image.WordHi: g.tripHi} {
		h := &memory.Home{General: g.NewGeneral(), Length: vcode.NoReg}
		g.ReadWord(h.General, word)
		g.Homes[v] = h
	}
}
