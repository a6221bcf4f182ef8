//go:build unix && !linux

package hostmem

// adviseHugePages has nothing to ask for: these systems choose the size of pages themselves.
func adviseHugePages([]byte) {}
