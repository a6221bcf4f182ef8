package frontend

import (
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// typeAt returns the IR type of t, which stands at pos; where it is not in the dialect the error is
// reported.
func (b *builder) typeAt(t types.Type, pos token.Pos) *ir.Type {
	if t == nil {
		b.unknown(pos)
		return query.BadType
	}
	out, err := b.env.types.Convert(t)
	switch {
	case err == nil:
	case err.What == "":
		b.unknown(pos)
	default:
		b.fail(pos, err.What, err.Why, err.Instead)
	}
	return out
}
