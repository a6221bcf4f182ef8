package analysis

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// FirstValues maps variables that never change to their initial values.
type FirstValues map[*ir.Var]ir.Expr

// NonNegative reports whether e is known neither to be negative nor to wrap. It accepts constants,
// lengths, positions in the grid, and sums and products of a few positions, whose size the grid
// limits.
func (f FirstValues) NonNegative(e ir.Expr) bool { return f.size(e, 0) > 0 }

// Positive reports whether e is known to be at least 1 and small: a constant, or a product of
// numbers of teams and threads.
func (f FirstValues) Positive(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		c, ok := query.Int64(e)
		return ok && c > 0 && c < 1<<32
	case *ir.Query:
		return e.What == ir.NumThreads || e.What == ir.NumTeams || e.What == ir.WarpSize
	case *ir.Ref:
		return f[e.Var] != nil && f.Positive(f[e.Var])
	case *ir.Binary:
		return e.Op == ir.Mul && f.Positive(e.X) && f.Positive(e.Y) && f.size(e, 0) > 0
	}
	return false
}

// size returns a number of bits in which the non-negative value e fits, 0 if e may be negative or
// no number is known.
func (f FirstValues) size(e ir.Expr, depth int) int {
	if depth > 8 {
		return 0
	}
	n := 0
	switch e := e.(type) {
	case *ir.Const:
		if c, ok := query.Int64(e); ok && c >= 0 && c < 1<<32 {
			n = 32
		}
	case *ir.Query:
		n = 11 // the number of threads in a team
		if e.What == ir.TeamNum || e.What == ir.NumTeams {
			n = 31
		}
	case *ir.Len, *ir.Cap:
		n = 48
	case *ir.Ref:
		if f[e.Var] != nil {
			n = f.size(f[e.Var], depth+1)
		}
	case *ir.Binary:
		x, y := f.size(e.X, depth+1), f.size(e.Y, depth+1)
		switch {
		case x == 0 || y == 0 || e.T.Kind != ir.Int64:
		case e.Op == ir.Add:
			n = max(x, y) + 1
		case e.Op == ir.Mul:
			n = x + y
		}
	}
	if n > 62 {
		return 0
	}
	return n
}

// Below returns an upper bound n of a non-negative value e, so that 0 <= e < n. It knows the bounds
// of masks, of unsigned types such as bytes, and of expressions of these. ok is false if type and
// form of e give no bound.
func Below(e ir.Expr) (n int64, ok bool) { return below(e, true) }

// Masked is Below without bounds that follow only from a type. A mask, a shift or a remainder in
// the code usually matches the size of the table that e indexes; a byte index does not imply a
// table of 256 elements.
func Masked(e ir.Expr) (n int64, ok bool) { return below(e, false) }

func below(e ir.Expr, byType bool) (n int64, ok bool) {
	if !e.Type().IsInteger() {
		return 0, false
	}
	switch e := e.(type) {
	case *ir.Convert:
		if e.X.Type().IsInteger() {
			if n, ok = below(e.X, byType); ok && fits(n, e.T) {
				return n, true
			}
		}
		return 0, false
	case *ir.Binary:
		if n, ok = belowOf(e, byType); ok {
			return n, true
		}
	}
	switch k := e.Type().Kind; {
	case k == ir.Uint8 && byType:
		return 1 << 8, true
	case k == ir.Uint16 && byType:
		return 1 << 16, true
	}
	return 0, false
}

// fits reports whether all values from 0 to n-1 are values of t.
func fits(n int64, t *ir.Type) bool {
	bits := 8 * int64(t.Size)
	if t.IsSigned() {
		bits--
	}
	return bits > 62 || n <= 1<<bits
}

func belowOf(e *ir.Binary, byType bool) (n int64, ok bool) {
	width := 8 * int64(e.T.Size)
	c, isConst := query.Int64(e.Y)
	switch {
	case isConst && c >= 0 && e.Op == ir.And:
		return c + 1, c < 1<<62
	case isConst && c > 0 && e.Op == ir.Rem && !e.T.IsSigned():
		return c, true
	case isConst && c > 0 && e.Op == ir.Shr && !e.T.IsSigned() && c < width && c > width-62:
		return 1 << (width - c), true
	}
	if c, isConst := query.Int64(e.X); isConst && c >= 0 && e.Op == ir.And {
		return c + 1, c < 1<<62
	}
	x, okX := belowOrConst(e.X, byType)
	if e.Op == ir.Shl && okX && isConst && c >= 0 && c < 32 && x < 1<<30 {
		n = (x-1)<<c + 1
		return n, fits(n, e.T)
	}
	y, okY := belowOrConst(e.Y, byType)
	if !okX || !okY || x > 1<<30 || y > 1<<30 {
		return 0, false
	}
	switch e.Op {
	case ir.Add:
		n = x + y - 1
	case ir.Mul:
		n = (x-1)*(y-1) + 1
	case ir.Or, ir.Xor:
		n = 1 << bits.Len64(uint64(max(x, y)-1))
	default:
		return 0, false
	}
	return n, fits(n, e.T)
}

func belowOrConst(e ir.Expr, byType bool) (n int64, ok bool) {
	if c, isConst := query.Int64(e); isConst {
		return c + 1, c >= 0 && c < 1<<62
	}
	return below(e, byType)
}

// CountLoops turns general loops whose step is a number of threads or teams into counted loops.
// Kernels use such loops to distribute an array by hand; as counted loops they take part in the
// proofs of bounds.
func CountLoops(k *ir.Kernel) {
	changed := ir.Assigned(k.Body)
	for _, v := range ir.AddressTaken(k.Body).List() {
		changed.Add(v)
	}
	first := valuesOf(k.Body, changed)
	r := &ir.Rewrite{}
	k.Body = countedIn(r.CopyStmts(k.Body), first, changed)
}

// valuesOf returns the initial values of the variables of list that are not in changed.
func valuesOf(list []ir.Stmt, changed *ir.VarSet) FirstValues {
	out := FirstValues{}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && !changed.Has(d.Var) {
			out[d.Var] = d.Init
		}
		return true
	})
	return out
}

func countedIn(list []ir.Stmt, first FirstValues, changed *ir.VarSet) []ir.Stmt {
	var out []ir.Stmt
	for k, s := range list {
		switch s := s.(type) {
		case *ir.If:
			s.Then, s.Else = countedIn(s.Then, first, changed), countedIn(s.Else, first, changed)
		case *ir.Block:
			s.Body = countedIn(s.Body, first, changed)
		case *ir.For:
			s.Body = countedIn(s.Body, first, changed)
		case *ir.Construct:
			s.Body = countedIn(s.Body, first, changed)
		case *ir.While:
			s.Body = countedIn(s.Body, first, changed)
			if k == 0 || len(out) == 0 {
				break
			}
			d, ok := out[len(out)-1].(*ir.Decl)
			if !ok || ir.Used(list[k+1:]).Has(d.Var) {
				break
			}
			if f := countedLoop(d, s, first, changed); f != nil {
				out[len(out)-1] = f
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// countedLoop returns the counted loop that is equivalent to declaration d and the following loop
// w, nil if there is none.
func countedLoop(d *ir.Decl, w *ir.While, first FirstValues, changed *ir.VarSet) *ir.For {
	cond, ok := w.Cond.(*ir.Binary)
	if !ok || d.Init == nil || d.Var.Type.Kind != ir.Int64 || cond.Op != ir.Lt || len(w.Pre) > 0 || len(w.Post) != 1 {
		return nil
	}
	post, ok := w.Post[0].(*ir.Assign)
	if !ok || !ir.IsRef(cond.X, d.Var) || !ir.IsRef(post.Place, d.Var) {
		return nil
	}
	next, ok := post.Value.(*ir.Binary)
	if !ok || next.Op != ir.Add || !ir.IsRef(next.X, d.Var) || !first.Positive(next.Y) || ir.Assigned(w.Body).Has(d.Var) ||
		ir.AddressTaken(w.Body).Has(d.Var) {
		return nil
	}
	n, ok := cond.Y.(*ir.Len)
	if !ok || !query.IsRef(n.X) || changed.Has(n.X.(*ir.Ref).Var) {
		return nil
	}
	return &ir.For{Label: w.Label, Var: d.Var, Lo: d.Init, Hi: n, Step: next.Y, Rel: ir.Lt, Body: w.Body, At: w.At}
}
