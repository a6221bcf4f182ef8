package cpu

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// A Value is one actual argument of a run: a scalar as bits, or a slice as address and length.
type Value struct {
	Bits uint64
	Addr unsafe.Pointer
	Len  int64
}

// A Program is compiled code in executable memory, ready to run. It may run on any number of goroutines at once.
type Program struct {
	Code  *Code
	entry uintptr
}

// Install puts code into the arena.
func (a *Arena) Install(c *Code) (*Program, error) {
	entry, err := a.Add(c.Bytes)
	if err != nil {
		return nil, err
	}
	return &Program{Code: c, entry: entry}, nil
}

// maxWords bounds the argument block.
const maxWords = 192

// A block is what generated code gets: see wordLo and its neighbours.
type block [maxWords]uint64

// bind puts the arguments into the block.
func (b *block) bind(params []*ir.Var, args []Value) {
	word := wordParams
	for i, v := range params {
		if v.Type.Kind == ir.Slice {
			b[word], b[word+1] = uint64(uintptr(args[i].Addr)), uint64(args[i].Len)
			word++
		} else {
			b[word] = args[i].Bits
		}
		word++
	}
}

// run calls the code of a stage for iterations [lo, hi).
func (p *Program) run(s *stage, b *block, lo, hi int64) error {
	b[wordLo], b[wordHi] = uint64(lo), uint64(hi)
	call(p.entry+uintptr(s.entry), unsafe.Pointer(b))
	if st := b[wordStatus]; st != statusDone && st != statusReturned {
		return p.failure(b)
	}
	return nil
}

// A BoundsError is a failed check: the access was not made, what the kernel had written before is undefined.
type BoundsError struct {
	Kernel string
	Slice  string
	Index  int64
	Len    int64
	At     ir.Pos
}

func (e *BoundsError) Error() string {
	return fmt.Sprintf("%s: %s: index out of range: %s[%d] with length %d", e.At, e.Kernel, e.Slice, e.Index, e.Len)
}

// failure makes an error of what the code reported.
func (p *Program) failure(block *block) error {
	s := p.Code.sites[block[wordStatus]-1]
	e := &BoundsError{Kernel: p.Code.Kernel.Name, Slice: s.slice, Index: int64(block[wordIndex]), Len: int64(block[wordLen]), At: s.at}
	if s.bytes > 0 { // a gather: the first failing lane's index is in the vector of indices
		lane := bits.TrailingZeros64(block[wordBits])
		word := block[wordLanes+lane*s.bytes/8]
		if s.bytes == 4 {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], word)
			e.Index = int64(int32(binary.LittleEndian.Uint32(b[lane%2*4:])))
		} else {
			e.Index = int64(word)
		}
	}
	return e
}
