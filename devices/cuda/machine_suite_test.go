package cuda_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// A shape is the machine that a test wants.
type shape struct {
	Accelerators int
	Granules     int // of memory, each
	NoPeer       bool
	WriteThrough bool
}

// A suite is one plug-in under test.
type suite struct {
	// Open opens a machine of the given shape: its accelerators alone. The suite closes it.
	Open func(t testing.TB, s shape) *machine.Machine
	// Accelerators is how many there are at most; tests for more are skipped.
	Accelerators int
	Granule      deps.Bytes
	// Checks says that checked accesses of kernels fail the job where Go panics.
	Checks bool

	kernels struct{ addBox, fill, copyTo, gather, twice, twiceAtOnce *devices.Kernel }
}

// runSuite runs all tests.
func runSuite(t *testing.T, s suite) {
	s.kernels.addBox, s.kernels.fill, s.kernels.copyTo = addBox(), fill(), copyTo()
	s.kernels.gather, s.kernels.twice, s.kernels.twiceAtOnce = gather(), twice(), twiceAtOnce()
	for _, c := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"DataGoToTheDeviceAndBack", (*suite).dataGoToTheDeviceAndBack},
		{"WhatIsOnlyWrittenIsNotCopied", (*suite).whatIsOnlyWrittenIsNotCopied},
		{"ACopyIsMadeOnceForAllReaders", (*suite).aCopyIsMadeOnce},
		{"OnlyWhatIsDeclaredMoves", (*suite).onlyWhatIsDeclaredMoves},
		{"DevicesExchange", (*suite).devicesExchange},
		{"WriteThroughKeepsTheHostValid", (*suite).writeThrough},
		{"HostWritesInvalidateTheDevice", (*suite).hostWrites},
		{"BuffersComeAndGo", (*suite).buffersComeAndGo},
		{"FullDevicesEvict", (*suite).fullDevicesEvict},
		{"ScratchMemoryIsZeroed", (*suite).scratchIsZeroed},
		{"ChainsKeepTheirOrder", (*suite).chains},
		{"ArgumentsOfAnyOffset", (*suite).offsets},
		{"AFaultFailsTheJobAlone", (*suite).aFaultFailsTheJobAlone},
		{"RandomProgramsAreSequential", (*suite).randomPrograms},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&s, t) })
	}
}

func (s *suite) dataGoToTheDeviceAndBack(t *testing.T) {
	r := s.rig(t, shape{})
	for _, n := range []int64{1000, r.granule() + 7} { // within a granule, over several
		b := r.filled(n)
		before := r.m.Counters()
		r.add(acc(0), r.whole(b), 5)
		r.finish()
		for i, v := range r.buffers[b] {
			if v != int64(i+5) {
				require.EqualValues(t, i+5, v)
			}
		}
		c := r.m.Counters()
		require.EqualValues(t, n*elem, c.HostToDevice-before.HostToDevice)
		require.EqualValues(t, n*elem, c.DeviceToHost-before.DeviceToHost)
	}
}

func (s *suite) whatIsOnlyWrittenIsNotCopied(t *testing.T) {
	r := s.rig(t, shape{})
	b := r.filled(1000)
	r.submit(acc(0), s.kernels.fill, []devices.Arg{r.slice(b), value(7)}, out(r.whole(b)))
	r.finish()
	for _, v := range r.buffers[b] {
		require.EqualValues(t, 7, v)
	}
	require.Zero(t, r.m.Counters().HostToDevice)
	require.EqualValues(t, 8000, r.m.Counters().DeviceToHost)
}

func (s *suite) aCopyIsMadeOnce(t *testing.T) {
	r := s.rig(t, shape{})
	b, c := r.filled(1000), r.filled(1000)
	for i := range int64(10) {
		lo, hi := 100*i, 100*i+100
		r.submit(acc(0), s.kernels.copyTo, []devices.Arg{part(b, lo, hi), part(c, lo, hi)}, in(r.whole(b)), out(deps.Interval(c, lo, hi)))
	}
	r.finish()
	for i, v := range r.buffers[c] {
		if v != int64(i+1) {
			require.EqualValues(t, i+1, v)
		}
	}
	require.EqualValues(t, 8000, r.m.Counters().HostToDevice)
}

func (s *suite) onlyWhatIsDeclaredMoves(t *testing.T) {
	r := s.rig(t, shape{Accelerators: min(2, s.Accelerators)})
	other := acc(min(2, s.Accelerators) - 1)
	b := r.filled(128 * 128)
	tile := box(b, 128, 16, 48, 32, 64)    // 32 x 32
	overlap := box(b, 128, 40, 56, 48, 80) // 16 x 32, 8 x 16 of it shared
	r.add(acc(0), tile, 1000)
	r.add(other, overlap, 5)
	require.NoError(t, r.wait())
	c := r.m.Counters()
	require.EqualValues(t, 8*(32*32+16*32-8*16), c.HostToDevice)
	if other != acc(0) {
		require.EqualValues(t, 8*8*16, c.DeviceToDevice, "exactly the shared elements come from the device that wrote them")
	}
	r.finish()
	require.EqualValues(t, 8*(32*32+16*32-8*16), r.m.Counters().DeviceToHost, "the newest copy of each element, once")
	for i, v := range r.buffers[b] {
		row, column, want := i/128, i%128, int64(i)
		if row >= 16 && row < 48 && column >= 32 && column < 64 {
			want += 1000
		}
		if row >= 40 && row < 56 && column >= 48 && column < 80 {
			want += 5
		}
		require.Equal(t, want, v, "row %d column %d", row, column)
	}
}

func (s *suite) devicesExchange(t *testing.T) {
	for _, peer := range []bool{true, false} {
		r := s.rig(t, shape{Accelerators: 2, NoPeer: !peer})
		peer = peer && r.m.Accelerators()[0].Reaches(acc(1)) // a machine may not have the link
		b := r.filled(1000)
		for i := range 6 {
			r.add(acc(i%2), r.whole(b), 1)
		}
		r.finish()
		for i, v := range r.buffers[b] {
			if v != int64(i+6) {
				require.EqualValues(t, i+6, v)
			}
		}
		c := r.m.Counters()
		want := []deps.Bytes{6 * 8000, 6 * 8000, 0}
		if peer {
			want = []deps.Bytes{8000, 8000, 5 * 8000}
		}
		require.Equal(t, want, []deps.Bytes{c.HostToDevice, c.DeviceToHost, c.DeviceToDevice})
	}
}

func (s *suite) writeThrough(t *testing.T) {
	r := s.rig(t, shape{WriteThrough: true})
	b := r.filled(1000)
	for range 3 {
		r.add(acc(0), r.whole(b), 1)
	}
	r.finish()
	require.EqualValues(t, 3*8000, r.m.Counters().DeviceToHost)
	require.EqualValues(t, 3+999, r.buffers[b][999])
}

func (s *suite) hostWrites(t *testing.T) {
	r := s.rig(t, shape{})
	b := r.filled(20000)
	r.add(acc(0), r.whole(b), 1)
	r.add(devices.Host, deps.Interval(b, 0, 500), 100)
	r.add(acc(0), r.whole(b), 1)
	r.finish()
	require.EqualValues(t, 102, r.buffers[b][0])
	require.EqualValues(t, 20001, r.buffers[b][19999])
	require.EqualValues(t, 160000+4000, r.m.Counters().HostToDevice)
}

func (s *suite) buffersComeAndGo(t *testing.T) {
	r := s.rig(t, shape{Granules: 4})
	for range 20 { // more than fits: dropped buffers give their memory back
		b := r.filled(r.granule())
		r.add(acc(0), r.whole(b), 1)
		require.NoError(t, r.wait())
		require.NoError(t, r.m.DropBuffer(b))
		require.ErrorIs(t, r.m.DropBuffer(b), devices.ErrUnknownBuffer)
	}
	require.Zero(t, r.m.Counters().Evictions)
}

func (s *suite) fullDevicesEvict(t *testing.T) {
	r := s.rig(t, shape{Granules: 4})
	var all []deps.BufferID
	for range 3 {
		all = append(all, r.filled(2*r.granule()-5))
	}
	for round := range int64(3) {
		for _, b := range all {
			r.add(acc(0), r.whole(b), round+1)
		}
	}
	r.finish()
	for _, b := range all {
		for i, v := range r.buffers[b] {
			if v != int64(i+6) {
				require.EqualValues(t, i+6, v)
			}
		}
	}
	require.NotZero(t, r.m.Counters().Evictions)
	err := r.m.CheckFits([]deps.Access{in(deps.Interval(r.filled(5*r.granule()), 0, 5*r.granule()))}, r.m.Accelerators()[0])
	require.ErrorIs(t, err, devices.ErrNoMemory)
}

// scratchIsZeroed has so many launches that memory for them is used again, with sizes that share it
// and sizes that do not, beside each other.
func (s *suite) scratchIsZeroed(t *testing.T) {
	r := s.rig(t, shape{})
	random := rand.New(rand.NewPCG(7, 8))
	const most = 20000
	b, outs := r.filled(most), make([]deps.BufferID, 40)
	for i := range outs {
		outs[i] = r.filled(most)
	}
	for round := range 12 {
		lens := make([]int64, len(outs))
		for i, c := range outs {
			lens[i] = 1 + random.Int64N(16000)
			if i%10 == round%10 {
				lens[i] = most - random.Int64N(100)
			}
			x, y := deps.Interval(b, 0, lens[i]), deps.Interval(c, 0, lens[i])
			r.submit(acc(0), s.kernels.fill, []devices.Arg{part(c, 0, lens[i]), value(-1)}, out(y))
			k := s.kernels.twice
			if i%2 == 0 {
				k = s.kernels.twiceAtOnce
			}
			r.submit(acc(0), k, []devices.Arg{part(b, 0, lens[i]), part(c, 0, lens[i])}, in(x), out(y))
		}
		r.finish()
		for i, c := range outs {
			for j, v := range r.buffers[c][:lens[i]] {
				if v != int64(2*j) {
					require.EqualValues(t, 2*j, v)
				}
			}
		}
	}
}

func (s *suite) chains(t *testing.T) {
	r := s.rig(t, shape{})
	const n, chains = 50, 8
	b := r.filled(chains * 100)
	for i := range int64(n) {
		for c := range int64(chains) {
			region := deps.Interval(b, 100*c, 100*c+100)
			if i == n/2 { // the order matters: everything before is overwritten
				r.submit(acc(0), s.kernels.fill, []devices.Arg{part(b, 100*c, 100*c+100), value(0)}, out(region))
			}
			r.add(acc(0), region, i)
		}
	}
	r.finish()
	for _, v := range r.buffers[b] {
		require.EqualValues(t, n*(n-1)/2-(n/2)*(n/2-1)/2, v)
	}
}

func (s *suite) offsets(t *testing.T) {
	r := s.rig(t, shape{})
	b, c := r.filled(r.granule()*2), r.filled(r.granule()*2)
	for _, lo := range []int64{0, 1, 1001, r.granule() - 3, r.granule(), r.granule() + 1} {
		hi := lo + 900
		r.submit(acc(0), s.kernels.copyTo, []devices.Arg{part(b, lo, hi), part(c, lo+1, hi+1)},
			in(deps.Interval(b, lo, hi)), out(deps.Interval(c, lo+1, hi+1)))
		r.finish()
		for i := lo; i < hi; i++ {
			require.Equal(t, i+1, r.buffers[c][i+1])
		}
	}
}

func (s *suite) aFaultFailsTheJobAlone(t *testing.T) {
	if !s.Checks {
		t.Skip("this way to run kernels has no checks")
	}
	r := s.rig(t, shape{})
	x, at, y, z := r.filled(100), r.filled(100), r.filled(100), r.filled(100)
	r.buffers[at][42] = 1 << 20
	gather := func(from deps.BufferID) *job {
		return r.submit(acc(0), s.kernels.gather, []devices.Arg{r.slice(x), r.slice(from), r.slice(y)},
			in(r.whole(x)), in(r.whole(from)), out(r.whole(y)))
	}
	bad := gather(at)
	good := r.add(acc(0), r.whole(z), 1)
	r.jobs.Wait()
	var device *devices.DeviceError
	require.ErrorAs(t, bad.err, &device)
	require.False(t, device.Fatal)
	require.Contains(t, bad.err.Error(), "gather")
	require.Contains(t, bad.err.Error(), fmt.Sprint(1<<20))
	require.NoError(t, good.err)
	again := gather(x)
	r.jobs.Wait()
	require.NoError(t, again.err, "the device is as before")
}

// randomPrograms runs random jobs on random tiles and devices, in little memory, and compares with
// the sequential run.
func (s *suite) randomPrograms(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			r := s.rig(t, shape{Accelerators: s.Accelerators, Granules: 6, NoPeer: seed%2 == 1})
			columns := int64(512)
			rows := max(4, 3*r.granule()/columns)
			want := make([][]int64, 3)
			for b := range want {
				want[b] = append(want[b], r.buffers0(rows*columns)...)
			}
			for range 60 {
				b := random.IntN(len(want))
				r0, c0 := random.Int64N(rows), random.Int64N(columns)
				r1, c1 := r0+1+random.Int64N(min(rows-r0, rows/3+1)), c0+1+random.Int64N(columns-c0)
				space := devices.SpaceID{Device: uint16(random.IntN(s.Accelerators + 1))}
				v := random.Int64N(1000)
				for i := r0; i < r1; i++ {
					for j := c0; j < c1; j++ {
						want[b][i*columns+j] += v
					}
				}
				r.add(space, box(deps.BufferID(b), columns, r0, r1, c0, c1), v)
			}
			r.finish()
			for b := range want {
				for i, v := range r.buffers[b] { // require.Equal would print all of them
					if want[b][i] != v {
						t.Fatalf("buffer %d, element %d: want %d, got %d", b, i, want[b][i], v)
					}
				}
			}
		})
	}
}

// buffers0 adds a buffer and returns what it holds.
func (r *rig) buffers0(n int64) []int64 { return r.buffers[r.filled(n)] }
