//go:build linux && (amd64 || arm64)

package driver

import (
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestLibrariesAreLookedFor(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lib", "python3.12", "site-packages", "nvidia", "cu13", "lib", "libnvrtc.so.13")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("no library"), 0o600))
	t.Setenv("VIRTUAL_ENV", dir)
	s := Search{Env: "GOMPSS_TEST_LIB", names: []string{"libnosuch.so.1"}, globs: pythonGlobs()}
	list := s.candidates()
	require.Equal(t, "libnosuch.so.1", list[0])
	require.Contains(t, list, file)
	_, err := OpenLibrary(Search{Env: s.Env, names: s.names}, nil)
	var missing *LibraryError
	require.ErrorAs(t, err, &missing)
	require.Contains(t, err.Error(), "GOMPSS_TEST_LIB")
	require.NotContains(t, err.Error(), "\n", "one line")
	t.Setenv("GOMPSS_TEST_LIB", "libc.so.6")
	require.Equal(t, []string{"libc.so.6"}, s.candidates())
	_, err = OpenLibrary(s, []string{"malloc", "cuNothing"})
	require.ErrorContains(t, err, "cuNothing")
	_, err = OpenLibrary(s, []string{"malloc"})
	require.NoError(t, err)
}

// NVRTC puts the handlers of some signals back without the flag that Go's need: Ctrl-C behind a compilation ended the program
// with a fatal error.
func TestCompile_SignalsStayGos(t *testing.T) {
	c, err := OpenNVRTC()
	if err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGTERM, syscall.SIGINT, syscall.SIGXFSZ)
	defer signal.Stop(came)
	_, log, err := c.Compile("k.cu", `extern "C" __global__ void k(float *x) { x[threadIdx.x] = 1; }`, "sm_90", nil)
	require.NoError(t, err, log)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGXFSZ} {
		require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), s)) // here, on the stack of a goroutine
		require.Equal(t, os.Signal(s), <-came)
	}
}
