package query

import "github.com/gompss/gompss/codegen/ir"

// OnlyPlain reports whether list is declarations, assignments and conditions around them.
func OnlyPlain(list []ir.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl, *ir.Assign:
		case *ir.If:
			if !OnlyPlain(s.Then) || !OnlyPlain(s.Else) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
