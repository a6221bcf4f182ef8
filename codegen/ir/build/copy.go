package build

import "github.com/gompss/gompss/codegen/ir"

// WithVars returns the rewriting that puts other variables in place of those of mine.
func WithVars(mine map[*ir.Var]*ir.Var) *ir.Rewrite {
	return &ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if c, ok := mine[v]; ok {
			return c
		}
		return v
	}}
}

// Copy returns a copy of e, for a second place in the tree.
func Copy(e ir.Expr) ir.Expr { return (&ir.Rewrite{}).CopyExpr(e) }
