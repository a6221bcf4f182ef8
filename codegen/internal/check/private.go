package check

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// private checks that private copies, which start without a value, are assigned before they are
// read.
func (c *Check) private(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		for _, v := range d.Private {
			f := analysis.NewPrivateFlow(v, func(at ir.Pos, in analysis.AssignedState) { c.readsCopy(at, v, d, in) })
			ir.Lists(s, func(body []ir.Stmt) { f.Stmts(body, analysis.Unassigned) })
		}
		return true
	})
}

// readsCopy reports a read, at a place, of a private copy of v that has no value there, or may have
// none.
func (c *Check) readsCopy(at ir.Pos, v *ir.Var, d *ir.Directive, in analysis.AssignedState) {
	what, why := "private("+v.Name+")", "its copies have no value at "+d.At.String()+", and it is read "
	if in == analysis.Unassigned {
		c.fail(at, what, why+"before anything assigns to it", "assign to it first, or write firstprivate("+v.Name+")")
	} else {
		c.warn(at, what, why+"where only some paths have assigned to it", "assign to it on every path, or write firstprivate("+v.Name+")")
	}
}
