package contract

import (
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
)

// Unchecked returns k, of which c is the contract, without the checks that the host makes for every
// launch: right for launches for which Proof.Proves holds. It returns nil where no check is left
// out.
func (c *Contract) Unchecked(k *ir.Kernel) *ir.Kernel {
	if len(c.sites) == 0 {
		return nil
	}
	own := *k
	own.Funcs = mapping.OwnFuncs(&own)
	c.clear(k.Body, own.Body)
	for i, f := range k.Funcs {
		c.clear(f.Body, own.Funcs[i].Body)
	}
	return &own
}

// clear takes the checks of the sites of c out of list, a copy of from.
func (c *Contract) clear(from, list []ir.Stmt) {
	var originals []ir.Expr
	var steps []bool
	ir.Inspect(from, func(s ir.Stmt) {
		if f, ok := s.(*ir.For); ok {
			steps = append(steps, c.sites[f.Step])
		}
	}, func(e ir.Expr) { originals = append(originals, e) })
	i, j := 0, 0
	var proved []*ir.For
	ir.Inspect(list, func(s ir.Stmt) {
		if f, ok := s.(*ir.For); ok {
			if steps[j] {
				proved = append(proved, f)
			}
			j++
		}
	}, func(e ir.Expr) {
		if c.sites[originals[i]] {
			uncheck(e)
		}
		i++
	})
	for _, f := range proved { // say that the step is 1 or more, or -1 or less
		fn, end := ir.IMax, int64(1)
		if f.Rel == ir.Gt || f.Rel == ir.Ge {
			fn, end = ir.IMin, -1
		}
		f.Step = &ir.Math{Fn: fn, Args: []ir.Expr{f.Step, &ir.Const{T: f.Step.Type(), Bits: uint64(end), At: f.At}}, T: f.Step.Type(), At: f.At}
	}
}

func uncheck(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index:
		e.Checked = false
	case *ir.Reslice:
		e.Checked = false
	case *ir.Binary:
		e.Checked = false
	case *ir.Deref:
		e.Checked = false
	}
}
