package simt

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// pad notes the bytes between the fields of a value of type t at off of team memory: a store of a
// struct need not write them, and a copy of its memory reads them.
func (c *code) pad(t *ir.Type, off int64) {
	switch t.Kind {
	case ir.Array:
		for i := range t.Len {
			if c.pad(t.Elem, off+i*int64(t.Elem.Size)); len(c.padding) == 0 {
				return // nor has any other element
			}
		}
	case ir.Struct:
		end := int64(0)
		for _, f := range append(slices.Clone(t.Fields), ir.Field{Offset: t.Size, Type: &ir.Type{}}) {
			for b := end; b < int64(f.Offset); b++ {
				if c.padding == nil {
					c.padding = map[int64]bool{}
				}
				c.padding[off+b] = true
			}
			c.pad(f.Type, off+int64(f.Offset))
			end = int64(f.Offset + f.Type.Size)
		}
	}
}

// isPadding says that all bytes of the cell at off are padding.
func (c *code) isPadding(off int64) bool {
	for b := off; b < off+c.grain; b++ {
		if !c.padding[b] {
			return false
		}
	}
	return true
}
