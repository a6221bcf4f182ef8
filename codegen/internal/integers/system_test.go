package integers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIntegers_AreDecidedAsByEnumeration compares random systems with all points of a box.
func TestIntegers_AreDecidedAsByEnumeration(t *testing.T) {
	count := map[solvable]int{}
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		s, size := randomSystem(r)
		original := s.Clone()
		work := 1 << 14
		point, found := s.Solve(&work)
		count[found]++
		has := enumerate(original, size)
		switch found {
		case SolvableBy:
			require.True(t, original.holds(point), "seed %d: %v is no solution of %v", seed, point, original)
		case SolvableNever:
			require.Nil(t, has, "seed %d: %v is a solution of %v", seed, has, original)
		}
	}
	t.Log(fmt.Sprint(count))
	require.Less(t, count[solvableUnknown], 100)
	require.Greater(t, count[SolvableBy], 2000)
	require.Greater(t, count[SolvableNever], 2000)
}

// randomSystem has up to four variables between 0 and size[i].
func randomSystem(r *rand.Rand) (*System, []int64) {
	n := 1 + r.IntN(4)
	s, size := &System{N: n}, make([]int64, n)
	for i := range n {
		size[i] = r.Int64N(7)
		lo, hi := make(Row, n+1), make(Row, n+1)
		lo[i], hi[i], hi[n] = 1, -1, size[i]
		s.Least = append(s.Least, lo, hi)
	}
	for range r.IntN(3) + 1 {
		row := make(Row, n+1)
		for i := range n {
			row[i] = r.Int64N(25) - 12
		}
		row[n] = r.Int64N(61) - 30
		switch r.IntN(3) {
		case 0:
			s.Equal = append(s.Equal, row)
		case 1:
			s.Least = append(s.Least, row)
		default: // a narrow band
			other := make(Row, n+1)
			for i := range row {
				other[i] = -row[i]
			}
			other[n] += r.Int64N(8)
			s.Least = append(s.Least, row, other)
		}
	}
	return s, size
}

// enumerate returns a solution in the box, nil where there is none.
func enumerate(s *System, size []int64) []int64 {
	point := make([]int64, s.N)
	for {
		if s.holds(point) {
			return point
		}
		i := 0
		for ; i < s.N; i++ {
			if point[i]++; point[i] <= size[i] {
				break
			}
			point[i] = 0
		}
		if i == s.N {
			return nil
		}
	}
}

func (s *System) holds(point []int64) bool {
	bad := func(least int64) func(Row) bool {
		return func(r Row) bool {
			n, ok := r.At(point)
			return !ok || n < 0 || least == 0 && n != 0
		}
	}
	return !slices.ContainsFunc(s.Least, bad(-1)) && !slices.ContainsFunc(s.Equal, bad(0))
}

// TestIntegers_WorkIsBounded has systems that take long, or whose numbers leave 64 bits: the answer is that they are not decided.
func TestIntegers_WorkIsBounded(t *testing.T) {
	count := map[solvable]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		const n = 8
		s := &System{N: n}
		for i := range n {
			lo, hi := make(Row, n+1), make(Row, n+1)
			lo[i], hi[i], hi[n] = 1, -1, 1000
			s.Least = append(s.Least, lo, hi)
		}
		for range 4 {
			row, other := make(Row, n+1), make(Row, n+1)
			for i := range n {
				row[i] = r.Int64N(2_000_000_000) - 1_000_000_000
				other[i] = -row[i]
			}
			other[n] = r.Int64N(3)
			s.Least = append(s.Least, row, other)
		}
		original := s.Clone()
		work := 1 << 15
		point, found := s.Solve(&work)
		count[found]++
		require.Greater(t, work, -1000, "seed %d", seed)
		require.True(t, found != SolvableBy || original.holds(point))
	}
	require.Positive(t, count[solvableUnknown])
}
