package cpu

import (
	"encoding/binary"
	"errors"
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

// maxWords bounds the argument block, which lives on the caller's stack.
const maxWords = 96

// ErrTooManyArguments is returned for kernels whose parameters do not fit the argument block.
var ErrTooManyArguments = errors.New("cpu: too many parameters")

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

// Run executes iterations [lo, hi) of the kernel's outermost loop, counted from its first. It does not allocate. The caller keeps the
// slices alive. It returns a *BoundsError when a checked access fails. Long ranges delay the collector: cut them into chunks of 20 to
// 100 microseconds.
func (p *Program) Run(args []Value, lo, hi int64) error {
	var block [maxWords]uint64
	if p.Code.words > maxWords {
		return ErrTooManyArguments
	}
	block[wordLo], block[wordHi] = uint64(lo), uint64(hi)
	word := wordParams
	for i, v := range p.Code.Kernel.Params {
		if v.Type.Kind == ir.Slice {
			block[word], block[word+1] = uint64(uintptr(args[i].Addr)), uint64(args[i].Len)
			word++
		} else {
			block[word] = args[i].Bits
		}
		word++
	}
	call(p.entry, unsafe.Pointer(&block))
	if block[wordStatus] == 0 {
		return nil
	}
	return p.failure(&block)
}

// failure makes an error of what the code reported.
func (p *Program) failure(block *[maxWords]uint64) error {
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
