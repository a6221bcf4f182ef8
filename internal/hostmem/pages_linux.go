package hostmem

import "golang.org/x/sys/unix"

// hugePageMin is the size in bytes from which memory is wished in huge pages, of which each then
// wastes little.
const hugePageMin = 16 << 20

// adviseHugePages asks for huge pages for large memory: what streams through small ones waits at
// each for its address, and the processor fetches ahead no further than to its end. Where there are
// none, or the system gives none, small ones serve.
func adviseHugePages(pages []byte) {
	if len(pages) >= hugePageMin {
		_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
	}
}
