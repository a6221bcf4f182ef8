//go:build linux && (amd64 || arm64)

package mpi

import (
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// The trampoline passes eight arguments, those on the stack too, and returns the result; the stack
// of the goroutine may grow before and after.
func TestCall_EightArguments(t *testing.T) {
	const file = "libc.so.6"
	libc, err := purego.Dlopen(file, purego.RTLD_NOW)
	if err != nil {
		t.Skipf("no C library: %v", err)
	}
	l := &library{}
	l.fns[fSend], err = purego.Dlsym(libc, "snprintf")
	require.NoError(t, err)
	text, format := make([]byte, 200), []byte("%ld %ld %ld %ld %ld\x00")
	f := frames.Get().(*frame)
	defer frames.Put(f)
	for i := range 1000 {
		f.args = [8]uintptr{address(text), 200, address(format), uintptr(i), 1 << 40, 3, 4, 5}
		n := l.call(fSend, f)
		require.Equal(t, len(textOf(text)), int(n))
	}
	require.Equal(t, "999 1099511627776 3 4 5", textOf(text))
	require.Zero(t, testing.AllocsPerRun(100, func() { l.call(fSend, f) }))
}
