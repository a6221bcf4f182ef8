package cpu

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Compile makes machine code of the kernel. The error is a *prepare.Refusal where the kernel has a
// construct without a vector form.
func Compile(k *ir.Kernel, o Options) (code *Code, err error) {
	prepared, err := prepare.Kernel(k)
	if err != nil {
		return nil, err
	}
	parts := stages.Split(prepared.Kernel.Body)
	c := &compiler{Result: prepared, options: o}
	c.frame = stages.FrameOf(prepared, parts)
	if inner, f := stages.Nested(parts, c.frame, c.Arrays); len(inner) > 0 {
		parts, c.frame = append(parts, inner...), f
	}
	code = &Code{Texts: func() []mach.Line { return textsOf(k, o) }, Kernel: k, Options: o, Params: prepared.Kernel.Params, Stages: parts, Words: c.frame.Size, Width: x86.W256}
	if o.AVX512 && o.Width != x86.W256 {
		code.Width = x86.W512
	}
	for i, v := range code.Params {
		if c.Caps[v] != nil {
			code.Caps = append(code.Caps, i)
		}
	}
	if code.Words > image.MaxWords {
		return nil, &prepare.Refusal{Kernel: k.Name, At: k.At, Why: fmt.Sprintf("its parameters and variables need %d words, %d are there", code.Words, image.MaxWords)}
	}
	c.stages = parts
	if err := c.nestedStages(code); err != nil {
		return nil, err
	}
	for _, s := range parts {
		if s.Nested || stages.Countable(s, c.frame) {
			continue
		}
		if s.Loop != nil && c.options.Past {
			s.Copies, _ = stages.CopyOf(s.Loop, c.frame)
		}
		g, err := c.stage(s, code.Sites)
		if err != nil {
			return nil, err
		}
		if err := addStage(code, s, g); err != nil {
			return nil, err
		}
	}
	if code.Lanes == 0 {
		return nil, &prepare.Refusal{Kernel: k.Name, At: k.At, Why: "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent"}
	}
	if err := c.lockedStages(code); err != nil {
		return nil, err
	}
	code.Plain = len(parts) == 2 && parts[0].Count.Set && parts[1].Loop != nil && len(parts[1].Sums) == 0 && !slices.ContainsFunc(code.Sites, image.Site.AsksGo)
	return code, nil
}

// addStage appends the code of a stage.
func addStage(c *Code, s *image.Stage, g *gen) error {
	for len(c.Bytes)%64 != 0 {
		c.Bytes = append(c.Bytes, 0xCC)
	}
	bytes, lines, places, err := g.Link()
	if err != nil {
		return err
	}
	s.Entry = len(c.Bytes)
	c.Scratch = max(c.Scratch, g.scratch)
	if g.SpillBytes > image.SpillBytes {
		c.Spill = max(c.Spill, g.SpillBytes)
	}
	c.Past = append(c.Past, g.pastStores...)
	c.Far = c.Far || len(c.Past) > 0 || s.Copies.Size > 0
	for _, n := range g.notes {
		if !slices.Contains(c.Notes, n) {
			c.Notes = append(c.Notes, n)
		}
	}
	if s.Alone {
		s.Updates = stages.UpdatesOf(s.Loop, g.frame.Word)
	}
	if s.Loop != nil && !s.Alone && slices.ContainsFunc(s.Sums, image.Sum.Ordered) {
		s.Leaf = stages.LeafOf(s)
	}
	if s.Loop != nil && !s.Called() {
		c.Streams = c.Streams || analysis.Streams(s.Loop)
		c.Rows = c.Rows || analysis.StreamsRows(s.Loop)
	}
	if g.yieldTo >= 0 {
		s.Resume = s.Entry + places[g.resumeAt]
	}
	for i := range lines {
		lines[i].Offset += s.Entry
	}
	c.Bytes, c.Lines, c.Sites = append(c.Bytes, bytes...), append(c.Lines, lines...), g.sites
	if !s.Again && (s.Loop != nil || c.Lanes == 0) {
		if g.sawLanes != 0 {
			c.Lanes, c.Unroll, c.Loop = g.sawLanes, g.wanted, g.sawLoop
		}
	}
	return nil
}

type compiler struct {
	*prepare.Result
	options Options
	frame   stages.Frame
	stages  []*image.Stage
	steps   int // that the code selected before had
}

// stage selects and allocates one stage with as many unrolled copies as the registers allow.
func (c *compiler) stage(s *image.Stage, sites []image.Site) (*gen, error) {
	if s.Loop != nil && !s.Nested {
		if why, ok := c.single(s.Loop); ok {
			if g, _, err := c.unrolled(s, 1, true, sites); err == nil {
				g.note("%s", why)
				s.Sums, s.Round = g.sums, g.round
				return g, nil
			}
		}
	}
	unrolls := []int{4, 2, 1}
	if c.options.Unroll > 0 {
		unrolls = []int{c.options.Unroll}
	}
	var best *gen
	least := 1 << 30
	for i, u := range unrolls {
		g, spilled, err := c.unrolled(s, u, false, sites)
		if err != nil {
			if best != nil {
				break
			}
			if i < len(unrolls)-1 && !isRefusal(err) {
				continue // too many values for the frame: fewer copies may fit
			}
			if !isRefusal(err) {
				err = &prepare.Refusal{Kernel: c.Kernel.Name, At: s.At(), Why: "it has too many values at once: " + err.Error()}
			}
			return nil, err
		}
		if g.walksRows && g.sawLanes*u > mostRows && i < len(unrolls)-1 {
			continue
		}
		if spilled < least {
			best, least = g, spilled
		}
		if g.scratch > manyScratch && i < len(unrolls)-1 {
			best, least = nil, 1<<30 // arrays of fewer copies stay in the cache
			continue
		}
		if spilled == 0 || g.sawLanes == 0 {
			break
		}
	}
	s.Sums, s.Round = best.sums, best.round
	return best, nil
}

// mostRows is how many rows of memory lanes walk at once where fewer copies can do: where rows are
// a power of two long, their elements lie in few sets of a cache, which keep eight lines or so
// each.
const mostRows = 16

func isRefusal(err error) bool {
	_, ok := err.(*prepare.Refusal)
	return ok
}

func (c *compiler) unrolled(s *image.Stage, unroll int, single bool, sites []image.Site) (g *gen, spilled int, err error) {
	defer func() {
		if r := recover(); r != nil {
			refusal, ok := r.(*prepare.Refusal)
			if !ok {
				panic(r)
			}
			g, err = nil, refusal
		}
	}()
	g = c.newGen(s, unroll, single, sites)
	g.Select(s)
	steps := g.JoinEntry()
	c.steps = steps + steps/8
	if single {
		g.Tidy(widthOf(g.bytes), g.yieldTo, g.resumeAt)
	}
	f := mach.Registers(g.avx512, g.Divides(), widthOf(g.bytes))
	if c.options.FewRegisters {
		f.KeepOne()
	}
	spilled, masks, err := g.Allocate(f)
	return g, spilled + max(0, masks-unroll), err // one mask of each copy costs less than fewer copies would
}

// Select selects the stage and what stands behind its code.
func (g *gen) Select(s *image.Stage) {
	s.Sums = nil
	g.enter(s, g.frame)
	if s.Loop != nil {
		g.parallelStage(s, g.frame)
	} else {
		g.sequentialStage(s, g.frame)
	}
	g.sums = s.Sums
	g.done()
}

// sequentialStage runs once; loops in it that directives free run on this goroutine alone, as
// lanes.
func (g *gen) sequentialStage(s *image.Stage, f stages.Frame) {
	g.chooseInside(s.Body)
	g.list(s.Body)
	g.leaveStage(s, f)
	if s.Next == nil {
		return
	}
	step, ok := ir.ConstStep(s.Next)
	if !ok || s.Next.Rel == ir.Ne {
		g.refuse(s.Next.At, "the parallel loop needs a constant step and <, <=, > or >=: write its end so")
	}
	lo := g.NewGeneral()
	g.move(lo, g.gp(s.Next.Lo))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordTrips), x86.RegArg(g.trips(s.Next, lo, step)))
}

// parallelStage runs iterations lo to hi of a parallel loop.
func (g *gen) parallelStage(s *image.Stage, f stages.Frame) {
	g.inLoop = true
	g.refuseShared(s.Loop)
	g.openLeague(s, f)
	if g.single {
		g.sawLanes, g.sawLoop = 1, s.Loop.At
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
	if cut != g.parallelLanes {
		if t := g.tileOf(s.Loop, lanes); t != nil {
			g.tiled(t)
		}
		g.proveNest(cut)
	}
	g.forStmt(cut)
	g.closeLeague(s)
}

// chooseInside decides for every outermost freed loop in body.
func (g *gen) chooseInside(body []ir.Stmt) {
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

// done ends the code and appends what is out of line.
func (g *gen) done() {
	if len(g.pastStores) > 0 {
		g.Fence()
	}
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(0))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
	g.Return()
	g.SeldomFromHere()
	g.selectBehind()
	g.yieldRoutines()
}

// cut returns the loop restricted to the iterations that the block names.
func (g *gen) cut(s *ir.For) *ir.For {
	_, ok := ir.ConstStep(s)
	if !ok || s.Rel == ir.Ne {
		g.refuse(s.At, "the parallel loop needs a constant step and <, <=, > or >=: write its end so")
	}
	g.tripLo = g.wordVar("trip_lo", image.WordLo, s.At)
	g.tripHi = g.wordVar("trip_hi", image.WordHi, s.At)
	g.markSafe(s)
	c := analysis.Between(s, g.tripLo, g.tripHi)
	if g.lanesFor[s] {
		g.lanesFor[c] = true
		g.parallelLanes, g.parallelLo = c, s.Lo
	}
	return c
}

func (g *gen) wordVar(name string, word int, at ir.Pos) *ir.Var {
	v := &ir.Var{Name: name, Type: ir.IntType, ID: -2 - word, At: at}
	r := g.NewGeneral()
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), blockWord(word))
	g.homes[v] = &home{gp: r, length: x86.NoReg}
	return v
}

func (g *gen) lanesOf(s *ir.For) bool { return g.lanesFor[s] }

// textsOf compiles the kernel again: texts take a tenth of the time, and are seldom asked for.
func textsOf(k *ir.Kernel, o Options) []mach.Line {
	o.Text = true
	again, err := Compile(k, o)
	if err != nil {
		panic("gompss: bug: cpu: compiled once, and then: " + err.Error())
	}
	return again.Lines
}

// single tells whether a parallel loop runs one iteration after the other, and why.
func (c *compiler) single(loop *ir.For) (why string, ok bool) {
	switch c.options.Single {
	case SingleNever:
		return "", false
	case SingleAlways:
		return fmt.Sprintf("the loop at %s runs one iteration after the other: it was asked for", loop.At), true
	}
	bytes := 32
	if c.options.AVX512 && c.options.Width != x86.W256 {
		bytes = 64
	}
	return analysis.WithoutLanes(loop, c.Arrays, bytes, c.options.AVX512)
}
