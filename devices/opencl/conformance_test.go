//go:build linux && (amd64 || arm64)

package opencl_test

import (
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// TestConformance is the suite that every plug-in passes.
func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t testing.TB) []devices.Accelerator {
		o := options(t)
		o.Memory = 64 << 20
		var out []devices.Accelerator
		for _, d := range devicesOf(t, o) {
			out = append(out, d)
		}
		return out
	})
}
