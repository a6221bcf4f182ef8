package devicetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// elem is the size of the elements of the suite's buffers.
const elem = 8

// An Open opens fresh devices.
type Open func(t testing.TB) []devices.Accelerator

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(s *suite)
	}{
		{"properties", properties},
		{"mirrors come and go", mirrors},
		{"memory runs out with an error", memoryRunsOut},
		{"copies are exact", copiesAreExact},
		{"copies wait for events", copiesWait},
		{"peers", peers},
		{"kernels run behind their copies", kernels},
		{"kernels need no memory of what they do not access", unmapped},
		{"kernels are refused with the reason", refused},
		{"a failure reaches all that comes behind", failures},
		{"events can be asked from many sides", eventsFromManySides},
		{"an event calls back once", callbacks},
		{"closing ends what is under way", closing},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{t: t, devices: open(t)}
			t.Cleanup(s.close)
			require.NotEmpty(t, s.devices)
			c.test(s)
		})
	}
}

// suite is the devices of one test, and the buffers on them.
type suite struct {
	t       *testing.T
	devices []devices.Accelerator
	host    [][]int64
	closed  bool
}

func (s *suite) close() {
	if s.closed {
		return
	}
	s.closed = true
	for _, d := range s.devices {
		require.NoError(s.t, d.Close())
	}
}

// space is the address space of device i.
func space(i int) devices.SpaceID { return devices.SpaceID{Device: uint16(i + 1)} }

// buffer makes a buffer of n elements that holds 0, 1, 2, ..., with a mirror on every device.
func (s *suite) buffer(n int64) deps.BufferID {
	x := make([]int64, n)
	for i := range x {
		x[i] = int64(i)
	}
	b := devices.Buffer{ID: deps.BufferID(len(s.host)), Host: devices.NewHostMemory(unsafe.Pointer(unsafe.SliceData(x))), Size: deps.Bytes(n) * elem, Elem: elem}
	s.host = append(s.host, x)
	for _, d := range s.devices {
		require.NoError(s.t, d.Reserve(b))
	}
	return b.ID
}

// backed makes a buffer that is backed on every device.
func (s *suite) backed(n int64) deps.BufferID {
	b := s.buffer(n)
	for _, d := range s.devices {
		require.NoError(s.t, d.Map(b, 0, deps.Bytes(n)*elem))
	}
	return b
}

func whole(b deps.BufferID, x []int64) deps.Region { return deps.Interval(b, 0, int64(len(x))) }

// copy enqueues a copy at the device that has to make it.
func (s *suite) copy(r deps.Region, from, to devices.SpaceID, after ...devices.Event) devices.Event {
	at := to
	if to == devices.Host {
		at = from
	}
	return s.devices[at.Device-1].Copy(devices.Transfer{Region: r, Elem: elem, From: from, To: to}, after)
}

// wait waits for an event and returns its error.
func wait(e devices.Event) error {
	done := make(chan error, 1)
	e.Then(func(err error) { done <- err })
	return <-done
}

func (s *suite) ok(e devices.Event) {
	s.t.Helper()
	require.NoError(s.t, wait(e))
	require.True(s.t, e.Done())
	require.NoError(s.t, e.Err())
}

func properties(s *suite) {
	names := map[string]bool{}
	for _, d := range s.devices {
		p := d.Properties()
		require.NotEmpty(s.t, p.Name)
		require.False(s.t, names[p.Name], "names differ")
		names[p.Name] = true
		require.NotEqual(s.t, devices.SMP, p.Kind)
		require.NotEmpty(s.t, p.Description)
		require.Positive(s.t, p.Granule)
		require.GreaterOrEqual(s.t, p.Memory, p.Granule)
		require.Positive(s.t, p.Workers)
		require.Positive(s.t, p.Depth)
		require.Equal(s.t, p, d.Properties(), "they do not change")
	}
}

func mirrors(s *suite) {
	d := s.devices[0]
	granule := d.Properties().Granule
	n := int64(3 * granule / elem)
	b := s.buffer(n + 1) // the last granule holds one element
	size := deps.Bytes(n+1) * elem
	for range 3 {
		require.NoError(s.t, d.Map(b, granule, 2*granule))
		require.NoError(s.t, d.Map(b, 3*granule, size))
		require.NoError(s.t, d.Map(b, 0, granule))
		require.Error(s.t, d.Map(b, 0, granule), "it is backed already")
		require.NoError(s.t, d.Unmap(b, 0, 2*granule))
		require.Error(s.t, d.Unmap(b, 0, granule), "it is not backed any more")
		require.NoError(s.t, d.Unmap(b, 3*granule, size))
	}
	require.NoError(s.t, d.Map(b, 0, size))
	require.NoError(s.t, d.Release(b))
	require.Error(s.t, d.Release(b))
	require.Error(s.t, d.Map(b, 0, granule), "it has no mirror")
}

func memoryRunsOut(s *suite) {
	d := s.devices[0]
	p := d.Properties()
	if p.Memory > 1<<30 {
		s.t.Skipf("%s has %v: filling it takes too long", p.Name, p.Memory)
	}
	b := s.buffer(int64(p.Memory/elem) + int64(p.Granule/elem))
	require.NoError(s.t, d.Map(b, 0, p.Memory))
	require.ErrorIs(s.t, d.Map(b, p.Memory, p.Memory+p.Granule), devices.ErrNoMemory)
	require.NoError(s.t, d.Unmap(b, 0, p.Granule))
	require.NoError(s.t, d.Map(b, p.Memory, p.Memory+p.Granule), "what was given back can be had")
}

// regions are shapes that copies have to get right.
func regions(b deps.BufferID, n int64) []deps.Region {
	rnd := rand.New(rand.NewPCG(1, 2))
	out := []deps.Region{deps.Interval(b, 0, n), deps.Interval(b, 0, 1), deps.Interval(b, n-1, n), deps.Interval(b, 3, n-5)}
	shapes := [][]deps.Dim{
		{{Count: 5, Stride: 64}, {Count: 7, Stride: 1}},
		{{Count: 3, Stride: 200}, {Count: 4, Stride: 32}, {Count: 8, Stride: 1}},
		{{Count: 9, Stride: 3}},
		{{Count: 4, Stride: 100}, {Count: 5, Stride: 7}},
		{{Count: 2, Stride: 300}, {Count: 2, Stride: 100}, {Count: 3, Stride: 20}, {Count: 4, Stride: 2}},
	}
	for _, dims := range shapes {
		if r, err := deps.Strided(b, rnd.Int64N(100), dims); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// copiesAreExact sends a region to the device, changes the host, brings the region back: nothing
// else may change.
func copiesAreExact(s *suite) {
	b := s.backed(1000)
	x := s.host[b]
	for _, r := range regions(b, 1000) {
		want := make([]int64, len(x))
		for i := range x {
			x[i], want[i] = int64(i)*3, -int64(i)
		}
		s.ok(s.copy(r, devices.Host, space(0)))
		copy(x, want)
		s.ok(s.copy(r, space(0), devices.Host))
		for lo, hi := range r.Runs() {
			for i := lo; i < hi; i++ {
				want[i] = i * 3
			}
		}
		require.Equal(s.t, want, x, "%v", r)
	}
}

// copiesWait makes chains over both directions: each copy must see what the one before it brought.
func copiesWait(s *suite) {
	b, c := s.backed(4096), s.backed(4096)
	x := s.host[b]
	for round := range 50 {
		for i := range x {
			x[i] = int64(round)
		}
		up := s.copy(whole(b, x), devices.Host, space(0))
		down := s.copy(whole(b, x), space(0), devices.Host, up)
		other := s.copy(whole(c, s.host[c]), devices.Host, space(0))
		s.ok(s.copy(deps.Interval(b, 0, 1), devices.Host, space(0), down, other))
		require.True(s.t, up.Done() && down.Done() && other.Done())
		require.EqualValues(s.t, round, x[4095])
	}
}

func peers(s *suite) {
	if len(s.devices) < 2 {
		s.t.Skip("one device")
	}
	b := s.backed(1000)
	x := s.host[b]
	for from := range s.devices {
		for to := range s.devices {
			if from == to || !s.devices[to].Reaches(space(from)) {
				continue
			}
			r := regions(b, 1000)[4+from%4]
			for i := range x {
				x[i] = int64(1000*from + i)
			}
			up := s.copy(whole(b, x), devices.Host, space(from))
			across := s.copy(r, space(from), space(to), up)
			require.NoError(s.t, wait(across))
			clear(x)
			s.ok(s.copy(r, space(to), devices.Host, across))
			each(r, func(i int64) { require.EqualValues(s.t, 1000*int64(from)+i, x[i]) })
		}
	}
}

func each(r deps.Region, f func(i int64)) {
	for lo, hi := range r.Runs() {
		for i := lo; i < hi; i++ {
			f(i)
		}
	}
}

// kernels chains launches and copies by events alone.
func kernels(s *suite) {
	for i, d := range s.devices {
		k := Twice()
		require.NoError(s.t, d.Prepare(k))
		require.NoError(s.t, d.Prepare(k), "a second time is free")
		b, c := s.backed(1000), s.backed(1000)
		up := []devices.Event{s.copy(whole(b, s.host[b]), devices.Host, space(i)), s.copy(whole(c, s.host[c]), devices.Host, space(i))}
		args := &devices.Args{List: []devices.Arg{slice(b, 10, 990), slice(c, 0, 980)}}
		first := d.Launch(&devices.Launch{Kernel: k, Args: args, Label: "first"}, up)
		second := d.Launch(&devices.Launch{Kernel: k, Args: args, Label: "second"}, []devices.Event{first})
		s.ok(s.copy(whole(c, s.host[c]), space(i), devices.Host, second))
		for n, v := range s.host[c] {
			want := int64(n)
			if n < 980 {
				want += 4 * int64(n+10)
			}
			require.Equal(s.t, want, v, "element %d", n)
		}
	}
}

// unmapped launches kernels that access nothing of a buffer, of which nothing is mapped.
func unmapped(s *suite) {
	for i, d := range s.devices {
		k := Twice()
		require.NoError(s.t, d.Prepare(k))
		b, c := s.buffer(1000), s.backed(1000)
		up := s.copy(whole(c, s.host[c]), devices.Host, space(i))
		none := slice(b, 0, 1000)
		none.Len = 0
		for _, list := range [][]devices.Arg{{none, slice(c, 0, 1000)}, {slice(c, 0, 0), slice(b, 0, 1000)}} {
			up = d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: list}, Label: "nothing"}, []devices.Event{up})
		}
		s.ok(s.copy(whole(c, s.host[c]), space(i), devices.Host, up))
		require.EqualValues(s.t, 999, s.host[c][999])
	}
}

func refused(s *suite) {
	err := s.devices[0].Prepare(&devices.Kernel{Name: "Nothing"})
	require.ErrorContains(s.t, err, "Nothing")
	require.Equal(s.t, err, s.devices[0].Prepare(&devices.Kernel{Name: "Nothing"}))
}

// failures breaks a kernel: what comes behind must not run, what does not must.
func failures(s *suite) {
	d := s.devices[0]
	k := Broken()
	require.NoError(s.t, d.Prepare(k))
	b, c := s.backed(100), s.backed(100)
	up := s.copy(whole(b, s.host[b]), devices.Host, space(0))
	broken := d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{slice(b, 0, 100), slice(c, 0, 100)}}, Label: "broken"},
		[]devices.Event{up})
	clear(s.host[b])
	behind := s.copy(whole(b, s.host[b]), space(0), devices.Host, broken)
	far := s.copy(whole(b, s.host[b]), devices.Host, space(0), behind)
	beside := s.copy(whole(c, s.host[c]), devices.Host, space(0), up)
	err := wait(broken)
	require.ErrorContains(s.t, err, "Broken")
	require.Equal(s.t, err, broken.Err())
	require.ErrorIs(s.t, wait(behind), err)
	require.ErrorIs(s.t, wait(far), err)
	require.Zero(s.t, s.host[b][99], "a copy behind a failure is not made")
	require.NoError(s.t, wait(beside))
}

func eventsFromManySides(s *suite) {
	b := s.backed(1000)
	x := s.host[b]
	var all sync.WaitGroup
	for range 50 {
		e := s.copy(whole(b, x), devices.Host, space(0))
		for range 4 {
			all.Go(func() {
				if err := wait(e); err != nil || !e.Done() || e.Err() != nil {
					s.t.Errorf("copy: %v", err)
				}
			})
		}
	}
	all.Wait()
}

func callbacks(s *suite) {
	b := s.backed(1000)
	x := s.host[b]
	calls := make(chan int, 100)
	e := s.copy(whole(b, x), devices.Host, space(0))
	e.Then(func(error) { calls <- 1 })
	s.ok(e)
	e.Then(func(error) { calls <- 2 }) // at once: it has happened
	s.ok(s.copy(whole(b, x), space(0), devices.Host, e))
	require.Len(s.t, calls, 2)
}

func closing(s *suite) {
	b := s.backed(1000)
	x := s.host[b]
	var list []devices.Event
	for i := range s.devices {
		for range 20 {
			list = append(list, s.copy(whole(b, x), devices.Host, space(i)))
		}
	}
	s.close()
	for i, e := range list {
		require.True(s.t, e.Done(), fmt.Sprint(i))
	}
	for _, d := range s.devices {
		require.NoError(s.t, d.Close(), "a second time does nothing")
	}
}
