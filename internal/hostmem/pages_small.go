//go:build unix && !linux

package hostmem

// adviseHugePages does nothing: these systems choose the size of pages themselves.
func adviseHugePages([]byte) {}
