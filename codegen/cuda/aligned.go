package cuda

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A thread that accesses neighbouring elements does so 16 bytes at a time where the compiler knows
// that they begin at a multiple of 16 bytes. A slice may begin anywhere, and a row after any number
// of elements: what holds of most launches is tested by the host (Argument.Multiple), and a version
// of its own is compiled with it.

// Widest is how many bytes one instruction loads or stores at most, in a thread of any generation
// up to sm_90. Source: PTX ISA, ld and st, .v4.b32.
const Widest ir.Bytes = 16

// widestRow bounds the elements that an access takes at once: the lengths of rows have to be a
// multiple of no more.
const widestRow = 4

// Neighbours reports whether a thread of p may access neighbouring elements of a slice, so that
// Options.Align is of use: where two indices of one slice differ, or in a loop inside a loop.
func Neighbours(p *ir.Program) bool {
	found := false
	for i := range p.Launches {
		first := map[*ir.Var]string{}
		ir.WalkExprs(p.Launches[i].Body, func(e ir.Expr) bool {
			if x, v := elementOf(e); v != nil && vector(v) > 1 {
				text := ir.ExprString(x.I) // the same in iterations that are written side by side
				if first[v] == "" {
					first[v] = text
				}
				found = found || first[v] != text
			}
			return !found
		})
		found = found || nested(p.Launches[i].Body)
	}
	return found
}

// nested reports whether a loop of list has a loop inside.
func nested(list []ir.Stmt) bool {
	loops := 0
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if !ok {
			return true
		}
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
			if _, ok := s.(*ir.For); ok {
				loops++
			}
			return loops == 0
		})
		return loops == 0
	})
	return loops > 0
}

// elementOf returns e where it is an element of a slice that is a variable, and that variable.
func elementOf(e ir.Expr) (*ir.Index, *ir.Var) {
	if x, ok := e.(*ir.Index); ok {
		if r, ok := x.X.(*ir.Ref); ok && r.Var.Type.Kind == ir.Slice {
			return x, r.Var
		}
	}
	return nil, nil
}

// vector is how many elements of slice v are accessed at once, at most: 1 is no gain.
func vector(v *ir.Var) int64 {
	size := v.Type.Elem.Size
	if size <= 0 || size&(size-1) != 0 || size >= Widest {
		return 1
	}
	return min(int64(Widest/size), widestRow)
}

// aligned prints what a launch of the version has to keep to, and notes it in the arguments of e.
func (p kernelsPrinter) aligned(e *Entry) string {
	var b strings.Builder
	for i := range e.Args {
		a := &e.Args[i]
		switch {
		case a.Kind == Data && vector(a.Var) > 1:
			a.Multiple = int64(p.opt.Align)
			quals := ""
			s := p.slice(a.Var)
			if p.unchanging[a.Var] && !s.has(useWhole) {
				quals = "const "
			}
			fmt.Fprintf(&b, "\t%s = (%s%s*)__builtin_assume_aligned(%s, %d);\n", s.ptr, quals, p.typeName(a.Var.Type.Elem), s.ptr, p.opt.Align)
		case a.Kind == Value && p.rows[a.Var] > 1:
			a.Multiple = p.rows[a.Var]
			fmt.Fprintf(&b, "\t__builtin_assume((%s & %d) == 0);\n", p.Of[a.Var], a.Multiple-1)
		}
	}
	return b.String()
}

// rowLengths returns the integer parameters that an index is likely to be a multiple of, and the
// elements that they should be a multiple of. Of a product of two the second is taken, where none
// is taken for another product: rows of n elements begin at i*n.
func rowLengths(list []ir.Stmt) map[*ir.Var]int64 {
	most := int64(1)
	assigned := ir.Assigned(list)
	length := func(e ir.Expr) *ir.Var {
		for {
			c, ok := e.(*ir.Convert)
			if !ok {
				break
			}
			e = c.X
		}
		r, ok := e.(*ir.Ref)
		if !ok || r.Var.Space != ir.Param || !r.Var.Type.IsInteger() || assigned.Has(r.Var) {
			return nil
		}
		return r.Var
	}
	alone, second := map[*ir.Var]bool{}, [][2]*ir.Var{}
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if _, v := elementOf(e); v != nil {
			most = max(most, vector(v))
		}
		m, ok := e.(*ir.Binary)
		if !ok || m.Op != ir.Mul || !m.T.IsInteger() {
			return true
		}
		switch x, y := length(m.X), length(m.Y); {
		case x != nil && y != nil:
			second = append(second, [2]*ir.Var{x, y})
		case x != nil:
			alone[x] = true
		case y != nil:
			alone[y] = true
		}
		return true
	})
	for _, pair := range second {
		if !alone[pair[0]] {
			alone[pair[1]] = true
		}
	}
	out := map[*ir.Var]int64{}
	for v := range alone {
		out[v] = most
	}
	return out
}
