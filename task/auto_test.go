package task_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// An accelerator that no machine has.
func init() {
	devices.RegisterAutomatic("unicorn", func(c devices.Config) ([]devices.Device, error) {
		return nil, &devices.MissingError{Err: errors.New("unicorn: no driver")}
	})
}

// Options without devices, and auto, run on the CPU workers where no accelerator opens, and say what is not there.
func TestAuto_RunsWithoutAnyAccelerator(t *testing.T) {
	for _, variable := range []string{"", "auto"} {
		t.Setenv(task.DevicesVariable, variable)
		file := filepath.Join(t.TempDir(), "run.gtrace")
		rt, err := task.New(task.Options{Trace: "file:" + file})
		require.NoError(t, err)
		done := false
		_, err = rt.Go(func() error { done = true; return nil })
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		s := rt.Stats()
		require.True(t, done)
		require.Contains(t, s.ByDevice, "smp")
		var absent []string
		for _, a := range s.Absent {
			absent = append(absent, a.Device+": "+a.Why.Error())
		}
		require.Contains(t, absent, "unicorn: unicorn: no driver")
		require.NoError(t, rt.Close())
		r, err := run.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, r.Summary().Absent, "unicorn: unicorn: no driver")
		require.NoError(t, os.Remove(file))
	}
}

// A kind that is named without a question mark must be there.
func TestAuto_NamedKindsAreInsistedOn(t *testing.T) {
	_, err := task.New(task.Options{Devices: "smp,unicorn"})
	require.EqualError(t, err, "task: devices: open unicorn: unicorn: no driver")
	rt, err := task.New(task.Options{Devices: "smp:1,unicorn?"})
	require.NoError(t, err)
	require.Len(t, rt.Stats().Absent, 1)
	require.NoError(t, rt.Close())
}
