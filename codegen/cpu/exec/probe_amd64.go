//go:build linux

package exec

// probe has nothing to find out: memory that the system calls executable is.
func probe(*Arena) error { return nil }
