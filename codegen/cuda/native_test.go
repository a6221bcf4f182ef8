package cuda_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The CUDA C++ of an example is what NVRTC accepts, under the name that the runtime looks for.
func TestNVRTCTakesNativeText(t *testing.T) {
	text, err := os.ReadFile("../../examples/native/count.cu")
	require.NoError(t, err)
	answer := compile(t, generations, []nvrtcSource{{Name: "count.cu", Text: string(text), Options: []string{}}})
	require.Len(t, answer.Results, len(generations))
	for _, r := range answer.Results {
		require.True(t, r.OK, r.Log)
		require.Positive(t, r.Cubin)
	}
}
