package task_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// The CPU profile of a run with "profile" names tasks and devices, and so do the regions of Go's tracer.
func TestProfilesNameTasks(t *testing.T) {
	var profile, regions bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&profile))
	require.NoError(t, trace.Start(&regions))
	rt, err := task.New(task.Options{Devices: "smp:1", Trace: "profile"})
	require.NoError(t, err)
	spin := func() error {
		for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
		}
		return nil
	}
	_, err = rt.Go(spin, task.Label("spinning-task"))
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	trace.Stop()
	pprof.StopCPUProfile()
	z, err := gzip.NewReader(&profile)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Contains(t, string(text), "spinning-task")
	require.Contains(t, regions.String(), "spinning-task")
}
