package devices

import "fmt"

// A Step is one launch of a kernel that is a sequence: see Kernel.Steps.
type Step struct {
	Kernel *Kernel
	Args   []Arg
	After  []int // the steps before it that it has to wait for
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
