package image

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/ir"
)

// The argument block that code gets in register Block, in words of 8 bytes: the range of
// iterations, the result, the parameters.
const (
	WordLo      = 0  // the first iteration
	WordHi      = 1  // and the one behind the last
	WordStatus  = 2  // StatusDone, StatusReturned, or 1 + the number of the site that failed
	WordIndex   = 3  // the index that was out of range
	WordLen     = 4  // and the length
	WordBits    = 5  // failing lanes of a gather; the indices are in WordLanes
	WordTrips   = 6  // iterations of the next loop
	WordResume  = 7  // where to continue after a yield
	WordLanes   = 8  // 2 times 64 bytes: vectors for Go
	WordStop    = 24 // address of the word that holds StopAsked when the goroutine is to stop
	WordScratch = 25 // address of memory for local arrays
	WordBlock   = 26 // iterations of a block of ordered sums
	WordGroups  = 27 // address of the values of groups of ordered sums
	WordParams  = 28 // the first of the parameters
)

// What code says in WordStatus when nothing failed.
const (
	StatusDone     = 0
	StatusReturned = 1<<31 - 1 // the kernel has returned: no stage follows
	StatusRunning  = 1 << 31   // set by Go: the code has not come back
	StatusFault    = 1<<31 + 1 // and this: it never will; the address is in WordIndex
)

// StopAsked is what the runtime stores where WordStop points when the goroutine is to be stopped:
// the value of stackPreempt in Go's package runtime.
const StopAsked = -1314

// Places in the block, in bytes, behind the words.
const (
	SavedGeneral = 8 * MaxWords
	SavedMasks   = SavedGeneral + 16*8
	SavedVectors = SavedMasks + 8*8
	SpillArea    = SavedVectors + 32*64
	blockBytes   = SpillArea + SpillBytes
)

// Room for spilled values: what the argument block of every launch has, and the most that one grows
// to.
const (
	SpillBytes = 32 << 10
	mostSpill  = 16 << 20
)

// BlockLayout is what register allocation and linking need to know of the block.
var BlockLayout = mach.Layout{SpillAt: SpillArea, MostSpill: mostSpill, ResumeAt: 8 * WordResume}

// MaxSums bounds the reductions of one loop.
const MaxSums = 16

// ScratchAlign is what the memory for local arrays begins at a multiple of, in bytes.
const ScratchAlign = 64

// MaxWords bounds the argument block.
const MaxWords = 1024

// WordMask changes no word below MaxWords, and tells Go's compiler that all are in the block.
const WordMask = MaxWords - 1

// A Block is what generated code gets: see WordLo and its neighbours.
type Block [blockBytes / 8]uint64

// RoundUp is the first multiple of to from n on.
func RoundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// GeneralIdentity extends an identity to the 64 bits of a general register.
func GeneralIdentity(bits uint64, t *ir.Type) int64 {
	shift := 64 - 8*uint(t.Size)
	if t.IsSigned() {
		return int64(bits<<shift) >> shift
	}
	return int64(bits << shift >> shift)
}
