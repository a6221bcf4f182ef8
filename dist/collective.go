package dist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// Gather brings the current version of x, a distributed slice or a part of one, to rank root, and
// waits there until it is valid. All ranks call it. Without a World it is WaitOn.
func Gather[T any](ctx context.Context, rt *task.Runtime, root int, x []T) error {
	w, err := worldOf(rt)
	if err != nil || len(x) == 0 {
		return err
	}
	if w == nil {
		return rt.WaitOn(ctx, task.In(x))
	}
	if root < 0 || root >= w.size {
		return fmt.Errorf("dist: gather to rank %d of %d", root, w.size)
	}
	region, err := w.local.Region(task.In(x))
	if err != nil {
		return fmt.Errorf("dist: gather: %w", err)
	}
	w.lock()
	err = w.read("Gather", int32(root), []deps.Access{{Region: region, Mode: deps.In}})
	w.mu.Unlock()
	if err != nil || w.rank != root {
		return err
	}
	return await(w, ctx, region, task.In(x))
}

// await waits on this rank until a region can be read, which access names, too. It returns the
// failure of the job where there is one.
func await(w *World, ctx context.Context, region deps.Region, access task.Option) error {
	// A wait for memory that no task of this rank has used would be refused.
	err := w.local.Go("await", []deps.Access{{Region: region, Mode: deps.In}}, 0, func(*task.Scope) error { return nil })
	if err == nil {
		err = w.local.WaitOn(ctx, access)
	}
	if failed := w.failure(); failed != nil {
		return failed
	}
	return err
}

// Scatter makes what rank root has in x, a distributed slice or a part of one, the current version,
// and sends each owner its part. All ranks call it; root has written x, and may do so again when it
// has waited. Without a World it does nothing.
func Scatter[T any](rt *task.Runtime, root int, x []T) error {
	w, err := worldOf(rt)
	if err != nil || w == nil || len(x) == 0 {
		return err
	}
	if root < 0 || root >= w.size {
		return fmt.Errorf("dist: scatter from rank %d of %d", root, w.size)
	}
	region, err := w.local.Region(task.In(x))
	if err != nil {
		return fmt.Errorf("dist: scatter: %w", err)
	}
	w.lock()
	defer w.mu.Unlock()
	if err := w.failure(); err != nil {
		return err
	}
	all := []deps.Access{{Region: region, Mode: deps.Out}}
	if _, err := w.directory.place(all); err != nil {
		return fmt.Errorf("dist: scatter: %w", err)
	}
	w.note("Scatter", int32(root), all)
	w.directory.submit(int32(root), all)
	if err := w.post(0); err != nil {
		return err
	}
	b := w.directory.of(&region)
	for k, owner := range b.owners {
		for _, part := range region.Intersect(b.region(b.id, int64(k))) {
			to := []deps.Access{{Region: part, Mode: deps.InOut}}
			w.note("Scatter", owner, to)
			w.directory.submit(owner, to)
			if err := w.post(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Range is elements [Lo, Hi) of a slice.
type Range struct{ Lo, Hi int }

// Owned returns the elements of x, a distributed slice, that this rank owns, ascending: what it
// reads from a file before the first task, or writes to one after Wait, where its tasks have
// written them. Without a World they are all of x.
func Owned[T any](rt *task.Runtime, x []T) ([]Range, error) {
	w, err := worldOf(rt)
	if err != nil || len(x) == 0 {
		return nil, err
	}
	rank := 0
	if w != nil {
		rank = w.rank
	}
	parts, err := partsOf(w, len(x), task.In(x))
	if err != nil {
		return nil, fmt.Errorf("dist: owned: %w", err)
	}
	var out []Range
	for _, p := range parts {
		if p.rank == rank {
			out = append(out, p.Range)
		}
	}
	return out, nil
}

// An ownedRange is consecutive elements of one owner.
type ownedRange struct {
	Range
	rank int
}

// partsOf returns the elements of a distributed slice by owner, ascending; neighbours have
// different owners. Without a World the owner of all n is rank 0.
func partsOf(w *World, n int, access task.Option) ([]ownedRange, error) {
	if n == 0 {
		return nil, nil
	}
	if w == nil {
		return []ownedRange{{Range{0, n}, 0}}, nil
	}
	region, err := w.local.Region(access)
	if err != nil {
		return nil, err
	}
	w.lock()
	defer w.mu.Unlock()
	b := w.directory.of(&region)
	if b == nil {
		return nil, errors.New("the slice has no owners: see Distribute")
	}
	var all []ownedRange
	for k, owner := range b.owners {
		for _, part := range region.Intersect(b.region(b.id, int64(k))) {
			for lo, hi := range part.Runs() {
				all = append(all, ownedRange{Range{int(lo - region.Offset), int(hi - region.Offset)}, int(owner)})
			}
		}
	}
	slices.SortFunc(all, func(a, b ownedRange) int { return cmp.Compare(a.Lo, b.Lo) })
	out := all[:0]
	for _, r := range all {
		if last := len(out) - 1; last >= 0 && out[last].rank == r.rank && out[last].Hi == r.Lo {
			out[last].Hi = r.Hi
			continue
		}
		out = append(out, r)
	}
	return out, nil
}
