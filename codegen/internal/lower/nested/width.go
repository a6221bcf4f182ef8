package nested

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
)

// A Varied is a nested loop of which the number of lanes can vary.
type Varied struct {
	Loop      *ir.For
	Rounds    bool  // one lane would add floats in another order
	Uncounted error // why its lengths are not counted; nil where they are
}

// byWidth is how an iteration runs a nested loop that it does not defer, with the lanes that are
// asked for; grouped says that groups of lanes can share it.
func (x *deferral) byWidth(grouped bool) ir.Nested {
	sums := x.g.Directive.Reductions
	x.varied = append(x.varied, Varied{Loop: x.g, Rounds: !x.Kernel.Target.FastMath && slices.ContainsFunc(sums, rounds)})
	switch {
	case x.byThread():
		return ir.Nested{Kind: ir.NestedInline}
	case !grouped || x.width == target.Width(x.gpu.Team.Warp):
		return ir.Nested{Kind: ir.NestedLanes}
	case x.width == forms.ShortLanes/2 || x.width == forms.ShortLanes:
		return ir.Nested{Kind: ir.NestedGroups, Lanes: uint8(x.width)}
	}
	return ir.Nested{Kind: ir.NestedGroups}
}

// byThread reports whether the thread of an iteration is to run the nested loop. A sum of floats
// has the order of lanes and teams, which one thread alone would not have.
func (x *deferral) byThread() bool {
	return x.width == 1 && (x.Kernel.Target.FastMath || !slices.ContainsFunc(x.g.Directive.Reductions, rounds))
}

// rounds reports whether the order of its operations shows in r.
func rounds(r ir.Reduction) bool {
	t := r.Place.Type()
	for t.Kind == ir.Array {
		t = t.Elem
	}
	return t.IsFloat() && (r.Op == ir.Add || r.Op == ir.Sub || r.Op == ir.Mul)
}
