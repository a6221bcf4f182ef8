package probe

import (
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Brief is a task of the program without kernel and label that runs on a CPU worker and does not
// fail: most tasks of a program of small Go functions are that, and two cache lines are all there
// is to say. It was chosen when it started, and its release was noticed when it ended.
//
// It lies in Briefs, where the goroutines that submit the task, make it ready and run it write it
// in turn: nothing is copied until it is collected.
type Brief struct {
	ID   deps.TaskID
	over atomic.Uint32 // overMark of ID once all is written

	Worker int16
	// Filled counts the words that are used, Touched the accesses in them and Waited the
	// predecessors: see Pack.
	Filled, Touched, Waited uint8

	Last                      deps.TaskID
	Submit, Ready, Start, End time.Duration // Start is 0 where only the words count; End may be read some nanoseconds too early
	Words                     [8]uint64
}

// A packed access is one word, or two where it does not fit in one:
//
//	small  mode (3 bits), 1, buffer (12), elements (20), first element (28)
//	near   mode (3 bits), 0, nothing (12), buffer (48); then first element (32), elements (32)
//
// It is elements that lie side by side. Predecessors follow, two a word, each by its distance from
// the task (32).
const (
	smallBit   = 1 << 3
	modeMask   = smallBit - 1
	bufferAt   = 4
	lengthAt   = 16
	firstAt    = 36
	mostBuffer = 1<<(lengthAt-bufferAt) - 1
	mostLength = 1<<(firstAt-lengthAt) - 1
	mostFirst  = 1<<(64-firstAt) - 1
	mostNear   = 1<<32 - 1
)

// Pack writes the accesses of the task and its predecessors into the words, and reports
// whether they fit.
func (b *Brief) Pack(accesses []deps.Access, predecessors []deps.TaskID) bool {
	n, w := 0, &b.Words
	for i := range accesses {
		r, mode := &accesses[i].Region, uint64(accesses[i].Mode)
		d := &r.Dims[0]
		first, length, buffer := uint64(r.Offset), uint64(d.Count), uint64(r.Buffer)
		switch {
		case n == len(w) || r.N != 1 || mode > modeMask || d.Stride != 1 && length != 1:
			return false
		case first <= mostFirst && length <= mostLength && buffer <= mostBuffer:
			w[n] = mode | smallBit | buffer<<bufferAt | length<<lengthAt | first<<firstAt
			n++
		case n+1 < len(w) && first <= mostNear && length <= mostNear:
			w[n], w[n+1] = mode|buffer<<lengthAt, first|length<<32
			n += 2
		default:
			return false
		}
	}
	if n+(len(predecessors)+1)/2 > len(w) {
		return false
	}
	for i, p := range predecessors {
		d := uint64(b.ID - p)
		if d > mostNear {
			return false
		}
		if i&1 == 0 {
			w[n&(len(w)-1)] = d
			n++
		} else {
			w[(n-1)&(len(w)-1)] |= d << 32
		}
	}
	b.Filled, b.Touched, b.Waited = uint8(n), uint8(len(accesses)), uint8(len(predecessors))
	return true
}

// UnpackAccess returns the first access in words, as mode, buffer, first element and elements, and
// the words behind it. It returns nil words and ok false when they are too few.
func UnpackAccess(words []uint64) (mode deps.Mode, buffer deps.BufferID, first, length int64, rest []uint64, ok bool) {
	if len(words) == 0 {
		return 0, 0, 0, 0, nil, false
	}
	x := words[0]
	mode = deps.Mode(x & modeMask)
	if x&smallBit != 0 {
		return mode, deps.BufferID(x >> bufferAt & mostBuffer), int64(x >> firstAt), int64(x >> lengthAt & mostLength), words[1:], true
	}
	if len(words) == 1 {
		return 0, 0, 0, 0, nil, false
	}
	y := words[1]
	return mode, deps.BufferID(x >> lengthAt), int64(y & mostNear), int64(y >> 32), words[2:], true
}

// Over says that all is written: the brief belongs to the collector from then on.
func (b *Brief) Over() { b.over.Store(overMark(b.ID)) }

func (b *Brief) isOver() bool { return b.over.Load() == overMark(b.ID) }

// overMark is not 0, and differs for tasks of one epoch.
func overMark(id deps.TaskID) uint32 { return uint32(id)<<1 | 1 }
