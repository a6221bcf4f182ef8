package image

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

// Between counts what Go's loop counts.
func TestCount_IsWhatALoopCounts(t *testing.T) {
	for _, step := range []int64{-3, -2, -1, 1, 2, 5} {
		for lo := int64(-6); lo <= 6; lo++ {
			for hi := int64(-6); hi <= 6; hi++ {
				for _, inclusive := range []bool{false, true} {
					n := int64(0)
					for i := lo; step > 0 && i < hi || step < 0 && i > hi || inclusive && i == hi; i += step {
						n++
					}
					c := Count{Step: step, Inclusive: inclusive}
					require.Equal(t, n, c.Between(lo, hi), "from %d to %d by %d, inclusive %v", lo, hi, step, inclusive)
				}
			}
		}
	}
}

func TestSum_FoldsByTypeAndOperation(t *testing.T) {
	word := WordParams
	fold := func(op ir.Op, typ *ir.Type, x, y ir.Bits) ir.Bits {
		var master, own Block
		master[word], own[word] = uint64(x), uint64(y)
		Sum{Op: op, Type: typ, Word: word}.Fold(&master, &own)
		return ir.Bits(master[word])
	}
	f := func(v float64) ir.Bits { return ir.FloatBits(ir.Float32Type, v) }
	require.Equal(t, f(3.5), fold(ir.Add, ir.Float32Type, f(1), f(2.5)))
	require.Equal(t, f(1), fold(ir.Min, ir.Float32Type, f(1), f(2.5)))
	require.EqualValues(t, -128, int64(fold(ir.Add, ir.Int8Type, 127, 1)), "wraps as its type")
	require.EqualValues(t, 7, fold(ir.Or, ir.Uint16Type, 5, 2))
	require.EqualValues(t, 0, fold(ir.LAnd, ir.BoolType, 1, 0))
}

// The first of two equal values keeps the lower index, as one goroutine would find it.
func TestSum_KeepsTheFirstOfEqualPairs(t *testing.T) {
	s := Sum{Op: ir.MinLoc, Type: ir.Int32Type, Word: WordParams, Index: WordParams + 1, IndexType: ir.IntType}
	var master, own Block
	s.SetPair(&master, [2]uint64{4, 9})
	s.SetPair(&own, [2]uint64{4, 2})
	s.Fold(&master, &own)
	require.Equal(t, [2]uint64{4, 2}, s.Pair(&master))
	s.SetPair(&own, [2]uint64{5, 0})
	s.Fold(&master, &own)
	require.Equal(t, [2]uint64{4, 2}, s.Pair(&master))
}

func TestSharedUpdates_SeesOverlap(t *testing.T) {
	u := SharedUpdates{Slices: []UpdatedSlice{{Sum: Sum{Type: ir.Int32Type, Word: 30}}}, Others: []OtherSlice{{Word: 32, Size: 8}}}
	var b Block
	b[30], b[31] = 1000, 10 // 40 bytes
	b[32], b[33] = 1040, 5
	require.True(t, u.Apart(&b))
	b[32] = 1039
	require.False(t, u.Apart(&b))
	b[32], b[33] = 900, 12
	require.True(t, u.Apart(&b))
	b[33] = 13
	require.False(t, u.Apart(&b))
}

func TestUpdatedSlice_CombinesCopies(t *testing.T) {
	for _, typ := range []*ir.Type{ir.Int32Type, ir.Uint64Type, ir.Float32Type, ir.Float64Type, ir.Int16Type} {
		x := UpdatedSlice{Sum: Sum{Op: ir.Add, Type: typ}}
		size, n := int(typ.Size), 5
		to, from := make([]byte, n*size), x.CopyOf(int64(n))
		require.Len(t, from, n*size)
		value := func(v int) ir.Bits {
			if typ.IsFloat() {
				return ir.FloatBits(typ, float64(v))
			}
			return ir.Normal(typ, uint64(v))
		}
		for i := range n {
			ir.StoreBits(typ, to[i*size:], value(i))
			ir.StoreBits(typ, from[i*size:], value(10*i))
		}
		x.CombineAll(to, from)
		for i := range n {
			require.Equal(t, value(11*i), ir.LoadBits(typ, to[i*size:]), "%s", typ)
		}
	}
}

// A site computes the lanes that are on, and leaves the others alone.
func TestSite_ComputesLanesThatAreOn(t *testing.T) {
	s := Site{Kind: SiteLanes, Args: [2]*ir.Type{ir.Int64Type}, Result: ir.Int64Type, Eval: func(x, _ ir.Bits) (ir.Bits, error) { return x * x, nil }}
	var b Block
	b[WordBits] = 0b101
	for lane := range 3 {
		b[WordLanes+lane] = uint64(3 + lane)
	}
	require.NoError(t, s.Compute(&b))
	require.EqualValues(t, 9, b[WordLanes])
	require.EqualValues(t, 25, b[WordLanes+2])
}

func TestBlock_HoldsWhatTheLayoutPromises(t *testing.T) {
	require.EqualValues(t, unsafe.Sizeof(Block{}), SpillArea+SpillBytes)
	require.Zero(t, SavedVectors%64)
	require.Zero(t, SpillArea%64)
	require.Less(t, WordLanes+16, WordStop+1)
}
