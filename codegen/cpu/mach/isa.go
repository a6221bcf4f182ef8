package mach

// An ISA is the instruction set that code is for. Virtual code has the same operations for
// all of them; which it may use follows from it.
type ISA uint8

// The instruction sets.
const (
	Native     ISA = iota // of this processor
	AMD64                 // AVX-512, or AVX2
	AMD64Short            // AVX2 in vectors of 16 bytes, as NEON has them: for tests
	ARM64                 // NEON
)

// Compares reports whether VCompareI32 and its like make lanes by every predicate.
func (s ISA) Compares() bool { return s == ARM64 }

// Converts reports whether one operation makes floats of integers of any type, or int64 of floats,
// besides AVX-512.
func (s ISA) Converts() bool { return s == ARM64 }

// InverseRoots reports whether there is VInverseSqrtF32.
func (s ISA) InverseRoots() bool { return s == ARM64 }

// Extremes reports whether there are VLeastF32 and its like.
func (s ISA) Extremes() bool { return s == ARM64 }

// Short reports whether vectors have 16 bytes.
func (s ISA) Short() bool { return s == AMD64Short || s == ARM64 }
