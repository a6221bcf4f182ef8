package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// Root returns the slice or pointer through which memory is accessed.
func (a AccessForm) Root() *ir.Var { return a.root }

// WrittenOnce returns the places that list writes, one for each slice. ok is false if list accesses
// one of these slices at another place, or accesses other memory that may overlap with them.
func (m *Dependences) WrittenOnce(list []ir.Stmt) ([]AccessForm, bool) {
	c := &AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(list), Taken: ir.AddressTaken(list)}
	c.Stmts(list)
	if c.Why != "" {
		return nil, false
	}
	var written []AccessForm
	for _, w := range c.List {
		if !w.write || slices.ContainsFunc(written, func(x AccessForm) bool { return x.root == w.root }) {
			continue
		}
		if w.root == nil || w.root.Space != ir.Param || w.root.Type.Kind != ir.Slice || !w.root.Type.Elem.IsScalar() || !w.Known {
			return nil, false
		}
		for _, a := range c.List {
			switch {
			case a.root == w.root:
				if !a.Known || !a.Form.Equal(w.Form) {
					return nil, false
				}
			case a.kinds&w.kinds != 0 && (a.root == nil || !m.SupposeApart(a.root, w.root)):
				return nil, false
			}
		}
		written = append(written, w)
	}
	return written, true
}
