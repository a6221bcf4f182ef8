//go:build unix

package taskbench

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the CPU time that the process has used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
