package ordered

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSort_OrdersAsPackageSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(rapid.Int16()).Draw(t, "x")
		want := slices.Sorted(slices.Values(x))
		Sort(x)
		if !slices.Equal(want, x) {
			t.Fatalf("%v, want %v", x, want)
		}
	})
}

func TestSearch_FindsAsPackageSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := slices.Sorted(slices.Values(rapid.SliceOf(rapid.Int8()).Draw(t, "x")))
		v := rapid.Int8().Draw(t, "v")
		if want, _ := slices.BinarySearch(x, v); Search(x, v) != want {
			t.Fatalf("Search(%v, %d) = %d, want %d", x, v, Search(x, v), want)
		}
	})
}
