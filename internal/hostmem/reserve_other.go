//go:build unix && !linux

package hostmem

// noReserve is 0: these systems reserve no memory for untouched pages.
const noReserve = 0
