//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Beyond its limit the cache drops what was used longest ago, down to three quarters.
func TestCache_DropsTheOldest(t *testing.T) {
	c := &cache{dir: t.TempDir(), limit: 10 << 10}
	key := func(i int) string { return fmt.Sprintf("%032d", i) }
	code := make([]byte, 1<<10)
	for i := range 9 {
		require.NoError(t, c.store(key(i), code))
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		require.NoError(t, os.Chtimes(c.file(key(i)), at, at))
	}
	_, ok := c.load(key(0)) // it becomes the newest
	require.True(t, ok)
	require.NoError(t, c.store(key(9), code))
	for i, want := range []bool{true, false, false, false, true, true, true, true, true, true} {
		_, ok := c.load(key(i))
		require.Equal(t, want, ok, "entry %d", i)
	}
	files, err := filepath.Glob(filepath.Join(c.dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 7)
}
