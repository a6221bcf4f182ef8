//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/devicetest"
)

// alone runs the calling test again in a process of its own, with more environment, and returns
// what it prints.
func alone(t *testing.T, extra ...string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run", t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), append(extra, "GOMPSS_TEST_ALONE=1")...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// prepareOnce compiles a kernel with a cache and says whether it came from there.
func prepareOnce(t *testing.T, dir string) {
	opened, err := Open(1, devices.SpaceID{Device: 1}, Options{Memory: 8 << 20, CacheDir: dir})
	require.NoError(t, err)
	k := devicetest.Twice()
	err = opened[0].Prepare(k)
	fmt.Printf("prepared: %v, from the cache: %t\n", err, err == nil && opened[0].FromCache(k))
	require.NoError(t, opened[0].Close())
}

// Without NVRTC what the cache has runs, and what it has not says which library is missing and how
// to name it.
func TestTheCacheServesProcessesWithoutACompiler(t *testing.T) {
	needGround(t)
	if dir := os.Getenv("GOMPSS_TEST_CACHE"); os.Getenv("GOMPSS_TEST_ALONE") != "" {
		prepareOnce(t, dir)
		return
	}
	dir := t.TempDir()
	cache, missing := "GOMPSS_TEST_CACHE="+dir, driver.NVRTCSearch.Env+"=/nonexistent/libnvrtc.so"
	// the fake driver of the tests is made again by every process, but its compiler is the same
	// library: name it by hand
	out, err := alone(t, cache, missing, "GOMPSS_TEST_KEEP_NVRTC=1")
	require.NoError(t, err, out)
	require.Contains(t, out, "libnvrtc", out)
	require.Contains(t, out, driver.NVRTCSearch.Env)
	out, err = alone(t, cache)
	require.NoError(t, err, out)
	require.Contains(t, out, "prepared: <nil>, from the cache: false")
	out, err = alone(t, cache, missing, "GOMPSS_TEST_KEEP_NVRTC=1")
	require.NoError(t, err, out)
	require.Contains(t, out, "prepared: <nil>, from the cache: true")
}

// Processes that compile the same kernel at once leave one whole file, and none fails.
func TestProcessesShareTheCache(t *testing.T) {
	needGround(t)
	if dir := os.Getenv("GOMPSS_TEST_CACHE"); os.Getenv("GOMPSS_TEST_ALONE") != "" {
		prepareOnce(t, dir)
		return
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if out, err := alone(t, "GOMPSS_TEST_CACHE="+dir); err != nil || !strings.Contains(out, "prepared: <nil>") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1, "%v", files)
	require.True(t, strings.HasSuffix(files[0], ".cubin"))
}
