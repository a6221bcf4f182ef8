//go:build linux && (amd64 || arm64)

package opencl

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gompss/gompss/deps"
)

// cacheVersion is part of every key: it goes up when the format changes.
const cacheVersion = "1"

// A cache is compiled programs on disk, one file each, which its user alone can read and write; a
// file of another owner, or one that others may write, counts as absent, and so does one whose head
// is not the digest of its key and code. A file appears whole, by renaming. A nil cache has
// nothing.
type cache struct {
	dir   string
	limit deps.Bytes
}

func (c *cache) file(key string) string { return filepath.Join(c.dir, key[:32]+".bin") }

func digest(key string, code []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "gompss opencl %s\x00%s\x00%d\x00", cacheVersion, key, len(code))
	h.Write(code)
	return h.Sum(nil)
}

// load returns the code of a key. What is used becomes the newest.
func (c *cache) load(key string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	name := c.file(key)
	all, err := readPrivate(name)
	if err != nil || len(all) < sha256.Size || !bytes.Equal(all[:sha256.Size], digest(key, all[sha256.Size:])) {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // read-only caches are fine: their entries never age
	return all[sha256.Size:], true
}

// errNotPrivate means that a file of the cache may come from another user.
var errNotPrivate = errors.New("not a file of this user alone")

// readPrivate reads a regular file that belongs to this user or to root and that no other user may
// write.
func readPrivate(name string) (_ []byte, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	i, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const writableByOthers = 0o022
	owner, ok := i.Sys().(*syscall.Stat_t)
	mine := ok && (int(owner.Uid) == os.Geteuid() || owner.Uid == 0)
	if !mine || !i.Mode().IsRegular() || i.Mode().Perm()&writableByOthers != 0 {
		return nil, errNotPrivate
	}
	return io.ReadAll(f)
}

// store writes an entry and removes the oldest ones while all are more than the limit.
func (c *cache) store(key string, code []byte) error {
	if c == nil {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("opencl: cache: %w", err)
	}
	f, err := os.CreateTemp(c.dir, "new-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("opencl: cache: %w", err)
	}
	_, err = f.Write(append(digest(key, code), code...))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.file(key))
	}
	if err != nil {
		return fmt.Errorf("opencl: cache: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return c.trim()
}

// stale is the age at which a file that was never renamed is left from a process that died.
const stale = time.Hour

// trim removes the oldest entries while all are more than the limit, down to three quarters of it.
func (c *cache) trim() error {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("opencl: cache: %w", err)
	}
	var entries []fs.FileInfo
	var sum deps.Bytes
	for _, e := range list {
		i, err := e.Info()
		if err != nil || !i.Mode().IsRegular() || strings.HasPrefix(i.Name(), "new-") && time.Since(i.ModTime()) < stale {
			continue
		}
		entries = append(entries, i)
		sum += deps.Bytes(i.Size())
	}
	if sum <= c.limit {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, i := range entries {
		if sum <= c.limit/4*3 {
			return nil
		}
		if err := os.Remove(filepath.Join(c.dir, i.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("opencl: cache: %w", err)
		}
		sum -= deps.Bytes(i.Size())
	}
	return nil
}
