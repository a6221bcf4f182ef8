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
	require.Eventually(t, func() bool { return w.Idle() == 8 }, 5*time.Second, time.Millisecond)
	before := processorTime(t)
	<-time.After(200 * time.Millisecond)
	require.Less(t, processorTime(t)-before, 40*time.Millisecond)
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
