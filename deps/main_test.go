package deps

import (
	"testing"

	"go.uber.org/goleak"
)

// programs returns how many of n random programs a test runs: with -short an eighth. The race detector
// and the emulator of CI run these; what one goroutine computes is the same there.
func programs(n uint64) uint64 {
	if testing.Short() {
		return n / 8
	}
	return n
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
