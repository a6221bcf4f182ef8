package hostmem

import "golang.org/x/sys/unix"

// hugePageMin is the size in bytes from which huge pages are requested; beyond it they waste little
// memory.
const hugePageMin = 16 << 20

// adviseHugePages requests huge pages for large memory: a stream through small pages pays a
// translation for each, and the processor prefetches only to the end of a page. Where the system
// has no huge pages, small ones are used.
func adviseHugePages(pages []byte) {
	if len(pages) >= hugePageMin {
		_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
	}
}
