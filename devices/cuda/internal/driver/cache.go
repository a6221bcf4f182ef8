//go:build linux && (amd64 || arm64)

package driver

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

// cacheVersion is part of every entry: it goes up when the format changes, or what is asked of the
// compiler.
const cacheVersion = "2"

// A Cache is compiled programs on disk, one file each. An entry belongs to one user: the folder and
// the files are readable and writable by their owner alone, and a file of another owner, or one
// that others may write, counts as absent. The name of a file says what it was made of, and its
// head is a digest of that, with the hash of the source, and of the code: a damaged entry, and an
// entry of another program under this name, count as absent too.
//
// Several processes may share a cache: a file appears whole, by renaming.
type Cache struct {
	Dir   string
	Limit deps.Bytes
}

// A CubinKey says what a compiled program was made of, but for the compiler. Hash is the hash of
// the text and the options of the source, Arch the architecture, such as sm_90.
type CubinKey struct {
	Hash, Arch string
	// Kind is "" for code, else what is kept beside it about the program: the extension of the file.
	Kind string
}

// name is the part of a file's name that stands before the compiler.
func (k CubinKey) name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{cacheVersion, k.Hash, k.Arch}, "\x00")))
	return fmt.Sprintf("%x-%s", sum[:16], k.Arch)
}

// digest is the head of an entry of code that a version of the compiler made.
func (k CubinKey) digest(compiler string, code []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "gompss cubin %s\x00%s\x00%s\x00%s\x00%d\x00", cacheVersion, k.Hash, k.Arch, compiler, len(code))
	if k.Kind != "" {
		fmt.Fprintf(h, "%s\x00", k.Kind)
	}
	h.Write(code)
	return h.Sum(nil)
}

// Load returns the entry of key that this version of the compiler made; with no compiler (""), that
// of the newest.
func (c *Cache) Load(key CubinKey, compiler string) ([]byte, bool) {
	if compiler != "" {
		return c.entry(key, compiler)
	}
	found, err := filepath.Glob(c.file(key, "*"))
	if err != nil {
		return nil, false
	}
	slices.Sort(found)
	for _, name := range slices.Backward(found) {
		if code, ok := c.entry(key, compilerOf(name)); ok {
			return code, true
		}
	}
	return nil, false
}

// The compiler stands between these in the name of a file.
const beforeCompiler, afterCompiler = "-nvrtc", ".cubin"

func (c *Cache) file(key CubinKey, compiler string) string {
	if key.Kind != "" {
		return filepath.Join(c.Dir, key.name()+"."+key.Kind)
	}
	return filepath.Join(c.Dir, key.name()+beforeCompiler+compiler+afterCompiler)
}

func compilerOf(file string) string {
	_, rest, _ := strings.Cut(filepath.Base(file), beforeCompiler)
	return strings.TrimSuffix(rest, afterCompiler)
}

// entry reads a file and checks it. An entry that is used becomes the newest.
func (c *Cache) entry(key CubinKey, compiler string) ([]byte, bool) {
	name := c.file(key, compiler)
	all, err := readPrivate(name)
	if err != nil || len(all) < sha256.Size {
		return nil, false
	}
	code := all[sha256.Size:]
	if !bytes.Equal(all[:sha256.Size], key.digest(compiler, code)) {
		return nil, false
	}
	now := time.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		return code, true // read-only caches are fine: their entries never age
	}
	return code, true
}

// Kept returns what is kept beside programs of a kind, as it was stored, in files of this user. It
// is not known yet that an entry is what its key says: Load with that key shows it.
func (c *Cache) Kept(kind string) (out [][]byte) {
	found, err := filepath.Glob(filepath.Join(c.Dir, "*."+kind))
	if err != nil {
		return nil
	}
	for _, name := range found {
		if all, err := readPrivate(name); err == nil && len(all) > sha256.Size {
			out = append(out, all[sha256.Size:])
		}
	}
	return out
}

// errNotPrivate means that a file of the cache may come from another user.
var errNotPrivate = errors.New("not a file of this user alone")

// readPrivate reads a regular file that belongs to this user or to root and that no other user may
// write.
func readPrivate(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	all, err := readChecked(f)
	return all, errors.Join(err, f.Close())
}

func readChecked(f *os.File) ([]byte, error) {
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

// Store writes an entry and removes the oldest ones while all are more than the limit.
//
// Errors: the cache is an optimisation, so a caller may continue after one.
func (c *Cache) Store(key CubinKey, compiler string, code []byte) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("cuda: cache: %w", err)
	}
	f, err := os.CreateTemp(c.Dir, "new-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("cuda: cache: %w", err)
	}
	_, err = f.Write(append(key.digest(compiler, code), code...))
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
func (c *Cache) trim() error {
	list, err := os.ReadDir(c.Dir)
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
	if sum <= c.Limit {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, i := range entries {
		if sum <= c.Limit/4*3 {
			return nil
		}
		if err := os.Remove(filepath.Join(c.Dir, i.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cuda: cache: %w", err)
		}
		sum -= deps.Bytes(i.Size())
	}
	return nil
}
