//go:build !unix

package task_test

import (
	"testing"
	"time"
)

// processorTime skips the test that asks: this system does not tell by a call of package syscall that is the same on others.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	t.Skip("no getrusage")
	return 0
}
