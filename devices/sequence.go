package devices

import (
	"bytes"
	"fmt"
)

// A Step is one launch of a kernel that is a sequence: see Kernel.Steps.
type Step struct {
	Kernel *Kernel
	Args   []Arg
	After  []int // the steps before it that it has to wait for
}

// Sequence returns the steps of l with their arguments, nil if its kernel is no sequence.
func (l *Launch) Sequence() []Step {
	if l.Steps != nil {
		return l.Steps
	}
	return l.Kernel.Steps
}

// Equal reports whether a and b are the same value.
func (a *Arg) Equal(b *Arg) bool {
	return a.Type == b.Type && a.Bits == b.Bits && a.Nil == b.Nil && a.Buffer == b.Buffer && a.Offset == b.Offset &&
		a.Len == b.Len && a.Cap == b.Cap && bytes.Equal(a.Blob, b.Blob)
}

// PrepareSteps prepares the kernels of all steps, each once.
func PrepareSteps(d Device, steps []Step) error {
	seen := map[*Kernel]bool{}
	for i := range steps {
		k := steps[i].Kernel
		if seen[k] {
			continue
		}
		seen[k] = true
		if len(k.Steps) > 0 {
			return fmt.Errorf("step %d: %s is a sequence itself", i, k.Name)
		}
		if err := d.Prepare(k); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}
