package tune

import (
	"fmt"
	"math/bits"
)

// A Class is the sizes of a launch, roughly: what is fastest for one is taken to be fastest for
// others of its class. Sizes below exactSize count as they are, larger ones in quarters of a power
// of two, with whether they are multiples of 4 and of 32.
type Class uint64

const exactSize = 64

// AddRoughly returns c with a size that counts by its power of two alone, as that of a step of many
// that a program makes.
func (c Class) AddRoughly(n int64) Class { return c.Add(int64(bits.Len64(uint64(max(n, 0))))) }

// Add returns c with one more size.
func (c Class) Add(n int64) Class {
	v := uint64(max(n, 0))
	if v >= exactSize {
		b := bits.Len64(v)
		quarter := v >> (b - 3) // the leading three bits
		v = exactSize + (uint64(b)<<3|quarter)<<2
		if n%4 == 0 {
			v |= 1
		}
		if n%32 == 0 {
			v |= 2
		}
	}
	x := (uint64(c) + 1 ^ v) * 0x9e3779b97f4a7c15 // Fibonacci hashing: Knuth, volume 3, section 6.4
	return Class(x ^ x>>29)
}

func (c Class) String() string { return fmt.Sprintf("%016x", uint64(c)) }
