//go:build unix

package smp

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// taskflow#244, #255, #339: idle workers that spin.
func TestIdleWorkersUseNoProcessorTime(t *testing.T) {
	w, q := start(t, 8)
	run(w, q, func(int) {})
	require.Eventually(t, func() bool { return w.Idle() == 8 }, 30*time.Second, time.Millisecond)
	least := time.Hour
	for range 5 { // other tests' garbage may still be collected: the best of five counts
		before := processorTime(t)
		<-time.After(100 * time.Millisecond)
		least = min(least, processorTime(t)-before)
	}
	require.Less(t, least, 20*time.Millisecond, "eight that spin would take a hundred on one processor")
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
