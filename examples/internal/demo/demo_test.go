package demo

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlocksCoverEverything(t *testing.T) {
	require.Equal(t, []int{0, 4, 8, 10}, Blocks(10, 4))
	require.Equal(t, []int{0, 3}, Blocks(3, 8))
	require.Equal(t, []int{0, 8}, Blocks(8, 8))
}

func TestJudgeFailsOnNaN(t *testing.T) {
	var r Result
	r.Judge(math.NaN(), 1)
	require.Equal(t, "failed", r.Check)
	r.Judge(0.5, 1)
	require.Equal(t, "ok", r.Check)
}

func TestJSONHasTheFields(t *testing.T) {
	var b bytes.Buffer
	r := Result{Example: "x", N: 3, Devices: "smp", Tasks: 2, TasksByDevice: map[string]int64{"smp": 2}, Seconds: 1, Gflops: 2, Check: "failed"}
	require.Equal(t, 1, r.Print(&b, true), "a failed check is a failure of the program")
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	for _, key := range []string{"example", "n", "devices", "tasks", "tasks_by_device", "bytes_moved", "seconds", "gflops", "check"} {
		require.Contains(t, got, key)
	}
	b.Reset()
	r.Print(&b, false)
	require.Contains(t, b.String(), "FAILED")
}
