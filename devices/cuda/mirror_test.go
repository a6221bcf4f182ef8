//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
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
