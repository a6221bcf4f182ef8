//go:build linux && (amd64 || arm64)

package cuda

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// TestWhoHasTouchedMayTouchWhatIsNew: the first copy from a GPU to another waits for its memory to
// be let be touched; what is mapped there from then on may be touched with the call that maps it,
// and copies of it wait for nothing. By a trace of Cholesky on four H200 copies that waited for
// that took 130 us, others 17.
func TestWhoHasTouchedMayTouchWhatIsNew(t *testing.T) {
	s := newSubject(t, Options{})
	from, to := s.d, s.list[1]
	more := func(id deps.BufferID) { // another buffer that both have
		for _, d := range s.list {
			require.NoError(t, d.Reserve(devices.Buffer{ID: id, Host: devices.NewHostMemory(unsafe.Pointer(&s.host[0])), Size: 160000, Elem: 8}))
			require.NoError(t, d.Map(id, 0, 160000))
		}
	}
	// across copies a buffer, and returns how many calls that took to let its memory be touched.
	across := func(id deps.BufferID, from, to *Device) int {
		before := calls(t, "cuMemSetAccess")
		require.NoError(t, waitFor(to.Copy(devices.Transfer{Region: deps.Interval(id, 0, 20000), Elem: 8, From: from.gpu.space, To: to.gpu.space}, nil)))
		return calls(t, "cuMemSetAccess") - before
	}
	require.Equal(t, 1, across(0, from, to))
	require.Zero(t, across(0, from, to))
	more(1)
	require.Zero(t, across(1, from, to))
	require.Equal(t, 1, across(1, to, from), "nobody has touched memory of that one")

	fails := func(n int) { failNext(t, "cuMemSetAccess", n, 304) }
	fails(1)
	more(2) // for both at once fails, and is done for the owner alone
	require.Equal(t, 1, across(2, from, to))
	require.NoError(t, from.Unmap(2, 0, 160000))
	require.NoError(t, from.Map(2, 0, 160000))
	require.Zero(t, across(2, from, to), "of new memory too")
	s.close()
}

// holdCall makes calls of a function of the driver wait until the function that it returns is
// called.
func holdCall(t *testing.T, name string) (release func()) {
	hold := func(name string) {
		text := driver.CString(name)
		fakeCall(t, "fakeHoldCall", uintptr(unsafe.Pointer(text)))
	}
	hold(name)
	return func() { hold("") }
}

// TestMirror_NoLockOverDriverCalls: while the driver maps, unmaps or shares a granule of a buffer,
// copies of its other granules go on.
func TestMirror_NoLockOverDriverCalls(t *testing.T) {
	const granules = 3
	s := newSubject(t, Options{})
	memory := make([]int64, granules*DefaultGranule/8)
	b := devices.Buffer{ID: 1, Host: devices.NewHostMemory(unsafe.Pointer(&memory[0])), Size: granules * DefaultGranule, Elem: 8}
	at := func(i int) (lo, hi deps.Bytes) {
		return deps.Bytes(i) * DefaultGranule, deps.Bytes(i+1) * DefaultGranule
	}
	transfer := func(i int, from, to devices.SpaceID) devices.Transfer {
		lo, hi := at(i)
		return devices.Transfer{Region: deps.Interval(1, int64(lo)/8, int64(hi)/8), Elem: 8, From: from, To: to}
	}
	for _, d := range s.list {
		require.NoError(t, d.Reserve(b))
		require.NoError(t, d.Map(1, 0, DefaultGranule))
	}
	upload := func() devices.Event { return s.d.Copy(transfer(0, devices.Host, s.d.gpu.space), nil) }
	require.NoError(t, waitFor(upload()), "its memory is registered")
	other := s.list[1]
	for _, c := range []struct {
		call string
		do   func() error
	}{
		{"cuMemCreate", func() error { lo, hi := at(1); return s.d.Map(1, lo, hi) }},
		{"cuMemSetAccess", func() error { return waitFor(other.Copy(transfer(0, s.d.gpu.space, other.gpu.space), nil)) }},
		{"cuMemUnmap", func() error { lo, hi := at(1); return s.d.Unmap(1, lo, hi) }},
	} {
		before, release := calls(t, c.call), holdCall(t, c.call)
		done := make(chan error, 1)
		go func() { done <- c.do() }()
		for calls(t, c.call) == before {
			time.Sleep(time.Millisecond)
		}
		copied := make(chan error, 1)
		go func() { copied <- waitFor(upload()) }()
		select {
		case err := <-copied:
			require.NoError(t, err)
		case <-time.After(10 * time.Second):
			t.Errorf("%s: a copy of another granule waits for it", c.call)
		}
		release()
		require.NoError(t, <-done, c.call)
	}
	for _, d := range s.list {
		require.NoError(t, d.Release(1))
	}
	s.close()
}

// TestSlots_NoLockOverDriverCalls: while the driver allocates fault records, one that is given back
// can be taken.
func TestSlots_NoLockOverDriverCalls(t *testing.T) {
	s := newSubject(t, Options{})
	before, release := calls(t, "cuMemHostAlloc"), holdCall(t, "cuMemHostAlloc")
	got := make(chan error, 1)
	go func() {
		s.d.gpu.enter()
		defer s.d.gpu.leave()
		_, err := s.d.slots.get()
		got <- err
	}()
	for calls(t, "cuMemHostAlloc") == before {
		time.Sleep(time.Millisecond)
	}
	one, taken := &slot{record: new(record)}, make(chan *slot, 1)
	go func() {
		s.d.slots.put(one)
		back, _ := s.d.slots.get()
		taken <- back
	}()
	select {
	case back := <-taken:
		require.Same(t, one, back)
	case <-time.After(10 * time.Second):
		t.Error("the slots are locked over the call")
	}
	release()
	require.NoError(t, <-got)
	s.close()
}

// TestGranules_LegalTransitions claims granules in every state for every other: what the table does
// not have is an error for the caller, or a bug.
func TestGranules_LegalTransitions(t *testing.T) {
	for from := range granuleNext {
		for to := range granuleNext {
			m := &mirror{granules: []granule{{state: granuleState(from)}}}
			legal := slices.Contains(granuleNext[from], granuleState(to))
			if !legal {
				require.Panics(t, func() { m.finish(0, 1, granuleState(to)) }, "%d to %d", from, to)
				continue
			}
			require.NoError(t, m.claim(0, 1, granuleState(from), granuleState(to)))
			require.Error(t, m.claim(0, 1, granuleState(from), granuleState(to)), "it has changed")
			require.Equal(t, granuleState(to), m.stateOf(0))
		}
	}
	m := &mirror{granules: []granule{{state: mapped}, {state: mapped, access: 2}, {state: unmapped}}}
	i, j, err := m.beginGrant(0, 2, 2)
	require.NoError(t, err)
	require.Equal(t, [2]int{0, 1}, [2]int{i, j})
	require.ErrorContains(t, m.claim(0, 2, mapped, unmapping), "granule 0 of buffer 0 is being shared")
	m.endGrant(i, j, 2, true)
	i, j, err = m.beginGrant(0, 2, 2)
	require.NoError(t, err)
	require.Equal(t, i, j, "both may be touched")
	_, _, err = m.beginGrant(0, 3, 2)
	require.ErrorContains(t, err, "granule 2 of buffer 0 is unmapped")
	require.ErrorContains(t, m.claim(0, 3, mapped, unmapping), "want it mapped")
	require.Equal(t, mapped, m.stateOf(0), "all or none")
	require.NoError(t, m.claim(0, 2, mapped, unmapping))
}

// TestCompletionThread_LegalTransitions goes every way of the table, and none that it does not
// have.
func TestCompletionThread_LegalTransitions(t *testing.T) {
	for from := range completionNext {
		for to := range completionNext {
			thread := &completionThread{engine: &engine{device: &Device{}}}
			thread.state.Store(uint32(from))
			change := func() { thread.to(completionState(to)) }
			if !slices.Contains(completionNext[from], completionState(to)) {
				require.Panics(t, change, "%d to %d", from, to)
				continue
			}
			change()
			require.Equal(t, completionState(to), thread.now())
		}
	}
}
