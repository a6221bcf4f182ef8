//go:build linux && (amd64 || arm64)

package sighandlers

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// actionOf returns the action of a signal.
func actionOf(t *testing.T, n int) sigaction {
	t.Helper()
	var a sigaction
	require.NoError(t, sigactionOf(n, nil, &a))
	return a
}

// loseStack sets the action of a signal without SA_ONSTACK, as NVRTC leaves it.
func loseStack(t *testing.T, n int) {
	t.Helper()
	a := actionOf(t, n)
	a[1] &^= onStack
	require.NoError(t, sigactionOf(n, &a, nil))
}

// A signal behind a call that took the flag away comes to the program; without Guard it would end the process.
func TestGuard_MendsTheFlags(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGXFSZ)
	defer signal.Stop(came)
	before := actionOf(t, int(syscall.SIGXFSZ))
	var g Guard
	require.NoError(t, g.Do(func() { loseStack(t, int(syscall.SIGXFSZ)) }))
	require.Equal(t, before, actionOf(t, int(syscall.SIGXFSZ)))
	require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGXFSZ)) // here, on the stack of a goroutine
	require.Equal(t, os.Signal(syscall.SIGXFSZ), <-came)
}

// A call that begins while another one has the handlers changed keeps the usable ones.
func TestGuard_OverlappingCalls(t *testing.T) {
	before := actionOf(t, int(syscall.SIGXFSZ))
	var g Guard
	g.note()
	loseStack(t, int(syscall.SIGXFSZ))
	g.note() // the second call
	require.NoError(t, g.mend())
	require.Equal(t, before, actionOf(t, int(syscall.SIGXFSZ)))
	loseStack(t, int(syscall.SIGXFSZ))
	require.NoError(t, g.mend())
	require.Equal(t, before, actionOf(t, int(syscall.SIGXFSZ)))
}

// What the program itself changes meanwhile stays.
func TestGuard_LeavesWhatIsUsable(t *testing.T) {
	var g Guard
	require.NoError(t, g.Do(func() { signal.Ignore(syscall.SIGXFSZ) }))
	defer signal.Reset(syscall.SIGXFSZ)
	require.EqualValues(t, 1, actionOf(t, int(syscall.SIGXFSZ))[0], "ignored")
}
