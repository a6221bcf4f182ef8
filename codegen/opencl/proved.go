package opencl

import (
	"github.com/gompss/gompss/codegen/guard"
	"github.com/gompss/gompss/codegen/ir"
)

// Proved returns p as it is when guards hold: see guard.Proved.
func Proved(p *ir.Program, opt Options) (proved *ir.Program, guards []ir.Expr) {
	return guard.Proved(p, func(q *ir.Program) ([]bool, error) {
		source, err := printAll(q, opt)
		if err != nil {
			return nil, err
		}
		left := make([]bool, len(source.Entries))
		for i := range left {
			left[i] = source.Entries[i].Fault
		}
		return left, nil
	})
}
