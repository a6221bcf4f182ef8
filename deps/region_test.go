package deps

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// elements is the oracle: the elements of a region, one by one.
func elements(rs ...Region) map[int64]int {
	m := map[int64]int{}
	for _, r := range rs {
		var walk func(k int, at int64)
		walk = func(k int, at int64) {
			if k == int(r.N) {
				m[at]++
				return
			}
			for i := range r.Dims[k].Count {
				walk(k+1, at+i*r.Dims[k].Stride)
			}
		}
		if r.N > 0 {
			walk(0, r.Offset)
		}
	}
	return m
}

// randomRegion draws intervals, boxes of a few shapes, and strided regions, all small and near each
// other.
func randomRegion(r *rand.Rand) Region {
	switch r.IntN(4) {
	case 0:
		lo := r.Int64N(120)
		return Interval(1, lo, lo+r.Int64N(60))
	case 1:
		shapes := [][]int64{{8, 16}, {16, 8}, {5, 7}, {4, 5, 6}, {-1, 12}, {2, 3, 4, 5}}
		shape := shapes[r.IntN(len(shapes))]
		lo, hi := make([]int64, len(shape)), make([]int64, len(shape))
		for k, n := range shape {
			if n < 0 {
				n = 10
			}
			lo[k] = r.Int64N(n)
			hi[k] = lo[k] + r.Int64N(n-lo[k]+1)
		}
		box, err := Box(1, r.Int64N(10), shape, lo, hi)
		if err != nil {
			panic(err)
		}
		return box
	}
	for {
		dims := make([]Dim, 1+r.IntN(3))
		for k := range dims {
			dims[k] = Dim{r.Int64N(5), r.Int64N(40) - 20}
		}
		if s, err := Strided(1, 60+r.Int64N(40), dims); err == nil {
			return s
		}
	}
}

func checkPair(t require.TestingT, r, s Region) {
	x, y := elements(r), elements(s)
	common, left := map[int64]int{}, map[int64]int{}
	for e := range x {
		if y[e] > 0 {
			common[e] = 1
		} else {
			left[e] = 1
		}
	}
	require.Equal(t, int64(len(x)), r.Len(), "%v has each element once", r)
	require.Equal(t, len(common) > 0, r.Overlaps(s), "%v overlaps %v", r, s)
	require.Equal(t, len(common) == len(y), r.Contains(s), "%v contains %v", r, s)
	require.Equal(t, common, elements(r.Intersect(s)...), "%v intersect %v", r, s)
	require.Equal(t, left, elements(r.Subtract(s)...), "%v subtract %v", r, s)
	if len(x) == len(y) && len(common) == len(x) && len(x) > 0 {
		require.Equal(t, r, s, "equal sets are ==")
	}
	checkRuns(t, r, x)
}

func checkRuns(t require.TestingT, r Region, want map[int64]int) {
	got := map[int64]int{}
	last := int64(-1 << 60)
	for lo, hi := range r.Runs() {
		require.Less(t, last, lo, "runs of %v ascend and do not touch", r)
		require.Less(t, lo, hi)
		for e := lo; e < hi; e++ {
			got[e]++
		}
		last = hi
	}
	require.Equal(t, want, got, "runs of %v", r)
	lo, hi := r.Bounds()
	for e := range want {
		require.True(t, lo <= e && e < hi)
	}
}

func TestRegionsAgainstElements(t *testing.T) {
	for seed := range programs(6000) {
		r := rand.New(rand.NewPCG(seed, 1))
		checkPair(t, randomRegion(r), randomRegion(r))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// drawRegion draws boxes of arrays with extents that divide each other or not, at any offset, so
// that one box wraps around the rows of another's grid; rapid makes a failing pair small.
func drawRegion(t *rapid.T, name string) Region {
	n := rapid.IntRange(1, MaxDims).Draw(t, name+" dims")
	stride := int64(1)
	var dims []Dim
	for range n {
		d := Dim{rapid.Int64Range(1, 4).Draw(t, name+" count"), stride * rapid.Int64Range(1, 3).Draw(t, name+" step")}
		dims = append(dims, d)
		stride = d.Stride * rapid.SampledFrom([]int64{1, 2, 3, 4, 6}).Draw(t, name+" extent")
	}
	r, err := Strided(1, rapid.Int64Range(-60, 60).Draw(t, name+" offset"), dims)
	if err != nil {
		t.Skip(err)
	}
	return r
}

func TestRegionPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkPair(rt, drawRegion(rt, "r"), drawRegion(rt, "s"))
	})
}

// TestIntervalAndBox is the pair that programs have most: whole rows, or the whole array, and a
// tile.
func TestIntervalAndBox(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lo := rapid.Int64Range(-10, 150).Draw(rt, "lo")
		flat := Interval(1, lo, lo+rapid.Int64Range(1, 200).Draw(rt, "length"))
		box := drawRegion(rt, "box")
		checkPair(rt, flat, box)
		checkPair(rt, box, flat)
	})
}

// TestCostDoesNotGrowWithRows: boxes of one array, wherever they begin, are handled as boxes.
func TestCostDoesNotGrowWithRows(t *testing.T) {
	const rows, cols = 1 << 20, 1 << 10
	tile, err := Box(1, 777, []int64{rows, cols}, []int64{5, 900}, []int64{rows - 5, 1000})
	require.NoError(t, err)
	whole := Interval(1, 777, 777+rows*cols)
	other, err := Box(1, 777, []int64{rows, cols}, []int64{0, 10}, []int64{rows, 950})
	require.NoError(t, err)
	cube, err := Box(1, 777, []int64{rows >> 4, 16, cols}, []int64{3, 4, 5}, []int64{rows>>4 - 1, 9, 980})
	require.NoError(t, err)
	require.Less(t, testing.AllocsPerRun(10, func() {
		for _, r := range []Region{tile, whole, other, cube} {
			for _, s := range []Region{tile, whole, other, cube} {
				r.Overlaps(s)
				r.Contains(s)
			}
		}
	}), 1.0)
	for _, r := range []Region{tile, whole, other, cube} {
		for _, s := range []Region{tile, whole, other, cube} {
			left, common := r.Subtract(s), r.Intersect(s)
			require.Less(t, len(left)+len(common), 40, "%v and %v", r, s)
			require.Equal(t, r.Len(), lenOf(left)+lenOf(common), "%v and %v", r, s)
		}
	}
}

func lenOf(rs []Region) (n int64) {
	for _, r := range rs {
		n += r.Len()
	}
	return n
}

func checkSet(t *testing.T, r *rand.Rand) {
	t.Helper()
	var s Set
	want := map[int64]int{}
	for range 12 {
		x := randomRegion(r)
		if r.IntN(3) > 0 {
			s.Add(x)
			for e := range elements(x) {
				want[e] = 1
			}
		} else {
			s.Remove(x)
			for e := range elements(x) {
				delete(want, e)
			}
		}
		require.Equal(t, want, elements(s.Regions()...), "after %v: disjoint and exact", x)
		require.Equal(t, int64(len(want)), s.Len())
		q := randomRegion(r)
		common := map[int64]int{}
		for e := range elements(q) {
			if want[e] > 0 {
				common[e] = 1
			}
		}
		require.Equal(t, common, elements(s.Intersect(q, nil)...))
		require.Equal(t, int64(len(common)), s.Count(q))
		require.Equal(t, len(common) > 0, s.Overlaps(q))
		require.Equal(t, int64(len(common)) == q.Len(), s.Contains(q))
	}
}

func TestSetAgainstElements(t *testing.T) {
	for seed := range programs(1500) {
		checkSet(t, rand.New(rand.NewPCG(seed, 2)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzRegions(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		checkPair(t, randomRegion(r), randomRegion(r))
		checkSet(t, r)
	})
}

func TestTilesOfOneMatrixJoin(t *testing.T) {
	var s Set
	for i := range int64(4) {
		for j := range int64(4) {
			tile, err := Box(1, 0, []int64{64, 64}, []int64{16 * i, 16 * j}, []int64{16*i + 16, 16*j + 16})
			require.NoError(t, err)
			s.Add(tile)
		}
	}
	require.Equal(t, []Region{Interval(1, 0, 64*64)}, s.Regions())
}

func TestBadRegions(t *testing.T) {
	_, err := Box(1, 0, []int64{4, 4}, []int64{0, 0}, []int64{5, 4})
	require.ErrorContains(t, err, "dimension 1: [0:5] is outside of 0 to 4")
	_, err = Box(1, 0, nil, nil, nil)
	require.Error(t, err)
	_, err = Strided(1, 0, []Dim{{3, 2}, {3, 3}})
	require.ErrorContains(t, err, "steps over")
	_, err = Strided(1, 0, []Dim{{-1, 2}})
	require.Error(t, err)
}

func TestRegionString(t *testing.T) {
	require.Equal(t, "b3[0:4096]", Interval(3, 0, 4096).String())
	tile, err := Box(3, 0, []int64{64, 1024}, []int64{0, 128}, []int64{16, 192})
	require.NoError(t, err)
	require.Equal(t, "b3[128; 16x64 stride 1024x1]", tile.String())
}
