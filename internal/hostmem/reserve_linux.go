package hostmem

import "golang.org/x/sys/unix"

// noReserve maps pages for which the system sets nothing aside: of a buffer of all ranks, each
// touches a part, and the whole may be more than a machine has.
const noReserve = unix.MAP_NORESERVE
