//go:build unix && !linux

package hostmem

// noReserve is nothing: these systems set nothing aside for pages that are not touched.
const noReserve = 0
