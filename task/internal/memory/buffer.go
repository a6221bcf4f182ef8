// Package memory holds the registered memory of a runtime: buffers, which are found by address and
// by number, grow, and are forgotten when the collector has freed them.
//
// A lookup takes no lock. Table.mu is taken after locks of submission; the locks of single buffers
// and of sweeps are innermost.
package memory

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/values"
)

// A Buffer is registered memory.
type Buffer struct {
	ID    deps.BufferID
	Host  *devices.HostMemory // where it is
	low   uintptr             // the same, as a number
	Len   int64               // elements
	Elem  deps.Bytes
	end   uintptr
	mask  uintptr // elem - 1 where that is a power of 2 above 1, of which shift is the logarithm; else 0
	shift uint8
	Use   atomic.Uint32 // inUse, unused, released or removed: see sweep.go
	Gone  atomic.Bool
	// Dropping means that a goroutine waits to drop it. Changed with the submission lock of the
	// program held, or by the goroutine that set it.
	Dropping atomic.Bool
	Pages    []byte // of Alloc; nil for ordinary Go memory
	Owner    *Owner // where it was used first
	Copied   bool   // it is a private copy of a reduction

	bufferGrowth
	bufferHold
}

// InUse reports whether tasks may be described with b: it is neither forgotten nor part of another
// buffer.
func (b *Buffer) InUse() bool { return b.Use.Load() == inUse }

// A bufferGrowth is the growth of a buffer: grown is the buffer that this one has become a part of,
// nil for one of its own; moved says that its merge was submitted, and that new tasks use grown;
// parts are those that have become parts of this one, as long as they are used. See grow.go.
type bufferGrowth struct {
	Grown atomic.Pointer[Buffer]
	Moved atomic.Bool
	Parts atomic.Pointer[[]*Buffer]
}

// A bufferHold lets the collector free the memory of a buffer.
type bufferHold struct {
	holding spin.Mutex   // guards the ways from and to released, and what host does then; innermost but for Sweeps
	Users   atomic.Int32 // iterations, and tasks in flight that use it without an access
	Kept    atomic.Bool  // until it is given back: the program has registered it, or the collector never frees it
	freed   atomic.Bool  // by the collector

	unordered atomic.Int32                  // of Users, the tasks in flight
	idle      atomic.Pointer[chan struct{}] // wakes the goroutine that drops the buffer
}

// BeginUnordered says that a task in flight uses b without an access that orders it.
func (b *Buffer) BeginUnordered() {
	b.Users.Add(1)
	b.unordered.Add(1)
}

// EndUnordered says that the task has ended.
func (b *Buffer) EndUnordered() {
	b.Users.Add(-1)
	if b.unordered.Add(-1) == 0 {
		if idle := b.idle.Load(); idle != nil {
			select {
			case *idle <- struct{}{}:
			default: // it knows
			}
		}
	}
}

// Unordered reports whether tasks in flight use b without an access that orders them.
func (b *Buffer) Unordered() bool { return b.unordered.Load() > 0 }

// AwaitUnordered waits for these tasks. Requires: the caller is the one that drops b.
func (b *Buffer) AwaitUnordered() {
	idle := make(chan struct{}, 1)
	b.idle.Store(&idle)
	defer b.idle.Store(nil)
	for b.Unordered() {
		<-idle
	}
}

// measure stores the fields by which b is found.
func (b *Buffer) measure() {
	b.end = b.low + uintptr(b.Size())
	if b.Elem > 1 && b.Elem&(b.Elem-1) == 0 {
		b.mask, b.shift = uintptr(b.Elem-1), uint8(bits.TrailingZeros64(uint64(b.Elem)))
	}
}

// String says which slice or variable of the program it is.
func (b *Buffer) String() string {
	return fmt.Sprintf("%d elements of %d bytes at %#x", b.Len, b.Elem, b.Lo())
}

func (b *Buffer) Size() deps.Bytes { return deps.Bytes(b.Len) * b.Elem }
func (b *Buffer) Lo() uintptr      { return b.low }
func (b *Buffer) Hi() uintptr      { return b.end }

// Memory returns all of b, which is alive as long as the result.
func (b *Buffer) Memory() values.Range {
	return values.Range{Base: b.Host.At(), Len: b.Len, Cap: b.Len, Elem: b.Elem}
}

// Whole returns all elements of b.
func (b *Buffer) Whole() deps.Region { return b.Span(0, b.Len) }

// Span returns elements [lo, hi) of b.
func (b *Buffer) Span(lo, hi int64) deps.Region { return deps.Interval(b.ID, lo, hi) }
