package cpu

import (
	"math"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// A leagueSum is a reduction over a whole parallel loop. A chunk leaves its part in the variable's word; of a pair (minloc, maxloc, and the last
// value of a variable, which belongs to the largest iteration) in two words; of an array in the scratch memory, the word having the address
// of the array itself.
type leagueSum struct {
	op    ir.Op
	t     *ir.Type
	word  int
	index int      // word of the second of a pair; 0: there is none
	of    *ir.Type // of the second of a pair
	n     int64    // elements of an array; 0: it is no array
	at    int64    // in the scratch memory
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

// keep combines what a call has left in a block with what was there before it: alone it began with the identity.
func (x leagueSum) keep(b *block, before uint64) {
	switch {
	case x.n > 0:
		x.foldArray(b, b)
	case x.index == 0:
		b[x.word] = x.combine(before, b[x.word])
	}
}

// fold adds the part of a chunk on a block of its own.
func (x leagueSum) fold(master, own *block) {
	switch {
	case x.n > 0:
		x.foldArray(master, own)
	case x.index > 0:
		if x.better(own, master) {
			master[x.word], master[x.index] = own[x.word], own[x.index]
		}
	default:
		master[x.word] = x.combine(master[x.word], own[x.word])
	}
}

// pair is what a pair holds. Every chunk begins with what it held before the loop: among equals the smallest index must win, whichever chunk
// comes first.
func (x leagueSum) pair(b *block) [2]uint64 {
	if x.index == 0 {
		return [2]uint64{}
	}
	return [2]uint64{b[x.word], b[x.index]}
}

func (x leagueSum) setPair(b *block, v [2]uint64) {
	if x.index > 0 {
		b[x.word], b[x.index] = v[0], v[1]
	}
}

// better tells whether the pair in b wins over that in c: of equals the smaller index does.
func (x leagueSum) better(b, c *block) bool {
	op := ir.Lt
	if x.op == ir.MaxLoc {
		op = ir.Gt
	}
	is := func(op ir.Op, t *ir.Type, word int) bool {
		v, err := ir.FoldBinary(op, t, t, typed(b[word], t), typed(c[word], t))
		return err == nil && v != 0
	}
	return is(op, x.t, x.word) || x.of.IsInteger() && is(ir.Eq, x.t, x.word) && is(ir.Lt, x.of, x.index)
}

// foldArray adds the array of a chunk to that of all.
func (x leagueSum) foldArray(master, own *block) {
	// Safe: both arrays lie in scratch memory of launches that are running, at offsets below what was asked for.
	to, from := x.memory(master[x.word]), x.memory(own[wordScratch]+uint64(x.at))
	for i := range x.n {
		at := i * int64(x.t.Size)
		a, b := ir.LoadBits(x.t, to[at:]), ir.LoadBits(x.t, from[at:])
		ir.StoreBits(x.t, to[at:], ir.Bits(x.combine(uint64(a), uint64(b))))
	}
}

func (x leagueSum) memory(address uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), x.n*int64(x.t.Size))
}

// combine is x op y on the bits of two values.
func (s leagueSum) combine(x, y uint64) uint64 {
	switch {
	case s.t.Kind == ir.Bool && s.op == ir.LAnd:
		return x & y & 1
	case s.t.Kind == ir.Bool:
		return (x | y) & 1
	case s.t.Kind == ir.Float32:
		return uint64(math.Float32bits(combineFloats(s.op, math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y)))))
	case s.t.Kind == ir.Float64:
		return math.Float64bits(combineFloats(s.op, math.Float64frombits(x), math.Float64frombits(y)))
	case s.t.IsSigned():
		return uint64(generalIdentity(uint64(combineIntegers(s.op, int64(x), int64(y))), s.t))
	}
	return uint64(generalIdentity(combineIntegers(s.op, x, y), s.t))
}
