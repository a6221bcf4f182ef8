package simt

import "github.com/gompss/gompss/codegen/ir"

// A pointer is a segment number and an offset in it.
const (
	segmentShift = 48
	offsetMask   = 1<<segmentShift - 1
)

// The segments that are always there.
const (
	nilSegment     = 0
	privateSegment = 1
	teamSegment    = 2
	firstSegment   = 3 // of the buffers of arguments and scratch memory
)

func pointer(segment, off int64) uint64 { return uint64(segment)<<segmentShift | uint64(off) }

// A leaf is a part of a value that fits one register, at an offset in memory.
type leaf struct {
	kind ir.Kind // Pointer for addresses, Int64 for lengths
	off  int64
}

// inRegisters reports whether variables of type t can be registers: those without arrays, which are
// indexed.
func inRegisters(t *ir.Type) bool {
	switch t.Kind {
	case ir.Array:
		return false
	case ir.Struct:
		for _, f := range t.Fields {
			if !inRegisters(f.Type) {
				return false
			}
		}
	}
	return true
}

// leaves returns the number of registers of a value: 1, an address, for types that are not
// inRegisters.
func leaves(t *ir.Type) int32 {
	switch {
	case !inRegisters(t):
		return 1
	case t.Kind == ir.Slice:
		return 3
	case t.Kind == ir.Struct:
		n := int32(0)
		for _, f := range t.Fields {
			n += leaves(f.Type)
		}
		return n
	}
	return 1
}

// fieldLeaf returns the number of registers before field i.
func fieldLeaf(t *ir.Type, i int) int32 {
	n := int32(0)
	for _, f := range t.Fields[:i] {
		n += leaves(f.Type)
	}
	return n
}

// eachLeaf calls f for the leaves of a type, arrays taken apart too, with their offsets from off.
func eachLeaf(t *ir.Type, off int64, f func(leaf)) {
	switch t.Kind {
	case ir.Slice:
		f(leaf{ir.Pointer, off})
		f(leaf{ir.Int64, off + 8})
		f(leaf{ir.Int64, off + 16})
	case ir.Struct:
		for _, x := range t.Fields {
			eachLeaf(x.Type, off+int64(x.Offset), f)
		}
	case ir.Array:
		for i := range t.Len {
			eachLeaf(t.Elem, off+i*int64(t.Elem.Size), f)
		}
	default:
		f(leaf{t.Kind, off})
	}
}

var loadOps = map[ir.Kind]op{
	ir.Bool: opLoadU8, ir.Uint8: opLoadU8, ir.Uint16: opLoadU16, ir.Uint32: opLoadU32, ir.Float32: opLoadU32,
	ir.Int8: opLoadS8, ir.Int16: opLoadS16, ir.Int32: opLoadS32,
	ir.Int64: opLoad64, ir.Uint64: opLoad64, ir.Float64: opLoad64, ir.Pointer: opLoad64,
}

var storeOps = map[ir.Kind]op{
	ir.Bool: opStore8, ir.Uint8: opStore8, ir.Int8: opStore8, ir.Uint16: opStore16, ir.Int16: opStore16,
	ir.Uint32: opStore32, ir.Int32: opStore32, ir.Float32: opStore32,
	ir.Int64: opStore64, ir.Uint64: opStore64, ir.Float64: opStore64, ir.Pointer: opStore64,
}

// opSizes are the bytes that each load or store touches.
var opSizes = [...]int64{
	opLoadIndexU8: 1, opLoadIndexU16: 2, opLoadIndexU32: 4, opLoadIndex64: 8, opLoadIndexS8: 1, opLoadIndexS16: 2,
	opLoadIndexS32: 4, opStoreIndex8: 1, opStoreIndex16: 2, opStoreIndex32: 4, opStoreIndex64: 8,
	opLoadU8: 1, opLoadU16: 2, opLoadU32: 4, opLoad64: 8, opLoadS8: 1, opLoadS16: 2, opLoadS32: 4,
	opStore8: 1, opStore16: 2, opStore32: 4, opStore64: 8,
}
