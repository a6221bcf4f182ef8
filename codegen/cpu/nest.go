package cpu

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A parallel loop inside sequential code - a time step, say - is there twice: inline, for the
// goroutine that runs what is around it, and as a stage of its own that workers share. The
// sequential code counts the iterations, and where they are as many as a word of the block asks for
// it stores the variables that the loop uses into their words and returns to Go, which lets the
// workers run the stage and calls it again. The word begins at a guess and follows the time that an
// iteration takes; alone, nothing is ever shared.

// nestedIn returns stages of the parallel loops in sequential code that may be shared.
func nestedIn(body []ir.Stmt, arrays map[*ir.Var]int64) (out []*image.Stage) {
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		f, ok := ir.ParallelLoop(s)
		if !ok {
			return true
		}
		if _, fixed := ir.ConstStep(f); fixed && f.Rel != ir.Ne && !slices.ContainsFunc(ir.Free([]ir.Stmt{f}).List(), func(v *ir.Var) bool { return staysHere(v, arrays) }) {
			out = append(out, &image.Stage{Loop: f, Body: []ir.Stmt{f}, Nested: true, Alone: hasAtomics(f)})
		}
		return false
	})
	return out
}

// nested returns the stages of loops in sequential code, and the frame that they take; none where
// there are not words enough.
func nested(stages []*image.Stage, outer frame, arrays map[*ir.Var]int64) (out []*image.Stage, f frame) {
	for _, s := range stages {
		if s.Loop == nil {
			out = append(out, nestedIn(s.Body, arrays)...)
		}
	}
	f = outer
	f.word = maps.Clone(f.word)
	if f.addNested(out); f.size > image.MaxWords {
		return nil, outer
	}
	return out, f
}

// staysHere tells the variables that have no word: arrays in the memory of the launch.
func staysHere(v *ir.Var, arrays map[*ir.Var]int64) bool {
	return arrays[v] > 0 || v.Space != ir.Param && !v.Type.IsScalar()
}

// addNested gives words to what the nested stages use and to their thresholds.
func (f *frame) addNested(stages []*image.Stage) {
	f.inner = map[*ir.Var]bool{}
	for _, s := range stages {
		for _, v := range ir.Free(s.Body).List() {
			if f.word[v] == 0 {
				f.word[v], f.inner[v] = f.size, true
				f.size++
			}
		}
		s.Threshold = f.size
		f.size++
	}
}

// nestedStages compiles them first: one that is refused stays inline alone.
func (c *compiler) nestedStages(code *Code) error {
	for i, s := range code.Stages {
		if !s.Nested {
			continue
		}
		g, err := c.stage(s, code.Sites)
		if isRefusal(err) {
			s.Refused = true
			continue
		}
		if err != nil {
			return err
		}
		if err := addStage(code, s, g); err != nil {
			return err
		}
		code.Nested = append(code.Nested, i)
	}
	return nil
}

// shareFrom emits the way out to Go where the loop is long enough.
func (g *gen) shareFrom(s *ir.For) (after mach.Label, ok bool) {
	i := slices.IndexFunc(g.nested, func(n *image.Stage) bool { return n != nil && n.Loop == s && !n.Refused })
	if i < 0 || g.inLoop || g.shapes != nil {
		return 0, false
	}
	n := g.nested[i]
	step, _ := ir.ConstStep(s)
	lo := g.NewGeneral()
	g.move(lo, g.gpOutside(s.Lo))
	trips := g.trips(s, lo, step)
	cold, after := g.NewLabel(), g.NewLabel()
	k := g.newSite(image.Site{Kind: image.SiteShare, Stage: i})
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(trips), blockWord(n.Threshold))
	g.Jump(mach.CondGE, cold)
	g.later(cold, func() {
		g.storeFree(n)
		g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordTrips), x86.RegArg(trips))
		g.yield(k)
		g.loadChanged(n)
		g.Jump(mach.Always, after)
	})
	g.note("the loop at %s, inside sequential code, is shared by idle workers where it takes long enough", s.At)
	return after, true
}

// storeFree stores what a nested stage uses, but for parameters that never change.
func (g *gen) storeFree(n *image.Stage) {
	for _, v := range ir.Free(n.Body).List() {
		if h := g.homes[v]; h != nil && (v.Space != ir.Param || ir.Assigned(g.kernel.Body).Has(v)) {
			g.storeWord(h, v.Type, g.frame.word[v])
		}
	}
}

// loadChanged loads what it has reduced.
func (g *gen) loadChanged(n *image.Stage) {
	for _, v := range ir.Assigned(n.Body).List() {
		h := g.homes[v]
		if h == nil || g.frame.word[v] == 0 || !ir.Free(n.Body).Has(v) {
			continue
		}
		from := g.loadWord(v, g.frame.word[v])
		if h.vec != nil {
			g.move(h.vec[0], from.vec[0])
		} else {
			g.move(h.gp, from.gp)
		}
	}
}
