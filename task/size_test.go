package task

import (
	"testing"
	"unsafe"

	"github.com/gompss/gompss/task/internal/engine"
	"github.com/stretchr/testify/require"
)

// TestPendingTasksAreSmall holds the size of a record to what a million pending tasks may take.
func TestPendingTasksAreSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(engine.Record{}), uintptr(256))
}
