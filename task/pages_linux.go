package task

import "golang.org/x/sys/unix"

// hugeFrom is the size in bytes from which memory is wished in huge pages, of which each then wastes little.
const hugeFrom = 16 << 20

// wishHuge asks for huge pages for large memory: what streams through small ones waits at each for its address, and the processor fetches ahead
// no further than to its end. Where there are none, or the system gives none, small ones serve.
func wishHuge(pages []byte) {
	if len(pages) >= hugeFrom {
		_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
	}
}
