package task

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// checkCapacities returns an error where a kernel with copy gets slices that overlap and whose
// capacities end at different places: the capacities say which of the two begins later, and so from
// which end to copy.
func (r *record) checkCapacities() error {
	if !r.kernel.ir.Copies {
		return nil
	}
	for i := range r.args.List {
		for j := range i {
			a, b := &r.args.List[i], &r.args.List[j]
			if overlap(a, b) && capacityEnd(a) != capacityEnd(b) {
				return fmt.Errorf("arguments %d and %d overlap, the kernel copies between slices, and a capacity ends inside of their memory: pass x[lo:hi] without a capacity of its own", j+1, i+1)
			}
		}
	}
	return nil
}

// overlap reports whether two arguments are slices that have memory in common.
func overlap(a, b *devices.Arg) bool {
	if a.Type.Kind != ir.Slice || b.Type.Kind != ir.Slice || a.Len == 0 || b.Len == 0 || a.Buffer != b.Buffer {
		return false
	}
	return a.Offset < b.Offset+deps.Bytes(b.Len)*b.Type.Elem.Size && b.Offset < a.Offset+deps.Bytes(a.Len)*a.Type.Elem.Size
}

// capacityEnd returns where the capacity of a slice ends in its buffer.
func capacityEnd(a *devices.Arg) deps.Bytes { return a.Offset + deps.Bytes(a.Cap)*a.Type.Elem.Size }
