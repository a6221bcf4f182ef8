package machine_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
)

// message acquires an access as a message does and returns the working set with its memory, which
// is nil on the host.
func message(t *testing.T, m *machine.Machine, a deps.Access) (ws *machine.WorkingSet, memory []int64) {
	ready := make(chan error, 1)
	ws = &machine.WorkingSet{Accesses: []deps.Access{a}, Ready: func(_ *machine.WorkingSet, err error) { ready <- err }}
	ws.PlaceMessage(m)
	if !m.Acquire(ws) {
		require.NoError(t, <-ready)
	}
	if ws.Space == devices.Host {
		return ws, nil
	}
	on, at, err := ws.Expose(a.Region)
	require.NoError(t, err)
	require.NoError(t, on.Current())
	return ws, unsafe.Slice(*(**int64)(unsafe.Pointer(&at)), a.Region.Len())
}

// A message reads where the data are alone, and is written where the values before were used; else
// it is on the host. Messages have an eighth of the memory, which kernels do not get.
func TestPlaceMessage_WhereTheDataAre(t *testing.T) {
	const n = 512 // elements of a granule
	r := newRig(t, "smp:1,sim:2(memory=64KiB,granule=4KiB)", sim.Options{})
	require.True(t, r.m.KeepRoom())
	x, y := r.filled(4*n), r.filled(16*n)
	first, second, third := deps.Interval(x, 0, n), deps.Interval(x, n, 2*n), deps.Interval(x, 2*n, 3*n)
	require.ErrorIs(t, r.m.CheckFits([]deps.Access{in(deps.Interval(y, 0, 15*n))}, r.m.Devices()[1]), devices.ErrNoMemory)
	require.NoError(t, r.m.CheckFits([]deps.Access{in(deps.Interval(y, 0, 14*n))}, r.m.Devices()[1]))

	ws, memory := message(t, r.m, in(first))
	require.Nil(t, memory, "no device has it")
	r.m.ReleaseSet(ws, nil)
	for _, region := range []deps.Region{first, second, third} {
		r.submit(acc(1), []deps.Access{inout(region)}, add(region, 1000))
	}
	require.NoError(t, r.wait())
	a, memory := message(t, r.m, in(first))
	require.Equal(t, acc(1), a.Space)
	require.Equal(t, []int64{1000, 1001}, memory[:2])
	b, memory := message(t, r.m, out(second))
	require.Equal(t, acc(1), b.Space)
	memory[0] = 7
	c, memory := message(t, r.m, in(third))
	require.Nil(t, memory, "two granules are held already")
	for _, ws := range []*machine.WorkingSet{a, b, c} {
		r.m.ReleaseSet(ws, nil)
	}
	require.NoError(t, r.fetch())
	require.Equal(t, int64(7), r.buffers[x][n])
	require.Equal(t, int64(1000+2*n), r.buffers[x][2*n])
	ws, memory = message(t, r.m, in(first))
	require.Nil(t, memory, "the host has it, too")
	r.m.ReleaseSet(ws, nil)
	d, memory := message(t, r.m, out(first))
	require.Equal(t, acc(1), d.Space, "it was used there")
	require.NotNil(t, memory)
	r.m.ReleaseSet(d, errSkipped) // what it had is gone there, and valid on the host
	require.NoError(t, r.fetch())
	require.Equal(t, int64(1000), r.buffers[x][0])
	r.finish()
}
