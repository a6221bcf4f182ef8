package image

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// A Sum is a reduction over a whole parallel loop. A chunk leaves its part in the variable's word;
// of a pair (minloc, maxloc, and the last value of a variable, which belongs to the largest
// iteration) in two words; of an array in the scratch memory, the word having the address of the
// array itself.
type Sum struct {
	Op        ir.Op
	Type      *ir.Type
	Word      int
	Index     int      // word of the second of a pair; 0: there is none
	IndexType *ir.Type // of the second of a pair
	Elements  int64    // elements of an array; 0: it is no array
	Offset    int64    // in the scratch memory
}

// typed is a word of the block as a value of type t: a float32 has only the lower half.
func typed(word uint64, t *ir.Type) ir.Bits {
	if t.Kind == ir.Float32 {
		return ir.Bits(uint32(word))
	}
	return ir.Bits(word)
}

func combineFloats[T float32 | float64](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Mul:
		return x * y
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	}
	panic("gompss: bug: cpu: reduction of floats with " + op.String())
}

func combineIntegers[T int64 | uint64](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Mul:
		return x * y
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	case ir.And:
		return x & y
	case ir.Or:
		return x | y
	case ir.Xor:
		return x ^ y
	}
	panic("gompss: bug: cpu: reduction of integers with " + op.String())
}

// Keep combines what a call has left in a block with what was there before it: alone it began with
// the identity.
func (x Sum) Keep(b *Block, before uint64) {
	switch {
	case x.Elements > 0:
		x.foldArray(b, b)
	case x.Index == 0:
		b[x.Word] = x.combine(before, b[x.Word])
	}
}

// Fold adds the part of a chunk on a block of its own.
func (x Sum) Fold(master, own *Block) {
	switch {
	case x.Elements > 0:
		x.foldArray(master, own)
	case x.Index > 0:
		if x.better(own, master) {
			master[x.Word], master[x.Index] = own[x.Word], own[x.Index]
		}
	default:
		master[x.Word] = x.combine(master[x.Word], own[x.Word])
	}
}

// Ordered reports whether the order in which values are combined shows in the result: sums and
// products of floats round. A minimum has one value whatever the order.
func (x Sum) Ordered() bool { return order.Rounds(x.Op, x.Type) }

// PartBytes is the number of bytes that the part of a chunk takes beside the blocks.
func (x Sum) PartBytes() int64 {
	if x.Elements > 0 {
		return x.Elements * int64(x.Type.Size)
	}
	return 8
}

// SavePart copies the part of a chunk out of the block that it was made on.
func (x Sum) SavePart(to []byte, own *Block) {
	if x.Elements > 0 {
		copy(to, x.memory(own[WordScratch]+uint64(x.Offset)))
		return
	}
	binary.LittleEndian.PutUint64(to, own[x.Word])
}

// FoldPart adds a part that was saved.
func (x Sum) FoldPart(master *Block, from []byte) {
	if x.Elements > 0 {
		x.foldElements(x.memory(master[x.Word]), from)
		return
	}
	master[x.Word] = x.combine(master[x.Word], binary.LittleEndian.Uint64(from))
}

// CombineParts combines a part that was saved into another one.
func (x Sum) CombineParts(to, from []byte) {
	if x.Elements > 0 {
		x.foldElements(to, from)
		return
	}
	a, b := binary.LittleEndian.Uint64(to), binary.LittleEndian.Uint64(from)
	binary.LittleEndian.PutUint64(to, x.combine(a, b))
}

// Pair is what a pair holds. Every chunk begins with what it held before the loop: among equals the
// smallest index must win, whichever chunk comes first.
func (x Sum) Pair(b *Block) [2]uint64 {
	if x.Index == 0 {
		return [2]uint64{}
	}
	return [2]uint64{b[x.Word], b[x.Index]}
}

// SetPair stores value and index of a location reduction in b.
func (x Sum) SetPair(b *Block, v [2]uint64) {
	if x.Index > 0 {
		b[x.Word], b[x.Index] = v[0], v[1]
	}
}

// better reports whether the pair in b wins over that in c: of equals the smaller index does.
func (x Sum) better(b, c *Block) bool {
	op := ir.Lt
	if x.Op == ir.MaxLoc {
		op = ir.Gt
	}
	is := func(op ir.Op, t *ir.Type, word int) bool {
		v, err := ir.FoldBinary(op, t, t, typed(b[word], t), typed(c[word], t))
		return err == nil && v != 0
	}
	return is(op, x.Type, x.Word) || x.IndexType.IsInteger() && is(ir.Eq, x.Type, x.Word) && is(ir.Lt, x.IndexType, x.Index)
}

// foldArray adds the array of a chunk to that of all.
func (x Sum) foldArray(master, own *Block) {
	// Safe: both arrays lie in scratch memory of launches that are running, at offsets below what
	// was asked for.
	x.foldElements(x.memory(master[x.Word]), x.memory(own[WordScratch]+uint64(x.Offset)))
}

func (x Sum) foldElements(to, from []byte) {
	for i := range x.Elements {
		at := i * int64(x.Type.Size)
		a, b := ir.LoadBits(x.Type, to[at:]), ir.LoadBits(x.Type, from[at:])
		ir.StoreBits(x.Type, to[at:], ir.Bits(x.combine(uint64(a), uint64(b))))
	}
}

func (x Sum) memory(address uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), x.Elements*int64(x.Type.Size))
}

// combine is x op y on the bits of two values.
func (s Sum) combine(x, y uint64) uint64 {
	switch {
	case s.Type.Kind == ir.Bool && s.Op == ir.LAnd:
		return x & y & 1
	case s.Type.Kind == ir.Bool:
		return (x | y) & 1
	case s.Type.Kind == ir.Float32:
		return uint64(math.Float32bits(combineFloats(s.Op, math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y)))))
	case s.Type.Kind == ir.Float64:
		return math.Float64bits(combineFloats(s.Op, math.Float64frombits(x), math.Float64frombits(y)))
	case s.Type.IsSigned():
		return uint64(GeneralIdentity(uint64(combineIntegers(s.Op, int64(x), int64(y))), s.Type))
	}
	return uint64(GeneralIdentity(combineIntegers(s.Op, x, y), s.Type))
}
