package passes

import (
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// CheckCapacities refuses parts with a capacity of their own in a kernel that copies.
func CheckCapacities(u *Pass) {
	if !u.Kernel.Copies {
		return
	}
	for _, body := range u.Bodies() {
		ir.Inspect(body, nil, func(e ir.Expr) {
			if rs, ok := e.(*ir.Reslice); ok && rs.Max != nil {
				u.Report(diag.Diagnostic{Pos: rs.At, What: "slice with a capacity", Why: "the kernel copies between slices, and their capacities say which way",
					Instead: "write x[lo:hi], or a loop for copy"})
			}
		})
	}
}
