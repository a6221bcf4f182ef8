//go:build linux && (amd64 || arm64)

package cuda

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/devices"
)

// Memory of populateFrom and more is populated before it is registered, in pieces, by a goroutine
// for two processors, populateMost at the most. A piece is a huge page, if there are some. The
// system is asked for populateStep at a time: while it gives pages no thread may map or unmap
// memory, and a thread that touches a new page waits behind one that wants to. If that is a
// goroutine, the Go runtime waits for it with all others when it collects garbage.
const (
	populateFrom  = 32 << 20
	populatePiece = 2 << 20
	populateStep  = 256 << 10
	populateMost  = 16
)

// bytesOf returns the memory of a buffer, nil when the collector has freed it.
func bytesOf(b devices.Buffer) []byte {
	at := (*byte)(b.Host.At())
	if at == nil {
		return nil
	}
	return unsafe.Slice(at, b.Size)
}

// wholePages returns the pages that lie in memory as a whole.
func wholePages(memory []byte) []byte {
	page := uintptr(os.Getpagesize())
	base := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	first := -base & (page - 1)
	end := (base+uintptr(len(memory)))&^(page-1) - base
	if base+first >= base+end {
		return nil
	}
	return memory[first:end]
}

// populate has the system give all pages of large memory, by several threads: the driver would
// touch them one after the other. What they hold stays as it is, and others may use the memory
// meanwhile. Pages that the system does not give are left to the driver, which says what is wrong
// with them: read-only memory, and all memory where Linux is older than 5.14.
//
// It wishes no huge pages, though memory in them is populated and registered in two thirds of the
// time: the wish would outlive the buffer, and Go's heap, where most memory comes from that is not
// of task.Alloc, gives pages back that such a wish fills again. task.Alloc wishes them itself,
// before anybody touches its memory.
//
// Cost, a GiB: 47 ms on 16 threads, 21 to 29 in huge pages, once; a walk over the page tables where
// all pages exist. With fewer than four processors it does nothing: one thread gains nothing.
func populate(memory []byte) {
	pages := wholePages(memory)
	threads := min(runtime.GOMAXPROCS(0)/2, populateMost)
	if len(pages) < populateFrom || threads < 2 {
		return
	}
	// Pieces begin at multiples of their size, so that two threads do not wait for the same huge
	// page.
	base := int64(uintptr(unsafe.Pointer(unsafe.SliceData(pages))) % populatePiece)
	var next atomic.Int64
	next.Store(-base)
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for {
				end := next.Add(populatePiece)
				piece := pages[max(0, min(end-populatePiece, int64(len(pages)))):min(end, int64(len(pages)))]
				if len(piece) == 0 {
					return
				}
				for step := range slices.Chunk(piece, populateStep) {
					if unix.Madvise(step, unix.MADV_POPULATE_WRITE) != nil {
						next.Store(int64(len(pages))) // the driver sees to the rest
						return
					}
				}
			}
		})
	}
	all.Wait()
}
