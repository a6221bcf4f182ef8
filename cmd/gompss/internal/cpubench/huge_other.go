//go:build !linux

package cpubench

// wishHugePages has no meaning here.
func wishHugePages([]byte) {}
