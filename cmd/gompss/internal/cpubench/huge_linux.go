package cpubench

import "golang.org/x/sys/unix"

// wishHugePages asks for what the C programs ask for; the system may not listen.
func wishHugePages(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
