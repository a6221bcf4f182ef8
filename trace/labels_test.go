package trace_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// Profiles tell kernels and devices apart on simulated devices too.
func TestSimulatedDevicesHaveLabels(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:1,sim:4"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { bodies(t, rt, ctx) })
	defer func() { cancel(); all.Wait(); require.NoError(t, rt.Close()) }()
	seen := func() bool {
		var b bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
		return strings.Contains(b.String(), `"device":"sim:`) && strings.Contains(b.String(), `"task":"Pull"`)
	}
	for end := time.Now().Add(time.Minute); !seen(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "no goroutine has the labels of a kernel")
	}
}
