package deps

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexAgainstAllPairs adds and drops cells at random: what the table finds, the links between
// cells, and the order and bounds of the tree are as a comparison of all pairs says.
func TestIndexAgainstAllPairs(t *testing.T) {
	for seed := range programs(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		var d Domain
		cells := map[Region]*cell{}
		for range 300 {
			region := randomRegion(r)
			if region.Empty() {
				continue
			}
			hash := hashOf(&region)
			require.Equal(t, cells[region], d.table.find(&region, hash))
			switch c := cells[region]; {
			case c == nil:
				c = d.newCell(&region, hash)
				n := &Node{ID: 1}
				n.word.Store(1<<32 | open)
				c.readers.add(n) // or a sweep would take it
				cells[region] = c
			case r.IntN(2) == 0:
				d.drop(c)
				delete(cells, region)
			}
		}
		for n := 0; n < len(cells)/2; {
			for region, c := range cells {
				d.drop(c)
				delete(cells, region)
				n++
				break
			}
		}
		checkIndex(t, &d, cells)
	}
}

func checkIndex(t *testing.T, d *Domain, cells map[Region]*cell) {
	t.Helper()
	require.Equal(t, len(cells), d.table.count)
	pairs := 0
	for region, c := range cells {
		require.Same(t, c, d.table.find(&region, hashOf(&region)))
		want := map[*cell]bool{}
		for other, o := range cells {
			if other != region && other.Overlaps(region) {
				want[o] = true
			}
		}
		got := map[*cell]bool{}
		for _, o := range c.over {
			got[o] = true
		}
		require.Equal(t, len(want), len(c.over))
		require.Equal(t, want, got)
		pairs += len(want)
	}
	var last *cell
	n := 0
	root := d.tracts[1].root
	root.each(func(c *cell) {
		require.True(t, last == nil || last.less(c))
		last = c
		n++
		top := c.end
		for _, child := range []*cell{c.left, c.right} {
			if child != nil {
				require.GreaterOrEqual(t, c.priority(), child.priority())
				top = max(top, child.top)
			}
		}
		require.Equal(t, top, c.top)
	})
	require.Equal(t, len(cells), n)
	require.Equal(t, n, d.tracts[1].cells)
	require.Equal(t, pairs, d.tracts[1].pairs)
}

func TestPrefixesMakeNoPath(t *testing.T) {
	var d Domain
	for i := range int64(2000) {
		r := Interval(0, 0, i+1)
		d.newCell(&r, hashOf(&r))
	}
	var depth func(c *cell) int
	depth = func(c *cell) int {
		if c == nil {
			return 0
		}
		return 1 + max(depth(c.left), depth(c.right))
	}
	require.Less(t, depth(d.tracts[0].root), 60)
}
