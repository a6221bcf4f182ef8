package deps

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManyPiecesAreFoundInFewSteps: with 100,000 regions of a buffer in use, a new one is compared
// with those that it overlaps and a few more, and takes its place in a tree that is not deep.
func TestManyPiecesAreFoundInFewSteps(t *testing.T) {
	const pieces = 100_000
	for name, region := range map[string]func(i int64) Region{
		"intervals in order":           func(i int64) Region { return Interval(0, i*8, i*8+6) },
		"intervals backwards":          func(i int64) Region { return Interval(0, (pieces-i)*987, (pieces-i)*987+6) },
		"rows of boxes, side by side":  func(i int64) Region { return mustStrided(0, i*64, []Dim{{4, 16}, {6, 1}}) },
		"intervals of different sizes": func(i int64) Region { return Interval(0, i*64, i*64+1+i%64) },
	} {
		var d Domain
		live := make([]Node, pieces)
		for i := range live {
			d.Submit(&live[i], []Access{on(In, region(int64(i)))})
		}
		tree := d.tracts[0].root
		require.LessOrEqual(t, tree.height(), 4*bits.Len(pieces), name)
		for i := int64(0); i < pieces; i += 997 {
			r := region(i)
			require.LessOrEqual(t, tree.visits(&cell{region: r, end: func() int64 { _, hi := r.Bounds(); return hi }()}), 4*bits.Len(pieces), name)
		}
		require.Zero(t, d.edges)
		var whole Node
		lo, hi := tree.span()
		d.Submit(&whole, []Access{on(Out, Interval(0, lo, hi))})
		require.EqualValues(t, pieces, d.edges, "the whole waits for each once")
	}
}

func (n *cell) height() int {
	if n == nil {
		return 0
	}
	return 1 + max(n.left.height(), n.right.height())
}

// visits counts the cells that meeting looks at.
func (n *cell) visits(c *cell) int {
	if n == nil || n.top <= c.region.Offset {
		return 1
	}
	v := 1 + n.left.visits(c)
	if n.region.Offset < c.end {
		v += n.right.visits(c)
	}
	return v
}

func (n *cell) span() (lo, hi int64) {
	lo, hi = n.region.Offset, n.top
	for ; n != nil; n = n.left {
		lo = n.region.Offset
	}
	return lo, hi
}

// BenchmarkMany is one submission and completion where very many regions of one buffer are in use:
// a piece, the whole, a box, and a region of its own each time. It reports what grows with the
// number of pieces.
func BenchmarkMany(b *testing.B) {
	for _, pieces := range []int64{1e3, 1e4, 1e5} {
		var d Domain
		live := make([]Node, pieces)
		for i := range live {
			d.Submit(&live[i], []Access{on(In, Interval(0, int64(i)*8, int64(i)*8+6))})
		}
		var n Node
		run := func(a Access) {
			n.ID = 0
			d.Submit(&n, []Access{a})
			d.Finish(&n, func(*Node) {})
		}
		b.Run(fmt.Sprintf("piece/%d", pieces), func(b *testing.B) {
			for i := int64(0); b.Loop(); i++ {
				at := i * 7919 % pieces * 8
				run(on(In, Interval(0, at, at+6)))
			}
		})
		b.Run(fmt.Sprintf("new/%d", pieces), func(b *testing.B) {
			for i := int64(0); b.Loop(); i++ {
				at := i * 7919 % pieces * 8
				run(on(In, Interval(0, at+1, at+2+i%4)))
			}
		})
		b.Run(fmt.Sprintf("gap/%d", pieces), func(b *testing.B) {
			for i := int64(0); b.Loop(); i++ {
				at := i * 7919 % pieces * 8
				run(on(In, Interval(0, at+6, at+7+i%2)))
			}
		})
	}
}
