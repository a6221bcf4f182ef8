// Package order defines the order in which a loop combines values whose combination rounds: sums
// and products of floats. The order depends only on the number of iterations and on the text of the
// loop, so a result does not depend on the device or on the number of teams, threads and workers.
//
// The iterations are divided into blocks of consecutive iterations, and the blocks into groups of
// consecutive blocks: see [Cut].
//
//   - In a block, lane l of [Lanes] combines iterations l, l+Lanes, l+2*Lanes and so on of the
//     block in their order, beginning with the identity.
//   - In a group, lane l combines the values of lane l of its blocks, in their order. Then lane l
//     is combined with lane l+n, for n = Lanes/2, Lanes/4 down to 1. Lane 0 has the value of the
//     group.
//   - Groups are combined like the iterations of a group of [LastBlocks] blocks: lane l of block k
//     has groups k*Lanes+l, k*Lanes+l+LastLanes and so on.
//   - The value from before the loop is combined with the result.
//
// A loop in an iteration of a parallel loop is one group. [Reduce] is the definition as a program.
//
// Neighbours in memory belong to neighbouring lanes, which are threads of a warp on a GPU and
// elements of a vector on a processor. The end of a block costs a processor an addition for each
// vector of lanes, and a group keeps a team of a GPU busy.
package order

import "github.com/gompss/gompss/codegen/ir"

// The numbers of the order. A lane of the last blocks takes mostGroups/LastLanes values one after
// the other, while a GPU of 132 multiprocessors has 15 groups for each. Groups of one block are
// twice as many: their 131,072 lanes are 31 warps for each multiprocessor, while each group more
// costs a processor some 25 ns. mostGroups, mostLeast and blockWork are chosen by measurement:
// `gompss bench cpu -only dot` on a processor (docs/results/xeon.md), `gompss bench gpu -suite
// kernels -only NormRows,Moments` on a GPU (docs/results/h100.md).
const (
	Lanes      = 32
	LastBlocks = 8
	LastLanes  = Lanes * LastBlocks
	mostGroups = 2048
	mostOfOne  = 2 * mostGroups
)

// The least number of iterations in a block lies between mostLeast, for loops that do little, and
// Lanes; between them, a block has about blockWork operations. Half of it is enough where the warps
// of one team share a loop. Longer blocks spare a processor the additions at their ends, shorter
// ones are more groups for a GPU.
const (
	mostLeast = 1024
	blockWork = 1 << 13
)

// A Cut says how the iterations of a loop are cut: into blocks of at least so many, and groups of
// so many blocks. A group has [LastBlocks] blocks; but one where iterations have loops of their
// own, which are work enough.
type Cut struct{ Block, Blocks int64 }

// CutOf returns the cut of the loop of r, which [Mark] has noted.
func CutOf(r ir.Reduction) Cut {
	if r.Block == 0 {
		return Cut{Lanes, 1}
	}
	return Cut{r.Block, r.Blocks}
}

// MostGroups is how many groups a loop has at most.
func (c Cut) MostGroups() int64 {
	if c.Blocks == 1 {
		return mostOfOne
	}
	return mostGroups
}

// Length returns how many iterations a block has in a loop of so many: more than at least where
// there would be more than [Cut.MostGroups] groups.
func (c Cut) Length(trips int64) int64 {
	if trips <= 0 {
		return c.Block
	}
	return c.Block * ((trips-1)/(c.Block*c.Blocks*c.MostGroups()) + 1)
}

// NestedLength returns how many iterations a block has in a loop of so many that is one group: more
// than at least where there would be more than [LastBlocks] blocks.
func (c Cut) NestedLength(trips int64) int64 {
	if trips <= 0 {
		return c.Block
	}
	return c.Block * ((trips-1)/(c.Block*LastBlocks) + 1)
}

// Shows reports whether the order in which r combines shows: sums and products of floats round.
func Shows(r ir.Reduction) bool { return Rounds(r.Op, r.Place.Type()) }

// Rounds reports whether combining values of type t by op rounds.
func Rounds(op ir.Op, t *ir.Type) bool { return t.IsFloat() && (op == ir.Add || op == ir.Mul) }

// Reduce combines value(0) to value(trips-1) in the order of a loop with so many iterations; nested
// tells a loop in an iteration of a parallel loop.
func Reduce[T any](trips int64, cut Cut, nested bool, identity T, value func(i int64) T, combine func(x, y T) T) T {
	fill := func() (lanes [Lanes]T) {
		for l := range lanes {
			lanes[l] = identity
		}
		return lanes
	}
	add := func(to *[Lanes]T, from, until, step int64, value func(i int64) T) {
		block := fill()
		for l := range block {
			for i := from + int64(l); i < until; i += step {
				block[l] = combine(block[l], value(i))
			}
			to[l] = combine(to[l], block[l])
		}
	}
	meet := func(lanes [Lanes]T) T {
		for n := Lanes / 2; n > 0; n /= 2 {
			for l := range n {
				lanes[l] = combine(lanes[l], lanes[l+n])
			}
		}
		return lanes[0]
	}
	length := cut.Length(trips)
	if nested {
		length = cut.NestedLength(trips)
	}
	var groups []T
	for from := int64(0); from < trips; {
		lanes := fill()
		for k := int64(0); from < trips && (nested || k < cut.Blocks); k++ {
			add(&lanes, from, min(from+length, trips), Lanes, value)
			from += length
		}
		groups = append(groups, meet(lanes))
	}
	lanes := fill()
	for k := range int64(LastBlocks) {
		add(&lanes, k*Lanes, int64(len(groups)), LastLanes, func(i int64) T { return groups[i] })
	}
	return meet(lanes)
}

// Mark notes the cut of its loop in each reduction of k.
func Mark(k *ir.Kernel) {
	m := marking{}
	for _, f := range k.Funcs { // callees come first
		m[f] = m.weigh(f.Body)
	}
	m.mark(k.Body, false)
	for _, f := range k.Funcs {
		m.mark(f.Body, false)
	}
}

// A work is the estimated work of a list of statements: a number of operations, if it has no loop.
type work struct {
	operations int64
	loops      bool
}

type marking map[*ir.Func]work

// mark marks the loops in list; nested tells one that a team or a thread runs.
func (m marking) mark(list []ir.Stmt, nested bool) {
	for _, s := range list {
		d := ir.DirectiveOf(s)
		if d != nil && len(d.Reductions) > 0 {
			cut := Cut{Lanes, 1}
			if f, ok := s.(*ir.For); ok {
				cut = m.weigh(f.Body).cut(nested)
			}
			for i := range d.Reductions {
				d.Reductions[i].Block, d.Reductions[i].Blocks = cut.Block, cut.Blocks
			}
		}
		inside := nested || d != nil && d.Parts&ir.Distribute != 0
		ir.Lists(s, func(inner []ir.Stmt) { m.mark(inner, inside) })
	}
}

func (w work) cut(nested bool) Cut {
	if w.loops {
		return Cut{Lanes, 1}
	}
	c, most := Cut{mostLeast, LastBlocks}, int64(blockWork)
	if nested {
		c.Block, most = c.Block/2, most/2
	}
	for c.Block > Lanes && c.Block*w.operations > most {
		c.Block /= 2
	}
	return c
}

// mathWork is about how many operations a function of package math takes.
const mathWork = 16

func (m marking) weigh(list []ir.Stmt) work {
	var w work
	ir.Inspect(list, func(s ir.Stmt) {
		w.operations++
		switch s := s.(type) {
		case *ir.For, *ir.While:
			w.loops = true
		case *ir.Call:
			w.operations += m[s.Fn].operations
			w.loops = w.loops || m[s.Fn].loops
		}
	}, func(e ir.Expr) {
		switch e.(type) {
		case *ir.Binary, *ir.Unary:
			w.operations++
		case *ir.Math:
			w.operations += mathWork
		}
	})
	return w
}
