package hostmem

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A tree of stretches is what a sorted list of them is, and one that was read before stays as it was.
func TestStretchesAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree *Tree[int]
		var list []uintptr // where they begin; each is 10 long
		check := func(tree *Tree[int], list []uintptr) {
			var got []uintptr
			for s := range tree.All() {
				require.Equal(t, s.Lo+10, s.Hi)
				require.Equal(t, int(s.Lo), s.Value)
				got = append(got, s.Lo)
			}
			require.Equal(t, list, got)
			for at := uintptr(0); at < 520; at += 5 {
				want := slices.IndexFunc(list, func(lo uintptr) bool { return lo+10 > at })
				if first := tree.After(at); want < 0 {
					require.Nil(t, first)
				} else {
					require.Equal(t, list[want], first.Lo)
				}
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			old, was := tree, slices.Clone(list)
			lo := uintptr(10 * rapid.IntRange(0, 50).Draw(t, "at"))
			if i, there := slices.BinarySearch(list, lo); there {
				tree, list = tree.Remove(lo), slices.Delete(list, i, i+1)
			} else {
				tree, list = tree.Insert(&Tree[int]{Lo: lo, Hi: lo + 10, Value: int(lo)}), slices.Insert(list, i, lo)
			}
			if len(list) == 0 {
				list = nil
			}
			check(tree, list)
			if len(was) == 0 {
				was = nil
			}
			check(old, was)
		}
	})
}

// In whatever order addresses come, a tree of n is no deeper than four times the logarithm of n.
func TestStretchesStayFlat(t *testing.T) {
	const n = 1 << 14
	for _, step := range []int{1, n - 1, 5099} { // rising, falling, mixed
		var tree *Tree[int]
		for i := range n {
			lo := uintptr(0xc000000000 + i*step%n*4096)
			tree = tree.Insert(&Tree[int]{Lo: lo, Hi: lo + 4096})
		}
		require.LessOrEqual(t, tree.depth(), 4*bits.Len(n), "step %d", step)
		for i := range n / 2 {
			tree = tree.Remove(uintptr(0xc000000000 + i*4096))
		}
		require.LessOrEqual(t, tree.depth(), 4*bits.Len(n), "step %d", step)
	}
}

func (s *Tree[T]) depth() int {
	if s == nil {
		return 0
	}
	return 1 + max(s.left.depth(), s.right.depth())
}
