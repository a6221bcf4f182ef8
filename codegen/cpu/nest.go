package cpu

import (
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

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
			g.storeWord(h, v.Type, g.frame.Word[v])
		}
	}
}

// loadChanged loads what it has reduced.
func (g *gen) loadChanged(n *image.Stage) {
	for _, v := range ir.Assigned(n.Body).List() {
		h := g.homes[v]
		if h == nil || g.frame.Word[v] == 0 || !ir.Free(n.Body).Has(v) {
			continue
		}
		from := g.loadWord(v, g.frame.Word[v])
		if h.vec != nil {
			g.move(h.vec[0], from.vec[0])
		} else {
			g.move(h.gp, from.gp)
		}
	}
}
