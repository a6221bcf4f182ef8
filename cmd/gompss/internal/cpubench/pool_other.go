//go:build !unix

package cpubench

// mapPool returns zeroed memory, ordinary Go memory where there is no mmap.
func mapPool(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

func unmapPool([]byte) error { return nil }

// clearPool zeroes mem: its pages stay.
func clearPool(mem []byte) error { clear(mem); return nil }
