//go:build unix && !linux

package task

// wishHuge has nothing to ask for: these systems choose the size of pages themselves.
func wishHuge([]byte) {}
