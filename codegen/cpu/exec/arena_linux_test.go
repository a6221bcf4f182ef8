//go:build linux && (amd64 || arm64)

package exec

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu/image"
)

func TestArenaFull(t *testing.T) {
	a, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	_, err = a.Add(make([]byte, arenaSize+1))
	require.ErrorContains(t, err, "arena full")
}

// refused is executable memory of which the system gives no part, or only what mprotect gives.
func refused(protect bool) Memory {
	m := Memory{File: func(string, int) (int, error) { return 0, unix.ENOSYS }}
	if protect {
		m.Protect = func([]byte, int) error { return unix.EACCES }
	}
	return m
}

// returns are instructions that return to the caller.
var returns = map[string][]byte{"amd64": {0xC3}, "arm64": {0xC0, 0x03, 0x5F, 0xD6}}

// TestArenaByProtection refuses memory files: pages are made executable by mprotect, and code runs
// in them.
func TestArenaByProtection(t *testing.T) {
	a, err := refused(false).NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.Equal(t, "mprotect", a.How())
	for range 3 {
		entry, err := a.Add(returns[runtime.GOARCH])
		require.NoError(t, err)
		var block [image.WordParams]uint64
		call(entry, unsafe.Pointer(&block))
	}
}

// TestNoArenaSaysWhy refuses both.
func TestNoArenaSaysWhy(t *testing.T) {
	_, err := refused(true).NewArena()
	require.ErrorIs(t, err, unix.ENOSYS)
	require.ErrorIs(t, err, unix.EACCES)
	require.ErrorContains(t, err, "cpu: executable memory: memfd_create: function not implemented\nmprotect: permission denied")
}
