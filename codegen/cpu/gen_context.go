package cpu

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A context is all that selection depends on at one place in the kernel. Code that is selected
// elsewhere, later, is selected in the context of the place that it belongs to: nothing else of the
// generator may differ between the two but what only grows, as constants and sites do.
type context struct {
	at            ir.Pos
	shapes        *analysis.Shapes
	lanes, unroll int
	first         int
	exec          []x86.Reg
	prefix        x86.Reg
	split         bool
	loops         []*loopFrame
	pointer       map[string]x86.Reg
	shared        map[string]x86.Reg
	spreads       map[string]x86.Reg
	indexUses     map[*ir.Var]int
	safe          map[*ir.Index]bool
	homes         map[*ir.Var]*home
	pastRow       *ir.Index
	serialBase    int
}

func (g *gen) context() context {
	return context{g.At, g.shapes, g.lanes, g.unroll, g.first, g.exec, g.prefix, g.split, g.loops, g.pointer, g.shared, g.spreads, g.indexUses, g.safe, g.homes, g.pastRow,
		g.serialBase}
}

func (g *gen) enterContext(c context) {
	g.At, g.shapes, g.lanes, g.unroll, g.first, g.exec, g.prefix, g.split = c.at, c.shapes, c.lanes, c.unroll, c.first, c.exec, c.prefix, c.split
	g.loops, g.pointer, g.shared, g.spreads, g.indexUses, g.safe, g.homes, g.pastRow = c.loops, c.pointer, c.shared, c.spreads, c.indexUses, c.safe, c.homes, c.pastRow
	g.serialBase = c.serialBase
}

// remember returns what enters the context of now, and what comes back from there; without values
// for code that works on registers alone.
func (g *gen) remember(values bool) (enter func() (leave func())) {
	now := g.context()
	if values {
		now.loops, now.homes = slices.Clone(now.loops), maps.Clone(now.homes) // what comes in between changes both
	} else {
		now.loops, now.homes = nil, nil
	}
	return func() func() {
		then := g.context()
		g.enterContext(now)
		return func() { g.enterContext(then) }
	}
}
