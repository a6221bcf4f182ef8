//go:build linux && (amd64 || arm64)

package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The environment says whether messages may be in memory of GPUs, else the library does.
func TestGPUSupport_ByTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, value string
		on, known   bool
	}{
		{"", "", false, false},
		{GPUVariable, "on", true, true},
		{GPUVariable, "off", false, true},
		{"MPIR_CVAR_ENABLE_GPU", "0", false, true},
		{"MPIR_CVAR_ENABLE_GPU", "1", false, false}, // as far as the library was built for it
		{"MPICH_GPU_SUPPORT_ENABLED", "1", true, true},
		{"MPICH_GPU_SUPPORT_ENABLED", "0", false, true},
		{"MV2_USE_CUDA", "1", true, true},
	} {
		on, known := gpuSupport(func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		require.Equal(t, [2]bool{c.on, c.known}, [2]bool{on, known}, "%s=%s", c.name, c.value)
	}
}
