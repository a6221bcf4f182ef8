//go:build linux && (amd64 || arm64)

package opencl_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/opencl"
)

// TestMain gives PoCL, where it is there, two devices, and a cache of its own.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gompss-pocl")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{"POCL_DEVICES": "pthread pthread", "POCL_CACHE_DIR": dir} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// options are those of the tests: GOMPSS_OPENCL_PLATFORM names another platform than PoCL.
func options(t testing.TB) opencl.Options {
	platform := os.Getenv("GOMPSS_OPENCL_PLATFORM")
	if platform == "" {
		platform = "Portable Computing Language"
	}
	return opencl.Options{Platform: platform, CacheDir: t.TempDir()}
}

// devicesOf opens up to two devices, and skips the test where there is none.
func devicesOf(t testing.TB, o opencl.Options) []*opencl.Device {
	t.Helper()
	all, err := opencl.Devices()
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	n := 0
	for _, d := range all {
		if o.Wants(d) {
			n++
		}
	}
	if n == 0 {
		t.Skipf("no device of platform %s", o.Platform)
	}
	opened, err := opencl.Open(min(n, 2), devices.SpaceID{Device: 1}, o)
	require.NoError(t, err)
	return opened
}
