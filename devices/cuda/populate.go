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

// Memory of at least populateFrom bytes is populated before it is registered, in pieces, by one
// goroutine for two processors, at most populateMost of them. A piece is a huge page, if the memory
// has some. A request covers populateStep bytes, because no thread can map or unmap memory while
// the system allocates pages, and a thread that touches a new page waits behind it. If that thread
// is a goroutine, a garbage collection waits for it together with all other goroutines.
const (
	populateFrom  = 32 << 20
	populatePiece = 2 << 20
	populateStep  = 256 << 10
	populateMost  = 16
)

// bytesOf returns the memory of a buffer, nil if the garbage collector has freed it.
func bytesOf(b devices.Buffer) []byte {
	at := (*byte)(b.Host.At())
	if at == nil {
		return nil
	}
	return unsafe.Slice(at, b.Size)
}

// wholePages returns the pages that are completely in memory.
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

// populate makes the system allocate all pages of large memory, in several threads; the driver
// would touch them one after the other. The contents do not change, and other goroutines may access
// the memory meanwhile. Pages that the system does not allocate are left to the driver, which
// reports the error: read-only memory, and all memory on Linux before 5.14.
//
// It does not request huge pages, although these make populating and registering a third faster:
// the request would outlive the buffer, and would refill pages that Go's heap, from which most
// memory outside task.Alloc comes, has returned. task.Alloc requests them itself, before the first
// access to its memory.
//
// Cost per GiB: 47 ms on 16 threads, 21 to 29 ms in huge pages, once; a walk of the page tables if
// all pages exist. With fewer than four processors populate does nothing, because one thread has no
// advantage.
func populate(memory []byte) {
	pages := wholePages(memory)
	threads := min(runtime.GOMAXPROCS(0)/2, populateMost)
	if len(pages) < populateFrom || threads < 2 {
		return
	}
	// Pieces start at multiples of their size, so that two threads never wait for the same huge
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
						next.Store(int64(len(pages))) // the driver handles the rest
						return
					}
				}
			}
		})
	}
	all.Wait()
}
