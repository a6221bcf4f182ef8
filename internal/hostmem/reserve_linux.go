package hostmem

import "golang.org/x/sys/unix"

// noReserve maps pages without a reservation: each rank touches a part of a distributed buffer, and
// the whole may exceed the memory of a machine.
const noReserve = unix.MAP_NORESERVE
