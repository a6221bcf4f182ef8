//go:build unix

package sim_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
)

// Memory that the program has unmapped ends the copy that touches it, not the process.
func TestACopyOfMemoryThatIsGoneFails(t *testing.T) {
	d, x := bench(t, 8, sim.Options{})
	pages, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, d.Reserve(devices.Buffer{ID: 1, Host: devices.NewHostMemory(unsafe.Pointer(unsafe.SliceData(pages))), Size: 4096, Elem: 8}))
	require.NoError(t, d.Map(1, 0, 4096))
	require.NoError(t, unix.Munmap(pages))
	there, here := devices.SpaceID{Device: 1}, devices.Host
	for _, move := range []devices.Transfer{{From: here, To: there}, {From: there, To: here}} {
		move.Region, move.Elem = deps.Interval(1, 0, 512), 8
		require.ErrorContains(t, wait(d.Copy(move, nil)), "no memory at 0x")
	}
	x[0] = 5
	require.NoError(t, wait(down(d, 0, 8, up(d, 0, 8)))) // the device continues
	require.EqualValues(t, 5, x[0])
}
