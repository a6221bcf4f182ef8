package lower

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
)

// widthOfRows is the name in a Choice for the number of lanes that share an iteration with a nested
// loop.
const widthOfRows = "lanes of a nested loop"

// An uncounted is why the lengths of the nested loops of a kernel are not counted; nil where they
// are.
type uncounted struct{ why error }

// Varies reports whether the kernel has nested loops whose lanes may follow from earlier launches.
func (r *Result) Varies() bool { return r.varies && r.orderShows(r.openAround) == "" }

// CountLengths makes device IR that takes the arguments of k, changes none of them, and counts how
// long its nested loops would be: it leaves a target.Lengths in the scratchpad of the name
// target.LengthsName. Errors: why that cannot be counted.
func CountLengths(k *ir.Kernel, opt Options) (*ir.Program, error) {
	l := newLowering(k, opt)
	l.counting = &uncounted{}
	if err := l.run(); err != nil {
		return nil, err
	}
	if l.counting.why != nil {
		return nil, fmt.Errorf("kernel %s: the lengths of its nested loops are not counted: %w", k.Name, l.counting.why)
	}
	return l.program, nil
}

// A WidthVariant is a kernel with another number of lanes for its nested loops, see Variant.
type WidthVariant struct {
	Width              target.Width
	Program, Unchecked *ir.Program
}

// NestedWidths returns the forms of k in which other numbers of lanes share its nested loops than
// in the form that Lower chooses, and that leave the same bits. unchecked is that of Variants.
//
// Cost: a lowering of both for each width. Errors: why there is none.
func NestedWidths(k, unchecked *ir.Kernel, opt Options) (out []WidthVariant, err error) {
	seen := map[string]bool{}
	for _, w := range append([]target.Width{0}, target.Widths...) {
		o := opt
		if w > 0 {
			o.Choice = opt.Choice.With(widthOfRows, int(w))
		}
		v := WidthVariant{Width: w}
		for _, form := range []struct {
			of   *ir.Kernel
			into **ir.Program
		}{{k, &v.Program}, {unchecked, &v.Unchecked}} {
			if form.of == nil {
				continue
			}
			r, err := Lower(form.of, o)
			if err != nil {
				return nil, err
			}
			if why := r.orderShows(r.openAround); why != "" {
				return nil, errors.New(why)
			}
			*form.into = r.Program
		}
		text := v.Program.String()
		if !seen[text] && w > 0 {
			out = append(out, v)
		}
		seen[text] = true
	}
	if len(out) == 0 {
		return nil, errors.New("no nested loop has a number of lanes to choose")
	}
	return out, nil
}
