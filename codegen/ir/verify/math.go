package verify

import (
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

func (v *expressions) math(e *ir.Math) {
	args, result, ok := strings.Cut(ir.MathSignature(e.Fn), ":")
	if !ok {
		v.fail(e.At, "no function %d", e.Fn)
		return
	}
	if len(e.Args) != len(args) {
		v.fail(e.At, "%s of %d arguments, not %d", e.Fn, len(e.Args), len(args))
		return
	}
	for i, a := range e.Args {
		if !v.expr(a) {
			return
		}
		if !fits(args[i], a.Type(), e.Args[0].Type()) {
			v.fail(a.Pos(), "%s: argument %d is %s", e.Fn, i, a.Type())
		}
	}
	if e.T != nil && !fits(result[0], e.T, e.Args[0].Type()) {
		v.fail(e.At, "%s(%s) gives %s", e.Fn, e.Args[0].Type(), e.T)
	}
}

// fits reports whether t has the kind that letter names; first is the type of the first argument.
func fits(letter byte, t, first *ir.Type) bool {
	switch letter {
	case 'f':
		return t.IsFloat() && ir.Same(t, first)
	case 'i':
		return t.IsInteger() && ir.Same(t, first)
	case 'u':
		return t.IsInteger() && !t.IsSigned() && ir.Same(t, first)
	}
	return ir.Same(t, map[byte]*ir.Type{'n': ir.IntType, 'b': ir.BoolType, 's': ir.Float32Type, 'd': ir.Float64Type, '4': ir.Uint32Type,
		'8': ir.Uint64Type}[letter])
}
