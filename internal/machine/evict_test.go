package machine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
)

// starpu#38: a task with two inputs on a device with room for little more than those two. Fetching
// one evicted the other, for minutes. Here the room for both is had at once or not at all.
func TestTwoInputsOfOneTaskDoNotEvictEachOther(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	a, b, c := r.filled(1024), r.filled(1024), r.filled(1024) // two granules each; four fit
	for i := range 30 {
		x, y := []deps.BufferID{a, b, c}[i%3], []deps.BufferID{a, b, c}[(i+1)%3]
		r.submit(acc(0), []deps.Access{in(r.whole(x)), inout(r.whole(y))}, func(see func(deps.BufferID) []int64) {
			for k := range see(y) {
				see(y)[k] += see(x)[k] & 1
			}
		})
	}
	r.finish()
	n := r.m.Counters()
	// Each task finds one of its two buffers and fetches the other: one eviction of a buffer, one
	// write-back at most.
	require.LessOrEqual(t, n.HostToDevice, 31*8*kib)
	require.LessOrEqual(t, n.DeviceToHost, 33*8*kib)
	require.EqualValues(t, 29*2, n.Evictions, "each task but the first gives up one buffer of two granules")
}

// parsec#742: a tile that does not fit was tried again and again.
func TestWhatNeverFitsIsRefusedWithTheNumbers(t *testing.T) {
	r := newRig(t, "smp:1,sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	small, large := r.filled(512), r.filled(4096)
	accesses := []deps.Access{in(r.whole(small)), inout(r.whole(large))}
	device := r.m.Devices()[1]
	err := r.m.CheckFits(accesses, device)
	var full *devices.NoSpaceError
	require.ErrorAs(t, err, &full)
	require.ErrorIs(t, err, devices.ErrNoMemory)
	require.EqualError(t, err, "devices: sim:0: working set never fits: need 36.0 KiB in granules of 4.0 KiB, memory 16.0 KiB; the largest access, b1[0:4096], needs 32.0 KiB")
	require.NoError(t, r.m.CheckFits(accesses, r.m.Devices()[0]), "the host has room for all")
	require.NoError(t, r.m.CheckFits(accesses[:1], device))

	j := r.submit(acc(0), accesses, func(func(deps.BufferID) []int64) { t.Error("it ran") })
	require.ErrorAs(t, r.wait(), &full)
	require.ErrorAs(t, j.err, &full)
	require.Empty(t, r.m.Leak())
}

// Granules that two accesses share count once: the sum of both would not fit.
func TestSharedGranulesCountOnce(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	b := r.filled(2048)
	var accesses []deps.Access
	for i := range int64(8) {
		accesses = append(accesses, inout(deps.Interval(b, i*256, (i+1)*256)), in(r.whole(r.buffer(0))))
	}
	require.NoError(t, r.m.CheckFits(accesses, r.m.Devices()[0]))
	r.submit(acc(0), accesses, add(r.whole(b), 1))
	r.finish()
	require.EqualValues(t, 2048, r.buffers[b][2047])
}

func TestAMatrixMuchLargerThanTheDeviceRunsThrough(t *testing.T) {
	const n, tile = 512, 64 // 2 MiB through 128 KiB: a band of tiles is 256 KiB, a tile touches 64 rows of 4 KiB
	r := newRig(t, "sim:1", sim.Options{Memory: 512 * kib, Granule: 4 * kib})
	b := r.filled(n * n)
	for range 3 {
		for i := int64(0); i < n; i += tile {
			for j := int64(0); j < n; j += tile {
				region := box(b, n, i, i+tile, j, j+tile)
				r.submit(acc(0), []deps.Access{inout(region)}, add(region, 1))
			}
		}
	}
	require.NoError(t, r.wait())
	device := r.m.Accelerators()[0].(*sim.Device)
	require.LessOrEqual(t, device.Backed(), 512*kib)
	r.finish()
	for i, v := range r.buffers[b] {
		if v != int64(i+3) {
			require.EqualValues(t, i+3, v)
		}
	}
	c := r.m.Counters()
	size := deps.Bytes(n * n * elem)
	require.Equal(t, 3*size, c.HostToDevice, "each pass brings every element once")
	require.Equal(t, 3*size, c.DeviceToHost, "and takes it back once")
	require.Positive(t, c.WriteBacks)
}

// What was not written goes without a copy.
func TestCleanReplicasAreDropped(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	b := r.filled(16 * 1024)
	for i := range int64(32) {
		part := deps.Interval(b, i*512, (i+1)*512)
		r.submit(acc(0), []deps.Access{in(part)}, func(see func(deps.BufferID) []int64) {
			if x := see(b); x[i*512] != i*512 || x[i*512+511] != i*512+511 {
				t.Errorf("part %d: read %d", i, x[i*512])
			}
		})
	}
	r.finish()
	c := r.m.Counters()
	require.EqualValues(t, 128*kib, c.HostToDevice)
	require.Zero(t, c.DeviceToHost)
	require.Zero(t, c.WriteBacks)
	require.EqualValues(t, 28, c.Evictions)
}

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	b := r.filled(4096)
	part := func(i int64) deps.Access { return in(deps.Interval(b, i*512, (i+1)*512)) }
	read := func(i int64) {
		r.submit(acc(0), []deps.Access{part(i)}, func(func(deps.BufferID) []int64) {})
		require.NoError(t, r.wait())
	}
	for _, i := range []int64{0, 1, 2, 3, 0, 4} { // 1 is the oldest when 4 comes
		read(i)
	}
	var missing []deps.Bytes
	for i := range int64(5) {
		missing = append(missing, r.m.MissingBytes([]deps.Access{part(i)}, acc(0)))
	}
	require.Equal(t, []deps.Bytes{0, 4 * kib, 0, 0, 0}, missing)
}

// An element of 24 bytes lies on two granules: giving up either gives up the element, and both are
// written back.
func TestElementsThatCrossGranules(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 2 * kib, Granule: 512})
	const wide = 24
	n := int64(1000)
	b := deps.BufferID(0)
	x := make([]int64, 3*n)
	r.buffers = append(r.buffers, x)
	require.NoError(t, r.m.AddBuffer(b, pointer(x), deps.Bytes(n)*wide, wide))
	for range 2 {
		for lo := int64(0); lo < n; lo += 50 {
			part := deps.Interval(b, lo, lo+50)
			r.submit(acc(0), []deps.Access{inout(part)}, func(see func(deps.BufferID) []int64) {
				for i := 3 * lo; i < 3*(lo+50); i++ {
					see(b)[i] += i
				}
			})
		}
	}
	require.NoError(t, r.wait())
	done := make(chan error, 1)
	r.m.Fetch([]deps.Access{in(deps.Interval(b, 0, n))}, func(err error) { done <- err })
	require.NoError(t, <-done)
	for i, v := range x {
		if v != int64(2*i) {
			require.EqualValues(t, 2*i, v)
		}
	}
	require.Empty(t, r.m.Leak())
}

// Three that each want all of the device, and one that holds it: those that wait get it in the
// order they came, also when small ones that would fit come later.
func TestRoomIsGivenInTheOrderOfAsking(t *testing.T) {
	r := newRig(t, "sim:1", sim.Options{Memory: 16 * kib, Granule: 4 * kib})
	b := r.filled(8192)
	var order []int
	gate := make(chan struct{})
	large := func(i int) []deps.Access {
		return []deps.Access{in(deps.Interval(b, int64(i)*2048, int64(i)*2048+1536))} // three granules of four
	}
	small := []deps.Access{in(deps.Interval(b, 7680, 8192))}
	r.submit(acc(0), large(0), func(func(deps.BufferID) []int64) { <-gate })
	for i := 1; i <= 2; i++ {
		r.submit(acc(0), large(i), func(func(deps.BufferID) []int64) { order = append(order, i) })
	}
	for i := 3; i <= 9; i++ {
		r.submit(acc(0), small, func(func(deps.BufferID) []int64) { order = append(order, i) })
	}
	close(gate)
	r.finish()
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
}

// A copy of b is on sim:0, the nearer source, and on the host. When sim:0 turns out to be lost, the
// host's is taken.
func TestACopyThatSurvivesElsewhereIsTaken(t *testing.T) {
	for _, reader := range []devices.SpaceID{acc(1), acc(2)} {
		r := newRig(t, "sim:3", sim.Options{})
		b := r.filled(1000)
		r.submit(acc(0), []deps.Access{in(r.whole(b))}, func(func(deps.BufferID) []int64) {})
		require.NoError(t, r.wait())
		r.m.Accelerators()[0].(*sim.Device).Lose(errors.New("pulled out"))
		r.submit(reader, []deps.Access{inout(r.whole(b))}, add(r.whole(b), 1))
		r.finish()
		require.ErrorContains(t, r.m.Retired(acc(0)), "pulled out")
		require.EqualValues(t, 1000, r.buffers[b][999])
		require.EqualValues(t, 8000, r.m.Counters().HostToDevice-8000)
	}
}

func TestWhatOnlyALostDeviceHadIsLost(t *testing.T) {
	r := newRig(t, "smp:1,sim:2", sim.Options{})
	b := r.filled(1000)
	half, rest := deps.Interval(b, 0, 500), deps.Interval(b, 500, 1000)
	r.submit(acc(0), []deps.Access{inout(half)}, add(half, 1))
	r.submit(acc(1), []deps.Access{inout(rest)}, add(rest, 2))
	require.NoError(t, r.wait())
	r.m.Accelerators()[0].(*sim.Device).Lose(errors.New("pulled out"))
	j := r.submit(acc(0), []deps.Access{in(rest)}, func(func(deps.BufferID) []int64) {})
	require.Error(t, r.wait())
	require.ErrorContains(t, j.err, "sim:0: device lost: pulled out")

	err := r.fetch()
	var lost *devices.LostError
	require.ErrorAs(t, err, &lost)
	require.ErrorIs(t, err, devices.ErrLost)
	require.Equal(t, half, lost.Region)
	require.EqualError(t, err, "devices: sim:0: b0[0:500]: lost with its device: devices: sim:0: device lost: pulled out")
	require.EqualValues(t, 999+2, r.buffers[b][999], "the rest has been fetched all the same")

	j = r.submit(acc(1), []deps.Access{out(half)}, func(see func(deps.BufferID) []int64) { clear(see(b)[:500]) })
	r.jobs.Wait()
	require.NoError(t, j.err, "what is written anew is not lost any more")
	require.NoError(t, r.fetch())
	require.Zero(t, r.buffers[b][499])
	require.Empty(t, r.m.Leak())
}
