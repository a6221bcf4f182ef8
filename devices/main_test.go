package devices_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/gompss/gompss/devices/smp" // the CPU workers
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
