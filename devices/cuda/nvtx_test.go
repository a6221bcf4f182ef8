//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// injection is in the binary, which may run where the tree is not.
//
//go:embed testdata/injection.cc
var injection []byte

// A tool's library that is named as Nsight Systems names its own is initialised and gets a range
// for every launch, on the thread that launches. The handshake is the process's, so this is one of
// its own.
func TestRangesOfATool(t *testing.T) {
	if os.Getenv("NVTX_INJECTION64_PATH") == "" {
		gpus(t)
		compiler, err := exec.LookPath("g++")
		if err != nil {
			t.Skip("no g++: there is no tool to make")
		}
		so, source := filepath.Join(t.TempDir(), "libinjection.so"), filepath.Join(t.TempDir(), "injection.cc")
		require.NoError(t, os.WriteFile(source, injection, 0o600))
		out, err := exec.Command(compiler, "-std=c++17", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", so, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, path := range []string{so, filepath.Join(t.TempDir(), "nothing.so")} {
			cmd := exec.Command(os.Args[0], "-test.run", t.Name()+"$", "-test.v")
			cmd.Env = append(os.Environ(), "NVTX_INJECTION64_PATH="+path)
			out, err = cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "--- PASS")
		}
		return
	}
	path := os.Getenv("NVTX_INJECTION64_PATH")
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	if strings.HasSuffix(path, "nothing.so") {
		require.ErrorContains(t, err, "NVTX_INJECTION64_PATH")
		require.ErrorContains(t, err, "nothing.so")
		return
	}
	require.NoError(t, err)
	x, err := task.Alloc[int64](rt, 1)
	require.NoError(t, err)
	k := emptyKernel()
	const n = 50
	for range n {
		_, err := k.Submit(rt, x)
		require.NoError(t, err)
	}
	_, err = k.With(task.Label("the last one")).Submit(rt, x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, n+1, x[0])
	require.NoError(t, rt.Close())

	lib, err := purego.Dlopen(path, purego.RTLD_NOW)
	require.NoError(t, err)
	call := func(name string) uintptr {
		f, err := purego.Dlsym(lib, name)
		require.NoError(t, err)
		r, _, _ := purego.SyscallN(f)
		return r
	}
	require.Zero(t, int32(call("injection_depth")))
	at := call("injection_seen")
	text := unsafe.String(*(**byte)(unsafe.Pointer(&at)), 1<<14) // of C's memory, which ends in zeros
	text, _, _ = strings.Cut(text, "\x00")
	require.Equal(t, strings.Repeat("push Empty\npop\n", n)+"push the last one\npop\n", text)
}
