package demotest

import (
	"fmt"
	"os"
	"testing"

	"github.com/gompss/gompss/internal/machine"
)

// ByOpenCL returns device specifications with an OpenCL device of PoCL, or of the platform that
// GOMPSS_OPENCL_PLATFORM names: alone, beside CPU workers, and where there is a GPU of kind cuda,
// beside both. It skips the test where there is none.
func ByOpenCL(t testing.TB) []string {
	t.Helper()
	platform := os.Getenv("GOMPSS_OPENCL_PLATFORM")
	if platform == "" {
		platform = "pocl"
	}
	opens := func(spec string) error {
		m, err := machine.Open(spec, machine.Options{})
		if err != nil {
			return err
		}
		return m.Close()
	}
	device := fmt.Sprintf("opencl:1(platform=%s,cache=off)", platform)
	if err := opens(device); err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	out := []string{device, "smp:2," + device}
	if opens("cuda:1") == nil {
		out = append(out, "smp:2,cuda:1,"+device)
	}
	return out
}
