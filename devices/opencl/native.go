//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// A native kernel takes a global pointer for each slice and pointer, at the first byte of the
// memory object plus the bytes of a long argument behind it; scalars, structs and arrays by value;
// and, where its shape has shared memory, a local pointer last.

// startNative enqueues a native kernel.
func (r *run) startNative(c *commands) error {
	d, k := r.device, r.kernel
	shape := r.program.native.Shape(r.args)
	teams, team, err := shape.Teams()
	if err != nil {
		return err
	}
	entry := &r.version.entries[0]
	if n := team[0] * team[1] * team[2]; n > int64(entry.threads) {
		return fmt.Errorf("teams of %d threads: the device takes at most %d", n, entry.threads)
	}
	b := newBlock()
	defer b.free()
	index := 0
	set := func(size, address uintptr) {
		if err == nil {
			if err = d.driver.do(clSetKernelArg, entry.kernel, uintptr(index), size, address); err != nil {
				err = fmt.Errorf("argument %d: %w", index, err)
			}
		}
		index++
	}
	for i := range r.args.List[:len(r.args.List)-k.Hidden] {
		a := &r.args.List[i]
		switch {
		case a.Type.Kind == ir.Slice || a.Type.Kind == ir.Pointer:
			b.words[0], b.words[1] = 0, 0
			if a.InMemory() {
				object, failed := d.argumentOf(a.Buffer)
				if failed != nil {
					return failed
				}
				b.words[0], b.words[1] = uint64(object), uint64(a.Offset)
			}
			set(8, b.at(0))
			set(8, b.at(1))
		case a.Type.IsScalar():
			b.words[0] = a.Bits
			set(uintptr(a.Type.Size), b.at(0))
		default:
			set(uintptr(len(a.Blob)), addressOf(a.Blob))
		}
	}
	if shape.Shared > 0 {
		set(uintptr(shape.Shared), 0)
	}
	if err != nil {
		return err
	}
	c.add(func(count, list, event uintptr) error {
		if err := d.enqueueKernel(entry.kernel, teams, team, count, list, event); err != nil {
			return fmt.Errorf("grid of %v teams of %v threads: %w", teams, team, err)
		}
		return nil
	})
	return nil
}
