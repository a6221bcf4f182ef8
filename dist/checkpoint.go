package dist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/task"
)

// A Saved is a slice that Checkpoint writes and Restore reads under a name.
type Saved struct {
	name   string
	access task.Option
	data   []byte
	elem   int
}

// Save names a slice for Checkpoint and Restore. x must be a whole distributed slice, and its
// elements must not contain pointers.
func Save[T any](name string, x []T) Saved {
	data, elem := hostmem.BytesOf(x)
	return Saved{name, task.In(x), data, elem}
}

// elements returns the length of the slice.
func (s *Saved) elements() int { return len(s.data) / max(1, s.elem) }

// Checkpoint waits for all tasks and writes the slices to a file on a shared file system. Each rank
// writes the elements that it owns. The complete file is renamed to path, and replaces an older
// file. All ranks call Checkpoint with the same arguments, at the same point of their submissions.
// Restore reads the file on any number of ranks, with any owners.
//
// The elements are stored as in memory: a machine with another byte order cannot read them. The
// file has a checksum of each block: at most 1 MiB of consecutive elements of one owner. A block
// costs 16 bytes in the file.
//
// Errors: those of Wait; slices without owners; errors of the file system, on all ranks.
func Checkpoint(ctx context.Context, rt *task.Runtime, path string, slices ...Saved) error {
	if err := rt.Wait(ctx); err != nil {
		return err
	}
	w, err := worldOf(rt)
	if err != nil {
		return err
	}
	if w == nil {
		for _, s := range slices {
			if _, err := rt.Go(func() error { return nil }, s.access); err != nil { // WaitOn needs a task that has used s
				return err
			}
			if err := rt.WaitOn(ctx, s.access); err != nil {
				return err
			}
		}
		if err := beginCheckpoint(w, path, slices); err != nil {
			return err
		}
		if err := writeOwned(w, path, slices); err != nil {
			return err
		}
		return wrap("dist: checkpoint", os.Rename(part1(path), path))
	}
	for _, s := range slices {
		if err := w.bringHome(ctx, s); err != nil {
			return fmt.Errorf("dist: checkpoint %s: %w", s.name, err)
		}
	}
	if w.rank == 0 {
		err = beginCheckpoint(w, path, slices)
	}
	if err := w.Wait(ctx, err); err != nil { // the file exists
		return err
	}
	if err := w.Wait(ctx, writeOwned(w, path, slices)); err != nil {
		return err
	}
	if w.rank == 0 {
		err = os.Rename(part1(path), path)
	}
	return w.Wait(ctx, err)
}

// part1 returns the name of the file while it is incomplete.
func part1(path string) string { return path + ".part" }

// bringHome copies all parts of a slice to their owners, and waits for the parts of this rank.
func (w *World) bringHome(ctx context.Context, s Saved) error {
	region, err := w.local.Region(s.access)
	if err != nil || region.Empty() {
		return err
	}
	if err := w.readHome(region); err != nil {
		return err
	}
	return await(w, ctx, region, s.access)
}

func (w *World) readHome(region deps.Region) error {
	w.lock()
	defer w.mu.Unlock()
	b := w.directory.of(&region)
	if b == nil {
		return errors.New("the slice has no owners: see Distribute")
	}
	for k, owner := range b.owners {
		for _, part := range region.Intersect(b.region(b.id, int64(k))) {
			if err := w.read("Checkpoint", owner, []deps.Access{{Region: part, Mode: deps.In}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// beginCheckpoint creates the file with its header and its full length.
func beginCheckpoint(w *World, path string, slices []Saved) error {
	h, err := headOf(w, slices)
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	f, err := os.Create(part1(path))
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	return wrap("dist: checkpoint", errors.Join(h.write(f), f.Close()))
}

func wrap(where string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", where, err)
}

// rankIn returns the rank of w, or 0 if w is nil.
func rankIn(w *World) int {
	if w == nil {
		return 0
	}
	return w.rank
}

// writeOwned writes the blocks that this rank owns, and their checksums.
func writeOwned(w *World, path string, slices []Saved) error {
	h, err := headOf(w, slices)
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	f, err := os.OpenFile(part1(path), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	err = h.writeBlocks(f, rankIn(w), slices)
	return wrap("dist: checkpoint", errors.Join(err, f.Sync(), f.Close()))
}

// Restore reads slices that Checkpoint has written, in any order. Each rank reads the elements that
// it owns. All ranks call Restore after Distribute and before the first task that uses the slices.
//
// Errors: fs.ErrNotExist if there is no file. This does not count as a failure of a rank: the
// program starts from the beginning. All ranks must find the file, or none; otherwise their
// submissions differ. Other errors: a file that Checkpoint has not written; a damaged or truncated
// file, with the first block that this rank cannot read; a slice that is missing or has another
// length or element size; slices that tasks have used; errors of the file system. The error of one
// rank is returned on all ranks at the next wait. After an error the elements of the slices are
// undefined.
func Restore(rt *task.Runtime, path string, slices ...Saved) error {
	w, err := worldOf(rt)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	absent := errors.Is(err, fs.ErrNotExist)
	if w != nil {
		noteRestore(w, absent)
	}
	if err == nil {
		err = errors.Join(restore(w, f, slices), f.Close())
	}
	if err != nil {
		if w != nil && !absent {
			w.fail(w.rank, fmt.Errorf("dist: restore %s: %w", path, err))
		}
		return fmt.Errorf("dist: restore %s: rank %d: %w", path, rankIn(w), err)
	}
	return nil
}

// noteRestore records a call of Restore as a submission, so that the ranks compare it. A call that
// finds no file is a different submission from one that finds it.
func noteRestore(w *World, absent bool) {
	w.lock()
	defer w.mu.Unlock()
	name := "Restore"
	if absent {
		name = "Restore without a file"
	}
	w.note(name, 0, nil)
	w.directory.sequence++
}

func restore(w *World, f *os.File, slices []Saved) error {
	h, err := readHead(f)
	if err != nil {
		return err
	}
	for _, s := range slices {
		found, err := h.find(s)
		if err != nil {
			return err
		}
		if w != nil && w.used(s) {
			return fmt.Errorf("%s: tasks have used it", s.name)
		}
		parts, err := partsOf(w, s.elements(), s.access)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		mine := parts[:0]
		for _, p := range parts {
			if p.rank == rankIn(w) {
				mine = append(mine, p)
			}
		}
		if err := found.read(f, s, mine); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// used reports whether a task has used a slice. Its owners may then lack its current version.
func (w *World) used(s Saved) bool {
	region, err := w.local.Region(s.access)
	if err != nil {
		return true
	}
	w.lock()
	defer w.mu.Unlock()
	b := w.directory.of(&region)
	if b == nil {
		return true
	}
	for k, cells := range b.cells {
		for n := range cells {
			if c := &cells[n]; c.writer != b.owners[k] || len(c.ranks) > 0 || c.op != 0 {
				return true
			}
		}
	}
	return false
}
