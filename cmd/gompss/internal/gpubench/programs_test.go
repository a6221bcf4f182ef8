package gpubench

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/gompss/gompss/devices/all" // sim
	"github.com/gompss/gompss/task"
)

// Every application gives the right result and moves nothing twice for one task, on one device and
// on four, with CPU workers beside them and without; where one device has all the work, or with
// GOMPSS_SOAK set, on a quiet machine, it stays in its budget. Simulated devices are threads of
// this machine: others that run on it hold some of them up, whose tasks the rest takes over, as it
// should.
func TestApplicationsStayInTheirBudgets(t *testing.T) {
	for _, a := range applications {
		for _, c := range []struct {
			spec  string
			parts int
		}{{"sim:1(exec=cpu)", 1}, {"sim:2(exec=cpu)", 2}, {"sim:4(exec=cpu)", 4}, {"smp:2,sim:4(exec=cpu)", 4}} {
			t.Run(a.name+" on "+c.spec, func(t *testing.T) {
				o, err := play(a, c.spec, true, c.parts, 3)
				if errors.Is(err, errBudget) && c.parts > 1 && os.Getenv("GOMPSS_SOAK") == "" {
					t.Log(err)
					err = o.within(o.most)
				}
				require.NoError(t, err)
				t.Log(o.links())
				require.Positive(t, o.moved.HostToDevice+o.moved.DeviceToHost, "nothing ran on a device")
			})
		}
	}
}

// A budget that is passed is an error.
func TestABudgetThatIsPassedIsTold(t *testing.T) {
	o := &outcome{budget: budget{toDevice: 10, toHost: 10, between: 0, into: 10}}
	require.NoError(t, o.within(o.budget))
	o.moved.DeviceToDevice = 8
	require.ErrorContains(t, o.within(o.budget), "between devices")
	require.ErrorIs(t, o.within(o.budget), errBudget)
}

// A run that is the only one takes as long as it takes, without the rest that others have behind
// their first.
func TestRestIsNotMeasured(t *testing.T) {
	none := application{"none", "", func(*task.Runtime, bool, int, int) (*program, error) {
		return &program{submit: func() error { return nil }, check: func() error { return nil }}, nil
	}, false}
	o, err := play(none, "sim:1(exec=cpu)", false, 1, 1)
	require.NoError(t, err)
	require.Less(t, o.seconds, pinningTime.Seconds())
}

// The rows of tasks and applications can be made on simulated devices.
func TestRowsOnSimulatedDevices(t *testing.T) {
	var out bytes.Buffer
	o := Options{Stdout: &out, Stderr: &out, JSON: true, Quick: true, Trials: true}
	for _, m := range []testbed{{"sim:1(exec=cpu)", 1}, {"smp:1,sim:2(exec=cpu)", 2}} {
		require.NoError(t, o.playAll([]testbed{m}))
	}
	for line := range strings.Lines(out.String()) {
		var r Row
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.True(t, r.Verified, line)
		require.Positive(t, r.Value, line)
	}
}
