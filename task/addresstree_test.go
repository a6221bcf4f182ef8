package task

import (
	"math/bits"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A tree of stretches is what a sorted list of them is, and one that was read before stays as it was.
func TestStretchesAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree *addressTree[int]
		var list []uintptr // where they begin; each is 10 long
		check := func(tree *addressTree[int], list []uintptr) {
			var got []uintptr
			for s := range tree.all() {
				require.Equal(t, s.lo+10, s.hi)
				require.Equal(t, int(s.lo), s.value)
				got = append(got, s.lo)
			}
			require.Equal(t, list, got)
			for at := uintptr(0); at < 520; at += 5 {
				want := slices.IndexFunc(list, func(lo uintptr) bool { return lo+10 > at })
				if first := tree.after(at); want < 0 {
					require.Nil(t, first)
				} else {
					require.Equal(t, list[want], first.lo)
				}
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			old, was := tree, slices.Clone(list)
			lo := uintptr(10 * rapid.IntRange(0, 50).Draw(t, "at"))
			if i, there := slices.BinarySearch(list, lo); there {
				tree, list = tree.remove(lo), slices.Delete(list, i, i+1)
			} else {
				tree, list = tree.insert(&addressTree[int]{lo: lo, hi: lo + 10, value: int(lo)}), slices.Insert(list, i, lo)
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
		var tree *addressTree[int]
		for i := range n {
			lo := uintptr(0xc000000000 + i*step%n*4096)
			tree = tree.insert(&addressTree[int]{lo: lo, hi: lo + 4096})
		}
		require.LessOrEqual(t, tree.depth(), 4*bits.Len(n), "step %d", step)
		for i := range n / 2 {
			tree = tree.remove(uintptr(0xc000000000 + i*4096))
		}
		require.LessOrEqual(t, tree.depth(), 4*bits.Len(n), "step %d", step)
	}
}

func (s *addressTree[T]) depth() int {
	if s == nil {
		return 0
	}
	return 1 + max(s.left.depth(), s.right.depth())
}

// TestRegisteringIsNoSquare: slices that are registered from the last to the first cost what the first one did, but for the logarithm: 8,000
// of them took 32 KiB of memory each, to copy a sorted list, and 64 KiB when they were given back.
func TestRegisteringIsNoSquare(t *testing.T) {
	const n = 8000
	rt, err := New(Options{Devices: "smp:1"})
	require.NoError(t, err)
	x := make([]float64, 8*n)
	perSlice := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / n
	}
	require.Less(t, perSlice(func() {
		for i := n - 1; i >= 0; i-- {
			require.NoError(t, Register(rt, x[8*i:8*i+8:8*i+8]))
		}
	}), uint64(4096), "bytes a slice")
	require.EqualValues(t, n, rt.Stats().Buffers)
	for i := range n {
		b, at, err := rt.buffers.find(memoryOf(x[8*i+2 : 8*i+5]))
		require.NoError(t, err)
		require.EqualValues(t, 2, at)
		require.Equal(t, memoryOf(x[8*i:]).base, b.host.At())
	}
	require.Less(t, perSlice(func() { require.NoError(t, rt.Close()) }), uint64(4096), "bytes to give one back")
}
