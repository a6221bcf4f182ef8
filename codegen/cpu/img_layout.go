package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/ir"
)

// The argument block that code gets in DI, in words of 8 bytes: the range of iterations, the result, the parameters.
const (
	wordLo      = 0
	wordHi      = 1
	wordStatus  = 2  // statusDone, statusReturned, or 1 + the number of the site that failed
	wordIndex   = 3  // the index that was out of range
	wordLen     = 4  // and the length
	wordBits    = 5  // failing lanes of a gather; the indices are in wordLanes
	wordTrips   = 6  // iterations of the next loop
	wordResume  = 7  // where to go on after a yield
	wordLanes   = 8  // 2 times 64 bytes: vectors for Go
	wordBudget  = 24 // rounds of inner loops until the code pauses
	wordScratch = 25 // address of memory for local arrays
	wordParams  = 26
)

// What code says in wordStatus when nothing failed.
const (
	statusDone     = 0
	statusReturned = 1<<31 - 1 // the kernel has returned: no stage follows
	statusRunning  = 1 << 31   // set by Go: the code has not come back
	statusFault    = 1<<31 + 1 // and this: it never will; the address is in wordIndex
)

// Places in the block, in bytes, behind the words.
const (
	savedGeneral = 8 * maxWords
	savedMasks   = savedGeneral + 16*8
	savedVectors = savedMasks + 8*8
	spillArea    = savedVectors + 32*64
	blockBytes   = spillArea + spillBytes
)

// Room for spilled values: what the argument block of every launch has, and the most that one grows to.
const (
	spillBytes = 32 << 10
	mostSpill  = 16 << 20
)

// blockLayout is what register allocation and linking need to know of the block.
var blockLayout = mach.Layout{SpillAt: spillArea, MostSpill: mostSpill, ResumeAt: 8 * wordResume}

// maxWords bounds the argument block.
const maxWords = 1024

// wordMask changes no word below maxWords, and tells Go's compiler that all are in the block.
const wordMask = maxWords - 1

// A block is what generated code gets: see wordLo and its neighbours.
type block [blockBytes / 8]uint64

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// generalIdentity extends an identity to the 64 bits of a general register.
func generalIdentity(bits uint64, t *ir.Type) int64 {
	shift := 64 - 8*uint(t.Size)
	if t.IsSigned() {
		return int64(bits<<shift) >> shift
	}
	return int64(bits << shift >> shift)
}
