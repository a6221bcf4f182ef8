//go:build linux && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCache(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "deep", "cache"), Limit: 1 << 20}
	key := CubinKey{Hash: "hash", Arch: "sm_90"}
	require.NotEqual(t, key, CubinKey{Hash: "hash", Arch: "sm_80"})
	_, ok := c.Load(key, "13.0")
	require.False(t, ok)
	require.NoError(t, c.Store(key, "13.0", []byte("one")))
	code, ok := c.Load(key, "13.0")
	require.True(t, ok)
	require.Equal(t, "one", string(code))
	_, ok = c.Load(key, "12.4")
	require.False(t, ok, "another compiler makes its own")
	code, ok = c.Load(key, "")
	require.True(t, ok, "without a compiler any will do")
	require.Equal(t, "one", string(code))
	require.NoError(t, os.WriteFile(c.file(key, "13.0"), []byte("damaged beyond any recognition, and long enough"), 0o600))
	_, ok = c.Load(key, "13.0")
	require.False(t, ok, "a damaged entry counts as absent")
	require.NoError(t, c.Store(key, "13.0", []byte("two")))
	code, ok = c.Load(key, "13.0")
	require.True(t, ok)
	require.Equal(t, "two", string(code))
}

// An entry that another user could have written, and an entry of another program, count as absent
// (issue 16, point h).
func TestCache_EntriesAreOneUsersAndOneSources(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Limit: 1 << 20}
	key, other := CubinKey{Hash: "hash", Arch: "sm_90"}, CubinKey{Hash: "other", Arch: "sm_90"}
	name := c.file(key, "13.0")
	fresh := func() {
		require.NoError(t, c.Store(key, "13.0", []byte("code")))
		_, ok := c.Load(key, "13.0")
		require.True(t, ok)
	}
	absent := func(why string) {
		for _, compiler := range []string{"13.0", ""} {
			_, ok := c.Load(key, compiler)
			require.False(t, ok, why)
		}
		require.NoError(t, os.RemoveAll(name))
	}
	fresh()
	i, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), i.Mode().Perm())
	i, err = os.Stat(c.Dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), i.Mode().Perm())

	for _, mode := range []fs.FileMode{0o620, 0o602, 0o666} {
		fresh()
		require.NoError(t, os.Chmod(name, mode))
		absent("others may write it")
	}
	require.NoError(t, c.Store(other, "13.0", []byte("code")))
	require.NoError(t, os.Rename(c.file(other, "13.0"), name))
	absent("it is of another source")
	require.NoError(t, c.Store(key, "12.4", []byte("code")))
	require.NoError(t, os.Rename(c.file(key, "12.4"), name))
	absent("it is of another compiler")
	require.NoError(t, c.Store(other, "13.0", []byte("code")))
	require.NoError(t, os.Symlink(c.file(other, "13.0"), name))
	absent("it is a link")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	absent("it is no file, and reading it does not wait")
	if os.Geteuid() == 0 {
		fresh()
		err := os.Chown(name, 12345, -1)
		if errors.Is(err, syscall.EINVAL) {
			t.Skip("there is no other user here: a user namespace of one")
		}
		require.NoError(t, err)
		absent("it is another user's")
	}
}

func TestCacheStaysWithinItsLimit(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 10_000}
	old := time.Now().Add(-time.Hour)
	for i := range 30 {
		key := CubinKey{Hash: fmt.Sprint(i), Arch: "sm_90"}
		require.NoError(t, c.Store(key, "13.0", make([]byte, 1000)))
		if err := os.Chtimes(c.file(key, "13.0"), old, old.Add(time.Duration(i)*time.Second)); i != 0 {
			require.NoError(t, err)
		} else if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		list, err := os.ReadDir(c.Dir)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list), 10)
	}
	_, ok := c.Load(CubinKey{Hash: "29", Arch: "sm_90"}, "13.0")
	require.True(t, ok, "the newest stays")
	_, ok = c.Load(CubinKey{Hash: "0", Arch: "sm_90"}, "13.0")
	require.False(t, ok)
}

func TestCacheOfManyWriters(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 1 << 20}
	key := CubinKey{Hash: "hash", Arch: "sm_90"}
	content := make([]byte, 100_000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if err := c.Store(key, "13.0", content); err != nil {
					t.Error(err)
				}
				if code, ok := c.Load(key, "13.0"); !ok || len(code) != len(content) {
					t.Errorf("an entry of %d bytes", len(code))
				}
			}
		})
	}
	all.Wait()
}
