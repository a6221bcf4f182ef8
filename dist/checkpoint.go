package dist

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// A Saved is a slice that Checkpoint writes and Restore reads under a name.
type Saved struct {
	name   string
	access task.Option
	data   []byte
	elem   int
	owned  func(rt *task.Runtime) ([]Range, error)
}

// Save names a slice for Checkpoint and Restore: all of a distributed one. Its elements must have
// no pointers.
func Save[T any](name string, x []T) Saved {
	var zero T
	elem := int(unsafe.Sizeof(zero))
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*elem)
	return Saved{name, task.In(x), data, elem, func(rt *task.Runtime) ([]Range, error) { return Owned(rt, x) }}
}

// The file of a checkpoint: the 8 bytes of checkpointMagic, the length of the head (4 bytes,
// little-endian), the head as JSON, then the elements of each slice as they are in memory.
const checkpointMagic = "GOMPSSCP"

type checkpointHead struct {
	Slices []savedHead
}

type savedHead struct {
	Name     string
	Elements int
	Bytes    int   // of an element
	Offset   int64 // of the first, in the file
}

// headOf lays the slices out after the head. The length of the head depends on the offsets, so
// headOf computes it twice.
func headOf(slices []Saved) ([]byte, checkpointHead, error) {
	var h checkpointHead
	size := int64(0)
	for pass := range 3 {
		h.Slices = h.Slices[:0]
		at := (size + 4095) / 4096 * 4096
		for _, s := range slices {
			n := 0
			if s.elem > 0 {
				n = len(s.data) / s.elem
			}
			h.Slices = append(h.Slices, savedHead{s.name, n, s.elem, at})
			at = (at + int64(len(s.data)) + 4095) / 4096 * 4096
		}
		text, err := json.Marshal(h)
		if err != nil {
			return nil, h, err
		}
		if pass == 0 {
			size = int64(len(text)) + 1024 // offsets grow by some digits
			continue
		}
		out := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), uint32(len(text)))
		return append(out, text...), h, nil
	}
	panic("gompss: bug: the head of a checkpoint")
}

// Checkpoint waits for all tasks and writes the slices to a file that all ranks see: each rank
// writes what it owns. The file gets its name when it is complete, and replaces an older one. All
// ranks call Checkpoint with the same arguments, at the same point of their submissions. Restore
// reads the file on any number of ranks with any owners.
//
// The elements are stored as in memory: a machine with another byte order cannot read them.
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
			if _, err := rt.Go(func() error { return nil }, s.access); err != nil { // it may be the first
				return err
			}
			if err := rt.WaitOn(ctx, s.access); err != nil {
				return err
			}
		}
		return errors.Join(beginCheckpoint(path, slices), writeOwned(rt, path, slices), os.Rename(part1(path), path))
	}
	for _, s := range slices {
		if err := w.bringHome(ctx, s); err != nil {
			return fmt.Errorf("dist: checkpoint %s: %w", s.name, err)
		}
	}
	if w.rank == 0 {
		err = beginCheckpoint(path, slices)
	}
	if err := w.Wait(ctx, err); err != nil { // the file exists
		return err
	}
	if err := w.Wait(ctx, writeOwned(rt, path, slices)); err != nil {
		return err
	}
	if w.rank == 0 {
		err = os.Rename(part1(path), path)
	}
	return w.Wait(ctx, err)
}

// part1 is the name of an incomplete file.
func part1(path string) string { return path + ".part" }

// bringHome copies all parts of a slice to their owners, and waits for those of this rank.
func (w *World) bringHome(ctx context.Context, s Saved) error {
	region, err := w.local.Region(s.access)
	if err != nil || region.Empty() {
		return err
	}
	if err := w.readHome(region); err != nil {
		return err
	}
	return w.await(ctx, region, s.access)
}

func (w *World) readHome(region deps.Region) error {
	w.mu.Lock()
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

// beginCheckpoint creates the file with its head and its full length.
func beginCheckpoint(path string, slices []Saved) error {
	head, h, err := headOf(slices)
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	f, err := os.Create(part1(path))
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	_, err = f.Write(head)
	end := int64(len(head))
	for i, s := range h.Slices {
		end = max(end, s.Offset+int64(len(slices[i].data)))
	}
	return wrap("dist: checkpoint", errors.Join(err, f.Truncate(end), f.Close()))
}

func wrap(where string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", where, err)
}

// writeOwned writes what this rank owns.
func writeOwned(rt *task.Runtime, path string, slices []Saved) error {
	f, err := os.OpenFile(part1(path), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("dist: checkpoint: %w", err)
	}
	_, h, err := headOf(slices)
	err = errors.Join(err, eachOwned(rt, h, slices, func(data []byte, at int64) error {
		_, err := f.WriteAt(data, at)
		return err
	}), f.Sync())
	return wrap("dist: checkpoint", errors.Join(err, f.Close()))
}

// eachOwned calls f for every part that this rank owns, with its offset in the file.
func eachOwned(rt *task.Runtime, h checkpointHead, slices []Saved, f func(data []byte, at int64) error) error {
	for i, s := range slices {
		ranges, err := s.owned(rt)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			lo, hi := r.Lo*s.elem, r.Hi*s.elem
			if err := f(s.data[lo:hi], h.Slices[i].Offset+int64(lo)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Restore reads slices that Checkpoint has written, in any order; each rank reads what it owns. All
// ranks call it after Distribute and before the first task that uses the slices.
//
// Errors: no file of Checkpoint; a slice that is missing, or has another length or element size;
// slices that tasks have used; errors of the file system. The error of one rank is returned on all
// ranks at the next wait.
func Restore(rt *task.Runtime, path string, slices ...Saved) error {
	w, err := worldOf(rt)
	if err != nil {
		return err
	}
	if w != nil {
		w.mu.Lock()
		w.note("Restore", 0, nil)
		w.directory.sequence++
		w.mu.Unlock()
	}
	if err := restore(rt, w, path, slices); err != nil {
		err = fmt.Errorf("dist: restore %s: %w", path, err)
		if w != nil {
			w.fail(w.rank, err)
		}
		return err
	}
	return nil
}

func restore(rt *task.Runtime, w *World, path string, slices []Saved) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := readHead(f)
	if err != nil {
		return err
	}
	var h checkpointHead
	for _, s := range slices {
		found, err := all.find(s)
		if err != nil {
			return err
		}
		if w != nil && w.used(s) {
			return fmt.Errorf("%s: tasks have used it", s.name)
		}
		h.Slices = append(h.Slices, found)
	}
	return eachOwned(rt, h, slices, func(data []byte, at int64) error {
		_, err := f.ReadAt(data, at)
		return err
	})
}

func readHead(f io.ReaderAt) (h checkpointHead, err error) {
	var first [len(checkpointMagic) + 4]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || string(first[:len(checkpointMagic)]) != checkpointMagic {
		return h, errors.New("no file of Checkpoint")
	}
	text := make([]byte, min(binary.LittleEndian.Uint32(first[len(checkpointMagic):]), 1<<26))
	if _, err := f.ReadAt(text, int64(len(first))); err != nil {
		return h, fmt.Errorf("the head: %w", err)
	}
	return h, wrap("the head", json.Unmarshal(text, &h))
}

// find returns the entry of a slice.
func (h *checkpointHead) find(s Saved) (savedHead, error) {
	for _, of := range h.Slices {
		switch {
		case of.Name != s.name:
		case of.Bytes != s.elem || of.Elements*of.Bytes != len(s.data):
			return of, fmt.Errorf("%s: the file has %d elements of %d bytes, the slice %d of %d", s.name, of.Elements, of.Bytes, len(s.data)/max(1, s.elem), s.elem)
		default:
			return of, nil
		}
	}
	return savedHead{}, fmt.Errorf("%s: not in the file", s.name)
}

// used reports whether a task has used a slice: then its owners may not have its current version.
func (w *World) used(s Saved) bool {
	region, err := w.local.Region(s.access)
	if err != nil {
		return true
	}
	w.mu.Lock()
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
