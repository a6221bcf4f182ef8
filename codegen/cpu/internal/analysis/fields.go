package analysis

import (
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// RecordOf are the declarations at the beginning of list that load fields of one element: nothing
// that they load is declared among them.
func RecordOf(list []ir.Stmt) []FieldMove {
	var out []FieldMove
	for _, s := range list {
		m, ok := fieldMoveOf(s)
		if !ok || !m.Load || len(out) > 0 && (m.Slice != out[0].Slice || ir.ExprKey(m.Index.I) != ir.ExprKey(out[0].Index.I)) {
			break
		}
		out = append(out, m)
	}
	return out
}

// Fields of structs that lie in one piece of 16 bytes are loaded and stored so, a piece for each
// lane, and turned: four vectors that hold four pieces each, of every fourth lane, are the four
// fields of all lanes after eight operations, and the other way round.

// A FieldMove is a statement that loads a field into a new variable, or stores a variable to one.
type FieldMove struct {
	Place  ir.Expr
	V      *ir.Var
	Load   bool
	Slice  *ir.Var
	Index  *ir.Index
	Offset int64 // bytes from the start of the element
}

// fieldMoveOf reports whether s is one.
func fieldMoveOf(s ir.Stmt) (m FieldMove, ok bool) {
	switch s := s.(type) {
	case *ir.Decl:
		m.Place, m.V, m.Load = s.Init, s.Var, true
	case *ir.Assign:
		r, isRef := s.Value.(*ir.Ref)
		if !isRef {
			return m, false
		}
		m.Place, m.V = s.Place, r.Var
	default:
		return m, false
	}
	if m.Place == nil || !prepare.IsElement(m.Place) {
		return m, false
	}
	t := m.Place.Type()
	if !t.IsScalar() || t.Kind == ir.Bool || t.Size < 4 {
		return m, false
	}
	for x := m.Place; ; {
		switch p := x.(type) {
		case *ir.Member:
			m.Offset += int64(p.X.Type().Fields[p.Field].Offset)
			x = p.X
		case *ir.Index:
			if p.X.Type().Kind == ir.Slice {
				r, isRef := p.X.(*ir.Ref)
				if !isRef {
					return m, false
				}
				m.Slice, m.Index = r.Var, p
				return m, m.Offset%int64(t.Size) == 0
			}
			c, constant := ir.ConstInt(p.I)
			if !constant {
				return m, false
			}
			m.Offset += c * int64(p.Type().Size)
			x = p.X
		default:
			return m, false
		}
	}
}

// PiecesOf are the moves at the beginning of list between one piece and variables, of scalars of
// one size, in order.
func PiecesOf(list []ir.Stmt) []FieldMove {
	var out []FieldMove
	for _, s := range list {
		m, ok := fieldMoveOf(s)
		if !ok {
			break
		}
		if len(out) > 0 {
			first, last := out[0], out[len(out)-1]
			if m.Load != first.Load || m.Slice != first.Slice || ir.ExprKey(m.Index.I) != ir.ExprKey(first.Index.I) || m.Place.Type().Size != first.Place.Type().Size ||
				m.Offset/prepare.PieceBytes != first.Offset/prepare.PieceBytes || m.Offset <= last.Offset {
				break
			}
		} else if (m.Offset/prepare.PieceBytes+1)*prepare.PieceBytes > int64(m.Index.Type().Size) {
			break // it goes past the end of the element
		}
		out = append(out, m)
	}
	return out
}
