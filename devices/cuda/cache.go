//go:build linux && (amd64 || arm64)

package cuda

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/deps"
)

// cacheVersion is part of every key: it goes up when what we ask of the compiler changes.
const cacheVersion = "1"

// A cache is compiled programs on disk: files named by what they were made of, each with the checksum of its content
// before it. Several processes may share it: a file appears whole, by renaming, and a bad one counts as absent.
type cache struct {
	dir   string
	limit deps.Bytes
}

// cubinKey names a compiled program, but for the compiler: hash is that of text and options.
func cubinKey(hash, arch string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{cacheVersion, hash, arch}, "\x00")))
	return fmt.Sprintf("%x-%s", sum[:16], arch)
}

// load returns the entry of key that this version of the compiler made; with no compiler (""), that of the newest.
func (c *cache) load(key, compiler string) ([]byte, bool) {
	names := []string{c.file(key, compiler)}
	if compiler == "" {
		found, err := filepath.Glob(c.file(key, "*"))
		if err != nil {
			return nil, false
		}
		slices.Sort(found)
		slices.Reverse(found)
		names = found
	}
	for _, name := range names {
		if code, ok := readEntry(name); ok {
			return code, true
		}
	}
	return nil, false
}

func (c *cache) file(key, compiler string) string {
	return filepath.Join(c.dir, key+"-nvrtc"+compiler+".cubin")
}

// readEntry reads a file and checks it. What is used is made the newest.
func readEntry(name string) ([]byte, bool) {
	all, err := os.ReadFile(name)
	if err != nil || len(all) < sha256.Size {
		return nil, false
	}
	code := all[sha256.Size:]
	if sum := sha256.Sum256(code); string(sum[:]) != string(all[:sha256.Size]) {
		return nil, false
	}
	now := time.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		return code, true // read-only caches are fine: they only never age
	}
	return code, true
}

// store writes an entry and removes the oldest ones while all are more than the limit.
//
// Errors: the cache is an optimisation, so a caller may go on after one.
func (c *cache) store(key, compiler string, code []byte) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("cuda: cache: %w", err)
	}
	f, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return fmt.Errorf("cuda: cache: %w", err)
	}
	sum := sha256.Sum256(code)
	_, err = f.Write(append(sum[:], code...))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.file(key, compiler))
	}
	if err != nil {
		return fmt.Errorf("cuda: cache: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return c.trim()
}

// stale is the age at which a file that was never renamed is left from a process that died.
const stale = time.Hour

// trim removes the oldest entries while all are more than the limit, down to three quarters of it.
func (c *cache) trim() error {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("cuda: cache: %w", err)
	}
	var entries []fs.FileInfo
	var sum deps.Bytes
	for _, e := range list {
		i, err := e.Info()
		if err != nil || !i.Mode().IsRegular() { // another process was faster, or it is not ours
			continue
		}
		if strings.HasPrefix(i.Name(), "new-") && time.Since(i.ModTime()) < stale {
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
			return fmt.Errorf("cuda: cache: %w", err)
		}
		sum -= deps.Bytes(i.Size())
	}
	return nil
}
