package cuda

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
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
		if ok && m.T.Kind == ir.Bool {
			return false // a test is no index
		}
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

// The device compiler finds the alignment of an element by a search of limited depth, which misses
// most words inside of a record. An element that is narrower than a word of a register, with
// neighbours in the same code, is printed as one of the word around it, whose alignment is stated.

// registerWord is the size of a register.
const registerWord ir.Bytes = 4

// A wordBase is the part of places that neighbours have in common.
type wordBase struct {
	slice *ir.Var
	text  string
}

// words are the facts about narrow elements of a launch.
type words struct {
	zeros  map[*ir.Var]int   // low bits of integer variables that are always zero
	beside map[wordBase]bool // an element has a neighbour at a known distance
}

// mostZeros bounds how many low bits are followed: the longest access needs no more.
const mostZeros = 8

// findWords returns the facts about narrow elements in list.
func findWords(list []ir.Stmt, rows map[*ir.Var]int64) words {
	w := words{zeros: lowZeros(list, rows), beside: map[wordBase]bool{}}
	first := map[wordBase]int64{}
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if x, v := elementOf(e); v != nil && narrow(v) && !x.Checked {
			base, k := besideConst(x.I)
			at := wordBase{v, ir.ExprString(base)}
			if have, seen := first[at]; seen {
				w.beside[at] = w.beside[at] || have != k
			} else {
				first[at] = k
			}
		}
		return true
	})
	return w
}

// narrow reports whether several elements of slice v are in one register.
func narrow(v *ir.Var) bool { return vector(v) > 1 && v.Type.Elem.Size < registerWord }

// besideConst returns e as the sum of an expression and a constant.
func besideConst(e ir.Expr) (ir.Expr, int64) {
	b, ok := e.(*ir.Binary)
	if !ok || b.Op != ir.Add && b.Op != ir.Sub || b.T.Kind != ir.Int64 || b.Checked {
		return e, 0
	}
	c, ok := b.Y.(*ir.Const)
	if !ok {
		return e, 0
	}
	if b.Op == ir.Sub {
		return b.X, -int64(c.Bits)
	}
	return b.X, int64(c.Bits)
}

// lowZeros returns how many low bits of the integer variables of list are always zero. It begins
// with all of them, and lowers their number at each assignment until nothing changes.
func lowZeros(list []ir.Stmt, rows map[*ir.Var]int64) map[*ir.Var]int {
	zeros := map[*ir.Var]int{}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl:
			zeros[s.Var] = mostZeros
		case *ir.For:
			zeros[s.Var] = mostZeros
		}
		return true
	})
	for v, n := range rows {
		zeros[v] = bits.TrailingZeros64(uint64(n))
	}
	for _, v := range ir.AddressTaken(list).List() {
		delete(zeros, v)
	}
	for changed := true; changed; {
		changed = false
		lower := func(v *ir.Var, n int) {
			if v != nil && zeros[v] > n {
				zeros[v], changed = n, true
			}
		}
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				if s.Init != nil {
					lower(s.Var, zerosOf(s.Init, zeros))
				}
			case *ir.For:
				lower(s.Var, min(zerosOf(s.Lo, zeros), zerosOf(s.Step, zeros)))
				for _, v := range ir.Assigned(s.Body).List() {
					if v == s.Var {
						lower(v, 0)
					}
				}
			case *ir.Assign:
				lower(ir.RootVar(s.Place), zerosOf(s.Value, zeros))
			case *ir.Call:
				for _, v := range s.Results {
					lower(v, 0)
				}
			case *ir.Atomic:
				lower(ir.RootVar(s.Place), 0)
				if s.Old != nil {
					lower(ir.RootVar(s.Old), 0)
				}
			}
			return true
		})
	}
	return zeros
}

// zerosOf returns how many low bits of integer e are zero, given those of variables. Calculations
// that wrap round leave the low bits.
func zerosOf(e ir.Expr, zeros map[*ir.Var]int) int {
	if !e.Type().IsInteger() {
		return 0
	}
	n := 0
	switch e := e.(type) {
	case *ir.Const:
		n = bits.TrailingZeros64(e.Bits)
	case *ir.Ref:
		n = zeros[e.Var]
	case *ir.Convert:
		if e.X.Type().IsInteger() {
			n = zerosOf(e.X, zeros)
		}
	case *ir.Binary:
		x, y := zerosOf(e.X, zeros), zerosOf(e.Y, zeros)
		switch e.Op {
		case ir.Add, ir.Sub, ir.Or, ir.Rem:
			n = min(x, y)
		case ir.Mul:
			n = x + y
		case ir.And:
			n = max(x, y)
		}
	case *ir.Math:
		if e.Fn == ir.IMin || e.Fn == ir.IMax {
			n = min(zerosOf(e.Args[0], zeros), zerosOf(e.Args[1], zeros))
		}
	}
	return min(n, mostZeros)
}

// inWord prints X[I], an element of a slice, as one of the word around it, where its neighbours are
// accessed too and the alignment is known.
func (p placesPrinter) inWord(e *ir.Index) (cprint.Val, bool) {
	x, v := elementOf(e)
	if v == nil || p.opt.Align == 0 || p.flat[v] == nil || !narrow(v) || x.Checked {
		return cprint.Val{}, false
	}
	base, k := besideConst(x.I)
	if !p.words.beside[wordBase{v, ir.ExprString(base)}] {
		return cprint.Val{}, false
	}
	size := v.Type.Elem.Size
	word := min(size<<zerosOf(base, p.words.zeros), p.opt.Align)
	if word <= size {
		return cprint.Val{}, false
	}
	each := int64(word / size)
	within := k & (each - 1)
	own := *x
	if own.I = base; k != within {
		start := &ir.Const{T: ir.IntType, Bits: uint64(k - within), At: x.At}
		own.I = &ir.Binary{Op: ir.Add, X: base, Y: start, T: ir.IntType, At: x.At}
	}
	at := p.subscript(&own)
	p.use("aligned")
	if strings.ContainsRune(at, ' ') {
		at = "(" + at + ")"
	}
	text := fmt.Sprintf("aligned<%d>(%s + %s)[%d]", word, p.data(x.X), at, within)
	return cprint.Value(text, cprint.PrecPostfix, cprint.TypeOf(e.Type())), true
}
